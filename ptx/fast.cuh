// fast.cuh is the fast path of Resample and Fuse, for what most jobs are: rows of one length, ends held or filled, values of 16 or 32
// bits that keep their dtype, one of linear, previous, next and nearest. Rows consist of whole units of 16, 8 or 4 bytes, or are
// unaligned: of 2-byte elements anywhere. resample_fast.cu, fuse_fast.cu, fuse_unaligned.cu and fuse_small.cu give it their parameters.
//
// A block takes `tile` targets, whose units its threads partition, at most max_units_per_thread each. One thread per target finds its
// place among the row's timestamps and leaves 8 bytes in shared memory (a slot): the unit of the source at which its row begins, and the
// weight of the row after it. Warps without a target meanwhile check the block's part of the timestamps, 16 bytes at a time. Where the
// host asks for it, the rows that evenly spaced timestamps would lead to are prefetched into the L2 cache, behind the loads of timestamps
// and targets. After a barrier each thread loads all its units, and where they are blended those of the row after, and then stores the
// results. A block past the last target only checks.
//
// Bytes moved: each source row that a target needs, once from DRAM if targets are in order; the targets' features; timestamps,
// targets, valid and age. Equal bits with the CPU.
#pragma once
#include "resample.cuh"
#include "values.cuh"
#include "warp.cuh"

namespace rc {

RC_HOST constexpr u32 fast_threads = 128;
RC_HOST constexpr u32 max_units_per_thread = 4;                        // units per thread
RC_HOST constexpr u32 max_tile = fast_threads * max_units_per_thread; // targets per block, one unit each

// Blocks a multiprocessor: nine hold a job that has a little more than eight for each at once.
#if __CUDA_ARCH__ >= 900
constexpr u32 resident = 9;
constexpr bool pipelines_requests = true; // of short rows a thread has several: the next is loaded while one is located
#else
constexpr u32 resident = 8;
constexpr bool pipelines_requests = false;
#endif

// fast_job is a job of the fast path. Options that resample.cuh asks for and that no such job has are constant.
struct fast_job {
    const void *src;
    const void *times;   // timestamp i of all rows is at times[i]
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
    u32 total, timestamps, timestamps_per_block;       // targets; timestamps to check; of those, each block's
    u32 s, t;                       // samples and targets a row
    u32 t_magic;                    // divides by t, see row_of
    float samples_per_target;                     // samples from one target to the next, if both are evenly spaced
    u32 tile, chunks, chunk_magic, flags;
    u32 dst_step, valid_step, age_step;
    u32 block, stream;
    u64 offset; // the target's time minus the stream's time, as the bits of a time
    u32 d, form; // of unaligned rows: elements, and their form, see unaligned.cuh
    u64 max_gap, tolerance; // a time's bits
    u32 fill;               // the bits of an element, in both halves if it has two bytes
    float rows_per_timestamp;     // 1 / s

    RC_FN_MEMBER u32 edge() const { return edge_clamp; } // for the search, to which filled ends are the same
    RC_FN_MEMBER bool near_previous() const { return interpolation() == previous; }
    RC_FN_MEMBER bool near_next() const { return interpolation() == next; }
    RC_FN_MEMBER bool near_nearest() const { return interpolation() == nearest; }
    RC_FN_MEMBER bool has_window() const { return false; }
    RC_FN_MEMBER u64 window() const { return 0; }
    RC_FN_MEMBER u64 stream_bits() const { return (u64)stream << 58; }
    template <class C> RC_FN_MEMBER C to_stream_clock(C x) const {
        C lack;
        from_bits(offset, lack);
        return minus(x, lack);
    }

