// unaligned.cuh is what fuse_unaligned adds to fast.cuh: rows of any number of 8 or 4 byte units, and unaligned rows.
//
// Unaligned rows have any number of 2-byte elements and begin at any, in the source and in dst; a slot's chunk is an element there.
// Narrow rows are written a word of dst at a time; of wide ones the whole 16 bytes of dst first, and then the words before and after
// them. Rows of up to max_short_row elements are computed by the thread that locates them.
#pragma once
#include "fast.cuh"

namespace rc {

// unaligned is the way to copy a row: in units, in words aligned in dst, in 16 bytes aligned in dst, or by the thread that locates the
// target, see short_row.
RC_HOST enum unaligned : u32 { unaligned_units, unaligned_narrow, unaligned_wide, unaligned_short };

// move_all is move_units for any number of units, some at a time.
template <class V> RC_FN bool move_all(const fast_job &j, const slot *slots, u32 count) {
    constexpr u32 in_flight = 4;
    const u32 all = count * j.chunks;
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    bool finite = true;
    for (u32 first = thread_x(); first < all; first += in_flight * fast_threads) {
        V lo[in_flight], hi[in_flight];
        float a[in_flight];
        u32 to[in_flight];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const u32 n = first + u * fast_threads, at = n < all ? n : all - 1;
            const u32 target = (at * j.chunk_magic) >> 20, unit = at - target * j.chunks;
            const slot s = slots[target];
            const V *const p = (const V *)j.src + (s.chunk + unit);
            a[u] = s.weight, to[u] = target * j.dst_step + unit * (u32)sizeof(V);
            lo[u] = ld_unit(p);
            hi[u] = ld_unit(s.weight >= 0 ? p + j.src_step : p);
        }
        dispatch_dtype(j.dtype(), [&](auto known) RC_INLINE_LAMBDA {
            RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                const V out = resample_unit<decltype(known)::dtype, V>(j, lo[u], hi[u], a[u], finite);
                if (first + u * fast_threads < all) st_unit(dst + to[u], out, 4);
            }
        });
    }
    return finite;
}

// ld_vector reads 8 elements, and nothing else: the three words inside, and the two elements that are left, the last and, where p is
// half way in a word, the first.
RC_FN v16 ld_vector(const char *p) {
    const bool half = (u32)(u64)p & 2;
    const char *const w = p + (half ? 2 : 0);
    const u32 a = ld_nc_u32(w), b = ld_nc_u32(w + 4), c = ld_nc_u32(w + 8);
    const u32 other = (u32)ld_nc_u16(p + (half ? 0 : 12)) << 16, last = ld_nc_u16(p + 14);
    const u32 sel = half ? 0x5432 : 0x7654;
    return {bytes_of(other, a, sel), bytes_of(a, b, sel), bytes_of(b, c, sel), bytes_of(half ? c : other, last, 0x5432)};
}

// element_pair is two elements being loaded: consecutive ones from the place `begin` of a row on, with their samples' and those of the
// rows after.
struct element_pair {
    u32 lo[2], hi[2];
    float a[2];
};

// ld_pair reads element i of a pair, of the row of slot s.
RC_FN void ld_pair(const fast_job &j, element_pair &d, u32 i, slot s, u32 feature) {
    const u32 at = s.chunk + feature, next = at + (s.weight >= 0 ? j.src_step : 0);
    d.a[i] = s.weight;
    d.lo[i] = ld_nc_u16((const u16 *)j.src + at);
    d.hi[i] = ld_nc_u16((const u16 *)j.src + next);
}

