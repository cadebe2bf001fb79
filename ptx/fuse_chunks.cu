// fuse_chunks.cu puts up to 16 streams on one clock in one launch, as fuse.cu, where all are computed in chunks.
#include "fuse_chunks.cuh"

using namespace rc;

RC_KERNEL_OCC(128, 7) fuse_chunks(const fuse_params p) {
    __shared__ chunk_targets mem;
    u32 m = stream_of(p);
    fuse_job j = job_of(p, m);
    begin(j);
    const u32 count = locate_targets_on_clock(j, [&](u32 i, const auto &at) { cache_chunk_target(j, mem, i, at); });
    end_chunks(mem, count);
    barrier();
    // The job is read once more: what the first half alone needs keeps no register, nor what the second does until here.
    m = opaque(m);
    j = job_of(p, m);
    j.fence_after_wait();
    move_chunks(j, mem, count);
    end(j);
}
