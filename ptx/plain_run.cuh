// plain_run.cuh has what resample_run does with plain.cuh's jobs: odd rows of 2-byte elements, at least nine, onto outputs without gaps. They
// are made 16 bytes of dst at a time, some of which cross from one row to the next. In the source rows begin anywhere: a slot's chunk is an element.
#pragma once
#include "plain.cuh"

namespace rc {

constexpr u32 eight = 8; // elements of 16 bytes

// around is 8 elements from anywhere on their way: the 32 bytes around them, from whole 16 on.
struct around {
    v16 a, b;
    u32 skip; // bytes before the first
};

RC_FN around ld_around(const u16 *p) {
    const u64 at = (u64)p & ~15ull;
    return {ld_nc_16((const void *)at), ld_nc_16((const void *)(at + 16)), (u32)(u64)p & 15};
}

// ld_single reads 8 elements from e on one by one, of which those beyond the source's `last` are any.
RC_FN around ld_single(const plain_task &j, u32 e, u32 last) {
    u32 w[4] = {};
    RC_UNROLL for (u32 i = 0; i < eight; i++) {
        if (e + i < last) w[i / 2] |= (u32)ld_nc_u16((const u16 *)j.src + (e + i)) << i % 2 * 16;
    }
    return {{w[0], w[1], w[2], w[3]}, {}, 0};
}

// arrived is what was asked for.
RC_FN v16 arrived(const around &s) {
    const u32 w[8] = {s.a.x, s.a.y, s.a.z, s.a.w, s.b.x, s.b.y, s.b.z, s.b.w};
    const u32 by_two = s.skip & 8 ? 0x7654 : 0x3210, by_one = s.skip & 4 ? 0x7654 : 0x3210, by_half = s.skip & 2 ? 0x5432 : 0x3210;
    u32 two[6], one[5];
    RC_UNROLL for (u32 i = 0; i < 6; i++) two[i] = bytes_of(w[i], w[i + 2], by_two);
    RC_UNROLL for (u32 i = 0; i < 5; i++) one[i] = bytes_of(two[i], two[i + 1], by_one);
    return {bytes_of(one[0], one[1], by_half), bytes_of(one[1], one[2], by_half), bytes_of(one[2], one[3], by_half), bytes_of(one[3], one[4], by_half)};
}

// strand is 16 bytes of dst on their way, all of one target: what they need of its sample, and of the one after.
struct strand {
    around lo, hi;
    float weight;
};

RC_FN v16 made_strand(const plain_task &j, const strand &s, bool &finite) {
    const v16 lo = arrived(s.lo), hi = arrived(s.hi);
    v16 out;
    tell_half(j.dtype(), [&](auto known) RC_INLINED { out = made<decltype(known)::dtype>(j, lo, hi, s.weight, finite); });
    return out;
}

// source is how many elements there are, up to the end of the last sample's row, and of how many of them, from the eighth on, 32 bytes around may be read.
struct source {
    u32 last, room;
    template <class S> RC_FN_MEMBER bool roomy(S s) const { return (s.lo - eight < room) & (s.hi - eight < room); }
};

RC_FN source source_of(const plain_task &j) {
    const u32 last = row_of(j, j.total - 1) * j.src_batch + (j.s - 1) * j.src_step + j.d;
    return {last, last > 23 ? last - 23 : 0};
}

// spot is where a strand begins in the source: elements.
struct spot {
    u32 lo, hi;
    float weight;
};
RC_FN spot spot_of(const plain_task &j, slot s, u32 feature) {
    const u32 lo = s.chunk + feature;
    return {lo, lo + (s.weight >= 0 ? j.src_step : 0), s.weight};
}

// mend_strand makes n elements anew that begin at a spot, where they are blended.
RC_FN void mend_strand(const plain_task &j, spot s, u32 n, char *to) {
    if (s.weight >= 0) mend(j.dtype(), (const char *)((const u16 *)j.src + s.lo), (const char *)((const u16 *)j.src + s.hi), s.weight, to, n);
}

RC_FN strand ld_strand(const plain_task &j, spot s) { return {ld_around((const u16 *)j.src + s.lo), ld_around((const u16 *)j.src + s.hi), s.weight}; }
RC_FN strand ld_strand_single(const plain_task &j, spot s, source all) { return {ld_single(j, s.lo, all.last), ld_single(j, s.hi, all.last), s.weight}; }

// What bytes_of makes of a word of a and one of b: a's, b's, or the first element of a and the second of b.
constexpr u32 all_of_a = 0x3210, all_of_b = 0x7654, half_of_each = 0x7610;

// joined is the first m elements of a, and those of b behind them. Word i has elements 2 i and 2 i + 1.
RC_FN v16 joined(v16 a, v16 b, u32 m) {
    const u32 x[4] = {a.x, a.y, a.z, a.w}, y[4] = {b.x, b.y, b.z, b.w};
    u32 w[4];
    RC_UNROLL for (u32 i = 0; i < 4; i++) w[i] = bytes_of(x[i], y[i], m >= 2 * i + 2 ? all_of_a : m <= 2 * i ? all_of_b : half_of_each);
    return {w[0], w[1], w[2], w[3]};
}

constexpr u32 strands_at_once = 2;

// move_within makes the 16 bytes of dst that are of one row, the block's `all` elements being d a row, and lead more before them. magic is ceil(2^32 / d).
RC_FN void move_within(const plain_task &j, const slot *slots, source src, char *dst, u32 all, u32 lead, u32 magic) {
    const u32 d = j.d;
    bool left = src.room == 0, finite = true; // left: some lie where 32 bytes around may not be read
    RC_ROLLED for (u32 first = thread_x() * eight; first < all + lead && src.room > 0; first += strands_at_once * plain_threads * eight) {
        strand s[strands_at_once];
        bool made_here[strands_at_once];
        const u32 more = first + plain_threads * eight < all + lead ? strands_at_once : 1; // of the last some may be by themselves
        RC_UNROLL for (u32 u = 0; u < strands_at_once; u++) {
            if (u == more) break;
            const u32 e = first + u * plain_threads * eight - lead, at = e < all ? e : 0; // before the first it is beyond all
            const u32 target = mul_hi(at, magic), feature = at - target * d;
            const spot t = spot_of(j, slots[target], feature);
            const bool whole = e < all && feature + eight <= d, here = whole && src.roomy(t);
            s[u] = ld_strand(j, {here ? t.lo : eight, here ? t.hi : eight, t.weight});
            made_here[u] = here, left = left || (whole && !here);
        }
        char *const to = dst - lead * 2 + (u64)first * 2;
        RC_UNROLL for (u32 u = 0; u < strands_at_once; u++) {
            if (u == more) break;
            s[u].hi.skip = s[u].lo.skip + 2 * j.src_step; // not kept meanwhile
            const v16 v = made_strand(j, s[u], finite);
            if (made_here[u]) st_16(to + u * plain_threads * 16, v);
        }
    }
    if (RC_OFTEN(!left & finite)) return;
    RC_ROLLED for (u32 first = thread_x() * eight; first < all + lead; first += plain_threads * eight) {
        const u32 e = first - lead;
        if (e >= all) continue;
        const u32 target = mul_hi(e, magic), feature = e - target * d;
        if (feature + eight > d) continue;
        const spot t = spot_of(j, slots[target], feature);
        if (!src.roomy(t)) st_16(dst + (u64)e * 2, made_strand(j, ld_strand_single(j, t, src), finite));
        if (!finite) mend_strand(j, t, eight, dst + (u64)e * 2);
    }
}

// move_across makes those in which one row ends and the next begins, and those that the block has with its neighbours.
RC_FN void move_across(const plain_task &j, const slot *slots, source src, char *dst, u32 count, u32 lead) {
    RC_ROLLED for (u32 i = plain_threads - 1 - thread_x(); i <= count; i += plain_threads) { // of few targets by warps that have made nothing yet
        const u32 m = (i * j.d + lead) % eight; // elements of the row before
        if (m == 0) continue;
        const bool before = i > 0, after = i < count;
        const spot a = spot_of(j, slots[before ? i - 1 : i], j.d - m), b = spot_of(j, slots[after ? i : i - 1], 0 - m); // b begins in the row before
        v16 v;
        bool finite = true; // what the two have that is not of their row may be anything
        if (RC_OFTEN(src.roomy(a) & src.roomy(b))) {
            const strand first = ld_strand(j, a), second = ld_strand(j, b);
            v = joined(made_strand(j, first, finite), made_strand(j, second, finite), m);
        } else {
            v = joined(made_strand(j, ld_strand_single(j, a, src), finite), made_strand(j, ld_strand_single(j, b, src), finite), m);
        }
        char *const to = dst + (u64)(i * j.d) * 2 - m * 2;
        if (before && after) {
            st_16(to, v);
        } else {
            const u32 w[4] = {v.x, v.y, v.z, v.w};
            RC_UNROLL for (u32 k = 0; k < eight; k++) {
                if (k < m ? before : after) st_u16(to + 2 * k, (u16)(w[k / 2] >> k % 2 * 16));
            }
        }
        if (RC_OFTEN(finite)) continue;
        if (before) mend_strand(j, a, m, to);
        if (after) mend_strand(j, spot_of(j, slots[i], 0), eight - m, to + 2 * m);
    }
}

// move_run makes the block's rows.
RC_FN void move_run(const plain_task &j, const slot *slots, u32 count, u32 magic) {
    const source src = source_of(j);
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 lead = ((u32)(u64)dst & 15) / 2; // elements of dst's first 16 bytes that are of the block before
    move_within(j, slots, src, dst, count * j.d, lead, magic);
    move_across(j, slots, src, dst, count, lead);
}

} // namespace rc
