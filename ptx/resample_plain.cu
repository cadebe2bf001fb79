// resample_plain.cu resamples plain jobs, see plain.cuh: resample_plain those of rows of whole 16 bytes, onto outputs without gaps,
// resample_direct small launches of such, see direct.cuh, and resample_run odd ones onto such outputs, see plain_run.cuh. Rows of any other
// width, place and distance are fuse_odd's, of one stream; resample.cu takes the rest.
#include "direct.cuh"
#include "plain_run.cuh"

using namespace rc;

namespace {

// plain_params is the kernels' parameter. What every block needs before its first read lies in the first 112 bytes: a launch finds no parameter in
// the cache, and waits for each line of 64 bytes, the first of which holds 48, when it comes to it.
RC_HOST struct plain_params {
    const void *src, *times, *targets;
    u32 flags, tile, chunks, chunk_magic, total, t_magic;
    u32 t;
    float pace;
    u32 s, times_batch, targets_batch, src_batch, src_step, share, stamps;
    u32 dst_step; // bytes
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

// run_params is resample_run's, where src_batch and src_step count elements.
RC_HOST struct run_params {
    plain_params job;
    u32 d, d_magic; // a row's elements; divides by them, see move_within
};

RC_FN plain_task task_of(const plain_params &p, u32 flags, u32 dst_step) {
    return {p.src, p.times, p.targets, (char *)p.dst, p.valid, p.age, p.fault, p.fault_flag, p.start, p.rate, p.src_batch, p.src_step,
            p.times_batch, p.targets_batch, p.total, p.stamps, p.share, p.s, p.t, p.t_magic, p.pace, p.tile, p.chunks, p.chunk_magic, flags,
            dst_step, 1, 1, block_x(), 0, 0, 0, 0, p.max_gap, p.tolerance, p.fill, p.rows_a_stamp};
}

// whole_task is a job of rows of whole 16 bytes, onto outputs without gaps.
RC_FN plain_task whole_task(const plain_params &p) {
    return task_of(p, (p.flags & ~(7u << 11 | 7u << 21)) | 4u << 11 | 4u << 21, p.chunks * 16);
}

} // namespace

RC_KERNEL_OCC(plain_threads, resident) resample_plain(const plain_params p) {
    __shared__ slot slots[most_tile];
    plain_task j = whole_task(p);
    begin(j);
    const u32 count = survey_plain<1>(j, [&](u32 i, slot s) { slots[i] = row_slot(j, i, s); });
    barrier();
    const bool finite = count == 0 || move_each<v16, true>(j, slots, count);
    if (RC_SELDOM(!finite)) mend_units(j, slots, count, false);
    end(j);
}

RC_KERNEL_OCC(direct_threads, direct_blocks) resample_direct(const plain_params p) {
    plain_task j = linear_task(whole_task(p));
    begin(j);
    const unit_made u = direct<v16, true>(j);
    if (RC_SELDOM(!u.finite)) mend_direct(j, u);
    end(j);
}

RC_KERNEL_OCC(plain_threads, resident) resample_run(const run_params p) {
    __shared__ slot slots[most_tile];
    plain_task j = task_of(p.job, p.job.flags, p.job.dst_step);
    j.d = p.d;
    begin(j);
    const u32 count = survey_plain<1>(j, [&](u32 i, slot s) { slots[i] = s; });
    barrier();
    if (count > 0) move_run(j, slots, count, p.d_magic);
    end(j);
}
