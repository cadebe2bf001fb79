// curves.cuh has the formulas of the interpolations that look at a feature's value (angles, slerp, cubics), in double, each step
// rounded on its own, in the order of the Go package ops (curve.go), which names their sources: both give the same bits.
#pragma once
#include "common.cuh"

namespace rc {

// wrap_angle is x less the multiple of period that brings it into [-period/2, period/2).
RC_FN double wrap_angle(double x, double period) {
    const double half = period * 0.5;
    double r = x;
    if (x >= half)
        r = x - period;
    else if (x < -half)
        r = x + period;
    if (r >= -half && r < half) return r;
    r = x - period * floor_f(div_rn(x, period) + 0.5);
    if (r >= half)
        r -= period;
    else if (r < -half)
        r += period;
    return r;
}

// unwrap_angle is x less the multiple of period that brings it into [0, period).
RC_FN double unwrap_angle(double x, double period) {
    double r = x >= period ? x - period : x < 0 ? x + period : x;
    if (r >= 0 && r < period) return r;
    r = wrap_angle(x, period);
    if (r < 0) r += period;
    return r == period ? 0 : r;
}

// range_from_zero reports whether two samples that are more than half a period apart show that their range is [0, period).
RC_FN bool range_from_zero(double v0, double v1, double half) { return v0 >= 0 && v1 >= 0 && (v0 >= half || v1 >= half); }

RC_FN double angle_between(double v0, double v1, double a, double period) {
    const double half = period * 0.5, d = v1 - v0;
    if (abs_f(d) <= half) return v0 + a * d;
    const double r = v0 + a * wrap_angle(d, period);
    return range_from_zero(v0, v1, half) ? unwrap_angle(r, period) : wrap_angle(r, period);
}

// angles_near makes N of them without a branch, and reports whether none is far from a turn's range. Else they may be wrong.
template <u32 N> RC_FN bool angles_near(double (&x)[N], const double (&v0)[N], const double (&v1)[N], double a, double period) {
    const double half = period * 0.5, far = half + half == period ? period * 1.25 : 0; // half is rounded of the least numbers
    bool near = true;
    RC_UNROLL for (u32 i = 0; i < N; i++) {
        const double d = v1[i] - v0[i];
        const bool unwrapped = abs_f(d) <= half;
        const double r = v0[i] + a * (d - (unwrapped ? 0 : d < 0 ? -period : period));
        const double lo = range_from_zero(v0[i], v1[i], half) ? 0 : -half, hi = lo + period;
        x[i] = unwrapped ? r : r - (r >= hi ? period : r < lo ? -period : 0);
        near = near & (abs_f(d) < far) & (unwrapped | ((x[i] >= lo) & (x[i] < hi)));
    }
    return near;
}

// ---- Rotations ----

constexpr double half_pi_high = 1.57079632679489655800e+00, half_pi_low = 6.12323399573676603587e-17;

// sin_series and cos_series are the Taylor series of sin(x)/x and cos(x) in z = x*x.
RC_FN double sin_series(double z) {
    double s = 1.0 / 355687428096000;
    s = s * z + -1.0 / 1307674368000;
    s = s * z + 1.0 / 6227020800;
    s = s * z + -1.0 / 39916800;
    s = s * z + 1.0 / 362880;
    s = s * z + -1.0 / 5040;
    s = s * z + 1.0 / 120;
    s = s * z + -1.0 / 6;
    return s * z + 1.0;
}
RC_FN double cos_series(double z) {
    double s = -1.0 / 6402373705728000;
    s = s * z + 1.0 / 20922789888000;
    s = s * z + -1.0 / 87178291200;
    s = s * z + 1.0 / 479001600;
    s = s * z + -1.0 / 3628800;
    s = s * z + 1.0 / 40320;
    s = s * z + -1.0 / 720;
    s = s * z + 1.0 / 24;
    s = s * z + -1.0 / 2;
    return s * z + 1.0;
}

// polynomial takes the terms by fours.
template <u32 N> RC_FN double polynomial(const double (&c)[N], double x) {
    static_assert(N % 4 == 0, "terms come by fours");
    const double x2 = x * x, x4 = x2 * x2;
    double s = 0;
    RC_UNROLL for (u32 n = N; n > 0; n -= 4) {
        const double four = (c[n - 4] + c[n - 3] * x) + (c[n - 2] + c[n - 1] * x) * x2;
        s = n == N ? four : s * x4 + four;
    }
    return s;
}

// acos_ratio is acos(1-u)/sin(acos(1-u)) in u, for u in [0, 1]; sin_ratio is sin(x)/x in x*x, for x in [0, pi/2].
RC_FN double acos_ratio(double u) {
    constexpr double c[] = {
        0x1.ffffffffffffep-1, 0x1.5555555555f82p-2, 0x1.1111111069e05p-3, 0x1.d41d425c34c22p-5,
        0x1.a019e463897f8p-6, 0x1.7a4a044adc375p-7, 0x1.5cd7d674c5744p-8, 0x1.4b1a22baae8bbp-9,
        0x1.eef1a4774b466p-11, 0x1.8d76da62e0babp-10, -0x1.7578e22319dd0p-9, 0x1.01d9928be5728p-7,
        -0x1.e50b69e52f10ep-7, 0x1.68bbe5d35b43bp-6, -0x1.971add2211940p-6, 0x1.5a18b4edf7f86p-6,
        -0x1.ac0c637646acep-7, 0x1.6d8b99bf0b4c8p-8, -0x1.82653d340237fp-10, 0x1.82de544e186d3p-13};
    return polynomial(c, u);
}
RC_FN double sin_ratio(double z) {
    constexpr double c[] = {
        0x1.fffffffffffffp-1, -0x1.5555555555459p-3, 0x1.1111111108fcbp-7, -0x1.a01a0199c07f6p-13,
        0x1.71de37de52af4p-19, -0x1.ae634b1880842p-26, 0x1.60e55581f0209p-33, -0x1.9eee72299b20bp-41};
    return polynomial(c, z);
}

// slerp4 is the quaternion at a between q0 and q1 along the shorter arc.
RC_FN void slerp4(double (&out)[4], const double (&q0)[4], const double (&q1)[4], double a) {
    double dot = q0[0] * q1[0];
    RC_UNROLL for (int i = 1; i < 4; i++) dot += q0[i] * q1[i];
    double sign = 1, w0, w1;
    if (dot < 0) sign = -1, dot = -dot;
    const bool normalise = dot > 0.9999;
    if (normalise) {
        w0 = 1.0 - a, w1 = sign * a;
    } else {
        const double u = 1.0 - dot, b = 1.0 - a, ratio = acos_ratio(u), square = ratio * ratio * (u * (1.0 + dot));
        w0 = b * ratio * sin_ratio(b * b * square), w1 = sign * (a * ratio * sin_ratio(a * a * square));
    }
    double norm = 0;
    RC_UNROLL for (int i = 0; i < 4; i++) {
        out[i] = w0 * q0[i] + w1 * q1[i];
        norm += out[i] * out[i];
    }
    if (normalise) {
        norm = div_rn(1.0, sqrt_rn(norm));
        RC_UNROLL for (int i = 0; i < 4; i++) out[i] *= norm;
    }
}

// ---- Cubics ----

// cubic is the one from v1 with slope d1 to rise above it with slope d2.
struct cubic {
    double v1, rise, d1, d2;
};

// hermite_at is its value at the fraction u of a bracket of length h, hermite_slope its slope there.
RC_FN double hermite_at(const cubic &c, double h, double u) {
    const double r = 1 - u, both = u * r;
    return c.v1 + u * u * (3 - 2 * u) * c.rise + h * both * (r * c.d1 - u * c.d2);
}
RC_FN double hermite_slope(const cubic &c, double h, double u) {
    const double r = 1 - u;
    return 6 * (u * r) * div_rn(c.rise, h) + r * (1 - 3 * u) * c.d1 - u * (2 - 3 * u) * c.d2;
}

// beside is a bracket next to the target's: the target's length over its own, and over both; 0 where there is none.
struct alignas(16) beside {
    double ratio, fraction;
};
RC_FN beside beside_of(double h, double length) {
    if (length == 0) return {0, 0};
    double r = div_rn(h, length);
    r = r > 0x1p-1022 ? r : 0x1p-1022;
    r = r < 0x1p1023 ? r : 0x1p1023;
    return {r, div_rn(r, 1 + r)};
}

// Slopes are rises over the target's bracket, whose own line's is rise; outer is that of the line over the bracket beside it.
RC_FN double parabola(double rise, double outer, double fraction) { return fraction * outer + (1 - fraction) * rise; }
RC_FN double parabola_end(double rise, double outer, double fraction) { return (1 + fraction) * rise - fraction * outer; }

// ---- Pchip ----

// sign_of is 1, 0 or -1, and 2 for a NaN.
RC_FN int sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : 2; }

