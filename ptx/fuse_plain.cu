// fuse_plain.cu puts plain streams of whole units of 16, 8 or 4 bytes on one clock, see fuse_plain.cuh and plain.cuh: fuse_plain_few up to four of them.
// fuse_direct.cu makes small launches of such, fuse_odd.cu streams of other widths, and of many units a target; fuse.cu takes the rest.
#include "fuse_plain.cuh"

using namespace rc;

namespace {

RC_FN void fuse_whole(plain_task j, slot *slots) {
    begin(j);
    const u32 count = survey_plain<1>(j, [&](u32 i, slot s) { slots[i] = row_slot(j, i, s); });
    barrier();
    if (count > 0) {
        const bool finite = j.unit() == 4   ? move_each<v16, false>(j, slots, count)
                            : j.unit() == 3 ? move_each<v8, false>(j, slots, count)
                                            : move_each<u32, false>(j, slots, count);
        if (RC_SELDOM(!finite)) mend_units(j, slots, count, false);
    }
    end(j);
}

} // namespace

RC_KERNEL_OCC(plain_threads, resident) fuse_plain(const plain_streams p) {
    __shared__ slot slots[most_tile];
    fuse_whole(stream_of<max_streams>(p), slots);
}

RC_KERNEL_OCC(plain_threads, resident) fuse_plain_few(const few_plain_streams p) {
    __shared__ slot slots[most_tile];
    fuse_whole(stream_of<few_streams>(p), slots);
}
