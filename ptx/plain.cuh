// plain.cuh resamples what most jobs are: rows of one length, ends held, no limits, values of 16 or 32 bits that keep their dtype,
// rows of whole units of 16, 8 or 4 bytes. resample_plain.cu and fuse_plain.cu give it their parameters.
//
// A block takes `tile` targets, whose units its threads share out, at most `Each` a thread. One thread a target finds its place
// among the row's stamps and leaves in shared memory, in 8 bytes, which unit of the source its row begins with and the weight of
// the row after it; warps without a target check the block's share of the stamps meanwhile, 16 bytes at a time. After a barrier
// each thread loads all its units, with the rows after them where they are blended, and then stores what it made of them. A
// block past the last target only checks.
//
// Bytes moved: each source row that a target needs, once from DRAM if targets are in order; the targets' features; stamps,
// targets, valid and age. Promises equal bits with the CPU.
#pragma once
#include "resample.cuh"
#include "values.cuh"

namespace rc {

constexpr u32 plain_threads = 128;
constexpr u32 most_each = 4;                        // units a thread
constexpr u32 most_tile = plain_threads * most_each; // targets a block: one unit each

// plain_task is a job. What resample.cuh asks of a job and a plain one does not have is constant.
struct plain_task {
    const void *src;
    const void *times;   // stamp i of all rows is at times[i]
    const void *targets; // null for a uniform clock
    char *dst;           // the first feature of target i is dst_step * i bytes from here
    u8 *valid;           // that of target i is at valid[i * valid_step]; null if not wanted
    void *age;           // as valid
    u64 *fault;
    u32 *fault_flag;
    i64 start;
    double rate;
    u32 src_batch, src_step;        // units from a row of the batch, and from a sample, to the next
    u32 times_batch, targets_batch; // elements; 0 where the batch shares them
    u32 total, stamps, share;       // targets; stamps to check; of those, each block's
    u32 s, t;                       // samples and targets a row
    u32 t_magic;                    // divides by t, see row_of
    float pace;
    u32 tile, chunks, chunk_magic, flags;
    u32 dst_step, valid_step, age_step;
    u32 block, stream;
    u64 offset; // what a target's time has more than the stream's: a time's bits
    u32 d;      // of odd rows, which see: features

    static constexpr u64 max_gap = 0, tolerance = 0;
    RC_FN_MEMBER u32 edge() const { return edge_clamp; }
    RC_FN_MEMBER bool has_gap() const { return false; }
    RC_FN_MEMBER bool has_tolerance() const { return false; }
    RC_FN_MEMBER bool near_previous() const { return false; }
    RC_FN_MEMBER bool near_next() const { return false; }
    RC_FN_MEMBER bool near_nearest() const { return false; }
    RC_FN_MEMBER bool has_window() const { return false; }
    RC_FN_MEMBER u64 window() const { return 0; }
    RC_FN_MEMBER u64 stream_bits() const { return (u64)stream << 58; }
    RC_FN_MEMBER bool plain() const { return true; }
    template <class C> RC_FN_MEMBER C on_own_clock(C x) const {
        C lack;
        from_bits(offset, lack);
        return minus(x, lack);
    }

