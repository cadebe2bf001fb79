// warp.cuh has what threads of a warp or a block do together: votes, shuffles, scans, and atomics on shared memory. Blocks have one
// dimension and whole warps; every thread of a warp, or of a block, must come along.
#pragma once
#include "common.cuh"

namespace rc {

RC_FN u32 lane() { return thread_x() % warp_size; }
RC_FN u32 below_mask() { return (1u << lane()) - 1; }
RC_FN u32 count_bits(u32 x) {
    u32 r;
    asm("popc.b32 %0, %1;" : "=r"(r) : "r"(x));
    return r;
}
// lowest_bit is the number of the lowest bit that is set; x is not 0.
RC_FN u32 lowest_bit(u32 x) { return count_bits((x & (0u - x)) - 1); }
// votes has a bit for each lane that is on.
RC_FN u32 votes(bool on) {
    u32 r;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tvote.sync.ballot.b32 %0, p, 0xffffffff;\n\t}" : "=r"(r) : "r"((u32)on));
    return r;
}
// shuffle_up returns v of the lane that is delta below, and the own one where there is none.
RC_FN u32 shuffle_up(u32 v, u32 delta) {
    u32 r;
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(r) : "r"(v), "r"(delta));
    return r;
}
// shuffle_down returns v of the lane that is delta above, and the own one where there is none; shuffle_xor that of the lane whose number
// differs by the bits of mask; shuffle_from that of one lane.
RC_FN u32 shuffle_down(u32 v, u32 delta) {
    u32 r;
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(delta));
    return r;
}
RC_FN u32 shuffle_xor(u32 v, u32 mask) {
    u32 r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(mask));
    return r;
}
RC_FN u32 shuffle_from(u32 v, u32 from) {
    u32 r;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(from));
    return r;
}
RC_FN u64 shuffle_down(u64 v, u32 delta) { return (u64)shuffle_down((u32)(v >> 32), delta) << 32 | shuffle_down((u32)v, delta); }
RC_FN u64 shuffle_from(u64 v, u32 from) { return (u64)shuffle_from((u32)(v >> 32), from) << 32 | shuffle_from((u32)v, from); }
// match returns the lanes that have the same v.
RC_FN u32 match(u32 v) {
    u32 r;
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(v));
    return r;
}
// warp_barrier orders the shared accesses of a warp.
RC_FN void warp_barrier() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

// barrier_count is barrier, and returns how many of the block's threads are on.
RC_FN u32 barrier_count(bool on) {
    u32 r;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tbar.red.popc.u32 %0, 0, p;\n\t}" : "=r"(r) : "r"((u32)on) : "memory");
    return r;
}

// barrier_of waits for as many of the block's threads, whole warps, that come to barrier Id, and orders their shared accesses. Barrier 0 is
// the block's.
template <u32 Id> RC_FN void barrier_of(u32 threads) { asm volatile("bar.sync %0, %1;" ::"n"(Id), "r"(threads) : "memory"); }

// shared_at turns a generic address into one of the shared window.
#if defined(__clang__)
RC_FN u32 shared_at(const void *p) { return (u32)(u64)(const __attribute__((address_space(3))) void *)p; }
#else
RC_FN u32 shared_at(const void *p) { return (u32)__cvta_generic_to_shared(p); }
#endif

// copy_async begins to copy 16 bytes from global to shared memory; copies_landed waits for this thread's.
RC_FN void copy_async(v16 *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_at(to)), "l"(global(from)) : "memory");
}
RC_FN void copies_landed() { asm volatile("cp.async.wait_all;" ::: "memory"); }

RC_FN void shared_add(u32 *p, u32 v) { asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(shared_at(p)), "r"(v) : "memory"); }
RC_FN void shared_add(u64 *p, u64 v) { asm volatile("red.shared.add.u64 [%0], %1;" ::"r"(shared_at(p)), "l"(v) : "memory"); }
RC_FN void shared_or(u32 *p, u32 v) { asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(shared_at(p)), "r"(v) : "memory"); }

