// plain.cuh resamples what most jobs are: rows of one length, ends held or filled, values of 16 or 32 bits that keep their dtype.
// Rows are of whole units of 16, 8 or 4 bytes, or odd: of elements of 2 bytes. resample_plain.cu and fuse_plain.cu give it their
// parameters.
//
// A block takes `tile` targets, whose units its threads share out, at most `Each` a thread. One thread a target finds its place
// among the row's stamps and leaves in shared memory, in 8 bytes, which unit of the source its row begins with and the weight of
// the row after it; warps without a target check the block's share of the stamps meanwhile, 16 bytes at a time. Behind the reads of stamps and targets
// the L2 cache is asked for the rows that even stamps would lead to, where ops/cuda says so. After a barrier
// each thread loads all its units, with the rows after them where they are blended, and then stores what it made of them. A
// block past the last target only checks.
//
// Bytes moved: each source row that a target needs, once from DRAM if targets are in order; the targets' features; stamps,
// targets, valid and age. Promises equal bits with the CPU.
#pragma once
#include "resample.cuh"
#include "values.cuh"
#include "warp.cuh"

namespace rc {

RC_HOST constexpr u32 plain_threads = 128;
RC_HOST constexpr u32 most_each = 4;                        // units a thread
RC_HOST constexpr u32 most_tile = plain_threads * most_each; // targets a block: one unit each

// Blocks a multiprocessor: nine hold a job that has a little more than eight for each at once.
#if __CUDA_ARCH__ >= 900
constexpr u32 resident = 9;
constexpr bool asks_ahead = true; // of short rows a thread has several: the next is asked for while one is placed
#else
constexpr u32 resident = 8;
constexpr bool asks_ahead = false;
#endif

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
    float pace;                     // samples a target, if both run from one end to the other in step
    u32 tile, chunks, chunk_magic, flags;
    u32 dst_step, valid_step, age_step;
    u32 block, stream;
    u64 offset; // what a target's time has more than the stream's: a time's bits
    u32 d, form; // of odd rows, which see: elements, and how they are made
    u64 max_gap, tolerance; // a time's bits
    u32 fill;               // the bits of an element, in both halves if it has two bytes
    float rows_a_stamp;     // 1 / s

    RC_FN_MEMBER u32 edge() const { return edge_clamp; } // for the search, to which filled ends are the same
    RC_FN_MEMBER bool near_previous() const { return kind() == previous; }
    RC_FN_MEMBER bool near_next() const { return kind() == next; }
    RC_FN_MEMBER bool near_nearest() const { return kind() == nearest; }
    RC_FN_MEMBER bool has_window() const { return false; }
    RC_FN_MEMBER u64 window() const { return 0; }
    RC_FN_MEMBER u64 stream_bits() const { return (u64)stream << 58; }
    template <class C> RC_FN_MEMBER C on_own_clock(C x) const {
        C lack;
        from_bits(offset, lack);
        return minus(x, lack);
    }

    RC_FLAG(flags, u32, clock, 0, 2)
    RC_FLAG(flags, u32, kind, 2, 2)
    RC_FLAG(flags, u32, each, 4, 3) // units a thread
    RC_FLAG(flags, bool, check, 7, 1)
    RC_FLAG(flags, bool, dense, 8, 1) // the block's share of the stamps begins at 16 bytes
    RC_FLAG(flags, u32, dtype, 14, 2)
    RC_FLAG(flags, u32, unit, 11, 3)  // log2 of the bytes moved at once
    RC_FLAG(flags, bool, run_on, 9, 1) // of odd rows: dst has no gaps
    RC_FLAG(flags, bool, has_gap, 24, 1)
    RC_FLAG(flags, bool, has_tolerance, 25, 1)
    RC_FLAG(flags, bool, fill_gaps, 26, 1)
    RC_FLAG(flags, bool, fill_ends, 27, 1)
    RC_FLAG(flags, bool, usual, 28, 1)  // linear, without limits
    RC_FLAG(flags, bool, masked, 29, 1) // valid or age is wanted
    RC_FLAG(flags, bool, prefetches, 30, 1) // see prefetch_rows
    RC_FLAG(flags, u32, t_shift, 16, 5)
    RC_FLAG(flags, bool, ready, 31, 1) // see begin
    RC_FN_MEMBER void settle() { after_wait(src), after_wait(times), after_wait(targets); }
    RC_FLAG(flags, u32, store, 21, 3) // log2 of the bytes written at once: not more than unit
};
template <> constexpr bool general<plain_task>() { return false; }