    // The fields of flags.
    RC_FN_MEMBER u32 clock() const { return flags & 3; }
    RC_FN_MEMBER u32 kind() const { return flags >> 2 & 3; }
    RC_FN_MEMBER u32 each() const { return flags >> 4 & 7; } // units a thread
    RC_FN_MEMBER bool check() const { return flags >> 7 & 1; }
    RC_FN_MEMBER bool dense() const { return flags >> 8 & 1; } // the block's share of the stamps begins at 16 bytes
    RC_FN_MEMBER u32 unit() const { return flags >> 11 & 7; }  // log2 of the bytes moved at once
    RC_FN_MEMBER bool run_on() const { return flags >> 9 & 1; } // of odd rows: dst has no gaps
    RC_FN_MEMBER u32 t_shift() const { return flags >> 16 & 31; }
    RC_FN_MEMBER bool ready() const { return flags >> 31; } // see begin
    RC_FN_MEMBER void settle() { after_wait(src), after_wait(times), after_wait(targets); }
    RC_FN_MEMBER u32 store() const { return flags >> 21 & 7; } // log2 of the bytes written at once: not more than unit
};

// slot is where a target's row begins in the source, and the weight of the row after it. A weight of -1 takes the row as it is;
// a NaN makes NaN.
struct alignas(8) slot {
    u32 chunk;
    float weight;
};

// ---- The check ----

template <class C> struct stamps {
    static constexpr u32 n = 16 / sizeof(C);
    C v[n];
};

// tell reports what is wrong with stamp i.
template <class C> RC_FN void tell(const plain_task &j, u32 i) {
    const C *t = (const C *)j.times;
    const C v = ld_time(t + i);
    u64 reason = bad_time(v);
    if (reason == 0 && i % j.s != 0) {
        const C before = ld_time(t + i - 1);
        if (!(before <= v) && before == before) reason = unsorted;
    }
    if (reason != 0) report(j, fault_times, i, reason);
}

// check_share looks at the block's share of the stamps with the threads from first_thread on.
template <class C> RC_FN void check_share(const plain_task &j, u32 first_thread) {
    const C *t = (const C *)j.times;
    const u32 begin = j.share * j.block;
    if (begin >= j.stamps) return;
    const u32 end = j.stamps - begin > j.share ? begin + j.share : j.stamps;
    constexpr u32 n = stamps<C>::n;
    u32 i = begin + (thread_x() - first_thread) * n;
    const u32 step = (threads_x() - first_thread) * n;
    for (; i < end; i += step) {
        if (!j.dense() || end - i < n) {
            for (u32 u = i; u < end && u < i + n; u++) tell<C>(j, u);
            continue;
        }
        const stamps<C> c = __builtin_bit_cast(stamps<C>, ld_nc_16(t + i));
        C before = i > 0 ? ld_time(t + i - 1) : c.v[0];
        bool good = true;
        RC_UNROLL for (u32 u = 0; u < n; u++) {
            good = good && before <= c.v[u] && bad_time(c.v[u]) == 0;
            before = c.v[u];
        }
        if (good) continue;
        for (u32 u = i; u < i + n; u++) tell<C>(j, u); // where a row begins, most often
    }
}

// ---- The search ----

template <class C> RC_FN slot place_target(const plain_task &j, u32 i) {
    const u32 row = row_of(j, i), pos = i - row * j.t;
    const C *t = (const C *)j.times + (u64)row * j.times_batch;
    const C given = j.targets == nullptr ? tick<C>(j, pos) : ld_time((const C *)j.targets + (u64)row * j.targets_batch + pos);
    const C x = j.on_own_clock(given);
    if (j.check() && (beyond_range(given) || beyond_range(x))) report(j, fault_targets, i, time_range);
    const located<C> at = locate(j, t, j.s, pos, x);
    if (j.valid) st_u8(j.valid + (u64)i * j.valid_step, at.where == exact || at.where == inside);
    if (j.age) st_time((C *)j.age + (u64)i * j.age_step, minus(x, ld_time(t + at.k)));
    slot out = {0, -1.0f};
    u32 k = at.k;
    if (at.where == nowhere) {
        out.weight = as_f32(0x7fc00000u);
    } else if (at.where == inside) {
        if (j.kind() == linear)
            out.weight = at.template weight<float>();
        else
            k += j.kind() == next || (j.kind() == nearest && at.later);
    }
    out.chunk = row * j.src_batch + k * j.src_step;
    return out;
}

template <class C> RC_FN u32 survey_block(const plain_task &j, slot *slots) {
    const u32 first = j.block * j.tile;
    const u32 left = first < j.total ? j.total - first : 0;
    const u32 count = left < j.tile ? left : j.tile;
    const u32 busy = (count + warp_size - 1) & ~(warp_size - 1);
    const u32 checkers = busy < threads_x() ? busy : 0;
    if (j.check() && thread_x() >= checkers) check_share<C>(j, checkers);
    for (u32 i = thread_x(); i < count; i += threads_x()) slots[i] = place_target<C>(j, first + i);
    return count;
}

RC_FN u32 survey_plain(const plain_task &j, slot *slots) {
    switch (j.clock()) {
    case clock_i64: return survey_block<i64>(j, slots);
    case clock_f64: return survey_block<double>(j, slots);
    default: return survey_block<float>(j, slots);
    }
}

// ---- The features ----

RC_FN v16 ld_unit(const v16 *p) { return ld_nc_16(p); }
RC_FN v8 ld_unit(const v8 *p) { return ld_nc_8(p); }
RC_FN u32 ld_unit(const u32 *p) { return ld_nc_u32(p); }

RC_FN void st_unit(void *p, v16 v, u32 store) {
    if (store >= 4) return st_16(p, v);
    if (store == 3) return st_8(p, {v.x, v.y}), st_8((u32 *)p + 2, {v.z, v.w});
    st_u32(p, v.x), st_u32((u32 *)p + 1, v.y), st_u32((u32 *)p + 2, v.z), st_u32((u32 *)p + 3, v.w);
}
RC_FN void st_unit(void *p, v8 v, u32 store) {
    if (store >= 3) return st_8(p, v);
    st_u32(p, v.x), st_u32((u32 *)p + 1, v.y);
}
RC_FN void st_unit(void *p, u32 v, u32) { st_u32(p, v); }

template <u32 DT, class V> RC_FN V blend_unit(V lo, V hi, float a) {
    constexpr u32 n = sizeof(V) / element<DT>::size;
    const pack<DT, n> v0 = __builtin_bit_cast(pack<DT, n>, lo), v1 = __builtin_bit_cast(pack<DT, n>, hi);
    float x[n];
    RC_UNROLL for (u32 i = 0; i < n; i++) x[i] = lerp(get(v0, i), get(v1, i), a);
    return __builtin_bit_cast(V, round_pack<DT, n>(x));
}

// Dense: the outputs have no gaps, nor features of others between them.
template <u32 DT, class V, u32 Each, bool Dense> RC_FN void move_units(const plain_task &j, const slot *slots, u32 count) {
    V lo[Each], hi[Each];
    float a[Each];
    const V *const src = (const V *)j.src;
    const u32 all = count * j.chunks;
    RC_UNROLL for (u32 u = 0; u < Each; u++) {
        // A unit past the last is the last one once more, and is not stored.
        const u32 n = thread_x() + u * plain_threads, at = n < all ? n : all - 1;
        const u32 target = (at * j.chunk_magic) >> 20;
        const slot s = slots[target];
        const V *p = src + s.chunk + (at - target * j.chunks);
        a[u] = s.weight;
        lo[u] = ld_unit(p);
        hi[u] = ld_unit(s.weight >= 0 ? p + j.src_step : p);
    }
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    RC_UNROLL for (u32 u = 0; u < Each; u++) {
        const u32 n = thread_x() + u * plain_threads;
        V out = lo[u];
        if (a[u] >= 0) out = blend_unit<DT, V>(lo[u], hi[u], a[u]);
        if (is_nan(a[u])) out = __builtin_bit_cast(V, repeat<DT, sizeof(V) / element<DT>::size>(nan_of<DT>()));
        const u32 target = (n * j.chunk_magic) >> 20;
        const u32 at = Dense ? n * (u32)sizeof(V) : target * j.dst_step + (n - target * j.chunks) * (u32)sizeof(V);
        if (n < all) st_unit(dst + at, out, Dense ? 4 : j.store());
    }
}

template <u32 DT, class V, bool Dense> RC_FN void move_each(const plain_task &j, const slot *slots, u32 count) {
    switch (j.each()) {
    case 1: return move_units<DT, V, 1, Dense>(j, slots, count);
    case 2: return move_units<DT, V, 2, Dense>(j, slots, count);
    default: return move_units<DT, V, most_each, Dense>(j, slots, count);
    }
}

// ---- The features of odd rows ----
//
// Rows of any width, wherever they begin, in the source and in dst: a slot's chunk is an element there. Wide rows are made 16 bytes
// at once, narrow ones a word of 4.

// Elements in 16 bytes, and in 4.
template <u32 DT> constexpr u32 per_window = 16 / element<DT>::size;
template <u32 DT> constexpr u32 per_word = 4 / element<DT>::size;

// odd_chunks is the most windows, or words, that a row may have. Words of rows without gaps are told apart by features instead.
template <u32 DT> RC_FN u32 odd_chunks(const plain_task &j) {
    const u32 n = j.unit() == 4 ? per_window<DT> : per_word<DT>;
    return (j.d + 2 * n - 2) / n;
}

// bytes_of returns bytes `sel` of b:a, as prmt.b32.
RC_FN u32 bytes_of(u32 a, u32 b, u32 sel) {
    u32 r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(sel));
    return r;
}

