// resample.cuh is what the resampling kernels share: the rows of ragged batches, the search for a target's place among a row's
// timestamps, and the check of the timestamps. The formulas are those of the Go package ops, step by step.
#pragma once
#include "kernel.cuh"
#include "times.cuh"

namespace rc {

// ---- Rows ----

// extent is where a row begins in a packed tensor (0 in a padded one), and its length. Values that do not fit the tensor are
// cut so that they do.
struct extent {
    i64 first;
    u32 n;
};

RC_FN extent row_extent(const i64 *rows, const i64 *starts, bool offsets, u64 all, u32 b) {
    if (rows == nullptr) return {0, (u32)all};
    i64 lo = (i64)ld_nc_u64(rows + b), end = (i64)all;
    if (starts != nullptr) {
        i64 n = lo;
        lo = (i64)ld_nc_u64_volatile(starts + b); // the length is on its way still
        n = n < 0 ? 0 : n;
        lo = lo < 0 ? 0 : lo > end ? end : lo;
        end = n < end - lo ? lo + n : end;
    } else {
        lo = lo < 0 ? 0 : lo > end ? end : lo;
        if (!offsets) return {0, (u32)lo};
        const i64 hi = (i64)ld_nc_u64(rows + b + 1);
        end = hi < lo ? lo : hi > end ? end : hi;
    }
    return {lo, (u32)(end - lo > (i64)max_row ? (i64)max_row : end - lo)};
}

RC_FN bool row_fits(const i64 *rows, const i64 *starts, bool offsets, u64 all, u32 b, u32 count) {
    if (rows == nullptr) return true;
    i64 lo = (i64)ld_nc_u64(rows + b), end = (i64)all;
    if (starts != nullptr) {
        const i64 first = (i64)ld_nc_u64(starts + b);
        return first >= 0 && first <= end && lo >= 0 && lo <= end - first && lo <= (i64)max_row;
    }
    if (!offsets) return lo >= 0 && lo <= end;
    i64 hi = (i64)ld_nc_u64(rows + b + 1);
    return lo >= 0 && hi >= lo && hi <= end && hi - lo <= (i64)max_row && (b > 0 || lo == 0) && (b + 1 < count || hi == end);
}

// src_row and dst_row are a job's rows.
template <class J> RC_FN extent src_row(const J &j, u32 b) { return row_extent(j.src_extents(), j.src_begins(), j.src_offsets(), j.s, b); }
template <class J> RC_FN extent dst_row(const J &j, u32 b) { return row_extent(j.dst_extents(), nullptr, j.dst_offsets(), j.t, b); }

// place_in finds the row of a packed index and the index there; false if no row holds it.
RC_FN bool place_in(const i64 *offsets, u64 all, u32 count, u64 i, u32 &row, u32 &index) {
    i64 lo = -1, hi = count;
    while (hi - lo > 1) {
        i64 mid = (lo + hi) / 2;
        if ((i64)ld_nc_u64(offsets + mid) <= (i64)i)
            lo = mid;
        else
            hi = mid;
    }
    row = 0, index = 0;
    if (lo < 0) return false;
    extent e = row_extent(offsets, nullptr, true, all, (u32)lo);
    if ((i64)i < e.first || (i64)i - e.first >= (i64)e.n) return false;
    row = (u32)lo, index = (u32)((i64)i - e.first);
    return true;
}

// ---- The search ----

enum place : u32 { exact, inside, below, above, nowhere };

// located is what does not depend on the feature. A bracket is two neighbouring samples that differ in time.
template <class C> struct located {
    using length = decltype(span(C(), C()));
    u32 where;
    u32 k;      // the last sample at or before the target; 0 if there is none
    bool later; // inside: sample k+1 is nearer
    bool gap;   // inside a bracket longer than max_gap, out of tolerance, or with an empty window
    bool line;  // below or above: there is a bracket to extrapolate from
    u32 base;   // where it begins
    length x, h; // inside, or with line: from the bracket's begin to the target (below: back to it), and to its end

    // weight is x / h, with its sign.
    template <class W> RC_FN_MEMBER W weight() const {
        const W a = ratio<W>(x, h);
        return where == below ? -a : a;
    }
};

// window is four timestamps around a guess g for the bracket that holds a target: those before, at, after and beyond it.
template <class C> struct window {
    u32 g;
    C before, at, after, beyond;
};

// load_window reads the window at g. Past an end the end's own timestamp stands, which holds nothing; so it does for a row's only timestamp.
template <class C> RC_FN window<C> load_window(const C *t, u32 n, u32 g) {
    const u32 next = n > 1 ? 1 : 0, most = n - 1 - next;
    g = g < most ? g : most;
    return {g, ld_time(t + (g > 0 ? g - 1 : 0)), ld_time(t + g), ld_time(t + g + next), ld_time(t + (g + 2 < n ? g + 2 : n - 1))};
}

// bracket_holds reports whether one of the window's brackets holds x, and which.
template <class C> RC_FN bool bracket_holds(const window<C> &w, C x, u32 &k, C &at, C &after) {
    const bool left = x < w.at, right = w.after <= x;
    k = left ? w.g - 1 : right ? w.g + 1 : w.g;
    at = left ? w.before : right ? w.after : w.at;
    after = left ? w.at : right ? w.beyond : w.after;
    return at <= x && x < after;
}

// search finds the greatest k with t[k] <= x, given t[0] <= x < t[n-1], and t[k] and t[k+1]. The first window is around the
// place that x would have if targets and samples were evenly spaced. If x is not there, the next window is where the mean rate of the
// timestamps leads from there, and one more where the rate between these two does, which is the samples' own if no gap lies between
// them. What is left is searched by quarters, as a gap around x defeats extrapolation. Whatever the timestamps hold, it ends and stays
// within them.
template <class C> RC_FN u32 search(const C *t, u32 n, C x, C first, C last, window<C> w, C &at, C &after) {
    u32 k;
    if (bracket_holds(w, x, k, at, after)) return k;
    float samples_per_time = div_fast((float)(n - 1), (float)span(first, last));
    u32 lo = 0, hi = n - 1;
    RC_NO_UNROLL for (u32 turn = 0; turn < 2; turn++) {
        if (w.at <= x)
            lo = w.g;
        else
            hi = w.g;
        // 0 for a NaN, and below 0; the last beyond 2^32.
        const window<C> on = load_window(t, n, (u32)((float)w.g + (float)minus(x, w.at) * samples_per_time));
        if (bracket_holds(on, x, k, at, after)) return k;
        const float p = div_fast((float)((i32)on.g - (i32)w.g), (float)minus(on.at, w.at));
        if (p > 0) samples_per_time = p;
        w = on;
    }
    if (w.at <= x)
        lo = w.g;
    else
        hi = w.g;
    RC_NO_UNROLL while (lo + 1 < hi) {
        const u32 step = (hi - lo + 3) / 4;
        u32 past = 0;
        RC_UNROLL for (u32 i = 1; i < 4; i++) {
            const u32 here = lo + i * step;
            past += here < hi && ld_time(t + (here < hi ? here : lo)) <= x;
        }
        lo += past * step;
        hi = lo + step < hi ? lo + step : hi;
    }
    lo = lo < n - 1 ? lo : n - 2;
    at = ld_time(t + lo), after = ld_time(t + lo + 1);
    return lo;
}

// upper and lower bound a run of equal timestamps at an end of the row: the first index above v, the first at or above v.
template <class C> RC_FN u32 first_above(const C *t, u32 n, C v) {
    i64 lo = 0, hi = n; // t[lo] <= v
    while (hi - lo > 1) {
        i64 mid = (lo + hi) / 2;
        if (ld_time(t + mid) <= v)
            lo = mid;
        else
            hi = mid;
    }
    return (u32)hi;
}
template <class C> RC_FN u32 first_at_or_above(const C *t, u32 n, C v) {
    i64 lo = -1, hi = (i64)n - 1; // t[hi] >= v
    while (hi - lo > 1) {
        i64 mid = (lo + hi) / 2;
        if (ld_time(t + mid) >= v)
            hi = mid;
        else
            lo = mid;
    }
    return (u32)hi;
}

// last_of is the last of the timestamps that equal timestamp k: mostly there is one.
template <class C> RC_FN u32 last_of(const C *t, u32 n, u32 k) {
    if (k + 1 >= n) return k;
    const C v = ld_time(t + k);
    return v < ld_time(t + k + 1) ? k : first_above(t, n, v) - 1;
}

// last_within is the last timestamp at x or before it, or after it by no more than snap; there is one.
template <class C> RC_FN u32 last_within(const C *t, u32 n, C x, C snap) {
    u32 lo = 0, hi = n;
    while (hi - lo > 1) {
        const u32 mid = lo + (hi - lo) / 2;
        const C v = ld_time(t + mid);
        if (v <= x || !span_exceeds(x, v, snap))
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

// search_start is what most targets need of the n > 0 timestamps of their row, read at once.
template <class C> struct search_start {
    C first, last;
    window<C> w;
};

template <class C, class J> RC_FN search_start<C> search_start_at(const J &j, const C *t, u32 n, u32 pos) {
    return {ld_time(t), ld_time(t + n - 1), load_window(t, n, (u32)((float)pos * j.samples_per_target))};
}

// search_start_for is search_start_at for a target that lies anywhere in its row: it reads the ends first, and guesses from them.
template <class C> RC_FN search_start<C> search_start_for(const C *t, u32 n, C x) {
    const C first = ld_time(t), last = ld_time(t + n - 1);
    // 0 for a NaN, and below 0; the last beyond 2^32.
    return {first, last, load_window(t, n, (u32)((float)minus(x, first) * div_fast((float)(n - 1), (float)span(first, last))))};
}

// general says of a type of jobs whether targets may snap to samples, and ends be held.
template <class J> constexpr bool general() { return true; }

// locate finds a target at x among the timestamps of a row.
template <class C, class J> RC_FN located<C> locate(const J &j, const C *t, u32 n, const search_start<C> &out, C x) {
    located<C> p = {nowhere, 0, false, false, false, 0, 0, 0};
    const C first = out.first, last = out.last;
    // One condition for most targets: with a narrower one the compiler would load the rest behind the branch.
    if (!((first <= x) & (x < last))) {
        if (x != x) return p;
        const bool left = x < first;
        p.k = left ? 0 : n - 1;
        p.where = left ? below : x == last ? exact : above;
        if constexpr (general<J>()) {
            C limit;
            from_bits(j.snap, limit);
            if (j.has_snap() && !(left ? span_exceeds(x, first, limit) : span_exceeds(last, x, limit))) {
                p.where = exact, p.k = left ? last_of(t, n, 0) : n - 1;
                return p;
            }
            from_bits(j.tolerance, limit);
            p.gap = j.edge() == edge_hold && p.where == above && j.has_tolerance() && (j.near_previous() || j.near_next() || j.near_nearest()) && span_exceeds(last, x, limit);
        }
        if (p.where == exact || j.edge() != edge_extrapolate) return p;
        const u32 i = left ? first_above(t, n, first) : first_at_or_above(t, n, last);
        if (i == 0 || i >= n) return p;
        const C begin = ld_time(t + i - 1);
        p.line = true, p.base = i - 1;
        p.x = left ? span(x, begin) : span(begin, x), p.h = span(begin, ld_time(t + i));
        return p;
    }
    C at, after;
    p.k = search(t, n, x, first, last, out.w, at, after);
    p.where = x == at ? exact : inside;
    if (p.where == exact) return p;
    p.x = span(at, x), p.h = span(at, after);
    p.later = p.x > span(x, after);
    if constexpr (general<J>()) {
        C snap;
        from_bits(j.snap, snap);
        if (j.has_snap() && !(p.later ? span_exceeds(x, after, snap) : span_exceeds(at, x, snap))) {
            p.where = exact, p.k = p.later ? last_of(t, n, p.k + 1) : p.k;
            return p;
        }
    }
    if constexpr (general<J>()) {
        if (RC_LIKELY(!j.limited())) return p;
    }
    if (j.has_gap()) {
        C limit;
        from_bits(j.max_gap, limit);
        p.gap = span_exceeds(at, after, limit);
    }
    if (j.has_tolerance()) {
        C limit;
        from_bits(j.tolerance, limit);
        const bool far = span_exceeds(at, x, limit), far_next = span_exceeds(x, after, limit);
        p.gap = p.gap || (j.near_previous() && far) || (j.near_next() && far_next) || (j.near_nearest() && (p.later ? far_next : far));
    }
    if (j.has_window()) {
        C limit;
        from_bits(j.window(), limit);
        p.gap = p.gap || !in_window(at, x, limit);
    }
    return p;
}

// ---- The check ----

// check_selection checks the timestamps of this block's part of the rows of a selection, with the threads from `first_thread` on.
template <class C, class J> RC_FN void check_selection(const J &j, u32 first_thread) {
    RC_NO_UNROLL for (u32 row = j.block(); row < j.b; row += j.blocks()) {
        const extent e = src_row(j, row);
        const C *const t = (const C *)j.times + e.first;
        RC_NO_UNROLL for (u32 k = thread_x() - first_thread; k < e.n; k += j.threads() - first_thread) {
            const C v = ld_time(t + k), before = ld_time(t + (k > 0 ? k - 1 : 0));
            u64 reason = bad_time(v);
            if (reason == 0 && !(before <= v) && before == before) reason = unsorted;
            if (reason != 0) report(j, fault_times, (u64)e.first + k, reason);
        }
    }
}

// check_timestamps checks this block's part of the source timestamps with the threads from `first_thread` on.
template <class C, class J> RC_FN void check_timestamps(const J &j, u32 first_thread) {
    if (j.src_begins() != nullptr) return check_selection<C>(j, first_thread);
    const C *t = (const C *)j.times;
    const u64 begin = j.timestamps_per_block * j.block();
    u64 end = begin + j.timestamps_per_block;
    end = end < j.timestamps ? end : j.timestamps;
    const u32 step = j.threads() - first_thread;
    for (u64 i = begin + (thread_x() - first_thread); i < end; i += step) {
        u64 at = i;
        bool begins = i == 0;
        if (!j.times_flat()) {
            const u64 row = i / j.s;
            at = row * j.times_batch + (i - row * j.s);
            begins = i == row * j.s;
        }
        const C v = ld_time(t + at), before = ld_time(t + (begins ? at : at - 1));
        u64 reason = bad_time(v);
        if (reason == 0 && !(before <= v) && before == before) reason = unsorted;
        if (reason == 0) continue;
        // Something is wrong, unless this is where a row begins, or past where it ends.
        u32 row = 0, k = 0;
        if (j.src_offsets()) {
            place_in(j.src_extents(), j.s, j.b, i, row, k);
        } else {
            row = (u32)(i / j.s), k = (u32)(i % j.s);
            if (j.src_lengths() && k >= src_row(j, row).n) continue;
        }
        if (reason == unsorted && k == 0) continue;
        report(j, fault_times, i, reason);
    }
}

// check_rows checks the lengths and offsets of all rows, each thread of the grid its part.
template <class J> RC_FN void check_rows(const J &j) {
    if (j.src_extents() == nullptr && j.dst_extents() == nullptr) return;
    const u64 step = (u64)j.blocks() * j.threads();
    for (u64 b = (u64)j.block() * j.threads() + thread_x(); b < j.b; b += step) {
        const u32 row = (u32)b;
        if (!row_fits(j.src_extents(), j.src_begins(), j.src_offsets(), j.s, row, j.b))
            report(j, fault_rows, b, src_rows_bad);
        else if (!row_fits(j.dst_extents(), nullptr, j.dst_offsets(), j.t, row, j.b))
            report(j, fault_rows, b, dst_rows_bad);
        else if (!j.may_lack_samples() && src_row(j, row).n == 0 && dst_row(j, row).n > 0)
            report(j, fault_rows, b, no_samples);
    }
}

// row_of is i / t. Below 2^31 that is the upper half of a product: t_magic is ceil(2^(31+l) / t) with l the bits of t - 1, and
// t_shift l - 1 (Granlund and Montgomery, Division by invariant integers using multiplication, 1994).
template <class J> RC_FN u32 row_of(const J &j, u64 i) {
    if (j.t == 1) return (u32)i;
    if (j.t_magic != 0) return mul_hi((u32)i, j.t_magic) >> j.t_shift();
    return (u32)(i / j.t);
}

// chunk_of is a thread's number divided by chunks: chunk_magic is ceil(2^20 / chunks), exact for numbers to 512 and any chunks.
template <class J> RC_FN u32 chunk_of(const J &j, u32 thread) { return (thread * j.chunk_magic) >> 20; }

} // namespace rc