// resample_pair is the result for a pair, as a word.
template <u32 DT> RC_FN u32 resample_pair(const fast_job &j, const element_pair &d, bool &finite) {
    const pack<DT, 2> lo = {{d.lo[0] | d.lo[1] << 16}}, hi = {{d.hi[0] | d.hi[1] << 16}};
    float x[2];
    RC_UNROLL for (u32 i = 0; i < 2; i++) x[i] = get(lo, i) + d.a[i] * (get(hi, i) - get(lo, i));
    finite &= fma_rn(x[0], 0, fma_rn(x[1], 0, 0)) == 0;
    const u32 blended = round_pack<DT, 2>(x).w[0];
    u32 out = bytes_of(d.a[0] >= 0 ? blended : lo.w[0], d.a[1] >= 0 ? blended : lo.w[0], 0x7610);
    if (!uses_source(d.a[0])) out = bytes_of(fallback_word(j, d.a[0]), out, 0x7610);
    if (!uses_source(d.a[1])) out = bytes_of(out, fallback_word(j, d.a[1]), 0x7610);
    return out;
}

RC_FN u32 resample_pair(const fast_job &j, const element_pair &d, bool &finite) {
    u32 out;
    dispatch_half(j.dtype(), [&](auto known) RC_INLINE_LAMBDA { out = resample_pair<decltype(known)::dtype>(j, d, finite); });
    return out;
}

// st_halves writes a word to p, of its elements begin and begin + 1 those that lie in [0, limit).
RC_FN void st_halves(char *p, u32 out, i32 begin, i32 limit) {
    const bool first = begin >= 0 && begin < limit, second = begin + 1 < limit;
    if (first && second)
        st_u32(p, out);
    else if (first)
        st_u16(p, (u16)out);
    else if (second)
        st_u16(p + 2, (u16)(out >> 16));
}

RC_FN u32 clamp_index(i32 e, i32 limit) { return (u32)(e < 0 ? 0 : e < limit ? e : limit - 1); }

// half_word is 1 where p is half way in a word.
RC_FN u32 half_word(const char *p) { return (u32)(u64)p >> 1 & 1; }

// recompute_range recomputes those of the elements [begin, end) of a row of dst that lie in [0, limit).
RC_FN void recompute_range(const fast_job &j, slot s, char *row, i32 begin, i32 end, i32 limit) {
    begin = begin < 0 ? 0 : begin, end = end < limit ? end : limit;
    const char *const lo = (const char *)j.src + 2 * (u64)(s.chunk + (u32)begin);
    if (s.weight >= 0 && begin < end) recompute(j.dtype(), lo, lo + 2 * (u64)j.src_step, s.weight, row + 2 * begin, (u32)(end - begin));
}

// vector_at is element n of a wide row at which a whole 16 bytes of dst begins, and end_at where one of the four words before the first or behind the last does,
// and where these words end.
RC_FN u32 vector_at(const char *row, u32 n) { return (0 - (u32)(u64)row / 2) % 8 + n * 8; }
RC_FN i32 end_at(const fast_job &j, const char *row, u32 n, i32 &limit) {
    const u32 k = n % 4, head = (0 - (u32)(u64)row / 2) % 8, tail = j.d - (j.d - head) % 8;
    limit = (i32)(n & 4 ? j.d : head);
    return n & 4 ? (i32)(tail + 2 * k) : (i32)(2 * k) - (i32)half_word(row);
}

