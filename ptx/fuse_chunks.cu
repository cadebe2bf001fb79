// fuse_chunks.cu puts up to 16 streams on one clock in one launch, as fuse.cu, where all are made in chunks.
#include "fuse_chunks.cuh"

using namespace rc;

RC_KERNEL_OCC(128, 8) fuse_chunks(const fuse_params p) {
    __shared__ chunk_targets mem;
    fuse_job j = job_of(p, stream_of(p));
    begin(j);
    const u32 count = survey_clock(j, [&](u32 i, const auto &m) { keep_chunk(j, mem, i, m); });
    barrier();
    move_chunks(j, mem, count);
    end(j);
}
