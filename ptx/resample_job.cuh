// resample_job.cuh has the parameters of the resampling kernels.
#pragma once
#include "common.cuh"

namespace rc {

// resample_job is the parameter for the kernels in resample.cu; fuse.cu converts each stream into one. Strides are in elements.
RC_HOST struct resample_job {
    const void *src;
    i64 src_batch, src_step;
    const void *times;
    i64 times_batch;
    const void *targets; // null for a uniform clock
    i64 targets_batch;
    void *dst;
    i64 dst_batch, dst_step;
    u8 *valid; // null if not needed
    i64 valid_batch;
    void *age; // null if not needed
    i64 age_batch;
    u8 *pad; // null if not needed
    i64 pad_batch;
    const i64 *src_rows, *dst_rows; // lengths [B] or offsets [B+1]; null if all rows have one length
    const i64 *src_starts;          // where rows with those lengths begin in a packed src; null if rows follow each other
    const i64 *anchors;             // one anchor per row, added to the targets, both in nanoseconds; null for no anchors
    u64 *fault;      // the smallest fault found, in device memory
    u32 *fault_flag; // set if there is a fault, in host memory
    i64 start;
    double rate;
    u64 fill;               // the bits of a dst element
    u64 max_gap, tolerance, snap; // the bits of a time
    u64 total;  // targets in all rows
    u64 timestamps; // source timestamps to check
    u64 timestamps_per_block;  // timestamps per block
    u64 s, t;   // samples and targets in a row, or in all rows if packed
    u32 t_magic; // divides by t, see row_of; 0 if total is too large for that
    // samples from one target to the next, if both are evenly spaced over the same span; the search starts from this guess
    float samples_per_target;
    u32 b, d;
    u32 tile;                // targets per block
    u32 chunks, chunk_magic; // the pieces in which a target's features are moved, and the constant that divides a thread's number by them
    u32 flags, more;

    RC_FLAG(flags, u32, clock, 0, 2)
    RC_FLAG(flags, u32, out, 2, 2)
    RC_FLAG(flags, u32, interpolation, 4, 3)
    RC_FLAG(flags, u32, vector, 9, 3) // log2 of the elements a thread moves at once
    RC_FLAG(flags, bool, src_lengths, 12, 1)
    RC_FLAG(flags, bool, src_offsets, 13, 1)
    RC_FLAG(flags, bool, dst_lengths, 14, 1)
    RC_FLAG(flags, bool, dst_offsets, 15, 1)
    RC_FLAG(flags, bool, has_gap, 16, 1)
    RC_FLAG(flags, bool, has_tolerance, 17, 1)
    RC_FLAG(flags, bool, fill_gaps, 18, 1)
    RC_FLAG(flags, bool, check, 19, 1)
    RC_FLAG(flags, bool, near_previous, 20, 1) // tolerance applies to the sample before
    RC_FLAG(flags, bool, near_next, 21, 1)
    RC_FLAG(flags, bool, near_nearest, 22, 1)
    RC_FLAG(flags, bool, times_flat, 23, 1) // timestamp i is at times[i] in every row
    RC_FLAG(flags, u32, t_shift, 24, 5)
    RC_FLAG(flags, bool, dense, 29, 1)      // for channels: the rows for all targets follow each other in dst
    RC_FLAG(flags, bool, windowed, 30, 1)   // for curves: some interpolation has a window
    RC_FLAG(flags, bool, ready, 31, 1)      // the inputs are declared ready: see begin
    RC_FLAG(more, u32, in, 0, 2)            // src's dtype
    RC_FLAG(more, u32, store, 2, 3)         // for a stream in a Fuse: log2 of the bytes that can be written at once
    RC_FLAG(more, bool, by_items, 5, 1)     // for a stream in a Fuse: it is computed item by item
    RC_FLAG(more, bool, has_snap, 6, 1)
    RC_FLAG(more, u32, edge, 7, 3)
    RC_FLAG(more, bool, clips, 10, 1)       // for a stream in a Fuse: normalised features are clipped
    RC_FLAG(more, bool, try_fast_path, 11, 1)     // see locate_target_fast
    RC_FN_MEMBER bool has_window() const { return false; }
    RC_FN_MEMBER bool limited() const { return has_gap() || has_tolerance(); } // whether a target between two samples may be invalid
    RC_FN_MEMBER u64 window() const { return 0; } // how far before a target the shortest window begins: a time's bits
    // What an earlier kernel may write is loaded behind the wait: fence_after_wait does it for what each target needs; what is seldom there is
    // fenced where it is used, so that it takes no register.
    RC_FN_MEMBER void fence_after_wait() { after_wait(src), after_wait(times), after_wait(targets); }
    RC_FN_MEMBER const i64 *src_extents() const { return waited(src_rows); }
    RC_FN_MEMBER const i64 *dst_extents() const { return waited(dst_rows); }
    RC_FN_MEMBER const i64 *src_begins() const { return waited(src_starts); }
    RC_FN_MEMBER const i64 *anchors_of() const { return waited(anchors); }

    // What differs in a job that is a stream of a Fuse.
    RC_FN_MEMBER u32 threads() const { return threads_x(); }
    RC_FN_MEMBER u32 block() const { return block_x(); } // this block among the job's, and their number
    RC_FN_MEMBER u32 blocks() const { return blocks_x(); }
    RC_FN_MEMBER i64 valid_step() const { return 1; } // elements from one target to the next
    RC_FN_MEMBER i64 age_step() const { return 1; }
    RC_FN_MEMBER i64 pad_step() const { return 1; }
    RC_FN_MEMBER u64 stream_bits() const { return 0; } // in a fault's position
    RC_FN_MEMBER bool may_lack_samples() const { return false; } // rows may be without samples
    template <class C> RC_FN_MEMBER C to_stream_clock(C x) const { return x; }
    RC_FN_MEMBER bool beyond(bool given, bool own) const { return given && own; } // a target's range, as given and on that clock
};

RC_HOST enum clock : u32 { clock_i64, clock_f64, clock_f32 };
RC_HOST enum interpolation : u32 { linear, previous, next, nearest, slerp, angle, pchip, window_mean, window_min, window_max, window_last, catmull_rom, hermite, rotvec, rot6d };
RC_HOST enum edge : u32 { edge_clamp, edge_fill, edge_extrapolate, edge_error, edge_hold };

enum fault_reason : u64 { src_rows_bad, dst_rows_bad, no_samples, unsorted, not_finite, time_range, out_of_range };

constexpr u32 max_row = 0x7fffffff;
constexpr i64 max_time = (i64)1 << 62;

} // namespace rc
