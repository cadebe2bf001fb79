// resample_rows.cuh is the kernel behind resample and resample_f64: rows with one interpolation that looks at no value (linear,
// previous, next or nearest), with every option that a job can have.
//
// A block takes `tile` targets. One thread per target finds its place among the row's timestamps and keeps in shared memory which
// source row to read, the weight of the row after it, and where to write; warps without a target meanwhile check the block's part of
// the timestamps. After a barrier the block's threads move the features, 2^vector elements at once, two such chunks in
// flight each, with neighbouring threads on neighbouring chunks. A block past the last target only checks.
//
// Bytes moved: each source row that a target needs, once from DRAM if targets are in order; the targets' features; timestamps,
// targets, valid and age. Equal bits with the CPU.
#pragma once
#include "locate.cuh"
#include "values.cuh"

namespace rc {

RC_HOST constexpr u32 chunk_tile = 256; // targets per block
constexpr u32 in_flight = 2;  // chunks a thread loads before it stores the first

enum action : u32 { take, blend, put_fill, put_nan, skip_it };

// shared is what the first half of the kernel leaves for the second.
template <class W> struct shared {
    i64 src[chunk_tile], dst[chunk_tile];
    W weight[chunk_tile];
    u32 act[chunk_tile];
};

template <class W, class C> RC_FN void cache_target(const resample_job &j, shared<W> &s, u32 i, const located_target<C> &m) {
    u32 act = take, k = m.at.k;
    W weight = 0;
    if (m.filled) {
        act = put_fill, k = 0;
    } else if (m.at.where == nowhere) {
        act = put_nan;
    } else if (m.at.where == inside) {
        if (j.interpolation() == linear)
            act = blend, weight = m.at.template weight<W>();
        else
            k += j.interpolation() == next || (j.interpolation() == nearest && m.at.later);
    } else if (m.at.line && j.interpolation() == linear) {
        act = blend, weight = m.at.template weight<W>(), k = m.at.base;
    }
    s.src[i] = m.src + (i64)k * j.src_step;
    s.dst[i] = m.dst;
    s.weight[i] = weight;
    s.act[i] = act;
}

// same is a pack of the dtype it has already.
template <u32 Out, u32 In, u32 N> RC_FN pack<Out, N> same(const pack<In, N> &v) {
    if constexpr (In == Out)
        return v;
    else
        return {};
}

// move computes the features of the block's targets, N at once, and reports whether all that it has blended are finite.
template <u32 In, u32 Out, u32 N> RC_FN bool move(const resample_job &j, const shared<typename element<In>::wide> &s, u32 count) {
    using W = typename element<In>::wide;
    const u32 chunks = j.chunks;
    const u32 skip = chunk_of(j, threads_x()), over = threads_x() - skip * chunks;
    u32 target = chunk_of(j, thread_x()), chunk = thread_x() - target * chunks;
    const i64 next_row = j.src_step * (i64)element<In>::size;
    const char *src = (const char *)j.src;
    char *dst = (char *)j.dst;
    bool finite = true;
    while (target < count) {
        i64 to[in_flight];
        u32 act[in_flight];
        W a[in_flight];
        pack<In, N> v0[in_flight], v1[in_flight];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            // A chunk past the last is the last target's once more, and is not stored.
            const u32 it = target < count ? target : count - 1;
            act[u] = target < count ? s.act[it] : skip_it;
            a[u] = s.weight[it];
            to[u] = s.dst[it] + chunk * N;
            const char *p = src + (s.src[it] + chunk * N) * (i64)element<In>::size;
            v0[u] = ld_pack<In, N>(p);
            v1[u] = ld_pack<In, N>(act[u] == blend ? p + next_row : p);
            target += skip, chunk += over;
            if (chunk >= chunks) chunk -= chunks, target++;
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            pack<Out, N> out;
            if (In != Out || act[u] == blend) {
                W x[N];
                finite &= lerps(x, v0[u], v1[u], a[u]) | (act[u] != blend);
                RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = act[u] == blend ? x[i] : get(v0[u], i);
                out = round_pack<Out, N>(x);
            } else {
                out = same<Out>(v0[u]);
            }
            if (act[u] == put_fill) out = repeat<Out, N>(j.fill);
            if (act[u] == put_nan) out = repeat<Out, N>(nan_of<Out>());
            if (act[u] != skip_it) st_pack<Out, N>(dst + to[u] * (i64)element<Out>::size, out);
        }
    }
    return finite;
}

// recompute_rows recomputes what this thread has blended, element by element: something was not finite.
template <u32 In> RC_FN void recompute_rows(const resample_job &j, const shared<typename element<In>::wide> &s, u32 count) {
    const u32 chunks = j.chunks, n = 1u << j.vector();
    const u32 skip = chunk_of(j, threads_x()), over = threads_x() - skip * chunks;
    u32 target = chunk_of(j, thread_x()), chunk = thread_x() - target * chunks;
    RC_NO_UNROLL while (target < count) {
        RC_NO_UNROLL for (u32 i = 0; i < n && s.act[target] == blend; i++) {
            const char *const p = (const char *)j.src + (s.src[target] + chunk * n + i) * (i64)element<In>::size;
            const auto x = lerp(get(ld_pack<In, 1>(p), 0), get(ld_pack<In, 1>(p + j.src_step * (i64)element<In>::size), 0), s.weight[target]);
            st_number(j.out(), j.dst, s.dst[target] + chunk * n + i, x);
        }
        target += skip, chunk += over;
        if (chunk >= chunks) chunk -= chunks, target++;
    }
}

template <u32 In, u32 Out> RC_FN bool move_as(const resample_job &j, const shared<typename element<In>::wide> &s, u32 count) {
    switch (j.vector()) {
    case 3:
        if constexpr (element<In>::size == 2) return move<In, Out, 8>(j, s, count);
    case 2:
        if constexpr (element<In>::size <= 4) return move<In, Out, 4>(j, s, count);
    case 1: return move<In, Out, 2>(j, s, count);
    default: return move<In, Out, 1>(j, s, count);
    }
}

template <u32 In> RC_FN bool move_from(const resample_job &j, const shared<typename element<In>::wide> &s, u32 count) {
    switch (j.out()) {
    case dt_f32: return move_as<In, dt_f32>(j, s, count);
    case dt_f64: return move_as<In, dt_f64>(j, s, count);
    case dt_f16: return move_as<In, dt_f16>(j, s, count);
    default: return move_as<In, dt_bf16>(j, s, count);
    }
}

// find locates the block's targets, leaves them in shared memory, and returns how many there are.
template <class W> RC_FN u32 find(const resample_job &j, shared<W> &s) {
    const u32 count = locate_targets_on_clock(j, [&](u32 i, const auto &m) { cache_target(j, s, i, m); });
    barrier();
    return count;
}

// Blocks of a multiprocessor: more would leave too few registers.
#if __CUDA_ARCH__ >= 900
#define RC_RESIDENT 9
#else
#define RC_RESIDENT 8
#endif

} // namespace rc
