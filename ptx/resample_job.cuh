// resample_job.cuh has the parameters of the resampling kernels.
#pragma once
#include "common.cuh"

namespace rc {

// The parameters of every resampling kernel, in order. Strides count elements. src_rows and dst_rows are lengths [B] or
// offsets [B+1], or null; fill holds the bits of a dst element, max_gap and tolerance those of a time.
#define RC_RESAMPLE_PARAMS                                                                                                \
    const void *src, i64 src_batch, i64 src_step, const void *times, i64 times_batch,           \
        const void *targets, i64 targets_batch, void *__restrict__ dst, i64 dst_batch, i64 dst_step,         \
        u8 *__restrict__ valid, i64 valid_batch, void *__restrict__ age, i64 age_batch, const i64 *src_rows, \
        const i64 *dst_rows, u64 *__restrict__ fault, u32 *__restrict__ fault_flag, i64 start, double rate,  \
        u64 fill, u64 max_gap, u64 tolerance, u64 total, u64 stamps, u64 share, u64 s, u64 t, u32 t_magic, float pace, u32 b,    \
        u32 d, u32 tile, u32 chunks, u32 chunk_magic, u32 flags
#define RC_RESAMPLE_ARGS                                                                                                  \
    {src, src_batch, src_step, times, times_batch, targets, targets_batch, dst, dst_batch, dst_step, valid, valid_batch, \
     age, age_batch, src_rows, dst_rows, fault, fault_flag, start, rate, fill, max_gap, tolerance, total, stamps, share, s, t, t_magic, pace, b, d, tile, chunks, chunk_magic, flags}

struct resample_job {
    const void *src;
    i64 src_batch, src_step;
    const void *times;
    i64 times_batch;
    const void *targets; // null for a uniform clock
    i64 targets_batch;
    void *dst;
    i64 dst_batch, dst_step;
    u8 *valid; // null if not wanted
    i64 valid_batch;
    void *age; // null if not wanted
    i64 age_batch;
    const i64 *src_rows, *dst_rows;
    u64 *fault;      // the smallest fault found, in device memory
    u32 *fault_flag; // set if there is one, in host memory
    i64 start;
    double rate;
    u64 fill, max_gap, tolerance;
    u64 total;  // targets of all rows
    u64 stamps; // source stamps to check
    u64 share;  // of those, each block's
    u64 s, t;   // samples and targets a row, or of all rows if packed
    u32 t_magic; // divides by t, see row_of; 0 if total is too large for that
    float pace;  // samples a target, if both run from one end to the other in step
    u32 b, d;
    u32 tile;                // targets a block
    u32 chunks, chunk_magic; // pieces that a target's features are moved in; divides a thread's number by that
    u32 flags;

