// channels.cuh makes the features of targets whose ranges of features have kinds of their own, one item at a time: a feature, or
// the features that only make sense together, such as a quaternion's four.
//
// A kernel that uses it lets survey (resample.cuh) find its targets, keeps what does not depend on the feature in shared memory
// with keep_spot, and after a barrier calls make_item for every item of every target. What is made goes to the kernel's sink:
//
//     sink.same<In>(i, element)    the item's feature i is this element, bit for bit if the dtype is the same
//     sink.number(i, x)            it is x, a float or a double, to be rounded once
//     sink.numbers<N>(x, apart)    its features 0, apart, ... are the N doubles of x
//     sink.fill(i)                 it is the fill value
//
// i counts from the item's first feature.
#pragma once
#include "curves.cuh"
#include "resample.cuh"
#include "values.cuh"

namespace rc {

// item is a feature, or the first of those that are made together, and its channel.
struct item {
    u32 feature, channel;
};
struct channel {
    double period;
    u32 kind;
    u32 apart; // features from one of an item to the next
};

RC_FN item ld_item(const item *p) {
    const u64 v = ld_nc_u64(p);
    return {(u32)v, (u32)(v >> 32)};
}
RC_FN channel ld_channel(const channel *p) {
    const u64 v = ld_nc_u64(&p->kind);
    return {ld_nc_f64(&p->period), (u32)v, (u32)(v >> 32)};
}

// width_of is how many features an item of a kind has.
RC_FN u32 width_of(u32 kind) { return kind == slerp ? 4 : 1; }

enum action : u32 { at_sample, in_bracket, beyond, on_line, put_fill, put_nan };

// spots is what a block keeps of its targets, at most Max.
template <u32 Max> struct spots {
    i64 src[Max], dst[Max]; // elements to the row of the sample at or before the target; to the target's first feature
    i64 base[Max];          // on_line: to the row of the bracket's first sample
    double a[Max], x[Max], h[Max], before[Max], after[Max];
    u32 act[Max];
    u32 later[Max];
};

template <u32 Max, class C> RC_FN void keep_spot(const resample_job &j, spots<Max> &s, u32 i, const aim<C> &m) {
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

// load_all reads the N features of an item.
template <u32 In, u32 N> RC_FN void load_all(const resample_job &j, i64 at, u32 apart, double (&x)[N]) {
    RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = wide<In>(j, at + i * apart);
}

// make_item makes the item of channel c that begins at feature, of a target that spots s keeps.
template <u32 In, u32 Max, class Sink>
RC_FN void make_item(const resample_job &j, const spots<Max> &s, u32 target, const channel &c, u32 feature, const Sink &sink) {
    using W = typename element<In>::wide;
    const u32 act = s.act[target], width = width_of(c.kind);
    if (act == put_fill) {
        for (u32 i = 0; i < width; i++) sink.fill(i * c.apart);
        return;
    }
    if (act == put_nan) {
        for (u32 i = 0; i < width; i++) sink.number(i * c.apart, as_f32(0x7fc00000u));
        return;
    }
    const double a = s.a[target];
    i64 lo = s.src[target] + feature;
    if (c.kind == linear && (act == in_bracket || act == on_line)) {
        if (act == on_line) lo = s.base[target] + feature;
        return sink.number(0, lerp(get(load<In>(j, lo), 0), get(load<In>(j, lo + j.src_step), 0), (W)a));
    }
    if (act == in_bracket) {
        const i64 hi = lo + j.src_step;
        switch (c.kind) {
        case previous: break;
        case next: lo = hi; break;
        case nearest: lo = s.later[target] ? hi : lo; break;
        case slerp: {
            double q0[4], q1[4], q[4];
            load_all<In>(j, lo, 1, q0), load_all<In>(j, hi, 1, q1);
            slerp4(q, q0, q1, a);
            return sink.numbers(q, 1);
        }
        case angle: return sink.number(0, angle_between(wide<In>(j, lo), wide<In>(j, hi), a, c.period));
        default: {
            const double before = s.before[target], after = s.after[target];
            const double v0 = before > 0 ? wide<In>(j, lo - j.src_step) : 0, v3 = after > 0 ? wide<In>(j, hi + j.src_step) : 0;
            return sink.number(0, pchip_at(v0, wide<In>(j, lo), wide<In>(j, hi), v3, before, s.h[target], after, s.x[target]));
        }
        }
    }
    for (u32 i = 0; i < width; i++) sink.template same<In>(i * c.apart, load<In>(j, lo + i * c.apart));
}

// dst_sink writes to the job's dst, from element `at` on.
struct dst_sink {
    const resample_job &j;
    i64 at;

    template <u32 Out> RC_FN_MEMBER void bits(u32 i, u64 b) const {
        st_pack<Out, 1>((char *)j.dst + (at + i) * (i64)element<Out>::size, repeat<Out, 1>(b));
    }
    template <u32 Out, u32 N, class W> RC_FN_MEMBER void round_to(const W (&x)[N], u32 apart) const {
        RC_UNROLL for (u32 i = 0; i < N; i++) bits<Out>(i * apart, rounded<Out>(x[i]));
    }
    template <u32 N, class W> RC_FN_MEMBER void numbers(const W (&x)[N], u32 apart) const {
        switch (j.out()) {
        case dt_f32: return round_to<dt_f32>(x, apart);
        case dt_f64: return round_to<dt_f64>(x, apart);
        case dt_f16: return round_to<dt_f16>(x, apart);
        default: return round_to<dt_bf16>(x, apart);
        }
    }
    template <class W> RC_FN_MEMBER void number(u32 i, W x) const {
        const W one[1] = {x};
        dst_sink{j, at + i}.numbers(one, 1);
    }
    template <u32 In> RC_FN_MEMBER void same(u32 i, const pack<In, 1> &v) const {
        if (j.out() != In) return number(i, get(v, 0));
        st_pack<In, 1>((char *)j.dst + (at + i) * (i64)element<In>::size, v);
    }
    RC_FN_MEMBER void fill(u32 i) const {
        switch (j.out()) {
        case dt_f32: return bits<dt_f32>(i, j.fill);
        case dt_f64: return bits<dt_f64>(i, j.fill);
        case dt_f16: return bits<dt_f16>(i, j.fill);
        default: return bits<dt_bf16>(i, j.fill);
        }
    }
};

} // namespace rc