// linear_task is a linear job that says nothing else, and whose inputs are not declared ready. Of linear targets no tolerance is asked.
RC_FN plain_task linear_task(plain_task j) {
    j.flags = (j.flags & ~(3u << 2 | 1u << 25 | 1u << 31)) | linear << 2, j.tolerance = 0;
    return j;
}

// row_of is target i's row.
RC_FN u32 row_of(const plain_task &j, u32 i) { return j.t == 1 ? i : mul_hi(i, j.t_magic) >> j.t_shift(); }

// slot is where a target's row begins in the source, and the weight of the row after it, or what else becomes of the target.
struct alignas(8) slot {
    u32 chunk;
    float weight;
};
constexpr float as_it_is = -1, filled = -2; // a NaN makes NaN
RC_FN bool resamples(float weight) { return weight >= as_it_is; }

// instead returns what a word of a target holds that takes nothing from the source.
RC_FN u32 instead(const plain_task &j, float weight) {
    return weight == filled ? j.fill : j.dtype() == dt_f32 ? 0x7fc00000u : j.dtype() == dt_f16 ? 0x7e007e00u : 0x7fc07fc0u;
}

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

// row_begins is which of the stamps from i on begins a row, counted from i: n or more of none. It is a guess, wrong where rows are short or stamps
// are more than 2^22.
template <class C> RC_FN u32 row_begins(const plain_task &j, u32 i) {
    return (u32)((float)(i + stamps<C>::n) * j.rows_a_stamp) * j.s - i;
}

// wrong has a bit for each of some stamps that is out of range or does not follow the one before, which stamp `first` need not.
template <class C> RC_FN u32 wrong(const stamps<C> &c, C before, u32 first = stamps<C>::n) {
    u32 out = 0;
    RC_UNROLL for (u32 u = 0; u < stamps<C>::n; u++) {
        out |= (u32)((!(before <= c.v[u]) && u != first) || bad_time(c.v[u]) != 0) << u;
        before = c.v[u];
    }
    return out;
}

// watch is where a thread's share of the stamps stands: those from i on are on their way, as many as 16 bytes are.
template <class C> struct watch {
    u32 i, end, step;
    stamps<C> c;
    C before;

    RC_FN_MEMBER void load(const plain_task &j) {
        if (i >= end) return;
        const C *const t = (const C *)j.times;
        before = ld_time(t + (i > 0 ? i - 1 : 0));
        if (RC_OFTEN(j.dense() && end - i >= stamps<C>::n)) {
            c = __builtin_bit_cast(stamps<C>, ld_nc_16(t + i));
        } else {
            RC_UNROLL for (u32 u = 0; u < stamps<C>::n; u++) c.v[u] = ld_time(t + (i + u < end ? i + u : end - 1));
        }
    }
};

// share_of is a thread's part of the block's share of the stamps, which those of so many threads from first_thread on look at.
template <class C> RC_FN watch<C> share_of(const plain_task &j, u32 threads, u32 first_thread) {
    watch<C> w;
    const u32 begin = j.share * j.block, last = begin + j.share < j.stamps ? begin + j.share : j.stamps;
    w.i = begin + (thread_x() - first_thread) * stamps<C>::n, w.step = (threads - first_thread) * stamps<C>::n;
    w.end = j.check() && thread_x() >= first_thread && begin < j.stamps ? last : 0;
    return w;
}