    // The fields of flags.
    RC_FN_MEMBER u32 clock() const { return flags & 3; }
    RC_FN_MEMBER u32 out() const { return flags >> 2 & 3; }
    RC_FN_MEMBER u32 kind() const { return flags >> 4 & 7; }
    RC_FN_MEMBER u32 edge() const { return flags >> 7 & 3; }
    RC_FN_MEMBER u32 vector() const { return flags >> 9 & 7; } // log2 of the elements a thread moves at once
    RC_FN_MEMBER bool dense() const { return flags >> 9 & 1; } // of channels: the rows of all targets follow each other in dst
    RC_FN_MEMBER bool src_lengths() const { return flags >> 12 & 1; }
    RC_FN_MEMBER bool src_offsets() const { return flags >> 13 & 1; }
    RC_FN_MEMBER bool dst_lengths() const { return flags >> 14 & 1; }
    RC_FN_MEMBER bool dst_offsets() const { return flags >> 15 & 1; }
    RC_FN_MEMBER bool has_gap() const { return flags >> 16 & 1; }
    RC_FN_MEMBER bool has_tolerance() const { return flags >> 17 & 1; }
    RC_FN_MEMBER bool fill_gaps() const { return flags >> 18 & 1; }
    RC_FN_MEMBER bool check() const { return flags >> 19 & 1; }
    RC_FN_MEMBER bool near_previous() const { return flags >> 20 & 1; } // tolerance applies to the sample before
    RC_FN_MEMBER bool near_next() const { return flags >> 21 & 1; }
    RC_FN_MEMBER bool near_nearest() const { return flags >> 22 & 1; }
    RC_FN_MEMBER bool times_flat() const { return flags >> 23 & 1; } // stamp i is at times[i], whatever its row
    RC_FN_MEMBER u32 t_shift() const { return flags >> 24 & 31; }
    RC_FN_MEMBER bool plain() const { return flags >> 29 & 1; } // plain_job tells it all
    RC_FN_MEMBER bool ready() const { return flags >> 31; }     // see begin
    RC_FN_MEMBER bool has_window() const { return false; }
    RC_FN_MEMBER u64 window() const { return 0; } // the bits of the shortest window, a time
    RC_FN_MEMBER const i64 *src_extents() const { return src_rows; }
    RC_FN_MEMBER const i64 *dst_extents() const { return dst_rows; }

    // settle keeps the loads of what may be written ahead of the kernel behind its wait.
    RC_FN_MEMBER void settle() { after_wait(src), after_wait(times), after_wait(targets), after_wait(src_rows), after_wait(dst_rows); }

    // What a job that is a stream of a Fuse has otherwise.
    RC_FN_MEMBER u32 threads() const { return threads_x(); }
    RC_FN_MEMBER u32 block() const { return block_x(); } // this block among the job's, and their number
    RC_FN_MEMBER u32 blocks() const { return blocks_x(); }
    RC_FN_MEMBER i64 valid_step() const { return 1; } // elements from one target to the next
    RC_FN_MEMBER i64 age_step() const { return 1; }
    RC_FN_MEMBER u64 stream_bits() const { return 0; } // in a fault's position
    RC_FN_MEMBER bool lacking() const { return false; } // rows may be without samples
    template <class C> RC_FN_MEMBER C on_own_clock(C x) const { return x; }
    RC_FN_MEMBER bool beyond(bool given, bool own) const { return given && own; } // a target's range, as given and on that clock
};

// plain_of is a job without what most jobs do without: rows of one length, fewer than 2^31 targets, ends held, no limits. The
// code for such a job is a good part of a small launch, so it is compiled by itself.
template <class J> struct plain_of : J {
    RC_FN_MEMBER u32 edge() const { return 0; }
    RC_FN_MEMBER bool src_lengths() const { return false; }
    RC_FN_MEMBER bool src_offsets() const { return false; }
    RC_FN_MEMBER bool dst_lengths() const { return false; }
    RC_FN_MEMBER bool dst_offsets() const { return false; }
    RC_FN_MEMBER bool has_gap() const { return false; }
    RC_FN_MEMBER bool has_tolerance() const { return false; }
    RC_FN_MEMBER bool fill_gaps() const { return false; }
    RC_FN_MEMBER bool plain() const { return true; }
    RC_FN_MEMBER bool times_flat() const { return true; }
    RC_FN_MEMBER const i64 *src_extents() const { return nullptr; }
    RC_FN_MEMBER const i64 *dst_extents() const { return nullptr; }
};
using plain_job = plain_of<resample_job>;

enum clocks : u32 { clock_i64, clock_f64, clock_f32 };
enum kinds : u32 { linear, previous, next, nearest, slerp, angle, pchip, window_mean, window_min, window_max, window_last, catmull_rom, hermite, rotvec, rot6d };
enum edges : u32 { edge_clamp, edge_fill, edge_extrapolate, edge_error };

constexpr u32 max_row = 0x7fffffff;
constexpr i64 max_time = (i64)1 << 62;

} // namespace rc
