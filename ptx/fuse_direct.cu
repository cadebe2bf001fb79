// fuse_direct.cu makes small launches of plain streams of whole units, see fuse_plain.cuh and direct.cuh.
#include "direct.cuh"
#include "fuse_plain.cuh"

using namespace rc;

RC_KERNEL_OCC(direct_threads, direct_fuse_blocks) fuse_direct(const plain_streams p) {
    plain_task j = linear_task(stream_of<max_streams>(p));
    begin(j);
    if (j.unit() == 4)
        direct<v16, false>(j);
    else if (j.unit() == 3)
        direct<v8, false>(j);
    else
        direct<u32, false>(j);
    end(j);
}
