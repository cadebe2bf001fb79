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
// The job of survey is a windows_job where channels may have windows; make_item needs only what any job tells.
#pragma once
#include "resample.cuh"
#include "rotations.cuh"
#include "values.cuh"

namespace rc {

// item is a feature, or the first of those that are made together, and its channel.
struct item {
    u32 feature, channel;
};
struct channel {
    u64 number; // the bits of an angle's period, or of a window, a time
    u32 kind;
    u32 apart; // features from one of an item to the next
};

RC_FN item ld_item(const item *p) {
    const u64 v = ld_nc_u64(p);
    return {(u32)v, (u32)(v >> 32)};
}
RC_FN channel ld_channel(const channel *p) {
    const u64 v = ld_nc_u64(&p->kind);
    return {ld_nc_u64(&p->number), (u32)v, (u32)(v >> 32)};
}

// width_of is how many features an item of a kind has.
RC_FN u32 width_of(u32 kind) { return kind == slerp ? 4 : kind == hermite ? 2 : kind == rotvec ? 3 : kind == rot6d ? 6 : 1; }
RC_FN bool windowed(u32 kind) { return kind >= window_mean && kind <= window_last; }

// windows_job is a job whose shortest window decides on valid too.
struct windows_job : resample_job {
    u64 shortest; // a time's bits
    RC_FN_MEMBER bool has_window() const { return flags >> 30 & 1; }
    RC_FN_MEMBER u64 window() const { return shortest; }
};

enum action : u32 { at_sample, in_bracket, beyond, on_line, put_fill, put_nan };

// spots is what a block keeps of its targets, at most Max.
template <u32 Max> struct spots {
    i64 src[Max], dst[Max]; // elements to the row of the sample at or before the target; to the target's first feature
    i64 base[Max];          // on_line: to the row of the bracket's first sample
    double a[Max], x[Max], h[Max], before[Max], after[Max];
    u64 stamps[Max], target[Max]; // where the row's stamps are; the bits of the target's time
    u32 k[Max];                   // the sample at or before the target
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
    s.stamps[i] = (u64)m.times, s.target[i] = time_bits(m.x), s.k[i] = m.at.k;
    s.act[i] = act, s.later[i] = m.at.later;
}

// first_within is the first of stamps 0 to k that is in the window (x - w, x]; k + 1 if none is. It goes back from k in steps that
// double, then halves what is left.
template <class C> RC_FN u32 first_within(const C *t, u32 k, C x, C w) {
    if (!within(ld_time(t + k), x, w)) return k + 1;
    u32 in = k, step = 1;
    while (step <= in && within(ld_time(t + in - step), x, w)) in -= step, step *= 2;
    i64 out = step <= in ? (i64)(in - step) : -1;
    while (in - out > 1) {
        const u32 mid = (u32)((in + out) / 2);
        if (within(ld_time(t + mid), x, w))
            in = mid;
        else
            out = mid;
    }
    return in;
}
template <class C, u32 Max> RC_FN u32 first_in(const spots<Max> &s, u32 target, u64 window) {
    C x, w;
    from_bits(s.target[target], x), from_bits(window, w);
    return first_within((const C *)s.stamps[target], s.k[target], x, w);
}

template <u32 In> RC_FN pack<In, 1> load(const resample_job &j, i64 at) {
    return ld_pack<In, 1>((const char *)j.src + at * (i64)element<In>::size);
}
template <u32 In> RC_FN double wide(const resample_job &j, i64 at) { return (double)get(load<In>(j, at), 0); }

// load_all reads the N features of an item.
template <u32 In, u32 N> RC_FN void load_all(const resample_job &j, i64 at, u32 apart, double (&x)[N]) {
    RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = wide<In>(j, at + i * apart);
}

// load_quat reads the rotation at `at`, in the form of its kind.
template <u32 In> RC_FN void load_quat(const resample_job &j, u32 kind, i64 at, double (&q)[4]) {
    if (kind == slerp) {
        load_all<In>(j, at, 1, q);
    } else if (kind == rotvec) {
        double r[3];
        load_all<In>(j, at, 1, r);
        quat_of_vec(q, r);
    } else {
        double m[6];
        load_all<In>(j, at, 1, m);
        quat_of_6d(q, m);
    }
}

// lesser is x < y, -0 being less than +0.
template <class W> RC_FN bool lesser(W x, W y) { return x < y || (x == y && negative(x) && !negative(y)); }

// each_of gives f the feature at `at` of count samples, in order, with its place. Four loads are under way at once.
template <u32 In, class F> RC_FN void each_of(const resample_job &j, i64 at, u32 count, F f) {
    for (; count >= 4; count -= 4) {
        pack<In, 1> v[4];
        RC_UNROLL for (u32 u = 0; u < 4; u++) v[u] = load<In>(j, at + u * j.src_step);
        RC_UNROLL for (u32 u = 0; u < 4; u++, at += j.src_step) f(get(v[u], 0), at);
    }
    for (; count > 0; count--, at += j.src_step) f(get(load<In>(j, at), 0), at);
}

// reduce makes one feature of a window of count samples, the first of which is at lo.
template <u32 In, class Sink> RC_FN void reduce(const resample_job &j, u32 kind, i64 lo, u32 count, const Sink &sink) {
    using W = typename element<In>::wide;
    if (kind == window_mean) {
        double sum = -0.0; // which changes no first sample
        each_of<In>(j, lo, count, [&](W v, i64) { sum += (double)v; });
        return sink.number(0, div_rn(sum, (double)count));
    }
    i64 best = lo;
    if (kind == window_last) {
        best += (count - 1) * j.src_step;
    } else {
        const bool least = kind == window_min;
        W v = least ? as_f32(0x7f800000u) : as_f32(0xff800000u);
        each_of<In>(j, lo, count, [&](W u, i64 at) {
            if (v == v && (u != u || (least ? lesser(u, v) : lesser(v, u)))) best = at, v = u;
        });
    }
    sink.template same<In>(0, load<In>(j, best));
}

// make_item makes the item of channel c that begins at feature, of a target that spots s keeps.
template <u32 In, u32 Max, class Sink>
RC_FN void make_item(const resample_job &j, const spots<Max> &s, u32 target, const channel &c, u32 feature, const Sink &sink) {
    using W = typename element<In>::wide;
    u32 act = s.act[target];
    const u32 width = width_of(c.kind);
    if (act == put_fill) {
        for (u32 i = 0; i < width; i++) sink.fill(i * c.apart);
        return;
    }
    i64 lo = s.src[target] + feature;
    if (windowed(c.kind) && (act == at_sample || act == in_bracket)) {
        const u32 first = j.clock() == clock_i64   ? first_in<i64>(s, target, c.number)
                          : j.clock() == clock_f64 ? first_in<double>(s, target, c.number)
                                                   : first_in<float>(s, target, c.number);
        const u32 count = s.k[target] + 1 - first;
        if (count > 0) return reduce<In>(j, c.kind, lo - (i64)(count - 1) * j.src_step, count, sink);
        act = put_nan;
    }
    if (act == put_nan) {
        for (u32 i = 0; i < width; i++) sink.number(i * c.apart, as_f32(0x7fc00000u));
        return;
    }
    const double a = s.a[target];
    if (c.kind == linear && (act == in_bracket || act == on_line)) {
        if (act == on_line) lo = s.base[target] + feature;
        return sink.number(0, lerp(get(load<In>(j, lo), 0), get(load<In>(j, lo + j.src_step), 0), (W)a));
    }
    const i64 hi = lo + j.src_step;
    if (act == in_bracket && c.kind > nearest) {
        double one;
        switch (c.kind) {
        case slerp:
        case rotvec:
        case rot6d: {
            double q0[4], q1[4], q[4];
            load_quat<In>(j, c.kind, lo, q0), load_quat<In>(j, c.kind, hi, q1);
            slerp4(q, q0, q1, a);
            if (c.kind == slerp) return sink.numbers(q, 1);
            unit4(q);
            if (c.kind == rotvec) {
                double r[3];
                vec_of_quat(r, q);
                return sink.numbers(r, 1);
            }
            double m[6];
            six_of_quat(m, q);
            return sink.numbers(m, 1);
        }
        case hermite: {
            double p0[2], p1[2], p[2]; // a value and its velocity
            load_all<In>(j, lo, c.apart, p0), load_all<In>(j, hi, c.apart, p1);
            const double h = div_rn(s.h[target], j.clock() == clock_i64 ? 1e9 : 1); // in seconds
            p[0] = hermite_at(p0[0], p1[0], p0[1], p1[1], h, a, p[1]);
            return sink.numbers(p, c.apart);
        }
        case angle: one = angle_between(wide<In>(j, lo), wide<In>(j, hi), a, as_f64(c.number)); break;
        default: {
            const double before = s.before[target], after = s.after[target], v1 = wide<In>(j, lo), v2 = wide<In>(j, hi);
            const double v0 = before > 0 ? wide<In>(j, lo - j.src_step) : 0, v3 = after > 0 ? wide<In>(j, hi + j.src_step) : 0;
            const double h = s.h[target], x = s.x[target];
            one = c.kind == pchip ? pchip_at(v0, v1, v2, v3, before, h, after, x) : catmull_rom_at(v0, v1, v2, v3, before, h, after, x);
        }
        }
        return sink.number(0, one);
    }
    if (act == in_bracket && (c.kind == next || (c.kind == nearest && s.later[target]))) lo = hi;
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
