// rotations.cuh has the rotations that are not quaternions, in double, each step as in the Go package ops (rotation.go), which
// names their sources. Quaternions are xyzw.
#pragma once
#include "curves.cuh"

namespace rc {

// quarter_turns returns the multiple of pi/2 that is nearest to x, in [0, 2^19], and what is left of x.
RC_FN double quarter_turns(double x, double &rest) {
    const double n = floor_f(x * 0.63661977236758134308 + 0.5);
    rest = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
    return n;
}

// arc_tangent takes x in [0, 1].
RC_FN double arc_tangent(double x) {
    RC_UNROLL for (int i = 0; i < 2; i++) x = div_rn(x, 1 + sqrt_rn(1 + x * x));
    const double z = x * x;
    double s = -1.0 / 23;
    s = s * z + 1.0 / 21;
    s = s * z + -1.0 / 19;
    s = s * z + 1.0 / 17;
    s = s * z + -1.0 / 15;
    s = s * z + 1.0 / 13;
    s = s * z + -1.0 / 11;
    s = s * z + 1.0 / 9;
    s = s * z + -1.0 / 7;
    s = s * z + 1.0 / 5;
    s = s * z + -1.0 / 3;
    s = s * z + 1.0;
    return 4 * (x * s);
}

RC_FN double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

RC_FN void unit4(double (&q)[4]) {
    double norm = 0;
    RC_UNROLL for (int i = 0; i < 4; i++) norm += q[i] * q[i];
    norm = div_rn(1.0, sqrt_rn(norm));
    RC_UNROLL for (int i = 0; i < 4; i++) q[i] *= norm;
}

constexpr u64 nan64 = 0x7ff8000000000000ull;

// quat_of_vec is the quaternion of a rotation vector.
RC_FN void quat_of_vec(double (&q)[4], const double (&r)[3]) {
    double half = sqrt_rn(dot3(r, r)) * 0.5, y;
    if (!(half <= 1 << 19)) half = as_f64(nan64);
    double n = quarter_turns(half, y);
    const double z = y * y, series = sin_series(z);
    double s = y * series, c = cos_series(z), f = series * 0.5;
    if (n != 0) {
        n -= 4 * floor_f(n * 0.25);
        if (n == 1 || n == 3) {
            const double was = s;
            s = c, c = -was;
        }
        if (n >= 2) s = -s, c = -c;
        f = div_rn(s, 2 * half);
    }
    RC_UNROLL for (int i = 0; i < 3; i++) q[i] = r[i] * f;
    q[3] = c;
}

// vec_of_quat is the rotation vector of a unit quaternion, of an angle in [0, pi].
RC_FN void vec_of_quat(double (&r)[3], const double (&q)[4]) {
    const double sign = q[3] < 0 ? -1 : 1;
    const double v[3] = {sign * q[0], sign * q[1], sign * q[2]}, w = sign * q[3];
    const double s = sqrt_rn(dot3(v, v));
    double f = 2;
    if (!(s == 0)) {
        const bool low = s <= w;
        const double t = arc_tangent(low ? div_rn(s, w) : div_rn(w, s));
        f = div_rn(2 * (low ? t : (half_pi_high - t) + half_pi_low), s);
    }
    RC_UNROLL for (int i = 0; i < 3; i++) r[i] = v[i] * f;
}

// quat_of_6d is the quaternion of the rotation whose first column is along the first three, and whose second is the part of the
// others across it.
RC_FN void quat_of_6d(double (&q)[4], const double (&m)[6]) {
    const double *a = m, *b = m + 3;
    double x[3], y[3];
    const double na = sqrt_rn(dot3(a, a)), nb = sqrt_rn(dot3(b, b));
    RC_UNROLL for (int i = 0; i < 3; i++) x[i] = div_rn(a[i], na);
    const double along = dot3(x, b);
    RC_UNROLL for (int i = 0; i < 3; i++) y[i] = b[i] - along * x[i];
    double across = sqrt_rn(dot3(y, y));
    if (!(across > 0x1p-20 * nb) || !is_finite(na) || !is_finite(nb)) across = as_f64(nan64);
    RC_UNROLL for (int i = 0; i < 3; i++) y[i] = div_rn(y[i], across);
    const double z[3] = {x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]};
    const double trace = x[0] + y[1] + z[2];
    if (trace >= x[0] && trace >= y[1] && trace >= z[2]) {
        q[0] = y[2] - z[1], q[1] = z[0] - x[2], q[2] = x[1] - y[0], q[3] = 1 + trace;
    } else if (x[0] >= y[1] && x[0] >= z[2]) {
        q[0] = 1 + x[0] - y[1] - z[2], q[1] = y[0] + x[1], q[2] = z[0] + x[2], q[3] = y[2] - z[1];
    } else if (y[1] >= z[2]) {
        q[0] = y[0] + x[1], q[1] = 1 - x[0] + y[1] - z[2], q[2] = z[1] + y[2], q[3] = z[0] - x[2];
    } else {
        q[0] = z[0] + x[2], q[1] = z[1] + y[2], q[2] = 1 - x[0] - y[1] + z[2], q[3] = x[1] - y[0];
    }
    unit4(q);
}

// six_of_quat is the first two columns of a unit quaternion's matrix.
RC_FN void six_of_quat(double (&out)[6], const double (&q)[4]) {
    const double x = q[0], y = q[1], z = q[2], w = q[3];
    out[0] = 1 - 2 * (y * y + z * z);
    out[1] = 2 * (x * y + z * w);
    out[2] = 2 * (x * z - y * w);
    out[3] = 2 * (x * y - z * w);
    out[4] = 1 - 2 * (x * x + z * z);
    out[5] = 2 * (y * z + x * w);
}

} // namespace rc
