// fuse_fast.cuh has the parameter of fuse_fast.cu, fuse_unaligned.cu and fuse_small.cu, which put up to 16 streams on one clock in one
// launch, side by side in dst: fast-path streams (fast.cuh) that have dst's dtype and are not normalised. The streams' blocks follow each
// other in the grid.
#pragma once
#include "fast.cuh"
#include "streams.cuh"

namespace rc {

// fast_stream has the fields of fast_job for one stream. The fields that every block needs first come first.
RC_HOST struct fast_stream {
    const void *src, *times;
    u64 offset;
    u32 flags, tile, chunks, chunk_magic;
    float samples_per_target;
    u32 s, times_batch, src_batch, src_step, timestamps_per_block;

    u32 timestamps;
    u32 column; // bytes from a target's first feature to the stream's
    float rows_per_timestamp;
    u32 fill;
    u64 max_gap, tolerance;
};

// fast_head and fast_rest have the fields that all streams share. The fields that every block needs first come first, because a launch
// finds no parameter in the cache: it waits for each line of 64 bytes when it reaches it, and the first line holds 48.
RC_HOST struct fast_head {
    const void *targets;
    void *dst;
    u32 total, t, t_magic, targets_batch;
};
RC_HOST struct fast_rest {
    u8 *valid;
    void *age;
    u64 *fault;
    u32 *fault_flag;
    u32 dst_step, valid_step, age_step;
    i64 start;
    double rate;
};

// The kernels' parameters. A larger one takes longer to launch, so fuse_fast_few and fuse_unaligned_few have their own. first_block has
// each stream's first block, side by side because every block reads all; entries after the last stream have no blocks. For
// unaligned rows, d is the number of elements in a row, and form is the way to compute them.
RC_HOST struct fast_streams {
    fast_head head;
    u32 first_block[max_streams];
    fast_rest rest;
    fast_stream stream[max_streams];
};
RC_HOST struct few_fast_streams {
    fast_head head;
    u32 first_block[few_streams];
    fast_rest rest;
    fast_stream stream[few_streams];
};
RC_HOST struct unaligned_streams {
    fast_streams fast;
    u32 d[max_streams], form[max_streams];
};
RC_HOST struct few_unaligned_streams {
    few_fast_streams fast;
    u32 d[few_streams], form[few_streams];
};
static_assert(sizeof(unaligned_streams) < 4096, "every driver takes 4096 bytes");

// stream_of is a block's stream, as a job. Without uniform registers a branch here makes ptxas load all parameters at once.
template <u32 Most, class P> RC_FN fast_job stream_of(const P &p) {
    const u32 block = block_x();
    u32 m = 0;
    RC_UNROLL for (u32 i = 1; i < few_streams; i++) m = block >= p.first_block[i] ? i : m;
    if (Most > few_streams && (__CUDA_ARCH__ < 900 || RC_UNLIKELY(block >= p.first_block[few_streams % Most]))) {
        RC_UNROLL for (u32 i = few_streams; i < Most; i++) m = block >= p.first_block[i] ? i : m;
    }
    const fast_stream &f = p.stream[m];
    const fast_head &h = p.head;
    const fast_rest &r = p.rest;
    return {f.src, f.times, h.targets, (char *)h.dst + f.column, r.valid ? r.valid + m : nullptr,
            r.age ? (char *)r.age + m * ((f.flags & 3) == clock_f32 ? 4 : 8) : nullptr, r.fault, r.fault_flag, r.start, r.rate,
            f.src_batch, f.src_step, f.times_batch, h.targets_batch, h.total, f.timestamps, f.timestamps_per_block, f.s, h.t, h.t_magic, f.samples_per_target,
            f.tile, f.chunks, f.chunk_magic, f.flags, r.dst_step, r.valid_step, r.age_step, block - p.first_block[m], m, f.offset, 0, 0,
            f.max_gap, f.tolerance, f.fill, f.rows_per_timestamp};
}

} // namespace rc
