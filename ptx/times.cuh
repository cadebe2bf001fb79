// times.cuh has what the kernels do with times, which are nanoseconds, or seconds of two types. The formulas are those of the Go package ops.
#pragma once
#include "resample_job.cuh"

namespace rc {

RC_FN i64 ld_time(const i64 *p) { return (i64)ld_nc_u64(p); }
RC_FN double ld_time(const double *p) { return ld_nc_f64(p); }
RC_FN float ld_time(const float *p) { return ld_nc_f32(p); }
RC_FN void st_time(i64 *p, i64 v) { st_u64(p, (u64)v); }
RC_FN void st_time(double *p, double v) { st_f64(p, v); }
RC_FN void st_time(float *p, float v) { st_f32(p, v); }

// time_bits and from_bits keep a time in a word.
RC_FN u64 time_bits(i64 v) { return (u64)v; }
RC_FN u64 time_bits(double v) { return bits(v); }
RC_FN u64 time_bits(float v) { return bits(v); }

RC_FN i64 minus(i64 y, i64 x) { return (i64)((u64)y - (u64)x); }
RC_FN double minus(double y, double x) { return y - x; }
RC_FN float minus(float y, float x) { return y - x; }

// span is y - x for y >= x, taken in the clock's own type. Nanoseconds reach 2^63, so theirs has no sign.
RC_FN u64 span(i64 x, i64 y) { return (u64)y - (u64)x; }
RC_FN double span(double x, double y) { return y - x; }
RC_FN float span(float x, float y) { return y - x; }
RC_FN bool span_exceeds(i64 x, i64 y, i64 limit) { return span(x, y) > (u64)limit; }
RC_FN bool span_exceeds(double x, double y, double limit) { return span(x, y) > limit; }
RC_FN bool span_exceeds(float x, float y, float limit) { return span(x, y) > limit; }
RC_FN bool span_below(i64 x, i64 y, i64 limit) { return span(x, y) < (u64)limit; }
RC_FN bool span_below(double x, double y, double limit) { return span(x, y) < limit; }
RC_FN bool span_below(float x, float y, float limit) { return span(x, y) < limit; }

// in_window reports whether t is after x - from; from may be negative.
template <class C> RC_FN bool in_window(C t, C x, C from) { return t <= x ? from > 0 && span_below(t, x, from) : from > 0 || span_exceeds(x, t, minus(C(0), from)); }

// ratio is the quotient of two spans as float64 gives it, then rounded to W. For W = float one float division gives the same bits
// where both spans are floats: a quotient of 24-bit numbers is never near enough to a tie for two roundings to differ from one
// (Figueroa, When is double rounding innocuous?, 1995).
template <class W, class S> RC_FN W ratio(S x, S h) {
    if constexpr (sizeof(W) == 4) {
        if constexpr (sizeof(S) == 4) return div_rn((float)x, (float)h);
        if constexpr (S(0.5) == S(0)) {
            if (h < (1u << 24) && x < (1u << 24)) return div_rn((float)x, (float)h);
        }
        return f64_to_f32(div_rn((double)x, (double)h));
    } else {
        return div_rn((double)x, (double)h);
    }
}

RC_FN void from_bits(u64 b, i64 &v) { v = (i64)b; }
RC_FN void from_bits(u64 b, double &v) { v = as_f64(b); }
RC_FN void from_bits(u64 b, float &v) { v = as_f32((u32)b); }

RC_FN void from_ns(i64 ns, i64 &v) { v = ns; }
RC_FN void from_ns(i64 ns, double &v) { v = div_rn((double)ns, 1e9); }
RC_FN void from_ns(i64 ns, float &v) { v = f64_to_f32(div_rn((double)ns, 1e9)); }

// bad_time returns why t cannot be a time, or 0.
RC_FN u64 bad_time(i64 t) { return t > max_time || t < -max_time ? (u64)time_range : 0; }
RC_FN u64 bad_time(double t) { return is_finite(t) ? 0 : (u64)not_finite; }
RC_FN u64 bad_time(float t) { return is_finite(t) ? 0 : (u64)not_finite; }
RC_FN bool beyond_range(i64 t) { return bad_time(t); }
RC_FN bool beyond_range(double) { return false; }
RC_FN bool beyond_range(float) { return false; }

// tick is target i of a uniform clock, which on a clock of seconds begins at the double whose bits start has.
template <class C, class J> RC_FN C tick(const J &j, u32 i) {
    if constexpr (C(0.5) == C(0)) {
        const double offset = floor_f(div_rn((double)i * 1e9, j.rate) + 0.5);
        return j.start + (i64)(offset > (double)max_time ? (double)max_time : offset);
    } else {
        return (C)(as_f64((u64)j.start) + div_rn((double)i, j.rate));
    }
}

} // namespace rc
