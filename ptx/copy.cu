// copy.cu holds the two kernels that other kernels are measured against.
//
// rc_speed_of_light moves the bytes of an operation and does nothing else: it reads three sources and writes one
// destination, in chunks of 16 bytes. Block i takes chunks i*share to i*share+share-1 of each buffer, and its threads every
// blockDim-th of those. A thread asks for up to four chunks of the first source and two of each other before it waits for any
// of them, so a small launch waits for memory once. The shares come from the host, so that nothing is computed that the
// operation need not compute.
// Bytes moved: 16 a_chunks + 16 b_chunks + 16 c_chunks read, 16 dst_chunks written, each once. Buffers are 16-byte aligned;
// sources must not overlap dst. What dst holds afterwards is the exclusive-or of what each thread read: it says nothing, but
// keeps every load alive.
//
// rc_null does nothing: its time is the time of a launch.
#include "common.cuh"

using namespace rc;

namespace {

// part is a block's share of a buffer, in chunks: this thread's first, and the end.
struct part {
    u64 next, end;
};

RC_FN part part_of(u64 chunks, u64 share) {
    const u64 first = share * block_x(), end = first + share;
    return {first + thread_x(), end < chunks ? end : chunks};
}

RC_FN v16 fold(v16 a, v16 b) { return {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w}; }

// ahead are the chunks that a thread asked for first: those that it has, and zeros.
template <u32 N> struct ahead {
    v16 v[N];
};

template <u32 N> RC_FN ahead<N> ask(const v16 *p, part &r) {
    ahead<N> got;
    RC_UNROLL for (u32 i = 0; i < N; i++) {
        got.v[i] = {0, 0, 0, 0};
        if (r.next < r.end) got.v[i] = ld_nc_16(p + r.next);
        r.next += threads_x();
    }
    return got;
}

template <u32 N> RC_FN v16 fold_all(v16 acc, const ahead<N> &got) {
    RC_UNROLL for (u32 i = 0; i < N; i++) acc = fold(acc, got.v[i]);
    return acc;
}

RC_FN v16 read_rest(v16 acc, const v16 *p, part r) {
    const u64 step = threads_x();
    for (; r.next + 3 * step < r.end; r.next += 4 * step) {
        const v16 v0 = ld_nc_16(p + r.next), v1 = ld_nc_16(p + r.next + step);
        const v16 v2 = ld_nc_16(p + r.next + 2 * step), v3 = ld_nc_16(p + r.next + 3 * step);
        acc = fold(fold(acc, fold(v0, v1)), fold(v2, v3));
    }
    for (; r.next < r.end; r.next += step) acc = fold(acc, ld_nc_16(p + r.next));
    return acc;
}

} // namespace

RC_KERNEL(512) // which leaves it registers for all that it asks for at once
rc_speed_of_light(const v16 *__restrict__ a, u64 a_chunks, u64 a_share, const v16 *__restrict__ b, u64 b_chunks, u64 b_share,
                  const v16 *__restrict__ c, u64 c_chunks, u64 c_share, v16 *__restrict__ dst, u64 dst_chunks, u64 dst_share) {
    const bool ready = c_share >> 31 & 1; // as the flag of the kernels that are measured
    if (!ready) wait_for_previous();
    let_next();
    part pa = part_of(a_chunks, a_share), pb = part_of(b_chunks, b_share), pc = part_of(c_chunks, c_share & 0x7fffffff);
    const ahead<4> first_a = ask<4>(a, pa);
    const ahead<2> first_b = ask<2>(b, pb), first_c = ask<2>(c, pc);
    v16 acc = fold_all(fold_all(fold_all({0, 0, 0, 0}, first_a), first_b), first_c);
    acc = read_rest(acc, a, pa);
    acc = read_rest(acc, b, pb);
    acc = read_rest(acc, c, pc);
    part out = part_of(dst_chunks, dst_share);
    // A thread with nothing to write would make its loads dead. This store keeps them, and all but never happens.
    if (out.next >= out.end && dst_chunks > 0 && (acc.x & acc.y & acc.z & acc.w) == 0xffffffffu) st_16(dst, acc);
    for (; out.next < out.end; out.next += threads_x()) st_16(dst + out.next, acc);
    if (ready && block_x() == 0 && thread_x() == 0) wait_for_previous();
}

RC_KERNEL(1024) rc_null() {}
