// accumulate.cuh reduces the values of one feature, added in any order, to the same bits: a running extreme, or a sum of
// multiples of a unit that depends only on the greatest magnitude. ops/cpu/voxelize_reduce.go says why that is order-independent.
#pragma once
#include "voxel.cuh"

namespace rc {

constexpr u32 infinite = 0x7f800000u;
constexpr i32 fixed_bits = 40; // below the power of two that the greatest value has

// accumulator is what a lane knows of a feature. Of a sum best is the greatest value's bits without the sign, and least 2^32 less those of the
// smallest that is not 0; of an extreme best is the greatest in order, and least 1 where there was a NaN. So greater is what both keep.
struct accumulator {
    u32 best, least;
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

// exponent_of is the biased exponent of the unit that values are truncated to, plus fixed_bits; of what is not finite it is no matter.
RC_FN u32 exponent_of(u32 best) { return best >> 24 ? best >> 23 : 1; }

// What a pass over the points does: it finds extremes; it adds values as they are, and their range; or it adds them again, truncated.
enum passes : u32 { extremes, sums, truncated_sums };

RC_FN u32 larger(u32 a, u32 b) { return a > b ? a : b; }

// add_extreme and add_value take one value.
RC_FN void add_extreme(accumulator &t, float x, bool down) {
    t.best = larger(t.best, order_of(x, down));
    if (is_nan(x)) t.least = 1;
}
RC_FN void add_value(accumulator &t, float x) {
    const u32 size = bits(x) & 0x7fffffffu;
    t.best = larger(t.best, size), t.least = larger(t.least, 0u - size);
    t.sum += (double)x;
}

// is_exact reports whether a sum of values as they are equals that of the truncated ones: where none has bits to truncate, and the sum of at most 2^12 is exact, as
// their last places lie 40 bits at most below the power of two of the greatest; or where some value is not finite, which then is all that counts.
RC_FN bool is_exact(u32 best, u32 least) { return best >= infinite || exponent_of(best) - exponent_of(0u - least) <= fixed_bits - 23; }
template <u32 N> RC_FN bool is_exact(const accumulator (&t)[N]) {
    bool all = true;
    RC_UNROLL for (u32 i = 0; i < N; i++) all &= is_exact(t[i].best, t[i].least);
    return all;
}

// add_truncated adds a value without what lies below the unit. It is added to a number whose last place is that, rounded toward zero, which is taken away
// again. The sum of at most 2^12 is exact: they have 41 bits.
RC_FN void add_truncated(accumulator &t, float x) {
    const u64 size = (u64)(exponent_of(t.best) + 1023 - 127 + 52 - fixed_bits) << 52;
    const double large = as_f64(size | (u64)(bits(x) & 0x80000000u) << 32);
    t.sum += add_rz((double)x, large) - large;
}

// units is a sum as a number of units.
RC_FN i64 units(double sum, u32 best) { return (i64)(sum * as_f64((u64)(1023 + 127 + fixed_bits - exponent_of(best)) << 52)); }

// quotient is a / b rounded, of numbers far from the range's ends; y is 1 / b rounded. (P. Markstein, "Computation of elementary functions on
// the IBM RISC System/6000 processor", 1990: a quotient within a unit of its last place, corrected once, is right.)
RC_FN double quotient(double a, double b, double y) {
    const double rough = a * y, near = fma_rn(fma_rn(-b, rough, a), y, rough);
    return fma_rn(fma_rn(-b, near, a), y, near);
}

// result is what a feature's n points make; reciprocal is 1 / n.
RC_FN float result(u32 reduce, const accumulator &t, u32 n, double reciprocal) {
    if (reduce >= greatest) return t.least ? as_f32(0x7fc00000u) : of_order(t.best, reduce == smallest);
    if (t.best < infinite) return f64_to_f32(reduce == mean ? quotient(t.sum, (double)n, reciprocal) : t.sum);
    return as_f32(t.sum != t.sum ? 0x7fc00000u : t.sum > 0 ? 0x7f800000u : 0xff800000u);
}
RC_FN double reciprocal_of(u32 reduce, u32 n) { return reduce == mean ? div_rn(1.0, (double)n) : 1; }

// all_units is a sum of hi * 2^32 + lo units.
RC_FN double all_units(i64 hi, i64 lo, u32 best) {
    hi += lo >> 32, lo &= 0xffffffff;
    return ((double)hi * 4294967296.0 + (double)lo) * as_f64((u64)(exponent_of(best) + 1023 - 127 - fixed_bits) << 52);
}

// single_value is what one point makes: itself, and a sum that is 0 has no sign.
RC_FN float single_value(float x, bool extreme) { return is_nan(x) ? as_f32(0x7fc00000u) : extreme ? x : x + 0.0f; }

// combine_lanes brings what the lanes of a warp have for one feature together, at the lowest. Lanes are `apart` from each other, `count` of them. Every
// lane comes along.
template <u32 pass, u32 N> RC_FN void combine_lanes(accumulator (&t)[N], u32 apart, u32 count, u32 rank) {
    while (count > 1) {
        const u32 half = (count + 1) / 2;
        const bool gets = rank + half < count;
        RC_UNROLL for (u32 i = 0; i < N; i++) {
            if constexpr (pass != truncated_sums) {
                const u32 best = shuffle_down(t[i].best, half * apart), least = shuffle_down(t[i].least, half * apart);
                if (gets) t[i].best = larger(t[i].best, best), t[i].least = larger(t[i].least, least);
            }
            if constexpr (pass != extremes) {
                const double sum = as_f64(shuffle_down(bits(t[i].sum), half * apart));
                if (gets) t[i].sum += sum;
            }
        }
        count = half;
    }
}

} // namespace rc
