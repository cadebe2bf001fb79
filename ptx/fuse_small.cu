// fuse_small.cu is Fuse for small launches of fast-path streams of whole units, see fuse_fast.cuh and small.cuh.
#include "small.cuh"
#include "fuse_fast.cuh"

using namespace rc;

RC_KERNEL_OCC(small_threads, small_fuse_blocks) fuse_small(const fast_streams p) {
    fast_job j = linear_task(stream_of<max_streams>(p));
    begin(j);
    const unit_made u = j.unit() == 4 ? small<v16, false>(j) : j.unit() == 3 ? small<v8, false>(j) : small<u32, false>(j);
    if (RC_UNLIKELY(!u.finite)) recompute_small(j, u);
    end(j);
}