// ld_window reads 16 bytes that begin at any element, and nothing else: of 2-byte elements the three words inside, and the two
// elements that are left, the last and, beyond a word's half, the first.
template <u32 DT> RC_FN v16 ld_window(const char *p) {
    if constexpr (element<DT>::size == 4) {
        return {ld_nc_u32(p), ld_nc_u32(p + 4), ld_nc_u32(p + 8), ld_nc_u32(p + 12)};
    } else {
        const bool half = (u32)(u64)p & 2;
        const char *const w = p + (half ? 2 : 0);
        const u32 a = ld_nc_u32(w), b = ld_nc_u32(w + 4), c = ld_nc_u32(w + 8);
        const u32 other = (u32)ld_nc_u16(p + (half ? 0 : 12)) << 16, last = ld_nc_u16(p + 14);
        const u32 sel = half ? 0x5432 : 0x7654;
        return {bytes_of(other, a, sel), bytes_of(a, b, sel), bytes_of(b, c, sel), bytes_of(half ? c : other, last, 0x5432)};
    }
}

// st_head writes the first n elements of v, fewer than all, to p, which lies so many before whole 16 bytes; st_tail the last n, to where
// v would end at p and whole 16 bytes begin n before it. Both write 2, 4 and 8 bytes at most once each.
template <u32 DT> RC_FN void st_head(char *p, v16 v, u32 n) {
    if constexpr (element<DT>::size == 4) {
        const bool one = n & 1;
        if (one) st_u32(p, v.x);
        if (n & 2) st_8(p + (one ? 4 : 0), {one ? v.y : v.x, one ? v.z : v.y});
    } else {
        const bool one = n & 1, two = n & 2;
        const u32 sel = one ? 0x5432 : 0x3210;
        const u32 a = bytes_of(v.x, v.y, sel), b = bytes_of(v.y, v.z, sel), c = bytes_of(v.z, v.w, sel);
        if (one) st_u16(p, (u16)v.x);
        p += one ? 2 : 0;
        if (two) st_u32(p, a);
        if (n & 4) st_8(p + (two ? 4 : 0), {two ? b : a, two ? c : b});
    }
}
template <u32 DT> RC_FN void st_tail(char *p, v16 v, u32 n) {
    if constexpr (element<DT>::size == 4) {
        const bool one = n & 1;
        if (one) st_u32(p - 4, v.w);
        if (n & 2) st_8(p - (one ? 12 : 8), {one ? v.y : v.z, one ? v.z : v.w});
    } else {
        const bool one = n & 1, two = n & 2;
        const u32 sel = one ? 0x5432 : 0x7654;
        const u32 b = bytes_of(v.x, v.y, sel), c = bytes_of(v.y, v.z, sel), d = bytes_of(v.z, v.w, sel);
        if (one) st_u16(p - 2, (u16)(v.w >> 16));
        p -= one ? 2 : 0;
        if (two) st_u32(p - 4, d);
        if (n & 4) st_8(p - (two ? 12 : 8), {two ? b : c, two ? c : d});
    }
}

