// plain_odd.cuh has what fuse_odd does with plain.cuh's jobs: rows of whole 8 or 4 bytes in any number, and odd ones.
//
// Odd rows have any number of elements of 2 bytes, and begin at any, in the source and in dst: a slot's chunk is an element there. Narrow rows
// are made a word of dst at a time; of wide ones the whole 16 bytes of dst first, and then the words before and after them.
#pragma once
#include "plain.cuh"

namespace rc {

// odd_form is how odd rows are made: by units, by words of dst, by 16 bytes of it first, or by the threads that find their places, see own_row.
RC_HOST enum odd : u32 { odd_units, odd_narrow, odd_wide, odd_own };

// move_all is move_units for any number of units, some at a time.
template <class V> RC_FN bool move_all(const plain_task &j, const slot *slots, u32 count) {
    constexpr u32 in_flight = 4;
    const u32 all = count * j.chunks;
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    bool finite = true;
    for (u32 first = thread_x(); first < all; first += in_flight * plain_threads) {
        V lo[in_flight], hi[in_flight];
        float a[in_flight];
        u32 to[in_flight];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const u32 n = first + u * plain_threads, at = n < all ? n : all - 1;
            const u32 target = (at * j.chunk_magic) >> 20, unit = at - target * j.chunks;
            const slot s = slots[target];
            const V *const p = (const V *)j.src + (s.chunk + unit);
            a[u] = s.weight, to[u] = target * j.dst_step + unit * (u32)sizeof(V);
            lo[u] = ld_unit(p);
            hi[u] = ld_unit(s.weight >= 0 ? p + j.src_step : p);
        }
        tell_dtype(j.dtype(), [&](auto known) RC_INLINED {
            RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                const V out = made<decltype(known)::dtype, V>(j, lo[u], hi[u], a[u], finite);
                if (first + u * plain_threads < all) st_unit(dst + to[u], out, 4);
            }
        });
    }
    return finite;
}

// ld_window reads 8 elements, and nothing else: the three words inside, and the two elements that are left, the last and, where p is
// half way in a word, the first.
RC_FN v16 ld_window(const char *p) {
    const bool half = (u32)(u64)p & 2;
    const char *const w = p + (half ? 2 : 0);
    const u32 a = ld_nc_u32(w), b = ld_nc_u32(w + 4), c = ld_nc_u32(w + 8);
    const u32 other = (u32)ld_nc_u16(p + (half ? 0 : 12)) << 16, last = ld_nc_u16(p + 14);
    const u32 sel = half ? 0x5432 : 0x7654;
    return {bytes_of(other, a, sel), bytes_of(a, b, sel), bytes_of(b, c, sel), bytes_of(half ? c : other, last, 0x5432)};
}

// duo is two elements on their way: those after each other at the place `begin` of a run of them, with their samples' and those of the
// rows after.
struct duo {
    u32 lo[2], hi[2];
    float a[2];
};

// ld_duo reads element i of a duo, of a row that s tells.
RC_FN void ld_duo(const plain_task &j, duo &d, u32 i, slot s, u32 feature) {
    const u32 at = s.chunk + feature, next = at + (s.weight >= 0 ? j.src_step : 0);
    d.a[i] = s.weight;
    d.lo[i] = ld_nc_u16((const u16 *)j.src + at);
    d.hi[i] = ld_nc_u16((const u16 *)j.src + next);
}

// made_duo is what becomes of a duo, as a word.
template <u32 DT> RC_FN u32 made_duo(const plain_task &j, const duo &d, bool &finite) {
    const pack<DT, 2> lo = {{d.lo[0] | d.lo[1] << 16}}, hi = {{d.hi[0] | d.hi[1] << 16}};
    float x[2];
    RC_UNROLL for (u32 i = 0; i < 2; i++) x[i] = get(lo, i) + d.a[i] * (get(hi, i) - get(lo, i));
    finite &= fma_rn(x[0], 0, fma_rn(x[1], 0, 0)) == 0;
    const u32 blended = round_pack<DT, 2>(x).w[0];
    u32 out = bytes_of(d.a[0] >= 0 ? blended : lo.w[0], d.a[1] >= 0 ? blended : lo.w[0], 0x7610);
    if (!resamples(d.a[0])) out = bytes_of(instead(j, d.a[0]), out, 0x7610);
    if (!resamples(d.a[1])) out = bytes_of(out, instead(j, d.a[1]), 0x7610);
    return out;
}