    RC_FLAG(flags, u32, clock, 0, 2)
    RC_FLAG(flags, u32, interpolation, 2, 2)
    RC_FLAG(flags, u32, units_per_thread, 4, 3) // units per thread
    RC_FLAG(flags, bool, check, 7, 1)
    RC_FLAG(flags, bool, dense, 8, 1) // the block's part of the timestamps begins at 16 bytes
    RC_FLAG(flags, u32, dtype, 14, 2)
    RC_FLAG(flags, u32, unit, 11, 3)  // log2 of the bytes moved at once
    RC_FLAG(flags, bool, contiguous, 9, 1) // for unaligned rows: dst has no gaps
    RC_FLAG(flags, bool, has_gap, 24, 1)
    RC_FLAG(flags, bool, has_tolerance, 25, 1)
    RC_FLAG(flags, bool, fill_gaps, 26, 1)
    RC_FLAG(flags, bool, fill_ends, 27, 1)
    RC_FLAG(flags, bool, linear_unlimited, 28, 1)  // linear, without gap limit or tolerance
    RC_FLAG(flags, bool, has_masks, 29, 1) // valid or age is wanted
    RC_FLAG(flags, bool, prefetches, 30, 1) // see prefetch_rows
    RC_FLAG(flags, u32, t_shift, 16, 5)
    RC_FLAG(flags, bool, ready, 31, 1) // see begin
    RC_FN_MEMBER void fence_after_wait() { after_wait(src), after_wait(times), after_wait(targets); }
    RC_FLAG(flags, u32, store, 21, 3) // log2 of the bytes written at once: not more than unit
};
template <> constexpr bool general<fast_job>() { return false; }

// linear_task is a linear job without other options, whose inputs are not declared ready. A tolerance does not apply to linear targets.
RC_FN fast_job linear_task(fast_job j) {
    j.flags = (j.flags & ~(3u << 2 | 1u << 25 | 1u << 31)) | linear << 2, j.tolerance = 0;
    return j;
}

// row_of is target i's row.
RC_FN u32 row_of(const fast_job &j, u32 i) { return j.t == 1 ? i : mul_hi(i, j.t_magic) >> j.t_shift(); }

// slot is where a target's row begins in the source, and the weight of the row after it, or what else becomes of the target.
struct alignas(8) slot {
    u32 chunk;
    float weight;
};
constexpr float unblended = -1, filled = -2; // a NaN makes NaN
RC_FN bool uses_source(float weight) { return weight >= unblended; }

// fallback_word returns what a word of a target holds that takes nothing from the source.
RC_FN u32 fallback_word(const fast_job &j, float weight) {
    return weight == filled ? j.fill : j.dtype() == dt_f32 ? 0x7fc00000u : j.dtype() == dt_f16 ? 0x7e007e00u : 0x7fc07fc0u;
}

// ---- The check ----

template <class C> struct timestamps {
    static constexpr u32 n = 16 / sizeof(C);
    C v[n];
};

// report_timestamp reports what is wrong with timestamp i.
template <class C> RC_FN void report_timestamp(const fast_job &j, u32 i) {
    const C *t = (const C *)j.times;
    const C v = ld_time(t + i);
    u64 reason = bad_time(v);
    if (reason == 0 && i % j.s != 0) {
        const C before = ld_time(t + i - 1);
        if (!(before <= v) && before == before) reason = unsorted;
    }
    if (reason != 0) report(j, fault_times, i, reason);
}

// row_start_guess is which of the timestamps from i on begins a row, counted from i: n or more of none. It is a guess, wrong where rows are short or timestamps
// are more than 2^22.
template <class C> RC_FN u32 row_start_guess(const fast_job &j, u32 i) {
    return (u32)((float)(i + timestamps<C>::n) * j.rows_per_timestamp) * j.s - i;
}

// invalid_mask has a bit for each of some timestamps that is out of range or does not follow the one before, which timestamp `first` need not.
template <class C> RC_FN u32 wrong(const timestamps<C> &c, C before, u32 first = timestamps<C>::n) {
    u32 out = 0;
    RC_UNROLL for (u32 u = 0; u < timestamps<C>::n; u++) {
        out |= (u32)((!(before <= c.v[u]) && u != first) || bad_time(c.v[u]) != 0) << u;
        before = c.v[u];
    }
    return out;
}

// timestamp_cursor is a thread's position in the timestamps that it checks: those from i on, as many as 16 bytes are, are being loaded.
template <class C> struct timestamp_cursor {
    u32 i, end, step;
    timestamps<C> c;
    C before;

    RC_FN_MEMBER void load(const fast_job &j) {
        if (i >= end) return;
        const C *const t = (const C *)j.times;
        before = ld_time(t + (i > 0 ? i - 1 : 0));
        if (RC_LIKELY(j.dense() && end - i >= timestamps<C>::n)) {
            c = __builtin_bit_cast(timestamps<C>, ld_nc_16(t + i));
        } else {
            RC_UNROLL for (u32 u = 0; u < timestamps<C>::n; u++) c.v[u] = ld_time(t + (i + u < end ? i + u : end - 1));
        }
    }
};

// thread_timestamps is a thread's part of the block's timestamps, which so many threads from first_thread on check.
template <class C> RC_FN timestamp_cursor<C> thread_timestamps(const fast_job &j, u32 threads, u32 first_thread) {
    timestamp_cursor<C> w;
    const u32 begin = j.timestamps_per_block * j.block, last = begin + j.timestamps_per_block < j.timestamps ? begin + j.timestamps_per_block : j.timestamps;
    w.i = begin + (thread_x() - first_thread) * timestamps<C>::n, w.step = (threads - first_thread) * timestamps<C>::n;
    w.end = j.check() && thread_x() >= first_thread && begin < j.timestamps ? last : 0;
    return w;
}

// check_batches looks at Batch times 16 bytes at once, as long as that many are left.
template <class C, u32 Batch> RC_FN void check_batches(const fast_job &j, timestamp_cursor<C> &w) {
    constexpr u32 n = timestamps<C>::n;
    for (; j.dense() && w.i + (Batch - 1) * w.step + n <= w.end; w.i += Batch * w.step) {
        timestamps<C> c[Batch];
        C before[Batch];
        RC_UNROLL for (u32 b = 0; b < Batch; b++) {
            const C *const at = (const C *)j.times + w.i + b * w.step;
            c[b] = __builtin_bit_cast(timestamps<C>, ld_nc_16(at));
            before[b] = ld_time(w.i + b > 0 ? at - 1 : at);
        }
        u32 bad = 0;
        RC_UNROLL for (u32 b = 0; b < Batch; b++) bad |= wrong(c[b], before[b]) << b * n;
        RC_NO_UNROLL for (; bad != 0; bad &= bad - 1) report_timestamp<C>(j, w.i + lowest_bit(bad) / n * w.step + lowest_bit(bad) % n);
    }
}

// check_rest checks what is left of a part. Guess: where a row begins is guessed first.
template <class C, bool Guess> RC_FN void check_rest(const fast_job &j, timestamp_cursor<C> &w) {
    RC_NO_UNROLL for (; w.i < w.end; w.i += w.step, w.load(j)) {
        u32 bad = wrong(w.c, w.before);
        if (RC_LIKELY(bad == 0)) continue;
        if (Guess) bad = wrong(w.c, w.before, row_start_guess<C>(j, w.i));
        RC_NO_UNROLL for (; bad != 0 && w.i + lowest_bit(bad) < w.end; bad &= bad - 1) report_timestamp<C>(j, w.i + lowest_bit(bad));
    }
}

// ---- The search ----

// target_request is a target: its row and its time, and what it will most likely be compared with.
template <class C> struct target_request {
    u32 row, pos;
    const C *t;
    C given;
    search_start<C> out;
};

template <class C> RC_FN target_request<C> request_target(const fast_job &j, u32 i) {
    target_request<C> a;
    a.row = row_of(j, i), a.pos = i - a.row * j.t;
    a.t = (const C *)j.times + a.row * j.times_batch;
    if (RC_UNLIKELY(j.targets == nullptr))
        a.given = tick<C>(j, a.pos);
    else
        a.given = ld_time((const C *)j.targets + (a.row * j.targets_batch + a.pos));
    a.out = search_start_at(j, a.t, j.s, a.pos);
    return a;
}

// locate_general finds a target at x, and writes its valid and age if `tells`.
template <class C> RC_FN slot locate_general(const fast_job &j, u32 i, const target_request<C> &a, C x, bool tells) {
    const u32 row = a.row;
    const C *const t = a.t;
    const located<C> at = locate(j, t, j.s, a.out, x);
    const bool in = at.where == exact || at.where == inside;
    if (tells && j.valid) st_u8(j.valid + (u64)i * j.valid_step, in && !at.gap);
    if (tells && j.age) st_time((C *)j.age + (u64)i * j.age_step, minus(x, ld_time(t + at.k)));
    slot out = {0, unblended};
    u32 k = at.k;
    if (in ? at.gap && j.fill_gaps() : j.fill_ends()) {
        out.weight = filled;
    } else if (at.where == nowhere) {
        out.weight = as_f32(0x7fc00000u);
    } else if (at.where == inside) {
        if (j.interpolation() == linear)
            out.weight = at.template weight<float>();
        else
            k += j.interpolation() == next || (j.interpolation() == nearest && at.later);
    }
    out.chunk = row * j.src_batch + k * j.src_step;
    return out;
}

// locate_slot is locate_general with a fast path for most targets.
template <class C> RC_FN slot locate_slot(const fast_job &j, u32 i, const target_request<C> &a) {
    const u32 row = a.row;
    const C given = a.given, x = j.to_stream_clock(given);
    if (RC_UNLIKELY(j.check() && (beyond_range(given) || beyond_range(x)))) report(j, fault_targets, i, time_range);
    u32 near;
    C begin, end;
    const bool held = bracket_holds(a.out.w, x, near, begin, end), at_end = x == a.out.last;
    if (RC_LIKELY(j.linear_unlimited() && (held || at_end))) { // a row's first and last target, too, which are often on samples
        begin = at_end ? a.out.last : begin;
        if (RC_UNLIKELY(j.has_masks())) {
            if (j.valid) st_u8(j.valid + (u64)i * j.valid_step, 1);
            if (j.age) st_time((C *)j.age + (u64)i * j.age_step, minus(x, begin));
        }
        const bool on = x == begin; // no division by 0, nor one of it, which is slow
        const float weight = ratio<float>(on ? 1 : span(begin, x), on ? 1 : span(begin, end));
        return {row * j.src_batch + (at_end ? j.s - 1 : near) * j.src_step, on ? unblended : weight};
    }
    return locate_general(j, i, a, x, true);
}

// block_targets is how many targets the block has.
RC_FN u32 block_targets(const fast_job &j) {
    const u32 first = j.block * j.tile, left = first < j.total ? j.total - first : 0;
    return left < j.tile ? left : j.tile;
}

// timestamps_beside is a thread's part of the timestamps of a block of so many targets. Warps without a target check, if each of their
// threads has a few 16 bytes at most. If not, all do.
template <class C, u32 Batch> RC_FN timestamp_cursor<C> timestamps_beside(const fast_job &j, u32 count) {
    const u32 busy = (count + warp_size - 1) & ~(warp_size - 1);
    const bool few = Batch > 1 || (fast_threads - busy) * timestamps<C>::n * 2 >= j.timestamps_per_block;
    return thread_timestamps<C>(j, fast_threads, busy < fast_threads && few ? busy : 0);
}

// ---- The guess ----

// guessed_row is where in the source the row of target i begins if timestamps are evenly spaced, and is not the last one.
RC_FN u32 guessed_row(const fast_job &j, u32 i) {
    const u32 row = row_of(j, i), even = (u32)((float)(i - row * j.t) * j.samples_per_target), most = j.s - 2;
    return row * j.src_batch + (even < most ? even : most) * j.src_step;
}

// prefetch_rows has the rows that the block's targets are guessed to need brought to the L2 cache, where those lie side by side: lines of 128 bytes, shared
// out over the threads.
RC_FN void prefetch_rows(const fast_job &j, u32 first, u32 count) {
    if (count == 0) return;
    const u64 from = (u64)guessed_row(j, first) << j.unit(), to = (u64)(guessed_row(j, first + count - 1) + 2 * j.src_step) << j.unit();
    RC_NO_UNROLL for (u64 at = from + thread_x() * 128; at < to + 127; at += fast_threads * 128) prefetch((const char *)j.src + (at < to ? at : to - 1));
}

template <class C, u32 Batch, class Keep> RC_FN u32 locate_block(const fast_job &j, Keep keep) {
    const u32 first = j.block * j.tile, count = block_targets(j);
    timestamp_cursor<C> w = timestamps_beside<C, Batch>(j, count);
    if constexpr (Batch > 1) check_batches<C, Batch>(j, w);
    w.load(j);
    warp_barrier(); // a warp that has loaded in a part goes on together
    u32 i = thread_x();
    if constexpr (Batch > 1 && sizeof(C) == 4 && pipelines_requests) {
        if (i < count) {
            target_request<C> now = request_target<C>(j, first + i), then;
            for (u32 next;; now = then, i = next) {
                next = i + fast_threads;
                if (next < count) then = request_target<C>(j, first + next);
                keep(i, locate_slot<C>(j, first + i, now));
                if (next >= count) break;
            }
        }
    } else if constexpr (Batch > 1) {
        for (; i < count; i += fast_threads) keep(i, locate_slot<C>(j, first + i, request_target<C>(j, first + i)));
    } else {
        target_request<C> a;
        if (i < count) a = request_target<C>(j, first + i);
        if (j.prefetches()) prefetch_rows(j, first, count); // behind the loads that locate the targets: before them, it would delay those
        if (i < count) keep(i, locate_slot<C>(j, first + i, a));
        RC_NO_UNROLL while ((i += fast_threads) < count) keep(i, locate_slot<C>(j, first + i, request_target<C>(j, first + i)));
    }
    check_rest<C, Batch == 1>(j, w);
    return count;
}

// locate_fast gives the slots of the block's targets to keep(index, slot), checks its part of the timestamps, and returns the number of
// the targets.
template <u32 Batch, class Keep> RC_FN u32 locate_fast(const fast_job &j, Keep keep) {
    // The first case is laid out first, and a launch waits for code that lies elsewhere; the kernels of unaligned rows would spill.
    if constexpr (Batch == 1) {
        if (RC_LIKELY(j.clock() == clock_f32)) return locate_block<float, Batch>(j, keep);
        if (j.clock() == clock_f64) return locate_block<double, Batch>(j, keep);
        return locate_block<i64, Batch>(j, keep);
    } else {
        switch (j.clock()) {
        case clock_i64: return locate_block<i64, Batch>(j, keep);
        case clock_f64: return locate_block<double, Batch>(j, keep);
        default: return locate_block<float, Batch>(j, keep);
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

// resample_unit is what becomes of a unit and that of the row after it.
template <u32 DT, class V> RC_FN V resample_unit(const fast_job &j, V lo, V hi, float a, bool &finite) {
    V out = lo;
    if (RC_LIKELY(a >= 0)) out = blend_unit<DT, V>(lo, hi, a, finite);
    if (RC_UNLIKELY(!uses_source(a))) out = all_words<V>(fallback_word(j, a));
    return out;
}
template <class V> RC_FN V resample_unit(const fast_job &j, V lo, V hi, float a, bool &finite) {
    V out;
    dispatch_dtype(j.dtype(), [&](auto known) RC_INLINE_LAMBDA { out = resample_unit<decltype(known)::dtype, V>(j, lo, hi, a, finite); });
    return out;
}

// recompute computes some elements of a target again, one by one with lerp: from `lo` and, of the row after, `hi` on.
RC_FN void recompute(u32 dtype, const char *lo, const char *hi, float a, char *to, u32 count) {
    RC_NO_UNROLL for (u32 i = 0; i < count; i++) {
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

// recompute_units recomputes this thread's units. By rows: slots are not row_slots.
RC_FN void recompute_units(const fast_job &j, const slot *slots, u32 count, bool by_rows) {
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step;
    const u32 elements = (1u << j.unit()) / (j.dtype() == dt_f32 ? 4 : 2);
    RC_NO_UNROLL for (u32 n = thread_x(); n < count * j.chunks; n += fast_threads) {
        const u32 target = (n * j.chunk_magic) >> 20, unit = n - target * j.chunks;
        const slot s = slots[target];
        const char *const lo = (const char *)j.src + ((u64)(s.chunk + (by_rows ? unit : n)) << j.unit());
        if (s.weight >= 0) recompute(j.dtype(), lo, lo + ((u64)j.src_step << j.unit()), s.weight, dst + target * j.dst_step + (unit << j.unit()), elements);
    }
}

// row_slot is a slot for move_units, of the block's target i: its chunk is what a unit's number among the block's has to be added to.
RC_FN slot row_slot(const fast_job &j, u32 i, slot s) { return {s.chunk - i * j.chunks, s.weight}; }

// store_units stores a thread's units of the block's `all`. Dense: the outputs have no gaps, nor features of others between them.
template <class V, u32 Units, bool Dense> RC_FN void store_units(const fast_job &j, const V *units, u32 all) {
    char *const dst = j.dst + (u64)j.block * j.tile * j.dst_step + thread_x() * (u32)sizeof(V);
    const u32 gap = Dense ? 0 : j.dst_step - j.chunks * (u32)sizeof(V); // from a target's end to where the next begins
    const auto store = [&](u32 pieces) {
        RC_UNROLL for (u32 u = 0; u < Units; u++) {
            const u32 n = thread_x() + u * fast_threads;
            char *to = dst + u * (fast_threads * (u32)sizeof(V));
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
template <class V, u32 Units, bool Dense> RC_FN bool move_units(const fast_job &j, const slot *slots, u32 count) {
    V lo[Units], hi[Units];
    float a[Units];
    const u32 all = count * j.chunks;
    bool blended = true, finite = true;
    RC_UNROLL for (u32 u = 0; u < Units; u++) {
        // A unit past the last is the last one once more, and is not stored.
        const u32 n = thread_x() + u * fast_threads, at = n < all ? n : all - 1;
        const slot s = slots[(at * j.chunk_magic) >> 20];
        const V *p = (const V *)j.src + (s.chunk + at);
        a[u] = s.weight;
        lo[u] = ld_unit(p);
        hi[u] = ld_unit(p + (s.weight >= 0 ? j.src_step : 0));
        blended = blended && s.weight >= 0;
    }
    dispatch_dtype(j.dtype(), [&](auto known) RC_INLINE_LAMBDA {
        constexpr u32 DT = decltype(known)::dtype;
        // Most threads blend all their units, and need not test each weight.
        if (blended) {
            RC_UNROLL for (u32 u = 0; u < Units; u++) lo[u] = blend_unit<DT, V>(lo[u], hi[u], a[u], finite);
        } else {
            RC_UNROLL for (u32 u = 0; u < Units; u++) lo[u] = resample_unit<DT, V>(j, lo[u], hi[u], a[u], finite);
        }
    });
    store_units<V, Units, Dense>(j, lo, all);
    return finite;
}

template <class V, bool Dense> RC_FN bool move_static(const fast_job &j, const slot *slots, u32 count) {
    switch (j.units_per_thread()) {
    case 1: return move_units<V, 1, Dense>(j, slots, count);
    case 2: return move_units<V, 2, Dense>(j, slots, count);
    default: return move_units<V, max_units_per_thread, Dense>(j, slots, count);
    }
}

} // namespace rc