// made is what becomes of a unit and that of the row after it.
template <u32 DT, class V> RC_FN V made(V lo, V hi, float a) {
    V out = lo;
    if (a >= 0) out = blend_unit<DT, V>(lo, hi, a);
    if (is_nan(a)) out = __builtin_bit_cast(V, repeat<DT, sizeof(V) / element<DT>::size>(nan_of<DT>()));
    return out;
}

// made_half is that of an element of 2 bytes.
template <u32 DT> RC_FN u32 made_half(u32 lo, u32 hi, float a) {
    const pack<DT, 1> v0 = {{lo}}, v1 = {{hi}};
    u32 out = lo;
    if (a >= 0) out = (u32)rounded<DT>(lerp(get(v0, 0), get(v1, 0), a));
    return is_nan(a) ? (u32)nan_of<DT>() : out;
}

// move_windows makes rows of at least two windows. Windows lie at whole 16 bytes of dst; a row's first and last, which it may fill in
// part, are made further inside the row, where it fills them, and only that part is written. chunks is the most a row may have.
template <u32 DT> RC_FN void move_windows(const plain_task &j, const slot *slots, u32 count) {
    constexpr u32 size = element<DT>::size;
    const u32 all = count * j.chunks;
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    for (u32 n = thread_x(); n < all; n += plain_threads) {
        const u32 target = (n * j.chunk_magic) >> 20;
        char *const row = dst + (u64)target * j.dst_step;
        const i32 given = (i32)((n - target * j.chunks) * per_window<DT>) - (i32)(((u32)(u64)row & 15) / size);
        if (given >= (i32)j.d) continue;
        const i32 last = (i32)(j.d - per_window<DT>), from = given > 0 ? given : 0, at = from < last ? from : last;
        const slot s = slots[target];
        const char *const p = (const char *)j.src + (u64)(s.chunk + (u32)at) * size;
        const v16 lo = ld_window<DT>(p), hi = ld_window<DT>(s.weight >= 0 ? p + (u64)j.src_step * size : p);
        const v16 out = made<DT>(lo, hi, s.weight);
        char *const to = row + (u32)at * size;
        if (at == given)
            st_16(to, out);
        else if (at > given)
            st_head<DT>(to, out, per_window<DT> + (u32)given);
        else
            st_tail<DT>(to + 16, out, (u32)((i32)j.d - given));
    }
}