RC_FN u32 made_duo(const plain_task &j, const duo &d, bool &finite) {
    u32 out;
    tell_half(j.dtype(), [&](auto known) RC_INLINED { out = made_duo<decltype(known)::dtype>(j, d, finite); });
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

RC_FN u32 within_run(i32 e, i32 limit) { return (u32)(e < 0 ? 0 : e < limit ? e : limit - 1); }

// half_of is 1 where p is half way in a word.
RC_FN u32 half_of(const char *p) { return (u32)(u64)p >> 1 & 1; }

// mend_run makes the elements [begin, end) of a row of dst anew that lie in [0, limit).
RC_FN void mend_run(const plain_task &j, slot s, char *row, i32 begin, i32 end, i32 limit) {
    begin = begin < 0 ? 0 : begin, end = end < limit ? end : limit;
    const char *const lo = (const char *)j.src + 2 * (u64)(s.chunk + (u32)begin);
    if (s.weight >= 0 && begin < end) mend(j.dtype(), lo, lo + 2 * (u64)j.src_step, s.weight, row + 2 * begin, (u32)(end - begin));
}

// window_at is element n of a wide row at which a whole 16 bytes of dst begins, and end_at where one of the four words before the first or behind the last does,
// and how far that run goes.
RC_FN u32 window_at(const char *row, u32 n) { return (0 - (u32)(u64)row / 2) % 8 + n * 8; }
RC_FN i32 end_at(const plain_task &j, const char *row, u32 n, i32 &limit) {
    const u32 k = n % 4, head = (0 - (u32)(u64)row / 2) % 8, tail = j.d - (j.d - head) % 8;
    limit = (i32)(n & 4 ? j.d : head);
    return n & 4 ? (i32)(tail + 2 * k) : (i32)(2 * k) - (i32)half_of(row);
}

// move_wide makes rows of at least a window. chunks is the most a row may have.
RC_FN void move_wide(const plain_task &j, const slot *slots, u32 count) {
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 all = count * j.chunks;
    bool finite = true;
    for (u32 n = thread_x(); n < all; n += plain_threads) {
        const u32 target = (n * j.chunk_magic) >> 20;
        char *const row = dst + target * j.dst_step;
        const u32 at = window_at(row, n - target * j.chunks);
        if (at + 8 > j.d) continue;
        const slot s = slots[target];
        const u32 from = s.chunk + at;
        const v16 lo = ld_window((const char *)((const u16 *)j.src + from));
        const v16 hi = ld_window((const char *)((const u16 *)j.src + (from + (s.weight >= 0 ? j.src_step : 0))));
        v16 out;
        tell_half(j.dtype(), [&](auto known) RC_INLINED { out = made<decltype(known)::dtype>(j, lo, hi, s.weight, finite); });
        st_16(row + 2 * at, out);
    }
    // Four words before and four after, of which some are not there.
    for (u32 n = thread_x(); n < 8 * count; n += plain_threads) {
        char *const row = dst + n / 8 * j.dst_step;
        i32 limit;
        const i32 begin = end_at(j, row, n, limit);
        if (begin >= limit) continue;
        const slot s = slots[n / 8];
        duo d;
        ld_duo(j, d, 0, s, within_run(begin, limit)), ld_duo(j, d, 1, s, within_run(begin + 1, limit));
        st_halves(row + 2 * begin, made_duo(j, d, finite), begin, limit);
    }
    if (RC_OFTEN(finite)) return;
    RC_ROLLED for (u32 n = thread_x(); n < all; n += plain_threads) {
        const u32 target = (n * j.chunk_magic) >> 20;
        char *const row = dst + target * j.dst_step;
        const u32 at = window_at(row, n - target * j.chunks);
        if (at + 8 <= j.d) mend_run(j, slots[target], row, (i32)at, (i32)at + 8, (i32)j.d);
    }
    RC_ROLLED for (u32 n = thread_x(); n < 8 * count; n += plain_threads) {
        char *const row = dst + n / 8 * j.dst_step;
        i32 limit;
        const i32 begin = end_at(j, row, n, limit);
        mend_run(j, slots[n / 8], row, begin, begin + 2, limit);
    }
}

// move_narrow makes rows of any width. chunks is the most words a row may have.
RC_FN void move_narrow(const plain_task &j, const slot *slots, u32 count) {
    constexpr u32 in_flight = 4;
    const i32 limit = (i32)j.d;
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 all = count * j.chunks;
    bool finite = true;
    for (u32 first = thread_x(); first < all; first += in_flight * plain_threads) {
        duo d[in_flight];
        char *to[in_flight];
        i32 begin[in_flight];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            // A word past the last is the last once more, and is not stored.
            const u32 given = first + u * plain_threads, n = given < all ? given : all - 1;
            const u32 target = (n * j.chunk_magic) >> 20;
            char *const row = dst + target * j.dst_step;
            begin[u] = (i32)(2 * (n - target * j.chunks)) - (i32)half_of(row);
            to[u] = row + 2 * begin[u];
            const slot s = slots[target];
            RC_UNROLL for (u32 i = 0; i < 2; i++) ld_duo(j, d[u], i, s, within_run(begin[u] + (i32)i, limit));
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const u32 out = made_duo(j, d[u], finite);
            if (first + u * plain_threads < all) st_halves(to[u], out, begin[u], limit);
        }
    }
    if (RC_OFTEN(finite)) return;
    RC_ROLLED for (u32 n = thread_x(); n < all; n += plain_threads) {
        const u32 target = (n * j.chunk_magic) >> 20;
        char *const row = dst + target * j.dst_step;
        const i32 begin = (i32)(2 * (n - target * j.chunks)) - (i32)half_of(row);
        mend_run(j, slots[target], row, begin, begin + 2, limit);
    }
}