// pchip_steep is pchip_slope where the product is too small or too great, or no number.
RC_FN double pchip_steep(double rise, double outer, double w) {
    if (!((rise > 0 && outer > 0) || (rise < 0 && outer < 0))) return 0;
    if (abs_f(outer) > abs_f(rise)) return div_rn(rise, w * div_rn(rise, outer) + (1 - w));
    return div_rn(outer, w + (1 - w) * div_rn(outer, rise));
}
RC_FN double pchip_slope(double rise, double outer, double fraction) {
    const double w = (1 + fraction) * (1.0 / 3), both = rise * outer;
    double d = 0;
    if (both >= 0x1p-960 && both <= 0x1p1000)
        d = div_rn(both, w * rise + (1 - w) * outer);
    else if (!(both < 0))
        d = pchip_steep(rise, outer, w);
    return d;
}

RC_FN double pchip_end(double rise, double outer, double fraction) {
    const double d = parabola_end(rise, outer, fraction);
    if (sign_of(d) != sign_of(rise)) return 0;
    if (sign_of(rise) != sign_of(outer) && abs_f(d) > 3 * abs_f(rise)) return 3 * rise;
    return d;
}

// cubic_of is the cubic between v1 and v2, over a length of 1: pchip's, or Catmull and Rom's. There is a v0 if there is a
// bracket before, and a v3 if there is one after.
RC_FN cubic cubic_of(bool is_pchip, double v0, double v1, double v2, double v3, bool has_before, bool has_after, const beside &before, const beside &after) {
    const double rise = v2 - v1;
    const double left = (v1 - v0) * before.ratio, right = (v3 - v2) * after.ratio;
    double d1 = rise, d2 = rise;
    if (has_before && has_after) {
        if (is_pchip)
            d1 = pchip_slope(rise, left, before.fraction), d2 = pchip_slope(rise, right, after.fraction);
        else
            d1 = parabola(rise, left, before.fraction), d2 = parabola(rise, right, after.fraction);
    } else if (has_before || has_after) {
        const double outer = has_before ? left : right, fraction = has_before ? before.fraction : after.fraction;
        const double inner = is_pchip ? pchip_slope(rise, outer, fraction) : parabola(rise, outer, fraction);
        const double end = is_pchip ? pchip_end(rise, outer, fraction) : parabola_end(rise, outer, fraction);
        d1 = has_before ? inner : end, d2 = has_before ? end : inner;
    }
    return {v1, rise, d1, d2};
}

} // namespace rc