// move_words makes rows of any width a word at a time. Dense rows follow each other without gaps: words cross from one to the next.
// In others chunks is the most words a row may have.
template <u32 DT, bool Dense> RC_FN void move_words(const plain_task &j, const slot *slots, u32 count) {
    constexpr u32 size = element<DT>::size, n_word = per_word<DT>, in_flight = 4;
    const u32 elements = Dense ? count * j.d : j.d; // of a run without gaps
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 dense_skew = ((u32)(u64)dst & 3) / size;
    const u32 all = Dense ? (elements + dense_skew + n_word - 1) / n_word : count * j.chunks;
    for (u32 first = thread_x(); first < all; first += in_flight * plain_threads) {
        u32 lo[in_flight][n_word], hi[in_flight][n_word];
        float a[in_flight][n_word];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const u32 given = first + u * plain_threads, n = given < all ? given : all - 1;
            u32 target = Dense ? 0 : (n * j.chunk_magic) >> 20, skew = dense_skew;
            if (!Dense) skew = ((u32)(u64)(dst + target * j.dst_step) & 3) / size;
            const i32 begin = (i32)((n - target * j.chunks * !Dense) * n_word) - (i32)skew;
            RC_UNROLL for (u32 i = 0; i < n_word; i++) {
                // An element beside the run is its first or last once more, and is not stored.
                i32 e = begin + (i32)i;
                e = e < 0 ? 0 : e < (i32)elements ? e : (i32)elements - 1;
                u32 feature = (u32)e;
                if (Dense) target = (feature * j.chunk_magic) >> 20, feature -= target * j.d;
                const slot s = slots[target];
                const char *const p = (const char *)j.src + (u64)(s.chunk + feature) * size, *const q = s.weight >= 0 ? p + (u64)j.src_step * size : p;
                a[u][i] = s.weight;
                lo[u][i] = size == 4 ? ld_nc_u32(p) : ld_nc_u16(p);
                hi[u][i] = size == 4 ? ld_nc_u32(q) : ld_nc_u16(q);
            }
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const u32 n = first + u * plain_threads;
            if (n >= all) return;
            const u32 target = Dense ? 0 : (n * j.chunk_magic) >> 20;
            char *const run = dst + target * j.dst_step;
            const u32 skew = Dense ? dense_skew : ((u32)(u64)run & 3) / size;
            const i32 begin = (i32)((n - target * j.chunks * !Dense) * n_word) - (i32)skew;
            char *const at = run + begin * (i32)size;
            if constexpr (size == 4) {
                if (begin < (i32)elements) st_u32(at, made<DT>(lo[u][0], hi[u][0], a[u][0]));
            } else {
                const u32 first_made = made_half<DT>(lo[u][0], hi[u][0], a[u][0]), second = made_half<DT>(lo[u][1], hi[u][1], a[u][1]);
                const bool has_first = begin >= 0 && begin < (i32)elements, has_second = begin + 1 < (i32)elements;
                if (has_first && has_second)
                    st_u32(at, first_made | second << 16);
                else if (has_first)
                    st_u16(at, (u16)first_made);
                else if (has_second)
                    st_u16(at + 2, (u16)second);
            }
        }
    }
}

} // namespace rc
