// fuse_plain.cu puts up to 16 streams on one clock in one launch, side by side in dst: plain ones, see plain.cuh, that have dst's
// dtype and are not normalised: fuse_plain those of whole units, fuse_direct small launches of such, see direct.cuh, and fuse_odd others, and those with many units a target. fuse.cu takes the rest. The streams' blocks follow each other in the grid.
#include "direct.cuh"
#include "plain_odd.cuh"
#include "streams.cuh"

using namespace rc;

namespace {

// plain_stream is what plain_task has for a stream alone, what every block needs first in front.
RC_HOST struct plain_stream {
    const void *src, *times;
    u64 offset;
    u32 flags, tile, chunks, chunk_magic;
    float pace;
    u32 s, times_batch, src_batch, src_step, share;

    u32 stamps;
    u32 column; // bytes from a target's first feature to the stream's
    float rows_a_stamp;
    u32 fill;
    u64 max_gap, tolerance;
    u32 d, form; // of fuse_odd: a row's elements, and how they are made
};

// plain_head is what the streams share. A launch finds none of its parameter in the cache, and waits for each line of 64 bytes when it comes
// to it, the first of which holds 48.
RC_HOST struct plain_head {
    const void *targets;
    void *dst;
    u32 total, t, t_magic, targets_batch;
    u32 first_block[max_streams]; // of each stream, side by side as every block looks at all; beyond the streams no block
    u8 *valid;
    void *age;
    u64 *fault;
    u32 *fault_flag;
    u32 dst_step, valid_step, age_step;
    i64 start;
    double rate;
};

// plain_streams is the kernels' parameter. A larger one takes longer to launch, so fuse_plain_few has one of its own, for as many streams as
// most jobs have.
RC_HOST constexpr u32 few_streams = 4;
RC_HOST struct plain_streams {
    plain_head head;
    plain_stream stream[max_streams];
};
RC_HOST struct few_plain_streams {
    plain_head head;
    plain_stream stream[few_streams];
};
static_assert(sizeof(plain_streams) < 4096, "every driver takes 4096 bytes");

// stream_of is a block's stream, as a job. Without uniform registers a branch here makes ptxas load all parameters at once.
template <u32 Most> RC_FN plain_task stream_of(const plain_head &p, const plain_stream (&streams)[Most]) {
    const u32 block = block_x();
    u32 m = 0;
    RC_UNROLL for (u32 i = 1; i < few_streams; i++) m = block >= p.first_block[i] ? i : m;
    if (Most > few_streams && (__CUDA_ARCH__ < 900 || RC_SELDOM(block >= p.first_block[few_streams]))) {
        RC_UNROLL for (u32 i = few_streams; i < Most; i++) m = block >= p.first_block[i] ? i : m;
    }
    const plain_stream &f = streams[m];
    return {f.src, f.times, p.targets, (char *)p.dst + f.column, p.valid ? p.valid + m : nullptr,
            p.age ? (char *)p.age + m * ((f.flags & 3) == clock_f32 ? 4 : 8) : nullptr, p.fault, p.fault_flag, p.start, p.rate,
            f.src_batch, f.src_step, f.times_batch, p.targets_batch, p.total, f.stamps, f.share, f.s, p.t, p.t_magic, f.pace,
            f.tile, f.chunks, f.chunk_magic, f.flags, p.dst_step, p.valid_step, p.age_step, block - p.first_block[m], m, f.offset, f.d, f.form,
            f.max_gap, f.tolerance, f.fill, f.rows_a_stamp};
}

RC_FN void fuse_whole(plain_task j, slot *slots) {
    begin(j);
    const u32 count = survey_plain<1>(j, [&](u32 i, slot s) { slots[i] = row_slot(j, i, s); });
    barrier();
    if (count > 0) {
        if (j.unit() == 4)
            move_each<v16, false>(j, slots, count);
        else if (j.unit() == 3)
            move_each<v8, false>(j, slots, count);
        else
            move_each<u32, false>(j, slots, count);
    }
    end(j);
}

} // namespace

RC_KERNEL_OCC(plain_threads, resident) fuse_plain(const plain_streams p) {
    __shared__ slot slots[most_tile];
    fuse_whole(stream_of(p.head, p.stream), slots);
}

RC_KERNEL_OCC(plain_threads, resident) fuse_plain_few(const few_plain_streams p) {
    __shared__ slot slots[most_tile];
    fuse_whole(stream_of(p.head, p.stream), slots);
}

RC_KERNEL_OCC(plain_threads, 8) fuse_odd(const plain_streams p) {
    __shared__ slot slots[most_tile];
    plain_task j = stream_of(p.head, p.stream);
    begin(j);
    const u32 count = survey_odd<4>(j, slots);
    barrier();
    if (count > 0) move_odd(j, slots, count);
    end(j);
}

RC_KERNEL_OCC(direct_threads, direct_fuse_blocks) fuse_direct(const plain_streams p) {
    plain_task j = linear_task(stream_of(p.head, p.stream));
    begin(j);
    if (j.unit() == 4)
        direct<v16, false>(j);
    else if (j.unit() == 3)
        direct<v8, false>(j);
    else
        direct<u32, false>(j);
    end(j);
}