// check_some looks at Batch times 16 bytes at once, as long as that many are left.
template <class C, u32 Batch> RC_FN void check_some(const plain_task &j, watch<C> &w) {
    constexpr u32 n = stamps<C>::n;
    for (; j.dense() && w.i + (Batch - 1) * w.step + n <= w.end; w.i += Batch * w.step) {
        stamps<C> c[Batch];
        C before[Batch];
        RC_UNROLL for (u32 b = 0; b < Batch; b++) {
            const C *const at = (const C *)j.times + w.i + b * w.step;
            c[b] = __builtin_bit_cast(stamps<C>, ld_nc_16(at));
            before[b] = ld_time(w.i + b > 0 ? at - 1 : at);
        }
        u32 bad = 0;
        RC_UNROLL for (u32 b = 0; b < Batch; b++) bad |= wrong(c[b], before[b]) << b * n;
        RC_ROLLED for (; bad != 0; bad &= bad - 1) tell<C>(j, w.i + lowest_bit(bad) / n * w.step + lowest_bit(bad) % n);
    }
}

// check_rest looks at what is left of a share. Guess: where a row begins.
template <class C, bool Guess> RC_FN void check_rest(const plain_task &j, watch<C> &w) {
    RC_ROLLED for (; w.i < w.end; w.i += w.step, w.load(j)) {
        u32 bad = wrong(w.c, w.before);
        if (RC_OFTEN(bad == 0)) continue;
        if (Guess) bad = wrong(w.c, w.before, row_begins<C>(j, w.i));
        RC_ROLLED for (; bad != 0 && w.i + lowest_bit(bad) < w.end; bad &= bad - 1) tell<C>(j, w.i + lowest_bit(bad));
    }
}

// ---- The search ----

// asked is a target: its row and its time, and what it will most likely be compared with.
template <class C> struct asked {
    u32 row, pos;
    const C *t;
    C given;
    outlook<C> out;
};

template <class C> RC_FN asked<C> ask(const plain_task &j, u32 i) {
    asked<C> a;
    a.row = row_of(j, i), a.pos = i - a.row * j.t;
    a.t = (const C *)j.times + a.row * j.times_batch;
    if (RC_SELDOM(j.targets == nullptr))
        a.given = tick<C>(j, a.pos);
    else
        a.given = ld_time((const C *)j.targets + (a.row * j.targets_batch + a.pos));
    a.out = look_out(j, a.t, j.s, a.pos);
    return a;
}