// move_wide makes rows of at least a window. chunks is the most a row may have.
RC_FN void move_wide(const fast_job &j, const slot *slots, u32 count) {
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 all = count * j.chunks;
    bool finite = true;
    for (u32 n = thread_x(); n < all; n += fast_threads) {
        const u32 target = (n * j.chunk_magic) >> 20;
        char *const row = dst + target * j.dst_step;
        const u32 at = vector_at(row, n - target * j.chunks);
        if (at + 8 > j.d) continue;
        const slot s = slots[target];
        const u32 from = s.chunk + at;
        const v16 lo = ld_vector((const char *)((const u16 *)j.src + from));
        const v16 hi = ld_vector((const char *)((const u16 *)j.src + (from + (s.weight >= 0 ? j.src_step : 0))));
        v16 out;
        dispatch_half(j.dtype(), [&](auto known) RC_INLINE_LAMBDA { out = resample_unit<decltype(known)::dtype>(j, lo, hi, s.weight, finite); });
        st_16(row + 2 * at, out);
    }
    // Four words before and four after, of which some are not there.
    for (u32 n = thread_x(); n < 8 * count; n += fast_threads) {
        char *const row = dst + n / 8 * j.dst_step;
        i32 limit;
        const i32 begin = end_at(j, row, n, limit);
        if (begin >= limit) continue;
        const slot s = slots[n / 8];
        element_pair d;
        ld_pair(j, d, 0, s, clamp_index(begin, limit)), ld_pair(j, d, 1, s, clamp_index(begin + 1, limit));
        st_halves(row + 2 * begin, resample_pair(j, d, finite), begin, limit);
    }
    if (RC_LIKELY(finite)) return;
    RC_NO_UNROLL for (u32 n = thread_x(); n < all; n += fast_threads) {
        const u32 target = (n * j.chunk_magic) >> 20;
        char *const row = dst + target * j.dst_step;
        const u32 at = vector_at(row, n - target * j.chunks);
        if (at + 8 <= j.d) recompute_range(j, slots[target], row, (i32)at, (i32)at + 8, (i32)j.d);
    }
    RC_NO_UNROLL for (u32 n = thread_x(); n < 8 * count; n += fast_threads) {
        char *const row = dst + n / 8 * j.dst_step;
        i32 limit;
        const i32 begin = end_at(j, row, n, limit);
        recompute_range(j, slots[n / 8], row, begin, begin + 2, limit);
    }
}

// move_narrow makes rows of any width. chunks is the most words a row may have.
RC_FN void move_narrow(const fast_job &j, const slot *slots, u32 count) {
    constexpr u32 in_flight = 4;
    const i32 limit = (i32)j.d;
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 all = count * j.chunks;
    bool finite = true;
    for (u32 first = thread_x(); first < all; first += in_flight * fast_threads) {
        element_pair d[in_flight];
        char *to[in_flight];
        i32 begin[in_flight];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            // A word past the last is the last once more, and is not stored.
            const u32 given = first + u * fast_threads, n = given < all ? given : all - 1;
            const u32 target = (n * j.chunk_magic) >> 20;
            char *const row = dst + target * j.dst_step;
            begin[u] = (i32)(2 * (n - target * j.chunks)) - (i32)half_word(row);
            to[u] = row + 2 * begin[u];
            const slot s = slots[target];
            RC_UNROLL for (u32 i = 0; i < 2; i++) ld_pair(j, d[u], i, s, clamp_index(begin[u] + (i32)i, limit));
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const u32 out = resample_pair(j, d[u], finite);
            if (first + u * fast_threads < all) st_halves(to[u], out, begin[u], limit);
        }
    }
    if (RC_LIKELY(finite)) return;
    RC_NO_UNROLL for (u32 n = thread_x(); n < all; n += fast_threads) {
        const u32 target = (n * j.chunk_magic) >> 20;
        char *const row = dst + target * j.dst_step;
        const i32 begin = (i32)(2 * (n - target * j.chunks)) - (i32)half_word(row);
        recompute_range(j, slots[target], row, begin, begin + 2, limit);
    }
}

RC_HOST constexpr u32 max_short_row = 8;                     // elements in a row that one thread computes

struct short_elements {
    u32 w[max_short_row / 2];
};

// ld_short reads n elements, and nothing else: as ld_vector the words inside, and the one or two elements that are left.
RC_FN short_elements ld_short(const u16 *p, u32 n) {
    const u32 words = (n - 1) / 2;
    const bool half = (u32)(u64)p & 2;
    const u16 *const w = p + (half ? 1 : 0);
    u32 x[max_short_row / 2] = {};
    RC_UNROLL for (u32 i = 0; i + 1 < max_short_row / 2; i++) {
        if (i < words) x[i] = ld_nc_u32(w + 2 * i);
    }
    const u32 other = (u32)ld_nc_u16(p + (half ? 0 : 2 * words)) << 16;
    const u32 last = n % 2 == 0 ? ld_nc_u16(p + n - 1) : 0;
    short_elements out;
    RC_UNROLL for (u32 i = 0; i < max_short_row / 2; i++) {
        const u32 before = i > 0 ? x[i - 1] : other;
        out.w[i] = i < words ? bytes_of(before, x[i], half ? 0x5432 : 0x7654) : bytes_of(half ? before : other, last, 0x5432);
    }
    return out;
}

