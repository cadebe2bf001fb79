// resample.cu resamples rows of features whose kind looks at no value: linear, previous, next and nearest.
//
// A block takes `tile` targets. One thread a target finds its place among the row's stamps and keeps in shared memory which
// source row to read, the weight of the row after it, and where to write; warps without a target check the block's share of
// the stamps meanwhile. After a barrier the block's threads move the features, 2^vector elements at once, four such chunks in
// flight each, with neighbouring threads on neighbouring chunks. A block past the last target only checks.
//
// Bytes moved: each source row that a target needs, once from DRAM if targets are in order; the targets' features; stamps,
// targets, valid and age. Promises equal bits with the CPU.
#include "resample.cuh"
#include "values.cuh"

using namespace rc;

namespace {

constexpr u32 max_tile = 256; // targets a block
constexpr u32 in_flight = 4;  // chunks a thread loads before it stores the first

enum action : u32 { take, blend, put_fill, put_nan };

// shared is what the first half of the kernel leaves for the second.
template <class W> struct shared {
    i64 src[max_tile], dst[max_tile];
    W weight[max_tile];
    u32 act[max_tile];
};

template <class W, class C> RC_FN void keep_target(const resample_job &j, shared<W> &s, u32 i, const aim<C> &m) {
    u32 act = take, k = m.at.k;
    W weight = 0;
    if (m.filled) {
        act = put_fill, k = 0;
    } else if (m.at.where == nowhere) {
        act = put_nan;
    } else if (m.at.where == inside) {
        if (j.kind() == linear)
            act = blend, weight = (W)m.at.a;
        else
            k += j.kind() == next || (j.kind() == nearest && m.at.later);
    } else if (m.at.line && j.kind() == linear) {
        act = blend, weight = (W)m.at.a, k = m.at.base;
    }
    s.src[i] = m.src + (i64)k * j.src_step;
    s.dst[i] = m.dst;
    s.weight[i] = weight;
    s.act[i] = act;
}

// move makes the features of the block's targets, N at once.
template <u32 In, u32 Out, u32 N> RC_FN void move(const resample_job &j, const shared<typename element<In>::wide> &s, u32 count) {
    using W = typename element<In>::wide;
    const u32 chunks = j.d / N;
    const u32 skip = threads_x() / chunks, over = threads_x() - skip * chunks;
    u32 target = thread_x() / chunks, chunk = thread_x() - target * chunks;
    const char *src = (const char *)j.src;
    char *dst = (char *)j.dst;
    while (target < count) {
        u32 at[in_flight], column[in_flight];
        pack<In, N> v0[in_flight], v1[in_flight];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            at[u] = target, column[u] = chunk * N;
            if (target < count) {
                const char *p = src + (s.src[target] + column[u]) * (i64)element<In>::size;
                v0[u] = ld_pack<In, N>(p);
                if (s.act[target] == blend) v1[u] = ld_pack<In, N>(p + j.src_step * (i64)element<In>::size);
            }
            target += skip, chunk += over;
            if (chunk >= chunks) chunk -= chunks, target++;
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            if (at[u] >= count) break;
            const u32 act = s.act[at[u]];
            pack<Out, N> out;
            if (act == blend) {
                const W a = s.weight[at[u]];
                W x[N];
                RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = lerp(get(v0[u], i), get(v1[u], i), a);
                out = round_pack<Out, N>(x);
            } else if (act == take) {
                if constexpr (In == Out) {
                    out = v0[u];
                } else {
                    W x[N];
                    RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = get(v0[u], i);
                    out = round_pack<Out, N>(x);
                }
            } else {
                out = repeat<Out, N>(act == put_fill ? j.fill : nan_of<Out>());
            }
            st_pack<Out, N>(dst + (s.dst[at[u]] + column[u]) * (i64)element<Out>::size, out);
        }
    }
}

template <u32 In, u32 Out> RC_FN void move_as(const resample_job &j, const shared<typename element<In>::wide> &s, u32 count) {
    switch (j.vector()) {
    case 3:
        if constexpr (element<In>::size == 2) return move<In, Out, 8>(j, s, count);
    case 2:
        if constexpr (element<In>::size <= 4) return move<In, Out, 4>(j, s, count);
    case 1: return move<In, Out, 2>(j, s, count);
    default: return move<In, Out, 1>(j, s, count);
    }
}

template <u32 In> RC_FN void resample(const resample_job &j, shared<typename element<In>::wide> &s) {
    u32 count;
    switch (j.clock()) {
    case clock_i64: count = survey<i64>(j, [&](u32 i, const aim<i64> &m) { keep_target(j, s, i, m); }); break;
    case clock_f64: count = survey<double>(j, [&](u32 i, const aim<double> &m) { keep_target(j, s, i, m); }); break;
    default: count = survey<float>(j, [&](u32 i, const aim<float> &m) { keep_target(j, s, i, m); });
    }
    barrier();
    switch (j.out()) {
    case dt_f32: return move_as<In, dt_f32>(j, s, count);
    case dt_f64: return move_as<In, dt_f64>(j, s, count);
    case dt_f16: return move_as<In, dt_f16>(j, s, count);
    default: return move_as<In, dt_bf16>(j, s, count);
    }
}

} // namespace

#define RC_RESAMPLE(name, dtype)                       \
    RC_KERNEL(256) name(RC_RESAMPLE_PARAMS) {          \
        __shared__ shared<element<dtype>::wide> mem;   \
        const resample_job j = RC_RESAMPLE_ARGS;       \
        resample<dtype>(j, mem);                       \
    }

RC_RESAMPLE(resample_f32, dt_f32)
RC_RESAMPLE(resample_f64, dt_f64)
RC_RESAMPLE(resample_f16, dt_f16)
RC_RESAMPLE(resample_bf16, dt_bf16)