// place_anywhere finds a target at x, and writes its valid and age where `tells`.
template <class C> RC_FN slot place_anywhere(const plain_task &j, u32 i, const asked<C> &a, C x, bool tells) {
    const u32 row = a.row;
    const C *const t = a.t;
    const located<C> at = locate(j, t, j.s, a.out, x);
    const bool in = at.where == exact || at.where == inside;
    if (tells && j.valid) st_u8(j.valid + (u64)i * j.valid_step, in && !at.gap);
    if (tells && j.age) st_time((C *)j.age + (u64)i * j.age_step, minus(x, ld_time(t + at.k)));
    slot out = {0, as_it_is};
    u32 k = at.k;
    if (in ? at.gap && j.fill_gaps() : j.fill_ends()) {
        out.weight = filled;
    } else if (at.where == nowhere) {
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

// place_target is place_anywhere, with a short way for what most targets are.
template <class C> RC_FN slot place_target(const plain_task &j, u32 i, const asked<C> &a) {
    const u32 row = a.row;
    const C given = a.given, x = j.on_own_clock(given);
    if (RC_SELDOM(j.check() && (beyond_range(given) || beyond_range(x)))) report(j, fault_targets, i, time_range);
    u32 near;
    C begin, end;
    const bool held = hold(a.out.w, x, near, begin, end), at_end = x == a.out.last;
    if (RC_OFTEN(j.usual() && (held || at_end))) { // a row's first and last target, too, which are often on samples
        begin = at_end ? a.out.last : begin;
        if (RC_SELDOM(j.masked())) {
            if (j.valid) st_u8(j.valid + (u64)i * j.valid_step, 1);
            if (j.age) st_time((C *)j.age + (u64)i * j.age_step, minus(x, begin));
        }
        const bool on = x == begin; // no division by 0, nor one of it, which is slow
        const float weight = ratio<float>(on ? 1 : span(begin, x), on ? 1 : span(begin, end));
        return {row * j.src_batch + (at_end ? j.s - 1 : near) * j.src_step, on ? as_it_is : weight};
    }
    return place_anywhere(j, i, a, x, true);
}

// targets_of is how many targets the block has.
RC_FN u32 targets_of(const plain_task &j) {
    const u32 first = j.block * j.tile, left = first < j.total ? j.total - first : 0;
    return left < j.tile ? left : j.tile;
}

// share_beside is a thread's part of the share of a block of so many targets. Warps without a target check, if each of their threads has a few 16
// bytes at most. If not, all do.
template <class C, u32 Batch> RC_FN watch<C> share_beside(const plain_task &j, u32 count) {
    const u32 busy = (count + warp_size - 1) & ~(warp_size - 1);
    const bool few = Batch > 1 || (plain_threads - busy) * stamps<C>::n * 2 >= j.share;
    return share_of<C>(j, plain_threads, busy < plain_threads && few ? busy : 0);
}

// ---- The guess ----

// guessed is where in the source the row of target i begins if stamps are evenly spaced, and is not the last one.
RC_FN u32 guessed(const plain_task &j, u32 i) {
    const u32 row = row_of(j, i), even = (u32)((float)(i - row * j.t) * j.pace), most = j.s - 2;
    return row * j.src_batch + (even < most ? even : most) * j.src_step;
}

// prefetch_rows has the rows that the block's targets are guessed to need brought to the L2 cache, where those lie side by side: lines of 128 bytes, shared
// out over the threads.
RC_FN void prefetch_rows(const plain_task &j, u32 first, u32 count) {
    if (count == 0) return;
    const u64 from = (u64)guessed(j, first) << j.unit(), to = (u64)(guessed(j, first + count - 1) + 2 * j.src_step) << j.unit();
    RC_ROLLED for (u64 at = from + thread_x() * 128; at < to + 127; at += plain_threads * 128) prefetch((const char *)j.src + (at < to ? at : to - 1));
}

template <class C, u32 Batch, class Keep> RC_FN u32 survey_block(const plain_task &j, Keep keep) {
    const u32 first = j.block * j.tile, count = targets_of(j);
    watch<C> w = share_beside<C, Batch>(j, count);
    if constexpr (Batch > 1) check_some<C, Batch>(j, w);
    w.load(j);
    warp_barrier(); // a warp that has loaded in a part goes on together
    u32 i = thread_x();
    if constexpr (Batch > 1 && sizeof(C) == 4 && asks_ahead) {
        if (i < count) {
            asked<C> now = ask<C>(j, first + i), then;
            for (u32 next;; now = then, i = next) {
                next = i + plain_threads;
                if (next < count) then = ask<C>(j, first + next);
                keep(i, place_target<C>(j, first + i, now));
                if (next >= count) break;
            }
        }
    } else if constexpr (Batch > 1) {
        for (; i < count; i += plain_threads) keep(i, place_target<C>(j, first + i, ask<C>(j, first + i)));
    } else {
        asked<C> a;
        if (i < count) a = ask<C>(j, first + i);
        if (j.prefetches()) prefetch_rows(j, first, count); // behind what tells of the targets: before it, it would delay that
        if (i < count) keep(i, place_target<C>(j, first + i, a));
        RC_ROLLED while ((i += plain_threads) < count) keep(i, place_target<C>(j, first + i, ask<C>(j, first + i)));
    }
    check_rest<C, Batch == 1>(j, w);
    return count;
}

// survey_plain gives the slots of the block's targets to keep(index, slot), checks its share of the stamps, and returns the number of
// the targets.
template <u32 Batch, class Keep> RC_FN u32 survey_plain(const plain_task &j, Keep keep) {
    // What stands first lies first, and a launch waits for code that lies elsewhere; the kernels of odd rows would spill.
    if constexpr (Batch == 1) {
        if (RC_OFTEN(j.clock() == clock_f32)) return survey_block<float, Batch>(j, keep);
        if (j.clock() == clock_f64) return survey_block<double, Batch>(j, keep);
        return survey_block<i64, Batch>(j, keep);
    } else {
        switch (j.clock()) {
        case clock_i64: return survey_block<i64, Batch>(j, keep);
        case clock_f64: return survey_block<double, Batch>(j, keep);
        default: return survey_block<float, Batch>(j, keep);
        }
    }
}

// ---- The features ----

RC_FN v16 ld_unit(const v16 *p) { return ld_nc_16(p); }
RC_FN v8 ld_unit(const v8 *p) { return ld_nc_8(p); }
RC_FN u32 ld_unit(const u32 *p) { return ld_nc_u32(p); }

// bytes_of returns bytes `sel` of b:a, as prmt.b32.
RC_FN u32 bytes_of(u32 a, u32 b, u32 sel) {
    u32 r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(sel));
    return r;
}

RC_FN void st_unit(void *p, v16 v, u32 store) {
    if (store >= 4 || (store == 3 && ((u32)(u64)p & 15) == 0)) return st_16(p, v); // every other row of such
    if (store == 3) return st_8(p, {v.x, v.y}), st_8((u32 *)p + 2, {v.z, v.w});
    st_u32(p, v.x), st_u32((u32 *)p + 1, v.y), st_u32((u32 *)p + 2, v.z), st_u32((u32 *)p + 3, v.w);
}
RC_FN void st_unit(void *p, v8 v, u32 store) {
    if (store >= 3) return st_8(p, v);
    st_u32(p, v.x), st_u32((u32 *)p + 1, v.y);
}
RC_FN void st_unit(void *p, u32 v, u32) { st_u32(p, v); }

// blend_unit clears `finite` where a result is not: see lerps.
template <u32 DT, class V> RC_FN V blend_unit(V lo, V hi, float a, bool &finite) {
    constexpr u32 n = sizeof(V) / element<DT>::size;
    const pack<DT, n> v0 = __builtin_bit_cast(pack<DT, n>, lo), v1 = __builtin_bit_cast(pack<DT, n>, hi);
    float x[n];
    finite &= lerps(x, v0, v1, a);
    return __builtin_bit_cast(V, round_pack<DT, n>(x));
}

// all_words is a word, over and over.
template <class V> RC_FN V all_words(u32 w);
template <> RC_FN_MEMBER v16 all_words<v16>(u32 w) { return {w, w, w, w}; }
template <> RC_FN_MEMBER v8 all_words<v8>(u32 w) { return {w, w}; }
template <> RC_FN_MEMBER u32 all_words<u32>(u32 w) { return w; }

// made is what becomes of a unit and that of the row after it.
template <u32 DT, class V> RC_FN V made(const plain_task &j, V lo, V hi, float a, bool &finite) {
    V out = lo;
    if (RC_OFTEN(a >= 0)) out = blend_unit<DT, V>(lo, hi, a, finite);
    if (RC_SELDOM(!resamples(a))) out = all_words<V>(instead(j, a));
    return out;
}
template <class V> RC_FN V made(const plain_task &j, V lo, V hi, float a, bool &finite) {
    V out;
    tell_dtype(j.dtype(), [&](auto known) RC_INLINED { out = made<decltype(known)::dtype, V>(j, lo, hi, a, finite); });
    return out;
}

// mend makes some elements of a target anew, each by itself: from `lo` and, of the row after, `hi` on.
RC_FN void mend(u32 dtype, const char *lo, const char *hi, float a, char *to, u32 count) {
    RC_ROLLED for (u32 i = 0; i < count; i++) {
        if (dtype == dt_f32) {
            st_f32((float *)to + i, lerp(ld_nc_f32((const float *)lo + i), ld_nc_f32((const float *)hi + i), a));
        } else {
            const u16 v0 = ld_nc_u16((const u16 *)lo + i), v1 = ld_nc_u16((const u16 *)hi + i);
            const bool half = dtype == dt_f16;
            const float x = lerp(half ? f16_to_f32(v0) : bf16_lo(v0), half ? f16_to_f32(v1) : bf16_lo(v1), a);
            st_u16((u16 *)to + i, half ? f32_to_f16(x) : f32_to_bf16(x));
        }
    }
}

// mend_units makes this thread's units anew. By rows: slots are not row_slots.
RC_FN void mend_units(const plain_task &j, const slot *slots, u32 count, bool by_rows) {
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 elements = (1u << j.unit()) / (j.dtype() == dt_f32 ? 4 : 2);
    RC_ROLLED for (u32 n = thread_x(); n < count * j.chunks; n += plain_threads) {
        const u32 target = (n * j.chunk_magic) >> 20, unit = n - target * j.chunks;
        const slot s = slots[target];
        const char *const lo = (const char *)j.src + ((u64)(s.chunk + (by_rows ? unit : n)) << j.unit());
        if (s.weight >= 0) mend(j.dtype(), lo, lo + ((u64)j.src_step << j.unit()), s.weight, dst + target * j.dst_step + (unit << j.unit()), elements);
    }
}

// row_slot is a slot for move_units, of the block's target i: its chunk is what a unit's number among the block's has to be added to.
RC_FN slot row_slot(const plain_task &j, u32 i, slot s) { return {s.chunk - i * j.chunks, s.weight}; }

// store_units stores a thread's units of the block's `all`. Dense: the outputs have no gaps, nor features of others between them.
template <class V, u32 Each, bool Dense> RC_FN void store_units(const plain_task &j, const V *units, u32 all) {
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step + thread_x() * (u32)sizeof(V);
    const u32 gap = Dense ? 0 : j.dst_step - j.chunks * (u32)sizeof(V); // from a target's end to where the next begins
    const auto store = [&](u32 pieces) {
        RC_UNROLL for (u32 u = 0; u < Each; u++) {
            const u32 n = thread_x() + u * plain_threads;
            char *to = dst + u * (plain_threads * (u32)sizeof(V));
            if (!Dense) to += ((n * j.chunk_magic) >> 20) * gap;
            if (n < all) st_unit(to, units[u], pieces);
        }
    };
    if (Dense || j.store() == 4)
        store(4);
    else if (j.store() == 3)
        store(3);
    else
        store(2);
}

// move_units reports whether all that it has made is finite.
template <class V, u32 Each, bool Dense> RC_FN bool move_units(const plain_task &j, const slot *slots, u32 count) {
    V lo[Each], hi[Each];
    float a[Each];
    const u32 all = count * j.chunks;
    bool blended = true, finite = true;
    RC_UNROLL for (u32 u = 0; u < Each; u++) {
        // A unit past the last is the last one once more, and is not stored.
        const u32 n = thread_x() + u * plain_threads, at = n < all ? n : all - 1;
        const slot s = slots[(at * j.chunk_magic) >> 20];
        const V *p = (const V *)j.src + (s.chunk + at);
        a[u] = s.weight;
        lo[u] = ld_unit(p);
        hi[u] = ld_unit(p + (s.weight >= 0 ? j.src_step : 0));
        blended = blended && s.weight >= 0;
    }
    tell_dtype(j.dtype(), [&](auto known) RC_INLINED {
        constexpr u32 DT = decltype(known)::dtype;
        // What most threads have goes without a look at each weight.
        if (blended) {
            RC_UNROLL for (u32 u = 0; u < Each; u++) lo[u] = blend_unit<DT, V>(lo[u], hi[u], a[u], finite);
        } else {
            RC_UNROLL for (u32 u = 0; u < Each; u++) lo[u] = made<DT, V>(j, lo[u], hi[u], a[u], finite);
        }
    });
    store_units<V, Each, Dense>(j, lo, all);
    return finite;
}

template <class V, bool Dense> RC_FN bool move_each(const plain_task &j, const slot *slots, u32 count) {
    switch (j.each()) {
    case 1: return move_units<V, 1, Dense>(j, slots, count);
    case 2: return move_units<V, 2, Dense>(j, slots, count);
    default: return move_units<V, most_each, Dense>(j, slots, count);
    }
}

} // namespace rc
