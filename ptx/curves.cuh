// curves.cuh has the formulas of the kinds that look at a feature's value, in double, each step rounded on its own, in the order
// of the Go package ops (curve.go), which tells their sources: so both give the same bits.
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

RC_FN double angle_between(double v0, double v1, double a, double period) {
    const double d = wrap_angle(v1 - v0, period);
    return wrap_angle(v0 + a * d, period);
}

// angles_near makes N of them without a branch, and reports whether none is far from a turn's range. Else they may be wrong.
template <u32 N> RC_FN bool angles_near(double (&x)[N], const double (&v0)[N], const double (&v1)[N], double a, double period) {
    const double half = period * 0.5, far = half + half == period ? period * 1.25 : 0; // half is rounded of the least numbers
    bool near = true;
    const auto wrap = [&](double y) {
        near = near & (abs_f(y) < far);
        return y - (y >= half ? period : y < -half ? -period : 0);
    };
    RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = wrap(v0[i] + a * wrap(v1[i] - v0[i]));
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

// hermite_at is the cubic from v1 with slope d1 to v2 with slope d2, h further: its value and slope at u of the way.
RC_FN double hermite_at(double v1, double v2, double d1, double d2, double h, double u, double &slope) {
    const double r = 1 - u, rise = v2 - v1, both = u * r;
    slope = 6 * both * div_rn(rise, h) + r * (1 - 3 * u) * d1 - u * (2 - 3 * u) * d2;
    return v1 + u * u * (3 - 2 * u) * rise + h * both * (r * d1 - u * d2);
}

// parabola_end is the slope at the end of the parabola over the bracket h0 with slope m0 and, beyond it, h1 with m1.
RC_FN double parabola_end(double h0, double h1, double m0, double m1) {
    return div_rn((2 * h0 + h1) * m0 - h0 * m1, h0 + h1);
}

// ---- Pchip ----

// sign_of is 1, 0 or -1, and 2 for a NaN.
RC_FN int sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : 2; }

RC_FN double pchip_slope(double h0, double h1, double m0, double m1) {
    if (!((m0 > 0 && m1 > 0) || (m0 < 0 && m1 < 0))) return 0;
    const double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
    return div_rn(1.0, div_rn(div_rn(w0, m0) + div_rn(w1, m1), w0 + w1));
}

RC_FN double pchip_end(double h0, double h1, double m0, double m1) {
    const double d = parabola_end(h0, h1, m0, m1);
    if (sign_of(d) != sign_of(m0)) return 0;
    if (sign_of(m0) != sign_of(m1) && abs_f(d) > 3 * abs_f(m0)) return 3 * m0;
    return d;
}

// pchip_at is the value x after v1's stamp. before, h and after are the lengths of the brackets around it, 0 for one that is not
// there.
RC_FN double pchip_at(double v0, double v1, double v2, double v3, double before, double h, double after, double x) {
    const double m1 = div_rn(v2 - v1, h);
    const double m0 = before > 0 ? div_rn(v1 - v0, before) : 0, m2 = after > 0 ? div_rn(v3 - v2, after) : 0;
    double d1 = m1, d2 = m1;
    if (before > 0)
        d1 = pchip_slope(before, h, m0, m1);
    else if (after > 0)
        d1 = pchip_end(h, after, m1, m2);
    if (after > 0)
        d2 = pchip_slope(h, after, m1, m2);
    else if (before > 0)
        d2 = pchip_end(h, before, m1, m0);
    const double t = div_rn(d1 + d2 - 2 * m1, h);
    const double c = div_rn(m1 - d1, h) - t;
    double s = div_rn(t, h) * x + c;
    s = s * x + d1;
    return s * x + v1;
}

// ---- Catmull-Rom ----

RC_FN double catmull_rom_at(double v0, double v1, double v2, double v3, double before, double h, double after, double x) {
    const double m1 = div_rn(v2 - v1, h);
    const double m0 = before > 0 ? div_rn(v1 - v0, before) : 0, m2 = after > 0 ? div_rn(v3 - v2, after) : 0;
    double d1 = m1, d2 = m1;
    if (before > 0)
        d1 = div_rn(m0 * h + m1 * before, before + h);
    else if (after > 0)
        d1 = parabola_end(h, after, m1, m2);
    if (after > 0)
        d2 = div_rn(m1 * after + m2 * h, h + after);
    else if (before > 0)
        d2 = parabola_end(h, before, m1, m0);
    double slope;
    return hermite_at(v1, v2, d1, d2, h, div_rn(x, h), slope);
}

} // namespace rc
