// fuse_fast.cu puts fast-path streams of whole units of 16, 8 or 4 bytes on one clock, see fuse_fast.cuh and fast.cuh; fuse_fast_few
// takes up to four. fuse_small.cu takes small launches of such streams, fuse_unaligned.cu streams of other widths, and of many units per
// target; fuse.cu takes the rest.
#include "fuse_fast.cuh"

using namespace rc;

namespace {

RC_FN void fuse_whole(fast_job j, slot *slots) {
    begin(j);
    const u32 count = locate_fast<1>(j, [&](u32 i, slot s) { slots[i] = row_slot(j, i, s); });
    barrier();
    if (count > 0) {
        const bool finite = j.unit() == 4   ? move_static<v16, false>(j, slots, count)
                            : j.unit() == 3 ? move_static<v8, false>(j, slots, count)
                                            : move_static<u32, false>(j, slots, count);
        if (RC_UNLIKELY(!finite)) recompute_units(j, slots, count, false);
    }
    end(j);
}

} // namespace

RC_KERNEL_OCC(fast_threads, resident) fuse_fast(const fast_streams p) {
    __shared__ slot slots[max_tile];
    fuse_whole(stream_of<max_streams>(p), slots);
}

RC_KERNEL_OCC(fast_threads, resident) fuse_fast_few(const few_fast_streams p) {
    __shared__ slot slots[max_tile];
    fuse_whole(stream_of<few_streams>(p), slots);
}
