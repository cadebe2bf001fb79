// copy.cu holds the two kernels that other kernels are measured against.
//
// rc_speed_of_light moves the bytes of an operation and does nothing else: it reads one source and writes one destination, in chunks
// of 16 bytes. Block i takes chunks i*per_block to (i+1)*per_block-1 of each, and its threads every blockDim-th of those. A thread
// issues up to four loads before it waits for any of them, so a small launch waits for memory once. The host gives the number of chunks
// per block, and numbers have 32 bits, so that nothing is computed that the operation need not compute.
// Bytes moved: 16 in read, 16 out written, each once. Buffers are 16-byte aligned and do not overlap. What dst holds afterwards is the
// exclusive-or of what each thread read: it says nothing, but keeps every load alive.
//
// rc_null does nothing: its time is the time of a launch.
#include "common.cuh"

using namespace rc;

namespace {

constexpr u32 at_once = 4;

// copy_params is the parameter for rc_speed_of_light. Numbers are chunks.
RC_HOST struct copy_params {
    const v16 *src;
    v16 *dst;
    u32 in, in_per_block;   // chunks to read, in total and per block
    u32 out, out_per_block; // to write
    u32 flags;

    RC_FLAG(flags, bool, ready, 31, 1) // the inputs are ready, as in the kernels that it is compared with: it waits at its end
};

RC_FN v16 fold(v16 a, v16 b) { return {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w}; }

// read reads every threads_x()th chunk from i on, at most at_once.
RC_FN v16 read(const v16 *src, u32 i, u32 end) {
    v16 v[at_once];
    RC_UNROLL for (u32 k = 0; k < at_once; k++) {
        v[k] = {0, 0, 0, 0};
        if (i + k * threads_x() < end) v[k] = ld_nc_16(src + (i + k * threads_x()));
    }
    return fold(fold(v[0], v[1]), fold(v[2], v[3]));
}

} // namespace

RC_KERNEL(512) rc_speed_of_light(const copy_params p) {
    if (!p.ready()) grid_dependency_wait();
    launch_dependents();
    const u32 begin = block_x() * p.in_per_block, end = p.in - begin < p.in_per_block ? p.in : begin + p.in_per_block;
    u32 i = begin + thread_x();
    v16 acc = {0, 0, 0, 0};
    if (begin < p.in) {
        acc = read(p.src, i, end);
        for (i += at_once * threads_x(); i < end; i += at_once * threads_x()) acc = fold(acc, read(p.src, i, end));
    }
    const u32 first = block_x() * p.out_per_block, last = p.out - first < p.out_per_block ? p.out : first + p.out_per_block;
    u32 o = first + thread_x();
    const bool writes = first < p.out && o < last;
    // A thread with nothing to write would make its loads dead. This store keeps them, and all but never happens.
    if (!writes && p.out > 0 && (acc.x & acc.y & acc.z & acc.w) == 0xffffffffu) st_16(p.dst, acc);
    for (; writes && o < last; o += threads_x()) st_16(p.dst + o, acc);
    if (p.ready() && block_x() == 0 && thread_x() == 0) grid_dependency_wait();
}

RC_KERNEL(1024) rc_null() {}
