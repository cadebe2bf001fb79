// fuse_plain.cu puts up to 16 streams on one clock in one launch, side by side in dst: plain ones, see plain.cuh, that have dst's
// dtype and are not normalised: fuse_plain those of whole units, fuse_direct small launches of such, see direct.cuh, and fuse_odd others. fuse.cu takes the rest. The streams' blocks follow each other in the grid.
#include "direct.cuh"
#include "plain_odd.cuh"

using namespace rc;

namespace {

constexpr u32 max_streams = 16;

// Most jobs have few streams, of which a block looks at less. Without uniform registers a branch here makes ptxas load all parameters at once.
#if __CUDA_ARCH__ >= 900
constexpr u32 few_streams = 4;
#else
constexpr u32 few_streams = max_streams;
#endif

// plain_stream is what plain_task has for a stream alone. It is 96 bytes.
struct plain_stream {
    const void *src, *times;
    u64 offset;
    u32 src_batch, src_step, times_batch, stamps, share, s;
    u32 column; // bytes from a target's first feature to the stream's
    float pace;
    u32 tile, chunks, chunk_magic, flags; // fuse_odd: chunks is a row's elements
    u64 max_gap, tolerance;
    u32 fill;
    float rows_a_stamp;
};
static_assert(sizeof(plain_stream) == 96, "ops/cuda/fuse_plain.go packs it");

// plain_params is the kernels' parameter.
struct plain_params {
    const void *targets;
    void *dst;
    u8 *valid;
    void *age;
    u64 *fault;
    u32 *fault_flag;
    i64 start;
    double rate;
    u32 targets_batch, total, t, t_magic;
    u32 dst_step, valid_step, age_step, unused;
    u32 first_block[max_streams]; // of each stream, side by side as every block looks at all; beyond the streams no block
    plain_stream stream[max_streams];
};
static_assert(sizeof(plain_params) == 96 + 100 * max_streams, "below the 4096 bytes that every driver takes");

// stream_of is a block's stream, as a job.
RC_FN plain_task stream_of(const plain_params &p) {
    const u32 block = block_x();
    u32 m = 0;
    RC_UNROLL for (u32 i = 1; i < few_streams; i++) m = block >= p.first_block[i] ? i : m;
    if (RC_SELDOM(few_streams < max_streams && block >= p.first_block[few_streams % max_streams])) {
        RC_UNROLL for (u32 i = few_streams; i < max_streams; i++) m = block >= p.first_block[i] ? i : m;
    }
    const plain_stream &f = p.stream[m];
    return {f.src, f.times, p.targets, (char *)p.dst + f.column, p.valid ? p.valid + m : nullptr,
            p.age ? (char *)p.age + m * ((f.flags & 3) == clock_f32 ? 4 : 8) : nullptr, p.fault, p.fault_flag, p.start, p.rate,
            f.src_batch, f.src_step, f.times_batch, p.targets_batch, p.total, f.stamps, f.share, f.s, p.t, p.t_magic, f.pace,
            f.tile, f.chunks, f.chunk_magic, f.flags, p.dst_step, p.valid_step, p.age_step, block - p.first_block[m], m, f.offset, 0,
            f.max_gap, f.tolerance, f.fill, f.rows_a_stamp};
}

template <u32 DT, bool Odd> RC_FN void fuse(const plain_params &p, slot *slots) {
    plain_task j = stream_of(p);
    begin(j);
    u32 count;
    if constexpr (Odd)
        count = survey_odd<DT>(j, slots);
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

template <u32 DT> RC_FN void fuse_direct(const plain_params &p, v16 *rows) {
    plain_task j = stream_of(p);
    j.as_direct();
    begin(j);
    if (j.unit() == 4)
        direct<DT, v16, false>(j, rows);
    else if (j.unit() == 3)
        direct<DT, v8, false>(j, rows);
    else
        direct<DT, u32, false>(j, rows);
    end(j);
}

} // namespace

#define RC_FUSE_PLAIN(name, dtype, odd, blocks)                   \
    RC_KERNEL_OCC(128, blocks) name(const plain_params p) {       \
        __shared__ slot slots[most_tile];                         \
        fuse<dtype, odd>(p, slots);                               \
    }

RC_FUSE_PLAIN(fuse_plain_f32, dt_f32, false, resident)
RC_FUSE_PLAIN(fuse_plain_f16, dt_f16, false, resident)
RC_FUSE_PLAIN(fuse_plain_bf16, dt_bf16, false, resident)
RC_FUSE_PLAIN(fuse_odd_f16, dt_f16, true, 8)
RC_FUSE_PLAIN(fuse_odd_bf16, dt_bf16, true, 8)

#define RC_FUSE_DIRECT(name, dtype) \
    RC_KERNEL_OCC(direct_threads, direct_blocks) name(const plain_params p) { \
        __shared__ v16 rows[4 * direct_threads];                  \
        fuse_direct<dtype>(p, rows);                              \
    }

RC_FUSE_DIRECT(fuse_direct_f32, dt_f32)
RC_FUSE_DIRECT(fuse_direct_f16, dt_f16)
RC_FUSE_DIRECT(fuse_direct_bf16, dt_bf16)