// short_row_of makes a short row of n elements in shared memory.
template <u32 DT> RC_FN void short_row_of(const fast_job &j, slot s, u16 *to, u32 n) {
    const u16 *const p = (const u16 *)j.src + s.chunk;
    const short_elements lo = ld_short(p, n), hi = ld_short(p + (s.weight >= 0 ? j.src_step : 0), n);
    bool finite = true;
    RC_UNROLL for (u32 i = 0; i < max_short_row; i += 2) {
        if (i >= n) break;
        const u32 out = resample_unit<DT, u32>(j, lo.w[i / 2], hi.w[i / 2], s.weight, finite);
        to[i] = (u16)out;
        if (i + 1 < n) to[i + 1] = (u16)(out >> 16);
    }
    if (RC_LIKELY(finite)) return;
    RC_NO_UNROLL for (u32 i = 0; i < n; i++) {
        const pack<DT, 1> v0 = ld_pack<DT, 1>(p + i), v1 = ld_pack<DT, 1>(p + j.src_step + i);
        to[i] = (u16)rounded<DT>(lerp(get(v0, 0), get(v1, 0), s.weight));
    }
}

// short_row is short_row_of, specialised for common lengths: testing the length would be half of the work of a short row.
template <u32 DT> RC_FN void short_row(const fast_job &j, slot s, u16 *to) {
    switch (j.d) {
    case 3: return short_row_of<DT>(j, s, to, 3);
    case 7: return short_row_of<DT>(j, s, to, 7);
    default: return short_row_of<DT>(j, s, to, j.d);
    }
}

// move_short writes the rows that short_row computed: contiguous ones by 16 bytes where dst is aligned, others by words.
RC_FN void move_short(const fast_job &j, const u16 *own, u32 count) {
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    if (j.contiguous() && ((u32)(u64)dst & 15) == 0) {
        const u32 all = count * j.d, whole = all / 8;
        for (u32 n = thread_x(); n < whole; n += fast_threads) st_16(dst + 16 * n, *(const v16 *)(own + 8 * n));
        const u32 left = 8 * whole + thread_x();
        if (left < all) st_u16(dst + 2 * left, own[left]);
        return;
    }
    const i32 limit = (i32)j.d;
    for (u32 n = thread_x(); n < count * j.chunks; n += fast_threads) {
        const u32 target = (n * j.chunk_magic) >> 20;
        char *const row = dst + target * j.dst_step;
        const i32 begin = (i32)(2 * (n - target * j.chunks)) - (i32)half_word(row);
        const u16 *const from = own + target * j.d;
        const u32 out = (u32)from[clamp_index(begin, limit)] | (u32)from[clamp_index(begin + 1, limit)] << 16;
        st_halves(row + 2 * begin, out, begin, limit);
    }
}

// locate_unaligned is locate_fast for move_unaligned.
template <u32 Batch> RC_FN u32 locate_unaligned(const fast_job &j, slot *slots) {
    return locate_fast<Batch>(j, [&](u32 i, slot s) RC_INLINE_LAMBDA {
        if (j.form == unaligned_short)
            dispatch_half(j.dtype(), [&](auto known) RC_INLINE_LAMBDA { short_row<decltype(known)::dtype>(j, s, (u16 *)slots + i * j.d); });
        else
            slots[i] = s;
    });
}

// move_unaligned makes the block's rows, in their form.
RC_FN void move_unaligned(const fast_job &j, const slot *slots, u32 count) {
    switch (j.form) {
    case unaligned_units:
        if (RC_UNLIKELY(!(j.unit() == 3 ? move_all<v8>(j, slots, count) : move_all<u32>(j, slots, count)))) recompute_units(j, slots, count, true);
        return;
    case unaligned_wide: return move_wide(j, slots, count);
    case unaligned_short: return move_short(j, (const u16 *)slots, count);
    default: move_narrow(j, slots, count);
    }
}

} // namespace rc
