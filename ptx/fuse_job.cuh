// fuse_job.cuh has the parameter of the general Fuse kernels, and turns a stream in it into the job that resample.cuh works on.
#pragma once
#include "channels.cuh"
#include "streams.cuh"

namespace rc {

// fuse_stream is one stream in a Fuse: the fields of resample_job that differ between streams.
RC_HOST struct fuse_stream {
    const void *src;
    i64 src_batch, src_step;
    const void *times;
    i64 times_batch;
    const i64 *src_rows;
    const item *items; // for a stream that is computed item by item
    const i64 *src_starts;
    const float *affine; // the shifts, the scales, the lower bounds, the upper bounds, each aligned to 16 bytes; null for none
    u64 offset;          // the target's time minus the stream's time, as the bits of a time
    u64 fill, max_gap, tolerance, snap, shortest;
    u64 timestamps, timestamps_per_block, s;
    u32 column; // the stream's first feature in dst
    u32 blocks; // the blocks in the grid for this stream
    float samples_per_target;
    u32 d, tile, chunks, chunk_magic;
    u32 flags, more;
    item_categories items_of;
};

// fuse_params is the kernels' parameter: the fields that all streams share, and the streams.
RC_HOST struct fuse_params {
    const void *targets;
    i64 targets_batch;
    void *dst;
    i64 dst_batch, dst_step;
    u8 *valid;
    i64 valid_batch, valid_step;
    void *age;
    i64 age_batch, age_step;
    u8 *pad;
    i64 pad_batch, pad_step;
    const i64 *dst_rows, *anchors;
    u64 *fault;
    u32 *fault_flag;
    i64 start;
    double rate;
    u64 total, t;
    u32 t_magic, b;
    // each stream's first block, side by side because every block reads all; entries after the last stream have no blocks
    u32 first_block[max_streams];
    fuse_stream stream[max_streams];
};
static_assert(sizeof(fuse_params) < 4096, "every driver takes 4096 bytes");

// fuse_job is a stream as a job.
struct fuse_job : windows_job {
    u64 offset;
    i64 valid_apart, age_apart, pad_apart;
    const float *affine;
    u32 stream, first_block, block_count;

    RC_FN_MEMBER u32 block() const { return block_x() - first_block; }
    RC_FN_MEMBER u32 blocks() const { return block_count; }
    RC_FN_MEMBER i64 valid_step() const { return valid_apart; }
    RC_FN_MEMBER i64 age_step() const { return age_apart; }
    RC_FN_MEMBER i64 pad_step() const { return pad_apart; }
    RC_FN_MEMBER u64 stream_bits() const { return (u64)stream << 58; }
    RC_FN_MEMBER bool may_lack_samples() const { return true; }
    template <class C> RC_FN_MEMBER C to_stream_clock(C x) const {
        C lack;
        from_bits(offset, lack);
        return minus(x, lack);
    }
    RC_FN_MEMBER bool beyond(bool given, bool own) const { return given || own; }
};

template <> constexpr bool has_fast_path<fuse_job>() { return true; }

// stream_of returns the stream that this block works for.
template <class P> RC_FN u32 stream_of(const P &p) {
    u32 m = 0;
    RC_UNROLL for (u32 i = 1; i < few_streams; i++) m = block_x() >= p.first_block[i] ? i : m;
    if (RC_LIKELY(block_x() < p.first_block[few_streams])) return m;
    RC_UNROLL for (u32 i = few_streams; i < max_streams; i++) m = block_x() >= p.first_block[i] ? i : m;
    return m;
}

RC_FN u32 size_of(u32 dtype) { return dtype == dt_f32 ? 4 : dtype == dt_f64 ? 8 : 2; }

// job_of makes stream m's job. Its dst begins at the stream's column, valid and age at its element.
RC_FN fuse_job job_of(const fuse_params &p, u32 m) {
    const fuse_stream &f = p.stream[m];
    const u32 clock = f.flags & 3, out = f.flags >> 2 & 3; // as resample_job
    char *const dst = (char *)p.dst + (u64)f.column * size_of(out);
    u8 *const valid = p.valid ? p.valid + m : nullptr;
    void *const age = p.age ? (char *)p.age + m * (clock == clock_f32 ? 4 : 8) : nullptr;
    u8 *const pad = p.pad ? p.pad + m : nullptr;
    return {{{f.src, f.src_batch, f.src_step, f.times, f.times_batch, p.targets, p.targets_batch, dst, p.dst_batch, p.dst_step,
               valid, p.valid_batch, age, p.age_batch, pad, p.pad_batch, f.src_rows, p.dst_rows, f.src_starts, p.anchors, p.fault, p.fault_flag, p.start, p.rate,
               f.fill, f.max_gap, f.tolerance, f.snap, p.total, f.timestamps, f.timestamps_per_block, f.s, p.t, p.t_magic, f.samples_per_target, p.b, f.d, f.tile, f.chunks, f.chunk_magic, f.flags, f.more},
             f.shortest},
            f.offset, p.valid_step, p.age_step, p.pad_step, f.affine, m, p.first_block[m], f.blocks};
}

// normalise takes N features, from number `at` on, to what they are on the way out: (x - shift) * scale, clipped if the stream asks for it.
template <u32 N> RC_FN void normalise(const fuse_job &j, u32 at, float (&x)[N]) {
    constexpr u32 n = N < 4 ? N : 4; // at once
    const u32 row = (j.d + 3) & ~3u;
    RC_UNROLL for (u32 first = 0; first < N; first += n) {
        const float *const shifts = j.affine + at + first;
        const pack<dt_f32, n> shift = ld_pack<dt_f32, n>(shifts), scale = ld_pack<dt_f32, n>(shifts + row);
        RC_UNROLL for (u32 i = 0; i < n; i++) x[first + i] = (x[first + i] - get(shift, i)) * get(scale, i);
        if (!j.clips()) continue;
        const pack<dt_f32, n> least = ld_pack<dt_f32, n>(shifts + 2 * row), most = ld_pack<dt_f32, n>(shifts + 3 * row);
        RC_UNROLL for (u32 i = 0; i < n; i++) {
            float &v = x[first + i];
            v = v < get(least, i) ? get(least, i) : v > get(most, i) ? get(most, i) : v;
        }
    }
}

// ld_narrow is element `at` of a stream of at most 4 bytes, and ld_narrow_bits its bits.
RC_FN u32 ld_narrow_bits(const resample_job &j, i64 at) { return j.in() == dt_f32 ? ld_nc_u32((const u32 *)j.src + at) : ld_nc_u16((const u16 *)j.src + at); }
RC_FN float ld_narrow(const resample_job &j, i64 at) {
    const u32 b = ld_narrow_bits(j, at);
    return j.in() == dt_f32 ? as_f32(b) : j.in() == dt_f16 ? f16_to_f32((u16)b) : bf16_lo(b);
}

} // namespace rc
