// resample.cuh is what the resampling kernels share: their parameters, the rows of ragged batches, the search for a target's
// place among a row's stamps, and the check of the stamps. The formulas are those of the Go package ops, step by step.
#pragma once
#include "common.cuh"

namespace rc {

// The parameters of every resampling kernel, in order. Strides count elements. src_rows and dst_rows are lengths [B] or
// offsets [B+1], or null; fill holds the bits of a dst element, max_gap and tolerance those of a time.
#define RC_RESAMPLE_PARAMS                                                                                                \
    const void *__restrict__ src, i64 src_batch, i64 src_step, const void *__restrict__ times, i64 times_batch,           \
        const void *__restrict__ targets, i64 targets_batch, void *__restrict__ dst, i64 dst_batch, i64 dst_step,         \
        u8 *__restrict__ valid, i64 valid_batch, void *__restrict__ age, i64 age_batch, const i64 *__restrict__ src_rows, \
        const i64 *__restrict__ dst_rows, u64 *__restrict__ fault, u32 *__restrict__ fault_flag, i64 start, double rate,  \
        u64 fill, u64 max_gap, u64 tolerance, u64 total, u64 stamps, u64 s, u64 t, u32 b, u32 d, u32 tile, u32 flags
#define RC_RESAMPLE_ARGS                                                                                                  \
    {src, src_batch, src_step, times, times_batch, targets, targets_batch, dst, dst_batch, dst_step, valid, valid_batch, \
     age, age_batch, src_rows, dst_rows, fault, fault_flag, start, rate, fill, max_gap, tolerance, total, stamps, s, t, b, d, tile, flags}

struct resample_job {
    const void *src;
    i64 src_batch, src_step;
    const void *times;
    i64 times_batch;
    const void *targets; // null for a uniform clock
    i64 targets_batch;
    void *dst;
    i64 dst_batch, dst_step;
    u8 *valid; // null if not wanted
    i64 valid_batch;
    void *age; // null if not wanted
    i64 age_batch;
    const i64 *src_rows, *dst_rows;
    u64 *fault;      // the smallest fault found, in device memory
    u32 *fault_flag; // set if there is one, in host memory
    i64 start;
    double rate;
    u64 fill, max_gap, tolerance;
    u64 total;  // targets of all rows
    u64 stamps; // source stamps to check
    u64 s, t;   // samples and targets a row, or of all rows if packed
    u32 b, d;
    u32 tile; // targets a block
    u32 flags;

