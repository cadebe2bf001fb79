// resample_channels.cu resamples rows whose ranges of features have kinds of their own, and the kinds that look at values: slerp,
// angle and pchip.
//
// A block takes `tile` targets. One thread a target finds its place among the row's stamps and keeps it in shared memory; warps
// without a target check the block's share of the stamps meanwhile. After a barrier each thread makes one item of one target
// at a time: a feature, or the four features of a quaternion, so that what four features share is computed once. Neighbouring
// threads take neighbouring items.
//
// Bytes moved: as resample.cu, with pchip two rows more a target. Promises equal bits with the CPU.
#include "curves.cuh"
#include "resample.cuh"
#include "values.cuh"

using namespace rc;

namespace {

constexpr u32 max_tile = 128; // targets a block

// item is a feature, or the first of a quaternion's four, and its channel.
struct item {
    u32 feature, channel;
};
struct channel {
    double period;
    u32 kind, unused;
};

enum action : u32 { at_sample, in_bracket, beyond, on_line, put_fill, put_nan };

struct shared {
    i64 src[max_tile], dst[max_tile]; // elements to the row of the sample at or before the target; to the target's first feature
    i64 base[max_tile];               // on_line: to the row of the bracket's first sample
    double a[max_tile], x[max_tile], h[max_tile], before[max_tile], after[max_tile];
    u32 act[max_tile];
    u32 later[max_tile];
};

template <class C> RC_FN void keep_target(const resample_job &j, shared &s, u32 i, const aim<C> &m) {
    u32 act = at_sample;
    double before = 0, after = 0;
    if (m.filled) {
        act = put_fill;
    } else if (m.at.where == nowhere) {
        act = put_nan;
    } else if (m.at.where == inside) {
        act = in_bracket;
        const u32 k = m.at.k;
        if (k > 0) before = (double)span(ld_time(m.times + k - 1), ld_time(m.times + k));
        if (k + 2 < m.n) after = (double)span(ld_time(m.times + k + 1), ld_time(m.times + k + 2));
    } else if (m.at.where != exact) {
        act = m.at.line ? on_line : beyond;
    }
    s.src[i] = m.src + (i64)m.at.k * j.src_step;
    s.base[i] = m.src + (i64)m.at.base * j.src_step;
    s.dst[i] = m.dst;
    s.a[i] = m.at.template weight<double>(), s.x[i] = (double)m.at.x, s.h[i] = (double)m.at.h;
    s.before[i] = before, s.after[i] = after;
    s.act[i] = act, s.later[i] = m.at.later;
}

template <u32 In> RC_FN pack<In, 1> load(const resample_job &j, i64 at) {
    return ld_pack<In, 1>((const char *)j.src + at * (i64)element<In>::size);
}
template <u32 In> RC_FN double wide(const resample_job &j, i64 at) { return (double)get(load<In>(j, at), 0); }

// The stores round once to the dtype asked for.
template <u32 Out> RC_FN void put_bits(const resample_job &j, i64 at, u64 b) {
    st_pack<Out, 1>((char *)j.dst + at * (i64)element<Out>::size, repeat<Out, 1>(b));
}
template <class W> RC_FN void put(const resample_job &j, i64 at, W x) {
    switch (j.out()) {
    case dt_f32: return put_bits<dt_f32>(j, at, rounded<dt_f32>(x));
    case dt_f64: return put_bits<dt_f64>(j, at, rounded<dt_f64>(x));
    case dt_f16: return put_bits<dt_f16>(j, at, rounded<dt_f16>(x));
    default: return put_bits<dt_bf16>(j, at, rounded<dt_bf16>(x));
    }
}
RC_FN void put_raw(const resample_job &j, i64 at, u64 b) {
    switch (j.out()) {
    case dt_f32: return put_bits<dt_f32>(j, at, b);
    case dt_f64: return put_bits<dt_f64>(j, at, b);
    case dt_f16: return put_bits<dt_f16>(j, at, b);
    default: return put_bits<dt_bf16>(j, at, b);
    }
}

// copy takes an element as it is, or rounds it to another dtype.
template <u32 In> RC_FN void copy(const resample_job &j, i64 to, i64 from) {
    const pack<In, 1> v = load<In>(j, from);
    if (j.out() != In) return put(j, to, get(v, 0));
    st_pack<In, 1>((char *)j.dst + to * (i64)element<In>::size, v);
}

// between makes one item of a target inside a bracket.
template <u32 In> RC_FN void between(const resample_job &j, const shared &s, u32 target, const channel &c, u32 feature) {
    using W = typename element<In>::wide;
    const i64 to = s.dst[target] + feature, lo = s.src[target] + feature, hi = lo + j.src_step;
    const double a = s.a[target];
    switch (c.kind) {
    case linear: return put(j, to, lerp(get(load<In>(j, lo), 0), get(load<In>(j, hi), 0), (W)a));
    case previous: return copy<In>(j, to, lo);
    case next: return copy<In>(j, to, hi);
    case nearest: return copy<In>(j, to, s.later[target] ? hi : lo);
    case angle: return put(j, to, angle_between(wide<In>(j, lo), wide<In>(j, hi), a, c.period));
    case slerp: {
        double q0[4], q1[4], q[4];
        RC_UNROLL for (int i = 0; i < 4; i++) q0[i] = wide<In>(j, lo + i), q1[i] = wide<In>(j, hi + i);
        slerp4(q, q0, q1, a);
        RC_UNROLL for (int i = 0; i < 4; i++) put(j, to + i, q[i]);
        return;
    }
    default: {
        const double before = s.before[target], after = s.after[target];
        const double v0 = before > 0 ? wide<In>(j, lo - j.src_step) : 0, v3 = after > 0 ? wide<In>(j, hi + j.src_step) : 0;
        put(j, to, pchip_at(v0, wide<In>(j, lo), wide<In>(j, hi), v3, before, s.h[target], after, s.x[target]));
    }
    }
}

template <u32 In>
RC_FN void resample(const resample_job &j, shared &s, const item *items, const channel *channels) {
    using W = typename element<In>::wide;
    const u32 count = survey_any(j, [&](u32 i, const auto &m) { keep_target(j, s, i, m); });
    barrier();
    const u32 item_count = j.chunks;
    const u32 skip = chunk_of(j, threads_x()), over = threads_x() - skip * item_count;
    u32 target = chunk_of(j, thread_x()), n = thread_x() - target * item_count;
    while (target < count) {
        const u64 packed = ld_nc_u64(items + n);
        const u32 feature = (u32)packed;
        const channel *at = channels + (packed >> 32);
        const channel c = {ld_nc_f64(&at->period), ld_nc_u32(&at->kind), 0};
        const u32 act = s.act[target], width = c.kind == slerp ? 4 : 1;
        const i64 to = s.dst[target] + feature;
        if (act == in_bracket) {
            between<In>(j, s, target, c, feature);
        } else if (act == on_line && c.kind == linear) {
            const i64 lo = s.base[target] + feature;
            put(j, to, lerp(get(load<In>(j, lo), 0), get(load<In>(j, lo + j.src_step), 0), (W)s.a[target]));
        } else if (act == put_fill) {
            for (u32 i = 0; i < width; i++) put_raw(j, to + i, j.fill);
        } else if (act == put_nan) {
            for (u32 i = 0; i < width; i++) put(j, to + i, as_f32(0x7fc00000u));
        } else {
            for (u32 i = 0; i < width; i++) copy<In>(j, to + i, s.src[target] + feature + i);
        }
        target += skip, n += over;
        if (n >= item_count) n -= item_count, target++;
    }
}

} // namespace

#define RC_RESAMPLE_CHANNELS(name, dtype)                                                             \
    RC_KERNEL_OCC(128, 6)                                                                             \
    name(RC_RESAMPLE_PARAMS, const item *__restrict__ items, const channel *__restrict__ channels) { \
        __shared__ shared mem;                                                                        \
        const plain_job j = {RC_RESAMPLE_ARGS};                                                       \
        resample<dtype>(j, mem, items, channels);                                                     \
    }

RC_RESAMPLE_CHANNELS(resample_channels_f32, dt_f32)
RC_RESAMPLE_CHANNELS(resample_channels_f64, dt_f64)
RC_RESAMPLE_CHANNELS(resample_channels_f16, dt_f16)
RC_RESAMPLE_CHANNELS(resample_channels_bf16, dt_bf16)
