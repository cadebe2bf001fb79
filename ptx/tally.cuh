// tally.cuh reduces the values of one feature, in any order, to the same bits. ops/cpu_voxelize_reduce.go says why.
#pragma once
#include "voxel.cuh"

namespace rc {

constexpr u32 saw_nan = 1, saw_inf = 2, saw_minus_inf = 4;
constexpr u32 infinite = 0x7f800000u;
constexpr i32 cut_bits = 40; // below the power of two that the greatest value has

// tally is what a lane knows of a feature. Of a sum best is the greatest value's bits without the sign, of an extreme the greatest in order.
// The sum is exact, of at most 2^12 points: their terms have 41 bits.
struct tally {
    u32 best;
    u32 special; // saw_*
    double sum;
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
    const u32 b = bits(x), size = b & 0x7fffffffu;
    u32 now = size;
    if (extreme) {
        now = order_of(x, down);
        if (size > infinite) t.special |= saw_nan;
    } else if (RC_SELDOM(size >= infinite)) {
        t.special |= size > infinite ? saw_nan : b >> 31 ? saw_minus_inf : saw_inf;
    }
    t.best = now > t.best ? now : t.best;
}

// exponent_of is the biased exponent of the unit that values are cut to, more cut_bits; of what is not finite it is no matter.
RC_FN u32 exponent_of(u32 best) { return best >> 24 ? best >> 23 : 1; }

// add adds a value in the second: without what lies below the unit. It is added to a number whose last place is that, rounded toward zero,
// which is taken away again.
RC_FN void add(tally &t, float x) {
    const u64 size = (u64)(exponent_of(t.best) + 1023 - 127 + 52 - cut_bits) << 52;
    const double large = as_f64(size | (u64)(bits(x) & 0x80000000u) << 32);
    t.sum += add_rz((double)x, large) - large;
}

// units is a sum as a number of units.
RC_FN i64 units(const tally &t) { return (i64)(t.sum * as_f64((u64)(1023 + 127 + cut_bits - exponent_of(t.best)) << 52)); }

// quotient is a / b rounded, of numbers far from the range's ends; y is 1 / b rounded. (P. Markstein, "Computation of elementary functions on
// the IBM RISC System/6000 processor", 1990: a quotient within a unit of its last place, corrected once, is right.)
RC_FN double quotient(double a, double b, double y) {
    const double rough = a * y, near = fma_rn(fma_rn(-b, rough, a), y, rough);
    return fma_rn(fma_rn(-b, near, a), y, near);
}

// result is what a feature's n points make; share is 1 / n.
RC_FN float result(const voxel_job &j, const tally &t, u32 n, double share) {
    const u32 reduce = j.reduce();
    if (reduce < greatest && t.special == 0) return f64_to_f32(reduce == mean ? quotient(t.sum, (double)n, share) : t.sum);
    if (t.special & saw_nan || (t.special & (saw_inf | saw_minus_inf)) == (saw_inf | saw_minus_inf)) return as_f32(0x7fc00000u);
    if (reduce == greatest || reduce == smallest) return of_order(t.best, reduce == smallest);
    return as_f32(t.special & saw_inf ? 0x7f800000u : 0xff800000u);
}
RC_FN double share_of(const voxel_job &j, u32 n) { return j.reduce() == mean ? div_rn(1.0, (double)n) : 1; }

// all_units is a sum of hi * 2^32 + lo units.
RC_FN double all_units(i64 hi, i64 lo, u32 best) {
    hi += lo >> 32, lo &= 0xffffffff;
    return ((double)hi * 4294967296.0 + (double)lo) * as_f64((u64)(exponent_of(best) + 1023 - 127 - cut_bits) << 52);
}

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
                const u64 sum = bits(t[i].sum);
                const u32 low = shuffle_down((u32)sum, half * apart), high = shuffle_down((u32)(sum >> 32), half * apart);
                if (gets) t[i].sum += as_f64((u64)high << 32 | low);
            }
        }
        count = half;
    }
}

} // namespace rc
