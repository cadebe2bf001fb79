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
    u32 d;      // of odd rows, which see: elements

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
    RC_FN_MEMBER bool own() const { return flags >> 10 & 1; }   // each thread makes its targets' rows, see own_row
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

// right reports whether stamps are in range and follow the one before.
template <class C> RC_FN bool right(const stamps<C> &c, C before) {
    bool good = true;
    RC_UNROLL for (u32 u = 0; u < stamps<C>::n; u++) {
        good = good && before <= c.v[u] && bad_time(c.v[u]) == 0;
        before = c.v[u];
    }
    return good;
}

// check_share looks at the block's share of the stamps with the threads from first_thread on, each at 16 bytes Batch times at once.
template <class C, u32 Batch> RC_FN void check_share(const plain_task &j, u32 first_thread) {
    const C *t = (const C *)j.times;
    const u32 begin = j.share * j.block;
    if (begin >= j.stamps) return;
    const u32 end = j.stamps - begin > j.share ? begin + j.share : j.stamps;
    constexpr u32 n = stamps<C>::n;
    u32 i = begin + (thread_x() - first_thread) * n;
    const u32 step = (threads_x() - first_thread) * n;
    if constexpr (Batch > 1) {
        for (; j.dense() && i + (Batch - 1) * step + n <= end; i += Batch * step) {
            stamps<C> c[Batch];
            C before[Batch];
            RC_UNROLL for (u32 b = 0; b < Batch; b++) {
                const C *const at = t + i + b * step;
                c[b] = __builtin_bit_cast(stamps<C>, ld_nc_16(at));
                before[b] = ld_time(i + b > 0 ? at - 1 : at);
            }
            bool good = true;
            RC_UNROLL for (u32 b = 0; b < Batch; b++) good = good && right(c[b], before[b]);
            if (good) continue;
            for (u32 b = 0; b < Batch; b++)
                for (u32 u = i + b * step; u < i + b * step + n; u++) tell<C>(j, u);
        }
    }
    for (; i < end; i += step) {
        if (!j.dense() || end - i < n) {
            for (u32 u = i; u < end && u < i + n; u++) tell<C>(j, u);
            continue;
        }
        const stamps<C> c = __builtin_bit_cast(stamps<C>, ld_nc_16(t + i));
        if (right(c, i > 0 ? ld_time(t + i - 1) : c.v[0])) continue;
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

template <class C, u32 Batch, class Keep> RC_FN u32 survey_block(const plain_task &j, Keep keep) {
    const u32 first = j.block * j.tile;
    const u32 left = first < j.total ? j.total - first : 0;
    const u32 count = left < j.tile ? left : j.tile;
    const u32 busy = (count + warp_size - 1) & ~(warp_size - 1);
    const u32 checkers = busy < threads_x() ? busy : 0;
    if (j.check() && thread_x() >= checkers) check_share<C, Batch>(j, checkers);
    for (u32 i = thread_x(); i < count; i += threads_x()) keep(i, place_target<C>(j, first + i));
    return count;
}

// survey_plain gives the slots of the block's targets to keep(index, slot), checks its share of the stamps, and returns the number of
// the targets.
template <u32 Batch, class Keep> RC_FN u32 survey_plain(const plain_task &j, Keep keep) {
    switch (j.clock()) {
    case clock_i64: return survey_block<i64, Batch>(j, keep);
    case clock_f64: return survey_block<double, Batch>(j, keep);
    default: return survey_block<float, Batch>(j, keep);
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

// made is what becomes of a unit and that of the row after it.
template <u32 DT, class V> RC_FN V made(V lo, V hi, float a) {
    V out = lo;
    if (a >= 0) out = blend_unit<DT, V>(lo, hi, a);
    if (is_nan(a)) out = __builtin_bit_cast(V, repeat<DT, sizeof(V) / element<DT>::size>(nan_of<DT>()));
    return out;
}

// move_all is move_units for any number of units, some at a time.
template <u32 DT, class V> RC_FN void move_all(const plain_task &j, const slot *slots, u32 count) {
    constexpr u32 in_flight = sizeof(V) == 4 ? 4 : 2;
    const u32 all = count * j.chunks;
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
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
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const V out = made<DT, V>(lo[u], hi[u], a[u]);
            if (first + u * plain_threads < all) st_unit(dst + to[u], out, 4);
        }
    }
}

// ---- The features of odd rows ----
//
// Rows of 2-byte elements of any number, that begin at any, in the source and in dst: a slot's chunk is an element there. Narrow rows
// are made a word of dst at a time; of wide ones the whole 16 bytes of dst first, and then the words before and after them.

// bytes_of returns bytes `sel` of b:a, as prmt.b32.
RC_FN u32 bytes_of(u32 a, u32 b, u32 sel) {
    u32 r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(sel));
    return r;
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
template <u32 DT> RC_FN u32 made_duo(const duo &d) {
    const pack<DT, 2> lo = {{d.lo[0] | d.lo[1] << 16}}, hi = {{d.hi[0] | d.hi[1] << 16}};
    float x[2];
    RC_UNROLL for (u32 i = 0; i < 2; i++) x[i] = lerp(get(lo, i), get(hi, i), d.a[i]);
    const u32 blended = round_pack<DT, 2>(x).w[0];
    u32 out = bytes_of(d.a[0] >= 0 ? blended : lo.w[0], d.a[1] >= 0 ? blended : lo.w[0], 0x7610);
    if (is_nan(d.a[0])) out = (out & 0xffff0000u) | (u32)nan_of<DT>();
    if (is_nan(d.a[1])) out = (out & 0xffffu) | (u32)nan_of<DT>() << 16;
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

// move_wide makes rows of at least a window. chunks is the most a row may have.
template <u32 DT> RC_FN void move_wide(const plain_task &j, const slot *slots, u32 count) {
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 all = count * j.chunks;
    for (u32 n = thread_x(); n < all; n += plain_threads) {
        const u32 target = (n * j.chunk_magic) >> 20;
        char *const row = dst + target * j.dst_step;
        const u32 at = (0 - (u32)(u64)row / 2) % 8 + (n - target * j.chunks) * 8;
        if (at + 8 > j.d) continue;
        const slot s = slots[target];
        const u32 from = s.chunk + at;
        const v16 lo = ld_window((const char *)((const u16 *)j.src + from));
        const v16 hi = ld_window((const char *)((const u16 *)j.src + (from + (s.weight >= 0 ? j.src_step : 0))));
        st_16(row + 2 * at, made<DT>(lo, hi, s.weight));
    }
    // Four words before and four after, of which some are not there.
    for (u32 n = thread_x(); n < 8 * count; n += plain_threads) {
        const u32 target = n / 8, k = n % 4;
        char *const row = dst + target * j.dst_step;
        const u32 head = (0 - (u32)(u64)row / 2) % 8, tail = j.d - (j.d - head) % 8;
        const i32 begin = n & 4 ? (i32)(tail + 2 * k) : (i32)(2 * k) - (i32)half_of(row), limit = (i32)(n & 4 ? j.d : head);
        if (begin >= limit) continue;
        const slot s = slots[target];
        duo d;
        ld_duo(j, d, 0, s, within_run(begin, limit)), ld_duo(j, d, 1, s, within_run(begin + 1, limit));
        st_halves(row + 2 * begin, made_duo<DT>(d), begin, limit);
    }
}

// move_narrow makes rows of any width. Where they run on, without gaps, words cross from one to the next, and chunks is the row's
// elements; elsewhere it is the most words a row may have.
template <u32 DT, bool RunOn> RC_FN void move_narrow(const plain_task &j, const slot *slots, u32 count) {
    constexpr u32 in_flight = 4;
    const i32 limit = (i32)(RunOn ? count * j.d : j.d);
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 all = RunOn ? ((u32)limit + half_of(dst) + 1) / 2 : count * j.chunks;
    for (u32 first = thread_x(); first < all; first += in_flight * plain_threads) {
        duo d[in_flight];
        char *to[in_flight];
        i32 begin[in_flight];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            // A word past the last is the last once more, and is not stored.
            const u32 given = first + u * plain_threads, n = given < all ? given : all - 1;
            if constexpr (RunOn) {
                begin[u] = (i32)(2 * n) - (i32)half_of(dst);
                to[u] = dst + 2 * begin[u];
                RC_UNROLL for (u32 i = 0; i < 2; i++) {
                    const u32 e = within_run(begin[u] + (i32)i, limit), target = (e * j.chunk_magic) >> 20;
                    ld_duo(j, d[u], i, slots[target], e - target * j.chunks);
                }
            } else {
                const u32 target = (n * j.chunk_magic) >> 20;
                char *const row = dst + target * j.dst_step;
                begin[u] = (i32)(2 * (n - target * j.chunks)) - (i32)half_of(row);
                to[u] = row + 2 * begin[u];
                const slot s = slots[target];
                RC_UNROLL for (u32 i = 0; i < 2; i++) ld_duo(j, d[u], i, s, within_run(begin[u] + (i32)i, limit));
            }
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            if (first + u * plain_threads < all) st_halves(to[u], made_duo<DT>(d[u]), begin[u], limit);
        }
    }
}

constexpr u32 most_own = 8;                       // elements of a row that a thread makes by itself
constexpr u32 own_bytes = most_tile * sizeof(slot); // of such rows a block

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

// own_row makes a short row in shared memory.
template <u32 DT> RC_FN void own_row(const plain_task &j, slot s, u16 *to) {
    const u32 n = j.chunks;
    const u16 *const p = (const u16 *)j.src + s.chunk;
    const own_elements lo = ld_own(p, n), hi = ld_own(p + (s.weight >= 0 ? j.src_step : 0), n);
    RC_UNROLL for (u32 i = 0; i < most_own; i += 2) {
        if (i >= n) break;
        const u32 out = made<DT, u32>(lo.w[i / 2], hi.w[i / 2], s.weight);
        to[i] = (u16)out;
        if (i + 1 < n) to[i + 1] = (u16)(out >> 16);
    }
}

// move_own writes the rows that own_row made: those that run on by 16 bytes where dst has such, others by words.
template <bool RunOn> RC_FN void move_own(const plain_task &j, const u16 *own, u32 count) {
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    if (RunOn && j.run_on() && ((u32)(u64)dst & 15) == 0) {
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

// survey_odd is survey_plain for move_odd. chunks is a row's elements.
template <u32 DT> RC_FN u32 survey_odd(const plain_task &j, slot *slots) {
    return survey_plain<4>(j, [&](u32 i, slot s) {
        if constexpr (element<DT>::size == 2) {
            if (j.own()) return own_row<DT>(j, s, (u16 *)slots + i * j.chunks);
        }
        slots[i] = s;
    });
}

// move_odd takes rows of units of 8 bytes, of 4, and others.
template <u32 DT, bool RunOn> RC_FN void move_odd(plain_task &j, const slot *slots, u32 count) {
    j.d = j.chunks;
    if (j.unit() == 3) {
        j.chunks /= 8 / element<DT>::size;
        return move_all<DT, v8>(j, slots, count);
    }
    if (j.unit() == 2) {
        j.chunks /= 4 / element<DT>::size;
        return move_all<DT, u32>(j, slots, count);
    }
    if constexpr (element<DT>::size == 2) {
        if (j.unit() == 4) {
            j.chunks /= 8;
            return move_wide<DT>(j, slots, count);
        }
        if (RunOn && j.run_on() && !j.own()) return move_narrow<DT, true>(j, slots, count);
        j.chunks = j.d / 2 + 1;
        if (j.own()) return move_own<RunOn>(j, (const u16 *)slots, count);
        move_narrow<DT, false>(j, slots, count);
    }
}

} // namespace rc
