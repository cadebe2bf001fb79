// curves.cuh has the formulas of the kinds that look at a feature's value, in double, each step rounded on its own, in the order
// of the Go package ops (curve.go), which tells their sources: so both give the same bits.
#pragma once
#include "common.cuh"

namespace rc {

// wrap_angle is x less the multiple of period that brings it into [-period/2, period/2).
RC_FN double wrap_angle(double x, double period) {
    double r = x - period * floor_f(div_rn(x, period) + 0.5);
    const double half = div_rn(period, 2.0);
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

// ---- Sine and cosine on [0, pi/2], arc cosine on [0, 0.9999] ----

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

// sine and cosine take the series that fits the half of the quadrant.
RC_FN double sine(double x) {
    if (x > half_pi_high / 2) {
        const double y = (half_pi_high - x) + half_pi_low;
        return cos_series(y * y);
    }
    return x * sin_series(x * x);
}
RC_FN double cosine(double x) {
    if (x > half_pi_high / 2) {
        const double y = (half_pi_high - x) + half_pi_low;
        return y * sin_series(y * y);
    }
    return cos_series(x * x);
}
RC_FN double arc_cosine(double x) {
    double p = -0.0187293;
    p = p * x + 0.0742610;
    p = p * x + -0.2121144;
    p = p * x + 1.5707288;
    double theta = sqrt_rn(1.0 - x) * p;
    RC_UNROLL for (int i = 0; i < 2; i++) theta += div_rn(cosine(theta) - x, sine(theta));
    return theta;
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
        const double theta = arc_cosine(dot), s = sine(theta);
        w0 = div_rn(sine((1.0 - a) * theta), s), w1 = sign * div_rn(sine(a * theta), s);
    }
    double norm = 0;
    RC_UNROLL for (int i = 0; i < 4; i++) {
        out[i] = w0 * q0[i] + w1 * q1[i];
        norm += out[i] * out[i];
    }
    if (normalise) {
        norm = sqrt_rn(norm);
        RC_UNROLL for (int i = 0; i < 4; i++) out[i] = div_rn(out[i], norm);
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
