// resample_fast.cu resamples fast-path jobs (fast.cuh). resample_fast: rows of whole 16 bytes onto outputs without gaps. resample_small:
// small launches of such rows, see small.cuh. resample_unaligned: unaligned rows onto outputs without gaps, see unaligned_contiguous.cuh.
// Rows of any other width, place and distance go to fuse_unaligned or fuse_fast, as a Fuse of one stream; resample.cu takes the rest.
#include "small.cuh"
#include "unaligned_contiguous.cuh"

using namespace rc;

namespace {

// fast_params is the kernels' parameter. The fields that every block needs before its first read are in the first 112 bytes, because a
// launch finds no parameter in the cache: it waits for each line of 64 bytes when it reaches it, and the first line holds 48.
RC_HOST struct fast_params {
    const void *src, *times, *targets;
    u32 flags, tile, chunks, chunk_magic, total, t_magic;
    u32 t;
    float samples_per_target;
    u32 s, times_batch, targets_batch, src_batch, src_step, timestamps_per_block, timestamps;
    u32 dst_step; // bytes
    void *dst;
    u64 max_gap;
    float rows_per_timestamp;
    u32 fill;
    u8 *valid;
    void *age;
    u64 *fault;
    u32 *fault_flag;
    i64 start;
    double rate;
    u64 tolerance;
};

// unaligned_params is the parameter for resample_unaligned. In it src_batch and src_step are in elements.
RC_HOST struct unaligned_params {
    fast_params job;
    u32 d, d_magic; // the elements in a row, and the constant that divides by them, see move_within
};

RC_FN fast_job task_of(const fast_params &p, u32 flags, u32 dst_step) {
    return {p.src, p.times, p.targets, (char *)p.dst, p.valid, p.age, p.fault, p.fault_flag, p.start, p.rate, p.src_batch, p.src_step,
            p.times_batch, p.targets_batch, p.total, p.timestamps, p.timestamps_per_block, p.s, p.t, p.t_magic, p.samples_per_target, p.tile, p.chunks, p.chunk_magic, flags,
            dst_step, 1, 1, block_x(), 0, 0, 0, 0, p.max_gap, p.tolerance, p.fill, p.rows_per_timestamp};
}

// whole_task is a job of rows of whole 16 bytes, onto outputs without gaps.
RC_FN fast_job whole_task(const fast_params &p) {
    return task_of(p, (p.flags & ~(7u << 11 | 7u << 21)) | 4u << 11 | 4u << 21, p.chunks * 16);
}

} // namespace

RC_KERNEL_OCC(fast_threads, resident) resample_fast(const fast_params p) {
    __shared__ slot slots[max_tile];
    fast_job j = whole_task(p);
    begin(j);
    const u32 count = locate_fast<1>(j, [&](u32 i, slot s) { slots[i] = row_slot(j, i, s); });
    barrier();
    const bool finite = count == 0 || move_static<v16, true>(j, slots, count);
    if (RC_UNLIKELY(!finite)) recompute_units(j, slots, count, false);
    end(j);
}

RC_KERNEL_OCC(small_threads, small_blocks) resample_small(const fast_params p) {
    fast_job j = linear_task(whole_task(p));
    begin(j);
    const unit_made u = small<v16, true>(j);
    if (RC_UNLIKELY(!u.finite)) recompute_small(j, u);
    end(j);
}

RC_KERNEL_OCC(fast_threads, resident) resample_unaligned(const unaligned_params p) {
    __shared__ slot slots[max_tile];
    fast_job j = task_of(p.job, p.job.flags, p.job.dst_step);
    j.d = p.d;
    begin(j);
    const u32 count = locate_fast<1>(j, [&](u32 i, slot s) { slots[i] = s; });
    barrier();
    if (count > 0) move_contiguous(j, slots, count, p.d_magic);
    end(j);
}
