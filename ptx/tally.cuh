// tally.cuh reduces the values of one feature, in any order, to the same bits. ops/cpu_voxelize_reduce.go says why.
#pragma once
#include "voxel.cuh"

namespace rc {

constexpr u32 saw_nan = 1, saw_inf = 2, saw_minus_inf = 4;
constexpr u32 sum_shift = 17;

struct tally {
    u32 best;    // the greatest biased exponent, at least 1, or the greatest value in order
    u32 special; // saw_*
    i64 sum;     // of at most 2^12 points: below 2^53
};

// order_of maps values to integers in ascending order, or descending.
RC_FN u32 order_of(float x, bool down) {
    const u32 b = bits(x), up = b >> 31 ? ~b : b | 0x80000000u;
    return down ? ~up : up;
}
RC_FN float of_order(u32 order, bool down) {
    const u32 up = down ? ~order : order;
    return as_f32(up >> 31 ? up & 0x7fffffffu : ~up);
}

// see looks at a value in the first pass.
RC_FN void see(tally &t, float x, bool extreme, bool down) {
    const u32 b = bits(x), e = b >> 23 & 255;
    u32 now = e > 1 ? e : 1;
    if (extreme) {
        now = order_of(x, down);
        if (is_nan(x)) t.special |= saw_nan;
    } else if (e == 255) {
        now = 0;
        t.special |= b << 9 ? saw_nan : b >> 31 ? saw_minus_inf : saw_inf;
    }
    t.best = now > t.best ? now : t.best;
}

// add adds a value in the second.
RC_FN void add(tally &t, float x) {
    const u32 b = bits(x), e = b >> 23 & 255;
    if (e == 255) return;
    const u32 down = t.best - (e > 1 ? e : 1);
    const u64 m = (u64)((b & 0x7fffffu) | (e ? 0x800000u : 0u)) << sum_shift;
    const i64 cut = down < 64 ? (i64)(m >> down) : 0;
    t.sum += b >> 31 ? -cut : cut;
}

// result is what a feature's n points make. A sum is hi * 2^32 + lo.
RC_FN float result(const voxel_job &j, u32 best, u32 special, i64 hi, i64 lo, u32 n) {
    const u32 reduce = j.reduce();
    if (special & saw_nan || (special & (saw_inf | saw_minus_inf)) == (saw_inf | saw_minus_inf)) return as_f32(0x7fc00000u);
    if (reduce == greatest || reduce == smallest) return of_order(best, reduce == smallest);
    if (special & saw_inf) return as_f32(0x7f800000u);
    if (special & saw_minus_inf) return as_f32(0xff800000u);
    hi += lo >> 32, lo &= 0xffffffff;
    double s = (double)hi * 4294967296.0 + (double)lo;
    s = s * as_f64((u64)(best + 1023 - 127 - 40) << 52);
    return f64_to_f32(reduce == mean ? div_rn(s, (double)n) : s);
}
RC_FN float result(const voxel_job &j, const tally &t, u32 n) { return result(j, t.best, t.special, t.sum >> 32, t.sum & 0xffffffff, n); }

// alone is what one point makes: itself, and a sum that is 0 has no sign.
RC_FN float alone(float x, bool extreme) { return is_nan(x) ? as_f32(0x7fc00000u) : extreme ? x : x + 0.0f; }

// meet brings what the lanes of a warp have for one feature together, at the lowest: what a first pass found (pass 0), or sums. Lanes are
// `apart` from each other, `count` of them. Every lane comes along.
template <u32 pass, u32 N> RC_FN void meet(tally (&t)[N], u32 apart, u32 count, u32 rank) {
    while (count > 1) {
        const u32 half = (count + 1) / 2;
        const bool gets = rank + half < count;
        RC_UNROLL for (u32 i = 0; i < N; i++) {
            if constexpr (pass == 0) {
                const u32 best = shuffle_down(t[i].best, half * apart), special = shuffle_down(t[i].special, half * apart);
                if (gets) t[i].best = best > t[i].best ? best : t[i].best, t[i].special |= special;
            } else {
                const u32 low = shuffle_down((u32)t[i].sum, half * apart), high = shuffle_down((u32)(t[i].sum >> 32), half * apart);
                if (gets) t[i].sum += (i64)((u64)high << 32 | low);
            }
        }
        count = half;
    }
}

} // namespace rc
