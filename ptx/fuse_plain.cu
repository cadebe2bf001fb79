// fuse_plain.cu puts up to 16 streams on one clock in one launch, side by side in dst: plain ones, see plain.cuh, that have dst's
// dtype and are not normalised: fuse_plain those of whole units, fuse_direct small launches of such, see direct.cuh, and fuse_odd others, and those with many units a target. fuse.cu takes the rest. The streams' blocks follow each other in the grid.
#include "direct.cuh"
#include "plain_odd.cuh"

using namespace rc;

namespace {

constexpr u32 max_streams = 16;

// Most jobs have few streams, of which a block looks at less.
constexpr u32 few_streams = 4;

// plain_stream is what plain_task has for a stream alone, what every block needs first in front. It is 96 bytes.
struct plain_stream {
    const void *src, *times;
    u64 offset;
    u32 flags, tile, chunks, chunk_magic; // fuse_odd: chunks is a row's elements
    float pace;
    u32 s, times_batch, src_batch, src_step, share;

    u32 stamps;
    u32 column; // bytes from a target's first feature to the stream's
    float rows_a_stamp;
    u32 fill;
    u64 max_gap, tolerance;
};
static_assert(sizeof(plain_stream) == 96, "ops/cuda/fuse_plain.go packs it");

// plain_params is the kernels' parameter. A launch finds none of it in the cache, and waits for each line of 64 bytes when it comes to it, the
// first of which holds 48. A larger parameter takes longer to launch, so the kernels of up to few_streams streams have one of their own.
template <u32 Most> struct plain_params {
    const void *targets;
    void *dst;
    u32 total, t, t_magic, targets_batch;
    u32 first_block[Most]; // of each stream, side by side as every block looks at all; beyond the streams no block
    u8 *valid;
    void *age;
    u64 *fault;
    u32 *fault_flag;
    u32 dst_step, valid_step, age_step, unused;
    i64 start;
    double rate;
    plain_stream stream[Most];
};
static_assert(sizeof(plain_params<few_streams>) == 96 + 100 * few_streams && sizeof(plain_params<max_streams>) == 96 + 100 * max_streams,
              "below the 4096 bytes that every driver takes");

// stream_of is a block's stream, as a job. Without uniform registers a branch here makes ptxas load all parameters at once.
template <u32 Most> RC_FN plain_task stream_of(const plain_params<Most> &p) {
    const u32 block = block_x();
    u32 m = 0;
    RC_UNROLL for (u32 i = 1; i < few_streams; i++) m = block >= p.first_block[i] ? i : m;
    if (Most > few_streams && (__CUDA_ARCH__ < 900 || RC_SELDOM(block >= p.first_block[few_streams % Most]))) {
        RC_UNROLL for (u32 i = few_streams; i < Most; i++) m = block >= p.first_block[i] ? i : m;
    }
    const plain_stream &f = p.stream[m];
    return {f.src, f.times, p.targets, (char *)p.dst + f.column, p.valid ? p.valid + m : nullptr,
            p.age ? (char *)p.age + m * ((f.flags & 3) == clock_f32 ? 4 : 8) : nullptr, p.fault, p.fault_flag, p.start, p.rate,
            f.src_batch, f.src_step, f.times_batch, p.targets_batch, p.total, f.stamps, f.share, f.s, p.t, p.t_magic, f.pace,
            f.tile, f.chunks, f.chunk_magic, f.flags, p.dst_step, p.valid_step, p.age_step, block - p.first_block[m], m, f.offset, 0,
            f.max_gap, f.tolerance, f.fill, f.rows_a_stamp};
}

template <u32 DT, bool Odd> RC_FN void fuse(plain_task j, slot *slots) {
    begin(j);
    u32 count;
    if constexpr (Odd)
        count = survey_odd<DT, element<DT>::size == 2 ? 4 : 1>(j, slots); // of f32 more would spill
    else
        count = survey_plain<1>(j, [&](u32 i, slot s) { slots[i] = row_slot(j, i, s); });
    barrier();
    if (count > 0) {
        if (Odd)
            move_odd<DT, false>(j, slots, count);
        else if (j.unit() == 4)
            move_each<DT, v16, false>(j, slots, count);
        else if (j.unit() == 3)
            move_each<DT, v8, false>(j, slots, count);
        else
            move_each<DT, u32, false>(j, slots, count);
    }
    end(j);
}

template <u32 DT> RC_FN void fuse_direct(plain_task j) {
    begin(j);
    if (j.unit() == 4)
        direct<DT, v16, false>(j);
    else if (j.unit() == 3)
        direct<DT, v8, false>(j);
    else
        direct<DT, u32, false>(j);
    end(j);
}

} // namespace

// Each kernel is there for up to few_streams streams, and for more.
#define RC_FUSE_PLAIN(name, most, dtype, odd, blocks)                                \
    RC_KERNEL_OCC(plain_threads, blocks) name(const plain_params<most> p) {          \
        __shared__ slot slots[most_tile];                                            \
        fuse<dtype, odd>(stream_of(p), slots);                                       \
    }
#define RC_FUSE_DIRECT(name, most, dtype)                                            \
    RC_KERNEL_OCC(direct_threads, direct_fuse_blocks) name(const plain_params<most> p) { fuse_direct<dtype>(linear_task(stream_of(p))); }
#define RC_FUSE_EACH(kernel, name, ...)                                              \
    kernel(name, few_streams, __VA_ARGS__)                                           \
    kernel(name##_many, max_streams, __VA_ARGS__)

RC_FUSE_EACH(RC_FUSE_PLAIN, fuse_plain_f32, dt_f32, false, resident)
RC_FUSE_EACH(RC_FUSE_PLAIN, fuse_plain_f16, dt_f16, false, resident)
RC_FUSE_EACH(RC_FUSE_PLAIN, fuse_plain_bf16, dt_bf16, false, resident)
RC_FUSE_EACH(RC_FUSE_PLAIN, fuse_odd_f32, dt_f32, true, 8)
RC_FUSE_EACH(RC_FUSE_PLAIN, fuse_odd_f16, dt_f16, true, 8)
RC_FUSE_EACH(RC_FUSE_PLAIN, fuse_odd_bf16, dt_bf16, true, 8)
RC_FUSE_EACH(RC_FUSE_DIRECT, fuse_direct_f32, dt_f32)
RC_FUSE_EACH(RC_FUSE_DIRECT, fuse_direct_f16, dt_f16)
RC_FUSE_EACH(RC_FUSE_DIRECT, fuse_direct_bf16, dt_bf16)
