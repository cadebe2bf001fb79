// resample_plain.cu resamples plain jobs, see plain.cuh: resample_plain those of rows of whole 16 bytes, onto outputs without gaps,
// resample_direct small launches of such, see direct.cuh, resample_ahead those that take every other sample, see ahead.cuh, resample_run odd ones onto
// such outputs, see plain_run.cuh, and resample_odd those of any other width, place and distance between rows. resample.cu takes the rest.
#include "ahead.cuh"
#include "direct.cuh"
#include "plain_odd.cuh"
#include "plain_run.cuh"

using namespace rc;

namespace {

// plain_params is the kernels' parameter. What every block needs before its first read lies in the first 112 bytes: a launch finds no parameter in
// the cache, and waits for each line of 64 bytes, the first of which holds 48, when it comes to it.
struct plain_params {
    const void *src, *times, *targets;
    u32 flags, tile, chunks, chunk_magic, total, t_magic;
    u32 t;
    float pace;
    u32 s, times_batch, targets_batch, src_batch, src_step, share, stamps;
    u32 dst_step; // of odd rows and runs, of which chunks is a row's elements, and src_batch and src_step are in units; chunk_magic of a run divides by d
    void *dst;
    u64 max_gap;
    float rows_a_stamp;
    u32 fill;
    u8 *valid;
    void *age;
    u64 *fault;
    u32 *fault_flag;
    i64 start;
    double rate;
    u64 tolerance;
};
static_assert(sizeof(plain_params) == 168, "ops/cuda/resample_plain.go packs it");

RC_FN plain_task task_of(const plain_params &p, u32 flags, u32 dst_step) {
    return {p.src, p.times, p.targets, (char *)p.dst, p.valid, p.age, p.fault, p.fault_flag, p.start, p.rate, p.src_batch, p.src_step,
            p.times_batch, p.targets_batch, p.total, p.stamps, p.share, p.s, p.t, p.t_magic, p.pace, p.tile, p.chunks, p.chunk_magic, flags,
            dst_step, 1, 1, block_x(), 0, 0, 0, p.max_gap, p.tolerance, p.fill, p.rows_a_stamp};
}

// whole_task is a job of rows of whole 16 bytes, onto outputs without gaps.
RC_FN plain_task whole_task(const plain_params &p) {
    return task_of(p, (p.flags & ~(7u << 11 | 7u << 21)) | 4u << 11 | 4u << 21, p.chunks * 16);
}

} // namespace

#define RC_RESAMPLE_PLAIN(name, dtype)                                                                   \
    RC_KERNEL_OCC(plain_threads, resident) name(const plain_params p) {                                  \
        __shared__ slot slots[most_tile];                                                                \
        plain_task j = whole_task(p);                                                                    \
        begin(j);                                                                                        \
        const u32 count = survey_plain<1>(j, [&](u32 i, slot s) { slots[i] = row_slot(j, i, s); });      \
        barrier();                                                                                       \
        if (count > 0) move_each<dtype, v16, true>(j, slots, count);                                     \
        end(j);                                                                                          \
    }

RC_RESAMPLE_PLAIN(resample_plain_f32, dt_f32)
RC_RESAMPLE_PLAIN(resample_plain_f16, dt_f16)
RC_RESAMPLE_PLAIN(resample_plain_bf16, dt_bf16)

#define RC_RESAMPLE_DIRECT(name, dtype)                                  \
    RC_KERNEL_OCC(direct_threads, direct_blocks) name(const plain_params p) { \
        plain_task j = linear_task(whole_task(p));                       \
        begin(j);                                                        \
        direct<dtype, v16, true>(j);                                     \
        end(j);                                                          \
    }

RC_RESAMPLE_DIRECT(resample_direct_f32, dt_f32)
RC_RESAMPLE_DIRECT(resample_direct_f16, dt_f16)
RC_RESAMPLE_DIRECT(resample_direct_bf16, dt_bf16)

#define RC_RESAMPLE_AHEAD(name, dtype)                                   \
    RC_KERNEL_OCC(plain_threads, ahead_blocks) name(const plain_params p) { \
        __shared__ slot slots[plain_threads];                            \
        plain_task j = linear_task(whole_task(p));                       \
        begin(j);                                                        \
        ahead<dtype>(j, slots);                                          \
        end(j);                                                          \
    }

RC_RESAMPLE_AHEAD(resample_ahead_f32, dt_f32)
RC_RESAMPLE_AHEAD(resample_ahead_f16, dt_f16)
RC_RESAMPLE_AHEAD(resample_ahead_bf16, dt_bf16)

#define RC_RESAMPLE_ODD(name, dtype)                                     \
    RC_KERNEL_OCC(plain_threads, 8) name(const plain_params p) {         \
        __shared__ slot slots[most_tile];                                \
        plain_task j = task_of(p, p.flags, p.dst_step);                  \
        begin(j);                                                        \
        const u32 count = survey_odd<dtype, 4>(j, slots);                   \
        barrier();                                                       \
        if (count > 0) move_odd<dtype, true>(j, slots, count);           \
        end(j);                                                          \
    }

RC_RESAMPLE_ODD(resample_odd_f32, dt_f32)
RC_RESAMPLE_ODD(resample_odd_f16, dt_f16)
RC_RESAMPLE_ODD(resample_odd_bf16, dt_bf16)

#define RC_RESAMPLE_RUN(name, dtype)                                     \
    RC_KERNEL_OCC(plain_threads, resident) name(const plain_params p) {  \
        __shared__ slot slots[most_tile];                                \
        plain_task j = task_of(p, p.flags, p.dst_step);                  \
        j.d = p.chunks;                                                  \
        begin(j);                                                        \
        const u32 count = survey_plain<1>(j, [&](u32 i, slot s) { slots[i] = s; }); \
        barrier();                                                       \
        if (count > 0) move_run<dtype>(j, slots, count, p.chunk_magic);  \
        end(j);                                                          \
    }

RC_RESAMPLE_RUN(resample_run_f16, dt_f16)
RC_RESAMPLE_RUN(resample_run_bf16, dt_bf16)