    // The fields of flags.
    RC_FN_MEMBER u32 clock() const { return flags & 3; }
    RC_FN_MEMBER u32 out() const { return flags >> 2 & 3; }
    RC_FN_MEMBER u32 kind() const { return flags >> 4 & 7; }
    RC_FN_MEMBER u32 edge() const { return flags >> 7 & 3; }
    RC_FN_MEMBER u32 vector() const { return flags >> 9 & 7; } // log2 of the elements a thread moves at once
    RC_FN_MEMBER bool src_lengths() const { return flags >> 12 & 1; }
    RC_FN_MEMBER bool src_offsets() const { return flags >> 13 & 1; }
    RC_FN_MEMBER bool dst_lengths() const { return flags >> 14 & 1; }
    RC_FN_MEMBER bool dst_offsets() const { return flags >> 15 & 1; }
    RC_FN_MEMBER bool has_gap() const { return flags >> 16 & 1; }
    RC_FN_MEMBER bool has_tolerance() const { return flags >> 17 & 1; }
    RC_FN_MEMBER bool fill_gaps() const { return flags >> 18 & 1; }
    RC_FN_MEMBER bool check() const { return flags >> 19 & 1; }
    RC_FN_MEMBER bool near_previous() const { return flags >> 20 & 1; } // tolerance applies to the sample before
    RC_FN_MEMBER bool near_next() const { return flags >> 21 & 1; }
    RC_FN_MEMBER bool near_nearest() const { return flags >> 22 & 1; }
    RC_FN_MEMBER bool times_flat() const { return flags >> 23 & 1; } // stamp i is at times[i], whatever its row
};

enum clocks : u32 { clock_i64, clock_f64, clock_f32 };
enum kinds : u32 { linear, previous, next, nearest, slerp, angle, pchip };
enum edges : u32 { edge_clamp, edge_fill, edge_extrapolate, edge_error };

constexpr u32 max_row = 0x7fffffff;
constexpr i64 max_time = (i64)1 << 62;

// ---- Faults: the smallest one wins, so every run reports the same ----

constexpr u64 fault_rows = 0, fault_times = 1ull << 62, fault_targets = 2ull << 62;
enum fault_reason : u64 { src_rows_bad, dst_rows_bad, no_samples, unsorted, not_finite, time_range, out_of_range };

RC_FN void report(const resample_job &j, u64 kind, u64 position, u64 reason) {
    atomic_min_u64(j.fault, kind | position << 4 | reason);
    *(volatile u32 *)j.fault_flag = 1;
}

// ---- Times ----

RC_FN i64 ld_time(const i64 *p) { return (i64)ld_nc_u64(p); }
RC_FN double ld_time(const double *p) { return ld_nc_f64(p); }
RC_FN float ld_time(const float *p) { return ld_nc_f32(p); }
RC_FN void st_time(i64 *p, i64 v) { st_u64(p, (u64)v); }
RC_FN void st_time(double *p, double v) { st_f64(p, v); }
RC_FN void st_time(float *p, float v) { st_f32(p, v); }

RC_FN i64 minus(i64 y, i64 x) { return (i64)((u64)y - (u64)x); }
RC_FN double minus(double y, double x) { return y - x; }
RC_FN float minus(float y, float x) { return y - x; }

// distance is y - x for y >= x, taken in the clock's own type. Nanoseconds reach 2^63.
RC_FN double distance(i64 x, i64 y) { return (double)((u64)y - (u64)x); }
RC_FN double distance(double x, double y) { return y - x; }
RC_FN double distance(float x, float y) { return (double)(y - x); }
RC_FN bool longer(i64 x, i64 y, i64 limit) { return (u64)y - (u64)x > (u64)limit; }
RC_FN bool longer(double x, double y, double limit) { return y - x > limit; }
RC_FN bool longer(float x, float y, float limit) { return y - x > limit; }

RC_FN void from_bits(u64 b, i64 &v) { v = (i64)b; }
RC_FN void from_bits(u64 b, double &v) { v = as_f64(b); }
RC_FN void from_bits(u64 b, float &v) { v = as_f32((u32)b); }

RC_FN void from_ns(i64 ns, i64 &v) { v = ns; }
RC_FN void from_ns(i64 ns, double &v) { v = div_rn((double)ns, 1e9); }
RC_FN void from_ns(i64 ns, float &v) { v = f64_to_f32(div_rn((double)ns, 1e9)); }

// bad_time returns why t cannot be a time, or 0.
RC_FN u64 bad_time(i64 t) { return t > max_time || t < -max_time ? (u64)time_range : 0; }
RC_FN u64 bad_time(double t) { return is_finite(t) ? 0 : (u64)not_finite; }
RC_FN u64 bad_time(float t) { return is_finite(t) ? 0 : (u64)not_finite; }
RC_FN bool beyond_range(i64 t) { return bad_time(t); }
RC_FN bool beyond_range(double) { return false; }
RC_FN bool beyond_range(float) { return false; }

// tick is target i of a uniform clock.
template <class C> RC_FN C tick(const resample_job &j, u32 i) {
    double offset = floor_f(div_rn((double)i * 1e9, j.rate) + 0.5);
    offset = offset > (double)max_time ? (double)max_time : offset;
    C x;
    from_ns(j.start + (i64)offset, x);
    return x;
}

// ---- Rows ----

// extent is where a row begins in a packed tensor (0 in a padded one), and its length. Values that do not fit the tensor are
// cut so that they do.
struct extent {
    i64 first;
    u32 n;
};

RC_FN extent row_extent(const i64 *rows, bool offsets, u64 all, u32 b) {
    if (rows == nullptr) return {0, (u32)all};
    i64 lo = (i64)ld_nc_u64(rows + b), end = (i64)all;
    lo = lo < 0 ? 0 : lo > end ? end : lo;
    if (!offsets) return {0, (u32)lo};
    i64 hi = (i64)ld_nc_u64(rows + b + 1);
    hi = hi < lo ? lo : hi > end ? end : hi;
    return {lo, (u32)(hi - lo > (i64)max_row ? (i64)max_row : hi - lo)};
}

RC_FN bool row_fits(const i64 *rows, bool offsets, u64 all, u32 b, u32 count) {
    if (rows == nullptr) return true;
    i64 lo = (i64)ld_nc_u64(rows + b), end = (i64)all;
    if (!offsets) return lo >= 0 && lo <= end;
    i64 hi = (i64)ld_nc_u64(rows + b + 1);
    return lo >= 0 && hi >= lo && hi <= end && hi - lo <= (i64)max_row && (b > 0 || lo == 0) && (b + 1 < count || hi == end);
}

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
    extent e = row_extent(offsets, true, all, (u32)lo);
    if ((i64)i < e.first || (i64)i - e.first >= (i64)e.n) return false;
    row = (u32)lo, index = (u32)((i64)i - e.first);
    return true;
}

