// unaligned_contiguous.cuh is what resample_unaligned adds to fast.cuh: unaligned rows of 2-byte elements, at least nine, onto an output
// without gaps, so that dst is one contiguous run. A thread writes 16 bytes of dst at a time, some of which straddle two rows. In the
// source rows begin anywhere: a slot's chunk is an element.
#pragma once
#include "fast.cuh"

namespace rc {

constexpr u32 vector_elements = 8; // elements of 16 bytes

// unaligned_load is 8 elements from anywhere: the two aligned vectors of 16 bytes around them.
struct unaligned_load {
    v16 a, b;
    u32 skip; // bytes before the first
};

RC_FN unaligned_load ld_unaligned(const u16 *p) {
    const u64 at = (u64)p & ~15ull;
    return {ld_nc_16((const void *)at), ld_nc_16((const void *)(at + 16)), (u32)(u64)p & 15};
}

// ld_by_element reads 8 elements from e on one by one, of which those beyond the source's `last` are any.
RC_FN unaligned_load ld_by_element(const fast_job &j, u32 e, u32 last) {
    u32 w[4] = {};
    RC_UNROLL for (u32 i = 0; i < vector_elements; i++) {
        if (e + i < last) w[i / 2] |= (u32)ld_nc_u16((const u16 *)j.src + (e + i)) << i % 2 * 16;
    }
    return {{w[0], w[1], w[2], w[3]}, {}, 0};
}

// aligned is the 8 elements, shifted into place.
RC_FN v16 aligned(const unaligned_load &s) {
    const u32 w[8] = {s.a.x, s.a.y, s.a.z, s.a.w, s.b.x, s.b.y, s.b.z, s.b.w};
    const u32 by_two = s.skip & 8 ? 0x7654 : 0x3210, by_one = s.skip & 4 ? 0x7654 : 0x3210, by_half = s.skip & 2 ? 0x5432 : 0x3210;
    u32 two[6], one[5];
    RC_UNROLL for (u32 i = 0; i < 6; i++) two[i] = bytes_of(w[i], w[i + 2], by_two);
    RC_UNROLL for (u32 i = 0; i < 5; i++) one[i] = bytes_of(two[i], two[i + 1], by_one);
    return {bytes_of(one[0], one[1], by_half), bytes_of(one[1], one[2], by_half), bytes_of(one[2], one[3], by_half), bytes_of(one[3], one[4], by_half)};
}

// vector_pair is what 16 bytes of dst need, all of one target: of its sample, and of the one after.
struct vector_pair {
    unaligned_load lo, hi;
    float weight;
};

RC_FN v16 resample_vector(const fast_job &j, const vector_pair &s, bool &finite) {
    const v16 lo = aligned(s.lo), hi = aligned(s.hi);
    v16 out;
    dispatch_half(j.dtype(), [&](auto known) RC_INLINE_LAMBDA { out = resample_unit<decltype(known)::dtype>(j, lo, hi, s.weight, finite); });
    return out;
}

// source_bounds is how many elements there are, up to the end of the last sample's row, and of how many of them, from the eighth on, 32 bytes around may be read.
struct source_bounds {
    u32 last, readable_limit;
    template <class S> RC_FN_MEMBER bool readable(S s) const { return (s.lo - vector_elements < readable_limit) & (s.hi - vector_elements < readable_limit); }
};

RC_FN source_bounds source_bounds_of(const fast_job &j) {
    const u32 last = row_of(j, j.total - 1) * j.src_batch + (j.s - 1) * j.src_step + j.d;
    return {last, last > 23 ? last - 23 : 0};
}

// source_position is where a vector_pair begins in the source: elements.
struct source_position {
    u32 lo, hi;
    float weight;
};
RC_FN source_position source_position_of(const fast_job &j, slot s, u32 feature) {
    const u32 lo = s.chunk + feature;
    return {lo, lo + (s.weight >= 0 ? j.src_step : 0), s.weight};
}

// recompute_vector recomputes n elements from a source position on, if they are blended.
RC_FN void recompute_vector(const fast_job &j, source_position s, u32 n, char *to) {
    if (s.weight >= 0) recompute(j.dtype(), (const char *)((const u16 *)j.src + s.lo), (const char *)((const u16 *)j.src + s.hi), s.weight, to, n);
}

RC_FN vector_pair ld_vector_pair(const fast_job &j, source_position s) { return {ld_unaligned((const u16 *)j.src + s.lo), ld_unaligned((const u16 *)j.src + s.hi), s.weight}; }
RC_FN vector_pair ld_vector_pair_by_element(const fast_job &j, source_position s, source_bounds all) { return {ld_by_element(j, s.lo, all.last), ld_by_element(j, s.hi, all.last), s.weight}; }

// What bytes_of makes of a word of a and one of b: a's, b's, or the first element of a and the second of b.
constexpr u32 all_of_a = 0x3210, all_of_b = 0x7654, half_of_each = 0x7610;

// joined is the first m elements of a, and those of b behind them. Word i has elements 2 i and 2 i + 1.
RC_FN v16 joined(v16 a, v16 b, u32 m) {
    const u32 x[4] = {a.x, a.y, a.z, a.w}, y[4] = {b.x, b.y, b.z, b.w};
    u32 w[4];
    RC_UNROLL for (u32 i = 0; i < 4; i++) w[i] = bytes_of(x[i], y[i], m >= 2 * i + 2 ? all_of_a : m <= 2 * i ? all_of_b : half_of_each);
    return {w[0], w[1], w[2], w[3]};
}

constexpr u32 vectors_in_flight = 2;

// move_within makes the 16 bytes of dst that are of one row, the block's `all` elements being d a row, and lead more before them. magic is ceil(2^32 / d).
RC_FN void move_within(const fast_job &j, const slot *slots, source_bounds src, char *dst, u32 all, u32 lead, u32 magic) {
    const u32 d = j.d;
    bool left = src.readable_limit == 0, finite = true; // left: some lie where 32 bytes around may not be read
    RC_NO_UNROLL for (u32 first = thread_x() * vector_elements; first < all + lead && src.readable_limit > 0; first += vectors_in_flight * fast_threads * vector_elements) {
        vector_pair s[vectors_in_flight];
        bool made_here[vectors_in_flight];
        const u32 more = first + fast_threads * vector_elements < all + lead ? vectors_in_flight : 1; // of the last some may be by themselves
        RC_UNROLL for (u32 u = 0; u < vectors_in_flight; u++) {
            if (u == more) break;
            const u32 e = first + u * fast_threads * vector_elements - lead, at = e < all ? e : 0; // before the first it is beyond all
            const u32 target = mul_hi(at, magic), feature = at - target * d;
            const source_position t = source_position_of(j, slots[target], feature);
            const bool whole = e < all && feature + vector_elements <= d, here = whole && src.readable(t);
            s[u] = ld_vector_pair(j, {here ? t.lo : vector_elements, here ? t.hi : vector_elements, t.weight});
            made_here[u] = here, left = left || (whole && !here);
        }
        char *const to = dst - lead * 2 + (u64)first * 2;
        RC_UNROLL for (u32 u = 0; u < vectors_in_flight; u++) {
            if (u == more) break;
            s[u].hi.skip = s[u].lo.skip + 2 * j.src_step; // not kept meanwhile
            const v16 v = resample_vector(j, s[u], finite);
            if (made_here[u]) st_16(to + u * fast_threads * 16, v);
        }
    }
    if (RC_LIKELY(!left & finite)) return;
    RC_NO_UNROLL for (u32 first = thread_x() * vector_elements; first < all + lead; first += fast_threads * vector_elements) {
        const u32 e = first - lead;
        if (e >= all) continue;
        const u32 target = mul_hi(e, magic), feature = e - target * d;
        if (feature + vector_elements > d) continue;
        const source_position t = source_position_of(j, slots[target], feature);
        if (!src.readable(t)) st_16(dst + (u64)e * 2, resample_vector(j, ld_vector_pair_by_element(j, t, src), finite));
        if (!finite) recompute_vector(j, t, vector_elements, dst + (u64)e * 2);
    }
}

// move_straddling makes those in which one row ends and the next begins, and those that the block has with its neighbours.
RC_FN void move_straddling(const fast_job &j, const slot *slots, source_bounds src, char *dst, u32 count, u32 lead) {
    RC_NO_UNROLL for (u32 i = fast_threads - 1 - thread_x(); i <= count; i += fast_threads) { // of few targets by warps that have made nothing yet
        const u32 m = (i * j.d + lead) % vector_elements; // elements of the row before
        if (m == 0) continue;
        const bool before = i > 0, after = i < count;
        const source_position a = source_position_of(j, slots[before ? i - 1 : i], j.d - m), b = source_position_of(j, slots[after ? i : i - 1], 0 - m); // b begins in the row before
        v16 v;
        bool finite = true; // what the two have that is not of their row may be anything
        if (RC_LIKELY(src.readable(a) & src.readable(b))) {
            const vector_pair first = ld_vector_pair(j, a), second = ld_vector_pair(j, b);
            v = joined(resample_vector(j, first, finite), resample_vector(j, second, finite), m);
        } else {
            v = joined(resample_vector(j, ld_vector_pair_by_element(j, a, src), finite), resample_vector(j, ld_vector_pair_by_element(j, b, src), finite), m);
        }
        char *const to = dst + (u64)(i * j.d) * 2 - m * 2;
        if (before && after) {
            st_16(to, v);
        } else {
            const u32 w[4] = {v.x, v.y, v.z, v.w};
            RC_UNROLL for (u32 k = 0; k < vector_elements; k++) {
                if (k < m ? before : after) st_u16(to + 2 * k, (u16)(w[k / 2] >> k % 2 * 16));
            }
        }
        if (RC_LIKELY(finite)) continue;
        if (before) recompute_vector(j, a, m, to);
        if (after) recompute_vector(j, source_position_of(j, slots[i], 0), vector_elements - m, to + 2 * m);
    }
}

// move_contiguous makes the block's rows.
RC_FN void move_contiguous(const fast_job &j, const slot *slots, u32 count, u32 magic) {
    const source_bounds src = source_bounds_of(j);
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 lead = ((u32)(u64)dst & 15) / 2; // elements of dst's first 16 bytes that are of the block before
    move_within(j, slots, src, dst, count * j.d, lead, magic);
    move_straddling(j, slots, src, dst, count, lead);
}

} // namespace rc
