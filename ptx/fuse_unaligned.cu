// fuse_unaligned.cu puts fast-path streams of any width and alignment on one clock, see fuse_fast.cuh and unaligned.cuh;
// fuse_unaligned_few takes up to four. A Resample of such rows is a Fuse of one stream.
#include "fuse_fast.cuh"
#include "unaligned.cuh"

using namespace rc;

namespace {

template <u32 Most, class P> RC_FN void fuse_rows(const P &p, slot *slots) {
    fast_job j = stream_of<Most>(p.fast);
    j.d = p.d[j.stream], j.form = p.form[j.stream];
    begin(j);
    const u32 count = locate_unaligned<4>(j, slots);
    barrier();
    if (count > 0) move_unaligned(j, slots, count);
    end(j);
}

} // namespace

RC_KERNEL_OCC(fast_threads, 8) fuse_unaligned(const unaligned_streams p) {
    __shared__ slot slots[max_tile];
    fuse_rows<max_streams>(p, slots);
}

RC_KERNEL_OCC(fast_threads, 8) fuse_unaligned_few(const few_unaligned_streams p) {
    __shared__ slot slots[max_tile];
    fuse_rows<few_streams>(p, slots);
}