RC_FN u32 shared_fetch_add(u32 *p, u32 v) {
    u32 old;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(shared_at(p)), "r"(v) : "memory");
    return old;
}
RC_FN u32 shared_compare_swap(u32 *p, u32 was, u32 v) {
    u32 old;
    asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "r"(shared_at(p)), "r"(was), "r"(v) : "memory");
    return old;
}
RC_FN void st_shared_16(void *p, v16 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(shared_at(p)), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

// Atomics on global memory: relaxed; reduce_* return nothing.
RC_FN void reduce_add(u32 *p, u32 v) { asm volatile("red.global.add.u32 [%0], %1;" ::"l"(global(p)), "r"(v) : "memory"); }
RC_FN void reduce_add(u64 *p, u64 v) { asm volatile("red.global.add.u64 [%0], %1;" ::"l"(global(p)), "l"(v) : "memory"); }
RC_FN void reduce_max(u32 *p, u32 v) { asm volatile("red.global.max.u32 [%0], %1;" ::"l"(global(p)), "r"(v) : "memory"); }
RC_FN void reduce_or(u32 *p, u32 v) { asm volatile("red.global.or.b32 [%0], %1;" ::"l"(global(p)), "r"(v) : "memory"); }
RC_FN void reduce_or(u64 *p, u64 v) { asm volatile("red.global.or.b64 [%0], %1;" ::"l"(global(p)), "l"(v) : "memory"); }
RC_FN u32 atomic_add(u32 *p, u32 v) {
    u32 old;
    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(global(p)), "r"(v) : "memory");
    return old;
}
RC_FN u64 atomic_add(u64 *p, u64 v) {
    u64 old;
    asm volatile("atom.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(global(p)), "l"(v) : "memory");
    return old;
}

RC_FN void reduce_min(u32 *p, u32 v) { asm volatile("red.global.min.u32 [%0], %1;" ::"l"(global(p)), "r"(v) : "memory"); }
// atomic_compare_swap writes v if *p is was, and returns what was there before.
RC_FN u64 atomic_compare_swap(u64 *p, u64 was, u64 v) {
    u64 old;
    asm volatile("atom.global.cas.b64 %0, [%1], %2, %3;" : "=l"(old) : "l"(global(p)), "l"(was), "l"(v) : "memory");
    return old;
}

// Words that one block writes and others wait for: each is read and written in one piece, in no order with anything else.
RC_FN u64 ld_relaxed(const u64 *p) {
    u64 v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(global(p)) : "memory");
    return v;
}
RC_FN u32 ld_relaxed(const u32 *p) {
    u32 v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(global(p)) : "memory");
    return v;
}
// fence orders this thread's accesses of global memory, for all threads of the device.
RC_FN void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
RC_FN void st_relaxed(u64 *p, u64 v) { asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(global(p)), "l"(v) : "memory"); }

// warp_scan returns the sum of v over the lanes up to this one, its own with it.
RC_FN u32 warp_scan(u32 v) {
    RC_UNROLL for (u32 d = 1; d < warp_size; d *= 2) {
        const u32 before = shuffle_up(v, d);
        if (lane() >= d) v += before;
    }
    return v;
}

// block_scan returns the sum of v over the threads before this one, and over all. sums has a word for each warp of the block.
RC_FN u32 block_scan(u32 v, u32 *sums, u32 &total) {
    const u32 sum = warp_scan(v);
    const u32 warp = thread_x() / warp_size, warps = threads_x() / warp_size;
    if (lane() == warp_size - 1) sums[warp] = sum;
    barrier();
    const u32 ends = warp_scan(lane() < warps ? sums[lane()] : 0), before = shuffle_from(ends, warp > 0 ? warp - 1 : 0);
    total = shuffle_from(ends, warps - 1);
    barrier();
    return (warp > 0 ? before : 0) + sum - v;
}

} // namespace rc
