// fuse_odd.cu puts plain streams of any width and place on one clock, see fuse_plain.cuh and plain_odd.cuh: fuse_odd_few up to four of them. A Resample of such
// rows is a Fuse of one stream.
#include "fuse_plain.cuh"
#include "plain_odd.cuh"

using namespace rc;

namespace {

template <u32 Most, class P> RC_FN void fuse_rows(const P &p, slot *slots) {
    plain_task j = stream_of<Most>(p.plain);
    j.d = p.d[j.stream], j.form = p.form[j.stream];
    begin(j);
    const u32 count = survey_odd<4>(j, slots);
    barrier();
    if (count > 0) move_odd(j, slots, count);
    end(j);
}

} // namespace

RC_KERNEL_OCC(plain_threads, 8) fuse_odd(const odd_streams p) {
    __shared__ slot slots[most_tile];
    fuse_rows<max_streams>(p, slots);
}

RC_KERNEL_OCC(plain_threads, 8) fuse_odd_few(const few_odd_streams p) {
    __shared__ slot slots[most_tile];
    fuse_rows<few_streams>(p, slots);
}