// ---- The search ----

enum place : u32 { exact, inside, below, above, nowhere };

// located is what does not depend on the feature.
template <class C> struct located {
    u32 where;
    u32 k;     // the last sample at or before the target; 0 if there is none
    bool later; // inside: sample k+1 is nearer
    bool gap;   // inside a bracket longer than max_gap, or out of tolerance
    bool line;  // below or above: the bracket at base has a length
    u32 base;
    double x, h; // inside: target less t[k], t[k+1] less t[k]
    double a;    // inside: x / h; with line: the same in the bracket at base
};

// last_at_or_before returns the greatest k with t[k] <= x, given t[0] <= x < t[n-1]. It looks first where x would be if the
// stamps were evenly spaced, then in steps that double, then halves what is left. Whatever the stamps hold, it ends and
// stays within them.
template <class C> RC_FN u32 last_at_or_before(const C *t, u32 n, C x, C t0, C end) {
    const float share = div_rn((float)distance(t0, x), (float)distance(t0, end));
    float at = share * (float)(n - 1);
    at = at > 0 ? at : 0;
    u32 lo = 0, hi = n - 1;
    u32 g = (u32)at;
    g = g > n - 2 ? n - 2 : g;
    u32 step = 1;
    if (ld_time(t + g) <= x) {
        lo = g;
        for (; step < hi - lo; step *= 2) {
            if (!(ld_time(t + lo + step) <= x)) {
                hi = lo + step;
                break;
            }
            lo += step;
        }
    } else {
        hi = g;
        for (; step < hi - lo; step *= 2) {
            if (ld_time(t + hi - step) <= x) {
                lo = hi - step;
                break;
            }
            hi -= step;
        }
    }
    while (hi - lo > 1) {
        const u32 mid = lo + (hi - lo) / 2;
        if (ld_time(t + mid) <= x)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

// upper and lower bound a run of equal stamps at an end of the row: the first index above v, the first at or above v.
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

// locate finds x among the n > 0 stamps of a row.
template <class C> RC_FN located<C> locate(const resample_job &j, const C *t, u32 n, C x) {
    located<C> p = {nowhere, 0, false, false, false, 0, 0, 0, 0};
    const C t0 = ld_time(t), end = ld_time(t + n - 1);
    if (x != x) return p;
    if (x < t0) {
        p.where = below;
        if (j.edge() == edge_extrapolate) {
            const u32 i = first_above(t, n, t0);
            if (i < n) {
                const C tb = ld_time(t + i - 1);
                p.line = true, p.base = i - 1;
                p.a = div_rn(-distance(x, tb), distance(tb, ld_time(t + i)));
            }
        }
        return p;
    }
    if (x >= end) {
        p.k = n - 1;
        p.where = x == end ? exact : above;
        if (p.where == above && j.edge() == edge_extrapolate) {
            const u32 i = first_at_or_above(t, n, end);
            if (i > 0) {
                const C tb = ld_time(t + i - 1);
                p.line = true, p.base = i - 1;
                p.a = div_rn(distance(tb, x), distance(tb, ld_time(t + i)));
            }
        }
        return p;
    }
    p.k = n > 1 ? last_at_or_before(t, n, x, t0, end) : 0;
    const C lo = ld_time(t + p.k);
    if (x == lo || p.k + 1 >= n) {
        p.where = exact;
        return p;
    }
    const C hi = ld_time(t + p.k + 1);
    p.where = inside;
    p.later = longer(lo, x, minus(hi, x));
    p.x = distance(lo, x), p.h = distance(lo, hi);
    p.a = div_rn(p.x, p.h);
    C limit;
    if (j.has_gap()) {
        from_bits(j.max_gap, limit);
        p.gap = longer(lo, hi, limit);
    }
    if (j.has_tolerance()) {
        from_bits(j.tolerance, limit);
        const bool before = longer(lo, x, limit), after = longer(x, hi, limit);
        p.gap = p.gap || (j.near_previous() && before) || (j.near_next() && after) || (j.near_nearest() && (p.later ? after : before));
    }
    return p;
}

// ---- One target ----

// aim is a target's rows: where its source row begins, where it writes, and what it found.
template <class C> struct aim {
    located<C> at;
    const C *times; // the row's stamps
    u32 n;          // how many
    i64 src, dst;   // elements to the row's first sample and to the target's first feature
    bool filled;    // there is nothing to resample: fill
};

// aim_at finds target number index of the block, whose first is target `first` of row `row0`, and writes its valid and age.
template <class C> RC_FN aim<C> aim_at(const resample_job &j, u64 block_first, u32 row0, u32 first, u32 index) {
    aim<C> m;
    u32 row = row0, pos = 0, out_row = 0;
    i64 out_pos;
    bool held = true;
    if (j.dst_offsets()) {
        out_pos = (i64)(block_first + index);
        held = place_in(j.dst_rows, j.t, j.b, (u64)out_pos, row, pos);
    } else {
        pos = first + index;
        row = row0 + pos / (u32)j.t;
        pos %= (u32)j.t;
        out_row = row, out_pos = pos;
    }
    m.dst = (i64)out_row * j.dst_batch + out_pos * j.dst_step;
    const extent e = row_extent(j.src_rows, j.src_offsets(), j.s, row);
    m.n = held ? e.n : 0;
    m.src = (i64)row * j.src_batch + e.first * j.src_step;
    m.times = (const C *)j.times + (i64)row * j.times_batch + e.first;
    m.filled = m.n == 0 || (j.dst_lengths() && pos >= row_extent(j.dst_rows, false, j.t, row).n);
    C age = 0;
    u32 ok = 0;
    if (!m.filled) {
        C x = j.targets == nullptr ? tick<C>(j, pos) : ld_time((const C *)j.targets + (i64)out_row * j.targets_batch + out_pos);
        if (j.check() && beyond_range(x)) report(j, fault_targets, block_first + index, time_range);
        m.at = locate(j, m.times, m.n, x);
        const bool outside = m.at.where == below || m.at.where == above;
        if (outside && j.edge() == edge_error) report(j, fault_targets, block_first + index, out_of_range);
        ok = !(m.at.gap || outside || m.at.where == nowhere);
        if (j.age) age = minus(x, ld_time(m.times + m.at.k));
        m.filled = (j.edge() == edge_fill && (outside || m.at.where == nowhere)) || (m.at.gap && j.fill_gaps());
    } else {
        m.at = {exact, 0, false, false, false, 0, 0, 0, 0};
        m.src = 0;
    }
    if (j.valid) st_u8(j.valid + (i64)out_row * j.valid_batch + out_pos, (u8)ok);
    if (j.age) st_time((C *)j.age + (i64)out_row * j.age_batch + out_pos, age);
    return m;
}

// ---- The check ----

// check_stamps looks at this block's share of the source stamps with the threads from `first_thread` on.
template <class C> RC_FN void check_stamps(const resample_job &j, u32 first_thread) {
    const C *t = (const C *)j.times;
    const u64 share = (j.stamps + blocks_x() - 1) / blocks_x();
    const u64 begin = share * block_x();
    u64 end = begin + share;
    end = end < j.stamps ? end : j.stamps;
    const u32 step = threads_x() - first_thread;
    for (u64 i = begin + (thread_x() - first_thread); i < end; i += step) {
        u64 at = i;
        bool begins = i == 0;
        if (!j.times_flat()) {
            const u64 row = i / j.s;
            at = row * j.times_batch + (i - row * j.s);
            begins = i == row * j.s;
        }
        const C v = ld_time(t + at), before = begins ? v : ld_time(t + at - 1);
        u64 reason = bad_time(v);
        if (reason == 0 && !(before <= v) && before == before) reason = unsorted;
        if (reason == 0) continue;
        // Something is wrong, unless this is where a row begins, or past where it ends.
        u32 row = 0, k = 0;
        if (j.src_offsets()) {
            place_in(j.src_rows, j.s, j.b, i, row, k);
        } else {
            row = (u32)(i / j.s), k = (u32)(i % j.s);
            if (j.src_lengths() && k >= row_extent(j.src_rows, false, j.s, row).n) continue;
        }
        if (reason == unsorted && k == 0) continue;
        report(j, fault_times, i, reason);
    }
}

// check_rows looks at the lengths and offsets of all rows, each thread of the grid at its share.
RC_FN void check_rows(const resample_job &j) {
    if (j.src_rows == nullptr && j.dst_rows == nullptr) return;
    const u64 step = (u64)blocks_x() * threads_x();
    for (u64 b = (u64)block_x() * threads_x() + thread_x(); b < j.b; b += step) {
        const u32 row = (u32)b;
        if (!row_fits(j.src_rows, j.src_offsets(), j.s, row, j.b))
            report(j, fault_rows, b, src_rows_bad);
        else if (!row_fits(j.dst_rows, j.dst_offsets(), j.t, row, j.b))
            report(j, fault_rows, b, dst_rows_bad);
        else if (row_extent(j.src_rows, j.src_offsets(), j.s, row).n == 0 && row_extent(j.dst_rows, j.dst_offsets(), j.t, row).n > 0)
            report(j, fault_rows, b, no_samples);
    }
}

// survey is the first half of every resampling kernel: it finds the block's targets, giving each to keep(index, aim), and checks
// the block's share of the stamps, on the warps that have no target if there are any. It returns the number of targets.
template <class C, class Keep> RC_FN u32 survey(const resample_job &j, Keep keep) {
    const u64 block_first = (u64)block_x() * j.tile;
    const u64 left = block_first < j.total ? j.total - block_first : 0;
    const u32 count = left < j.tile ? (u32)left : j.tile;
    const u32 busy = (count + warp_size - 1) & ~(warp_size - 1);
    const u32 checkers = busy < threads_x() ? busy : 0;
    if (j.check() && thread_x() >= checkers) check_stamps<C>(j, checkers);
    if (j.check()) check_rows(j);
    u32 row0 = 0, first = 0;
    if (!j.dst_offsets()) {
        row0 = (u32)(block_first / j.t);
        first = (u32)(block_first - row0 * j.t);
    }
    for (u32 i = thread_x(); i < count; i += threads_x()) keep(i, aim_at<C>(j, block_first, row0, first, i));
    return count;
}

} // namespace rc
