// fuse_direct.cu makes small launches of plain streams of whole units, see fuse_plain.cuh and direct.cuh.
#include "direct.cuh"
#include "fuse_plain.cuh"

using namespace rc;

RC_KERNEL_OCC(direct_threads, direct_fuse_blocks) fuse_direct(const plain_streams p) {
    plain_task j = linear_task(stream_of<max_streams>(p));
    begin(j);
    const unit_made u = j.unit() == 4 ? direct<v16, false>(j) : j.unit() == 3 ? direct<v8, false>(j) : direct<u32, false>(j);
    if (RC_SELDOM(!u.finite)) mend_direct(j, u);
    end(j);
}