RC_HOST constexpr u32 most_own = 8;                     // elements of a row that a thread makes by itself

struct own_elements {
    u32 w[most_own / 2];
};

// ld_own reads n elements, and nothing else: as ld_window the words inside, and the one or two elements that are left.
RC_FN own_elements ld_own(const u16 *p, u32 n) {
    const u32 words = (n - 1) / 2;
    const bool half = (u32)(u64)p & 2;
    const u16 *const w = p + (half ? 1 : 0);
    u32 x[most_own / 2] = {};
    RC_UNROLL for (u32 i = 0; i + 1 < most_own / 2; i++) {
        if (i < words) x[i] = ld_nc_u32(w + 2 * i);
    }
    const u32 other = (u32)ld_nc_u16(p + (half ? 0 : 2 * words)) << 16;
    const u32 last = n % 2 == 0 ? ld_nc_u16(p + n - 1) : 0;
    own_elements out;
    RC_UNROLL for (u32 i = 0; i < most_own / 2; i++) {
        const u32 before = i > 0 ? x[i - 1] : other;
        out.w[i] = i < words ? bytes_of(before, x[i], half ? 0x5432 : 0x7654) : bytes_of(half ? before : other, last, 0x5432);
    }
    return out;
}

// own_row_of makes a short row of n elements in shared memory.
template <u32 DT> RC_FN void own_row_of(const plain_task &j, slot s, u16 *to, u32 n) {
    const u16 *const p = (const u16 *)j.src + s.chunk;
    const own_elements lo = ld_own(p, n), hi = ld_own(p + (s.weight >= 0 ? j.src_step : 0), n);
    bool finite = true;
    RC_UNROLL for (u32 i = 0; i < most_own; i += 2) {
        if (i >= n) break;
        const u32 out = made<DT, u32>(j, lo.w[i / 2], hi.w[i / 2], s.weight, finite);
        to[i] = (u16)out;
        if (i + 1 < n) to[i + 1] = (u16)(out >> 16);
    }
    if (RC_OFTEN(finite)) return;
    RC_ROLLED for (u32 i = 0; i < n; i++) {
        const pack<DT, 1> v0 = ld_pack<DT, 1>(p + i), v1 = ld_pack<DT, 1>(p + j.src_step + i);
        to[i] = (u16)rounded<DT>(lerp(get(v0, 0), get(v1, 0), s.weight));
    }
}

// own_row is own_row_of with code of their own for the usual lengths: half of what a short row takes would be asking for its length.
template <u32 DT> RC_FN void own_row(const plain_task &j, slot s, u16 *to) {
    switch (j.d) {
    case 3: return own_row_of<DT>(j, s, to, 3);
    case 7: return own_row_of<DT>(j, s, to, 7);
    default: return own_row_of<DT>(j, s, to, j.d);
    }
}

// move_own writes the rows that own_row made: those that run on by 16 bytes where dst has such, others by words.
RC_FN void move_own(const plain_task &j, const u16 *own, u32 count) {
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    if (j.run_on() && ((u32)(u64)dst & 15) == 0) {
        const u32 all = count * j.d, whole = all / 8;
        for (u32 n = thread_x(); n < whole; n += plain_threads) st_16(dst + 16 * n, *(const v16 *)(own + 8 * n));
        const u32 left = 8 * whole + thread_x();
        if (left < all) st_u16(dst + 2 * left, own[left]);
        return;
    }
    const i32 limit = (i32)j.d;
    for (u32 n = thread_x(); n < count * j.chunks; n += plain_threads) {
        const u32 target = (n * j.chunk_magic) >> 20;
        char *const row = dst + target * j.dst_step;
        const i32 begin = (i32)(2 * (n - target * j.chunks)) - (i32)half_of(row);
        const u16 *const from = own + target * j.d;
        const u32 out = (u32)from[within_run(begin, limit)] | (u32)from[within_run(begin + 1, limit)] << 16;
        st_halves(row + 2 * begin, out, begin, limit);
    }
}

// survey_odd is survey_plain for move_odd.
template <u32 Batch> RC_FN u32 survey_odd(const plain_task &j, slot *slots) {
    return survey_plain<Batch>(j, [&](u32 i, slot s) RC_INLINED {
        if (j.form == odd_own)
            tell_half(j.dtype(), [&](auto known) RC_INLINED { own_row<decltype(known)::dtype>(j, s, (u16 *)slots + i * j.d); });
        else
            slots[i] = s;
    });
}

// move_odd makes the block's rows, in their form.
RC_FN void move_odd(const plain_task &j, const slot *slots, u32 count) {
    switch (j.form) {
    case odd_units:
        if (RC_SELDOM(!(j.unit() == 3 ? move_all<v8>(j, slots, count) : move_all<u32>(j, slots, count)))) mend_units(j, slots, count, true);
        return;
    case odd_wide: return move_wide(j, slots, count);
    case odd_own: return move_own(j, (const u16 *)slots, count);
    default: move_narrow(j, slots, count);
    }
}

} // namespace rc
