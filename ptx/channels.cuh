// channels.cuh computes the features of targets whose channels have interpolations of their own, one item at a time: a feature, or
// the features that only make sense together, such as a quaternion's four.
//
// A kernel that uses it lets locate_targets (locate.cuh) find its targets, keeps what does not depend on the feature in shared memory
// with cache_target, and after a barrier calls make_items. Items are ordered by category (how they are computed), so that a warp works
// on one category at a time; neighbouring warps may work on different ones. Results go to the kernel's sinks, one per item:
//
//     sink.same<In>(i, element)    the item's feature i is this element, bit for bit if the dtype is the same
//     sink.number(i, x)            it is x, a float or a double, to be rounded once
//     sink.numbers<N>(x, apart)    its features 0, apart, ... are the N doubles of x
//     sink.fill(i)                 it is the fill value
//     sink.moved<In>(act, blended, element, x)   feature 0 is x if blended and else this element, unless act is put_fill or put_nan
//
// i counts from the item's first feature.
// The job given to locate_targets is a windows_job where channels may have windows; make_items needs only what every job has.
#pragma once
#include "locate.cuh"
#include "rotations.cuh"
#include "values.cuh"
#include "warp.cuh"

namespace rc {

// item is a feature and its interpolation. If features are computed together, it is the first one.
RC_HOST struct item {
    // for an angle, the period's bits; for a window, the bits of the time from its beginning to the target; for a value, the features from
    // it to its velocity
    u64 number;
    u32 feature, interpolation;
};
RC_FN item ld_item(const item *p) {
    const v16 v = ld_nc_16(p);
    return {(u64)v.y << 32 | v.x, v.z, v.w};
}

// item_categories has the number of items in each category, in this order, and constants that divide by each number except the first. If
// the number is 1, magic is 0; otherwise it is like t_magic in resample.cuh, with 5 bits in shifts. After those, shifts has the number of
// consecutive targets that a thread computes for a cubic. Its highest bit is set if some cubic reads the brackets next to the target's.
RC_HOST struct item_categories {
    u32 slerps, moved, angles, cubics, others;
    u32 moved_magic, angles_magic, cubics_magic, others_magic, shifts;
    RC_FLAG(shifts, u32, moved_shift, 0, 5)
    RC_FLAG(shifts, u32, angles_shift, 5, 5)
    RC_FLAG(shifts, u32, cubics_shift, 10, 5)
    RC_FLAG(shifts, u32, others_shift, 15, 5)
    RC_FLAG(shifts, u32, cubic_targets, 20, 5)
    RC_FLAG(shifts, bool, beside, 31, 1)
};

// width_of is how many features an item of an interpolation has.
RC_FN u32 width_of(u32 interpolation) { return interpolation == slerp ? 4 : interpolation == hermite ? 2 : interpolation == rotvec ? 3 : interpolation == rot6d ? 6 : 1; }
RC_FN bool is_windowed(u32 interpolation) { return interpolation >= window_mean && interpolation <= window_last; }

// block_warps is how many warps the block has.
RC_FN u32 block_warps() { return reload_threads_x() / warp_size; }

// windows_job is a job whose shortest window decides on valid too.
struct windows_job : resample_job {
    u64 shortest; // where it begins before a target: a time's bits
    RC_FN_MEMBER u32 threads() const { return reload_threads_x(); }
    RC_FN_MEMBER bool has_window() const { return windowed(); }
    RC_FN_MEMBER bool limited() const { return has_gap() || has_tolerance() || has_window(); }
    RC_FN_MEMBER u64 window() const { return shortest; }
};

constexpr u32 has_before = 1 << 16, has_after = 1 << 17; // of rows: there are brackets beside the target's

enum action : u32 { at_sample, in_bracket, beyond, on_line, put_fill, put_nan };

// cached_targets is what a block keeps of its targets, at most Max, for any interpolation or, without Others, for items of the first three categories.
template <u32 Max, bool Others> struct cached_targets {
    i64 src[2][Max]; // elements to the row of the sample at or before the target; on_line: to that of the bracket's first sample
    i64 dst[Max];    // elements to the target's first feature
    double a[Max];
    float weight[Max]; // a, rounded
    u32 act[Max];
    u32 rows[Max]; // of the interpolations that look at no value, a bit each: which take the row after; 4 bits on, which take both; 8 on, from the second of src; then has_before and has_after
};
template <u32 Max> struct cached_targets<Max, true> : cached_targets<Max, false> {
    double h[Max]; // the bracket's length, in seconds if the timestamps are in nanoseconds
    beside before[Max], after[Max];
    u64 timestamps[Max], target[Max]; // where the row's timestamps are; the bits of the target's time
    u32 k[Max];                   // the last sample of windows
    u32 k_offset[Max];               // how many it is ahead of that at or before the target; of timestamps out of order it may be behind
};

template <u32 Max, bool Others, class C>
RC_FN void cache_target(const resample_job &j, cached_targets<Max, Others> &s, const item_categories &g, u32 i, const located_target<C> &m) {
    u32 act = at_sample;
    if (m.filled)
        act = put_fill;
    else if (m.at.where == nowhere)
        act = put_nan;
    else if (m.at.where == inside)
        act = in_bracket;
    else if (m.at.where != exact)
        act = m.at.line ? on_line : beyond;
    const double a = m.at.template weight<double>();
    s.src[0][i] = m.src + (i64)m.at.k * j.src_step;
    s.src[1][i] = m.src + (i64)m.at.base * j.src_step;
    s.dst[i] = m.dst;
    s.a[i] = a, s.weight[i] = f64_to_f32(a);
    s.act[i] = act;
    s.rows[i] = act == in_bracket ? 1u << next | (u32)m.at.later << nearest | 16u << linear : act == on_line ? 272u << linear : 0;
    if constexpr (Others) {
        s.timestamps[i] = (u64)m.times, s.target[i] = time_bits(m.x), s.k[i] = m.end, s.k_offset[i] = m.end - m.at.k;
        const double h = (double)m.at.h;
        s.h[i] = j.clock() == clock_i64 ? div_rn(h, 1e9) : h;
        if (g.beside() && act == in_bracket) {
            const C *const t = m.times + m.at.k;
            const double before = m.at.k > 0 ? (double)span(ld_time(t - 1), ld_time(t)) : 0;
            const double after = m.at.k + 2 < m.n ? (double)span(ld_time(t + 1), ld_time(t + 2)) : 0;
            s.before[i] = beside_of(h, before), s.after[i] = beside_of(h, after);
            s.rows[i] |= (before > 0 ? has_before : 0) | (after > 0 ? has_after : 0);
        }
    }
}

// opaque is x, of which the compiler works out nothing ahead of a loop: that would take registers all through it.
RC_FN i64 opaque(i64 x) {
    asm volatile("" : "+l"(x));
    return x;
}

RC_FN u32 opaque(u32 x) {
    asm volatile("" : "+r"(x));
    return x;
}

// first_within is the first of timestamps 0 to k that is in a window, which begins `from` before x; k + 1 if none is. It goes back from k in steps
// that double, then halves what is left.
template <class C> RC_FN u32 first_within(const C *t, u32 k, C x, C from) {
    if (!in_window(ld_time(t + k), x, from)) return k + 1;
    u32 in = k, step = 1;
    while (step <= in && in_window(ld_time(t + in - step), x, from)) in -= step, step *= 2;
    i64 out = step <= in ? (i64)(in - step) : -1;
    while (in - out > 1) {
        const u32 mid = (u32)((in + out) / 2);
        if (in_window(ld_time(t + mid), x, from))
            in = mid;
        else
            out = mid;
    }
    return in;
}
template <class C, u32 Max> RC_FN u32 first_in(const cached_targets<Max, true> &s, u32 target, u64 window) {
    C x, w;
    from_bits(s.target[target], x), from_bits(window, w);
    return first_within((const C *)s.timestamps[target], s.k[target], x, w);
}

template <u32 In> RC_FN pack<In, 1> load(const resample_job &j, i64 at) {
    return ld_pack<In, 1>((const char *)j.src + at * (i64)element<In>::size);
}
template <u32 In> RC_FN double wide(const resample_job &j, i64 at) { return (double)get(load<In>(j, at), 0); }

// load_unless reads nothing where a target is filled: its row may be without samples.
template <u32 In> RC_FN pack<In, 1> load_unless(bool filled, const resample_job &j, i64 at) {
    pack<In, 1> v = {};
    if (!filled) v = load<In>(j, at);
    return v;
}

// load_all reads the N features of an item.
template <u32 In, u32 N> RC_FN void load_all(const resample_job &j, i64 at, u32 apart, double (&x)[N]) {
    RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = wide<In>(j, at + i * apart);
}

// load_quat reads the rotation at `at`, in the form of its interpolation.
template <u32 In> RC_FN void load_quat(const resample_job &j, u32 interpolation, i64 at, double (&q)[4]) {
    if (interpolation == rotvec) {
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

// for_each_sample gives f the feature at `at` of count samples, in order, with its place. Four loads are under way at once.
template <u32 In, class F> RC_FN void for_each_sample(const resample_job &j, i64 at, u32 count, F f) {
    const i64 step = opaque(j.src_step);
    for (; count >= 4; count -= 4) {
        pack<In, 1> v[4];
        RC_UNROLL for (u32 u = 0; u < 4; u++) v[u] = load<In>(j, at + u * step);
        RC_UNROLL for (u32 u = 0; u < 4; u++, at += step) f(get(v[u], 0), at);
    }
    for (; count > 0; count--, at += step) f(get(load<In>(j, at), 0), at);
}

// reduce_window makes one feature of a window of count samples, the first of which is at lo.
template <u32 In, class Sink> RC_FN void reduce_window(const resample_job &j, u32 interpolation, i64 lo, u32 count, const Sink &sink) {
    using W = typename element<In>::wide;
    if (interpolation == window_mean) {
        double sum = -0.0; // which changes no first sample
        for_each_sample<In>(j, lo, count, [&](W v, i64) { sum += (double)v; });
        return sink.number(0, div_rn(sum, (double)count));
    }
    i64 best = lo;
    if (interpolation == window_last) {
        best += (count - 1) * opaque(j.src_step);
    } else {
        const bool least = interpolation == window_min;
        W v = least ? as_f32(0x7f800000u) : as_f32(0xff800000u);
        for_each_sample<In>(j, lo, count, [&](W u, i64 at) {
            if (v == v && (u != u || (least ? lesser(u, v) : lesser(v, u)))) best = at, v = u;
        });
    }
    sink.template same<In>(0, load<In>(j, best));
}

// ---- Items ----

// copy_sample makes an item for which nothing is worked out, of the sample at `at`.
template <u32 In, class Sink> RC_FN void copy_sample(const resample_job &j, u32 act, i64 at, u32 width, u32 apart, const Sink &sink) {
    RC_NO_UNROLL for (u32 n = 0, i = 0; n < width; n++, i += apart) {
        if (act == put_fill)
            sink.fill(i);
        else if (act == put_nan)
            sink.number(i, as_f32(0x7fc00000u));
        else
            sink.template same<In>(i, load<In>(j, at + i));
    }
}

// make_other computes an item of an interpolation that no other function here handles.
template <u32 In, u32 Max, class Sink>
RC_FN void make_other(const resample_job &j, const cached_targets<Max, true> &s, u32 target, const item &it, const Sink &sink) {
    u32 act = s.act[target];
    const i64 lo = s.src[0][target] + it.feature, hi = lo + opaque(j.src_step);
    if (is_windowed(it.interpolation) && (act == at_sample || act == in_bracket)) {
        const u32 first = j.clock() == clock_i64   ? first_in<i64>(s, target, it.number)
                          : j.clock() == clock_f64 ? first_in<double>(s, target, it.number)
                                                   : first_in<float>(s, target, it.number);
        const u32 count = s.k[target] + 1 - first;
        if (count > 0) return reduce_window<In>(j, it.interpolation, lo + ((i64)(i32)s.k_offset[target] - (i64)(count - 1)) * opaque(j.src_step), count, sink);
        act = put_nan;
    }
    if (act != in_bracket) return copy_sample<In>(j, act, lo, width_of(it.interpolation), 1, sink);
    double q0[4], q1[4], q[4];
    load_quat<In>(j, it.interpolation, lo, q0), load_quat<In>(j, it.interpolation, hi, q1);
    slerp4(q, q0, q1, s.a[target]);
    unit4(q);
    if (it.interpolation == rotvec) {
        double r[3];
        vec_of_quat(r, q);
        return sink.numbers(r, 1);
    }
    double m[6];
    six_of_quat(m, q);
    sink.numbers(m, 1);
}

// make_cubics makes a cubic of the targets from `first` to `end`. What depends only on the bracket is computed once for all of them that
// follow each other in it.
template <u32 In, u32 Max, class Sinks>
RC_FN void make_cubics(const resample_job &j, const cached_targets<Max, true> &s, item it, u32 first, u32 end, const Sinks &sinks) {
    const bool moving = it.interpolation == hermite;
    const u32 apart = moving ? (u32)it.number : 0; // from a value to its velocity
    u32 known = end;                               // a target of the bracket that c is of, if there is one
    cubic c = {};
    RC_NO_UNROLL for (u32 i = first; i < end; i++) {
        const u32 rows = s.rows[i];
        const i64 lo = s.src[0][i] + it.feature;
        if (!(rows >> next & 1)) {
            copy_sample<In>(j, s.act[i], lo, moving ? 2 : 1, apart, sinks(i, it.feature));
            continue;
        }
        if (known == end || s.src[0][known] != s.src[0][i] || s.timestamps[known] != s.timestamps[i]) {
            known = i;
            const i64 step = opaque(j.src_step), hi = lo + step;
            const pack<In, 1> p1 = load<In>(j, lo), p2 = load<In>(j, hi);
            pack<In, 1> p0 = {}, p3 = {};
            const bool before = rows & has_before, after = rows & has_after;
            if (moving || before) p0 = load<In>(j, moving ? lo + apart : lo - step);
            if (moving || after) p3 = load<In>(j, moving ? hi + apart : hi + step);
            const double v0 = (double)get(p0, 0), v1 = (double)get(p1, 0), v2 = (double)get(p2, 0), v3 = (double)get(p3, 0);
            if (moving)
                c = {v1, v2 - v1, v0, v3};
            else
                c = cubic_of(it.interpolation == pchip, v0, v1, v2, v3, before, after, s.before[i], s.after[i]);
        }
        const double a = s.a[i], h = moving ? s.h[i] : 1;
        const auto sink = sinks(i, it.feature);
        sink.number(0, hermite_at(c, h, a));
        if (moving) sink.number(apart, hermite_slope(c, h, a));
    }
}

// swap gives lanes that differ by d each other's: of those without d b, of those with it a.
RC_FN void swap(u32 &a, u32 &b, u32 d) {
    const bool upper = lane() & d;
    const u32 got = shuffle_xor(upper ? a : b, d);
    a = upper ? got : a, b = upper ? b : got;
}
// swap_fours makes of what four lanes have of four, each its own, what each lane has of all.
RC_FN void swap_fours(u32 (&v)[4]) {
    swap(v[0], v[1], 1), swap(v[2], v[3], 1);
    swap(v[0], v[2], 2), swap(v[1], v[3], 2);
}

// make_slerps makes a quaternion of each of the targets from `first` on, one a lane; the whole warp comes along. Elements that are words
// are loaded as they lie, four lanes a quaternion, and then swapped: a row is then in one request, and not in four.
template <u32 In, u32 Max, class Sinks>
RC_FN void make_slerps(const resample_job &j, const cached_targets<Max, false> &s, u32 first, u32 count, u32 feature, const Sinks &sinks) {
    constexpr bool swaps = sizeof(pack<In, 1>) == 4;
    const u32 quarter = lane() & 3;
    const u32 target = first + (swaps ? 8 * quarter + lane() / 4 : lane());
    pack<In, 1> v0[4], v1[4];
    if constexpr (swaps) {
        u32 lo[4], hi[4];
        RC_UNROLL for (u32 i = 0; i < 4; i++) {
            const u32 given = first + 8 * i + lane() / 4, t = given < count ? given : count - 1;
            const i64 at = s.src[0][t] + (feature + quarter);
            const u32 act = s.act[t];
            lo[i] = load_unless<In>(act == put_fill, j, at).w[0];
            hi[i] = load_unless<In>(act == put_fill, j, act == in_bracket ? at + j.src_step : at).w[0];
        }
        swap_fours(lo), swap_fours(hi);
        RC_UNROLL for (u32 i = 0; i < 4; i++) v0[i] = {{lo[i]}}, v1[i] = {{hi[i]}};
    }
    if (target >= count) return;
    const u32 act = s.act[target];
    if constexpr (!swaps) {
        const i64 at = s.src[0][target] + feature;
        RC_UNROLL for (u32 i = 0; i < 4; i++) v0[i] = load_unless<In>(act == put_fill, j, at + i), v1[i] = load_unless<In>(act == put_fill, j, act == in_bracket ? at + i + j.src_step : at + i);
    }
    const auto sink = sinks(target, feature);
    if (act == in_bracket) {
        double q0[4], q1[4], q[4];
        RC_UNROLL for (u32 i = 0; i < 4; i++) q0[i] = (double)get(v0[i], 0), q1[i] = (double)get(v1[i], 0);
        slerp4(q, q0, q1, s.a[target]);
        return sink.numbers(q, 1);
    }
    RC_UNROLL for (u32 i = 0; i < 4; i++) {
        if (act == put_fill)
            sink.fill(i);
        else if (act == put_nan)
            sink.number(i, as_f32(0x7fc00000u));
        else
            sink.template same<In>(i, v0[i]);
    }
}

// make_angle makes an angle.
template <u32 In, u32 Max, class Sink>
RC_FN void make_angle(const resample_job &j, const cached_targets<Max, false> &s, u32 target, const item &it, const Sink &sink) {
    const u32 act = s.act[target];
    const i64 lo = s.src[0][target] + it.feature;
    if (act != in_bracket) return copy_sample<In>(j, act, lo, 1, 1, sink);
    sink.number(0, angle_between(wide<In>(j, lo), wide<In>(j, lo + j.src_step), s.a[target], as_f64(it.number)));
}

// divided is n / by of item_categories, for n below 2^31.
RC_FN u32 divided(u32 n, u32 magic, u32 shift) { return magic ? mul_hi(n, magic) >> shift : n; }

// make_moved computes features with the interpolation linear, previous, next or nearest. Each lane has one item, counted from `lane`. If
// there are fewer items than lanes, the lanes divide into groups, one target in `group` each. A lane computes its item for moved_at_once
// targets, from `first` on and group apart. It loads the samples for all of them before it stores the first.
RC_HOST constexpr u32 moved_at_once = 4;
template <u32 In, u32 Max, class Sinks>
RC_FN void make_moved(const resample_job &j, const cached_targets<Max, false> &s, const item &it, u32 first, u32 group, u32 count, const Sinks &sinks) {
    using W = typename element<In>::wide;
    pack<In, 1> v0[moved_at_once], v1[moved_at_once];
    bool two[moved_at_once];
    RC_UNROLL for (u32 u = 0; u < moved_at_once; u++) {
        // A target past the last is the last once more, and is not stored.
        const u32 given = first + u * group, i = given < count ? given : count - 1, rows = s.rows[i] >> it.interpolation;
        two[u] = rows >> 4 & 1;
        const i64 at = s.src[rows >> 8 & 1][i] + it.feature + (rows & 1 ? j.src_step : 0);
        const bool filled = s.act[i] == put_fill;
        v0[u] = load_unless<In>(filled, j, at);
        v1[u] = load_unless<In>(filled, j, two[u] ? at + j.src_step : at);
    }
    RC_UNROLL for (u32 u = 0; u < moved_at_once; u++) {
        const u32 i = first + u * group;
        if (i >= count) break;
        W a;
        if constexpr (sizeof(W) == 8)
            a = s.a[i];
        else
            a = s.weight[i];
        sinks(i, it.feature).template moved<In>(s.act[i], two[u], v0[u], lerp(get(v0[u], 0), get(v1[u], 0), a));
    }
}

// make_items computes the items of the block's targets. Its warps take in turn, category by category: those that make_moved handles at once, or 32
// targets of a quaternion, or 32 items of which neighbouring threads make neighbouring ones. items(n) is item number n, sinks(target,
// feature) an item's sink.
template <u32 In, u32 Max, bool Others, class Items, class Sinks>
RC_FN void make_items(const resample_job &j, const cached_targets<Max, Others> &s, u32 count, const item_categories &g, const Items &items, const Sinks &sinks) {
    if (count == 0) return;
    u32 turn = thread_x() / warp_size; // how many of a category to leave to other warps
    const u32 sub = divided(lane(), g.moved_magic, g.moved_shift()), fit = divided(warp_size, g.moved_magic, g.moved_shift()), group = fit > 0 ? fit : 1;
    RC_NO_UNROLL for (u32 n = lane() - sub * g.moved, begin = 0; begin < g.moved; n += warp_size, begin += warp_size) {
        const bool given = sub < group && n < g.moved;
        item it = {};
        if (given) it = items(g.slerps + n);
        RC_NO_UNROLL for (u32 first = 0; first < count; first += group * moved_at_once) {
            if (turn-- > 0) continue;
            turn = block_warps() - 1;
            if (given) make_moved<In>(j, s, it, first + sub, group, count, sinks);
        }
    }

    const u32 shift = count > 64 ? 2 : count > 32 ? 1 : 0;
    u32 turns = g.slerps << shift;
    RC_NO_UNROLL for (; turn < turns; turn += block_warps()) {
        make_slerps<In>(j, s, (turn & ((1u << shift) - 1)) * warp_size, count, items(turn >> shift).feature, sinks);
    }
    turn -= turns;

    u32 all = count * g.angles;
    turns = (all + warp_size - 1) / warp_size;
    RC_NO_UNROLL for (; turn < turns; turn += block_warps()) {
        const u32 n = turn * warp_size + lane();
        if (n >= all) continue;
        const u32 target = divided(n, g.angles_magic, g.angles_shift());
        const item it = items(g.slerps + g.moved + n - target * g.angles);
        make_angle<In>(j, s, target, it, sinks(target, it.feature));
    }
    if constexpr (Others) {
        turn -= turns;
        const u32 cubic_targets = g.cubic_targets();
        all = g.cubics ? (count + cubic_targets - 1) / cubic_targets * g.cubics : 0;
        turns = (all + warp_size - 1) / warp_size;
        RC_NO_UNROLL for (; turn < turns; turn += block_warps()) {
            const u32 n = turn * warp_size + lane();
            if (n >= all) continue;
            const u32 piece = divided(n, g.cubics_magic, g.cubics_shift()), first = piece * cubic_targets;
            const item it = items(j.chunks - g.others + n - (piece + 1) * g.cubics);
            make_cubics<In>(j, s, it, first, first + cubic_targets < count ? first + cubic_targets : count, sinks);
        }

        turn -= turns;
        all = count * g.others;
        turns = (all + warp_size - 1) / warp_size;
        RC_NO_UNROLL for (; turn < turns; turn += block_warps()) {
            const u32 n = turn * warp_size + lane();
            if (n >= all) continue;
            const u32 target = divided(n, g.others_magic, opaque(g.shifts) >> 15 & 31);
            const item it = items(j.chunks + n - (target + 1) * g.others);
            make_other<In>(j, s, target, it, sinks(target, it.feature));
        }
    }
}

} // namespace rc
