// small.cuh is the fast path (fast.cuh) for small launches: linear jobs, of rows of at least four samples. A launch of a few blocks a
// multiprocessor lasts as long as the loads that wait for each other, and the instructions between them. So there is no barrier: a thread
// computes one unit and finds its target's place for itself. It loads the four timestamps around the place that the target's number
// suggests and, speculatively, the four samples there, all at once. If the guess was wrong, it goes on searching from these timestamps as
// fast.cuh does, and loads again. One more warp of the block checks its part of the timestamps.
//
// The code of the common case lies in one piece, before the rest, for the sake of instruction fetch: a branch that is unlikely leads to
// an end of its own, and not back.
//
// Bytes moved: as fast.cuh, and up to four source rows per target where two are needed.
#pragma once
#include "fast.cuh"

namespace rc {

// threads in a block: the first small_makers threads compute units
RC_HOST constexpr u32 small_makers = 128, small_threads = small_makers + warp_size;
RC_HOST constexpr u32 small_blocks = 6, small_fuse_blocks = 4;                      // a multiprocessor

template <class V, bool Dense> RC_FN void st_small(const fast_job &j, u32 i, u32 unit, V out) {
    char *const to = j.dst + (u64)i * j.dst_step + unit * (u32)sizeof(V);
    if (Dense || j.store() == 4)
        st_unit(to, out, 4);
    else if (j.store() == 3)
        st_unit(to, out, 3);
    else
        st_unit(to, out, 2);
}

template <class C> RC_FN void check_target(const fast_job &j, u32 i, C given, C x) {
    if (RC_UNLIKELY(j.check() && (beyond_range(given) || beyond_range(x)))) report(j, fault_targets, i, time_range);
}

// unit_made is which unit of the source this thread's was made of, if all of it is finite, and the weight of that of the row after.
struct unit_made {
    u32 from;
    float weight;
    bool finite;
};

// small_unit computes this thread's unit. Dense: as move_units.
template <class V, class C, bool Dense> RC_FN unit_made small_unit(const fast_job &j) {
    // A thread without a target does the work of one of the last's, and writes nothing.
    const u32 mine = (thread_x() * j.chunk_magic) >> 20, own = j.block * j.tile + mine, unit = thread_x() - mine * j.chunks;
    const bool writes = mine < j.tile && own < j.total;
    const u32 i = writes ? own : j.total - 1, row = mul_hi(i, j.t_magic) >> j.t_shift(), pos = i - row * j.t;
    u32 g = (u32)((float)pos * j.samples_per_target); // the second of the four
    g = g > 1 ? g : 1;
    g = g < j.s - 3 ? g : j.s - 3;
    const C *const t = (const C *)j.times + row * j.times_batch;
    const C t0 = ld_time(t + g - 1), t1 = ld_time(t + g), t2 = ld_time(t + g + 1), t3 = ld_time(t + g + 2);
    C given = ld_time(j.targets != nullptr ? (const C *)j.targets + (row * j.targets_batch + pos) : t);
    const V *const src = (const V *)j.src;
    const u32 u0 = row * j.src_batch + (g - 1) * j.src_step + unit;
    const V r0 = ld_unit(src + u0), r1 = ld_unit(src + (u0 + j.src_step)), r2 = ld_unit(src + (u0 + 2 * j.src_step)),
            r3 = ld_unit(src + (u0 + 3 * j.src_step));

    if (RC_UNLIKELY(j.targets == nullptr)) given = tick<C>(j, pos); // while the memory answers
    const C x = j.to_stream_clock(given);
    C limit;
    from_bits(j.max_gap, limit);
    const bool left = x < t1, right = t2 <= x, at_end = (g == j.s - 3) & (x == t3);
    const C begin = left ? t0 : right ? t2 : t1, end = left ? t1 : right ? t3 : t2;
    const bool on = x == begin, whole = on | at_end, tells = writes && unit == 0;
    // Speculative: computed before it is known whether the guess was right, as ptxas delays loads that only one branch needs until the branch is taken.
    const float weight = ratio<float>(whole ? 1 : span(begin, x), whole ? 1 : span(begin, end));
    const V lo = left ? r0 : right ? r2 : r1, hi = left ? r1 : right ? r3 : r2;
    V out;
    bool finite = true;
    dispatch_dtype(j.dtype(), [&](auto known) RC_INLINE_LAMBDA { out = blend_unit<decltype(known)::dtype, V>(lo, hi, weight, finite); });
    if (whole) out = at_end ? hi : lo; // at the end t2 <= x, too
    if (RC_LIKELY(((begin <= x) & (x < end) & (on | !span_exceeds(begin, end, limit))) | at_end)) {
        if (RC_UNLIKELY(j.has_masks() && tells)) {
            if (j.valid) st_u8(j.valid + (u64)i * j.valid_step, 1);
            if (j.age) st_time((C *)j.age + (u64)i * j.age_step, minus(x, at_end ? t3 : begin));
        }
        if (writes) st_small<V, Dense>(j, i, unit, out);
        check_target(j, i, given, x);
        return {u0 + (left ? 0 : right ? 2 : 1) * j.src_step, weight, finite || whole || !writes};
    } else {
        const slot s = locate_general<C>(j, i, {row, pos, t, given, {ld_time(t), ld_time(t + j.s - 1), {g, t0, t1, t2, t3}}}, x, tells);
        const V *const p = src + (s.chunk + unit);
        finite = true;
        out = resample_unit(j, ld_unit(p), ld_unit(p + (s.weight >= 0 ? j.src_step : 0)), s.weight, finite);
        if (writes) st_small<V, Dense>(j, i, unit, out);
        check_target(j, i, given, x);
        return {s.chunk + unit, s.weight, finite || !writes};
    }
}

// recompute_small recomputes this thread's unit.
RC_FN void recompute_small(const fast_job &j, unit_made u) {
    const u32 mine = (thread_x() * j.chunk_magic) >> 20, bytes = 1u << j.unit();
    const char *const lo = (const char *)j.src + (u64)u.from * bytes;
    recompute(j.dtype(), lo, lo + (u64)j.src_step * bytes, u.weight, j.dst + (u64)(j.block * j.tile + mine) * j.dst_step + (thread_x() - mine * j.chunks) * bytes,
         bytes / (j.dtype() == dt_f32 ? 4 : 2));
}

// small_check looks at the timestamps that fall to thread `checker` of a block's last warp. Shares are whole 16 bytes, and 0 of a job without a check.
template <class C> RC_FN void small_check(const fast_job &j, u32 checker) {
    constexpr u32 n = timestamps<C>::n;
    const u32 from = j.timestamps_per_block * j.block + checker * n;
    if (checker * n >= j.timestamps_per_block || from >= j.timestamps) return;
    const C *const part = (const C *)j.times + from;
    timestamps<C> c;
    if (RC_LIKELY(from + n <= j.timestamps)) {
        c = __builtin_bit_cast(timestamps<C>, ld_nc_16(part));
    } else {
        RC_UNROLL for (u32 u = 0; u < n; u++) c.v[u] = ld_time(part + (from + u < j.timestamps ? u : 0));
    }
    const C before = ld_time(part - (from > 0 ? 1 : 0));
    u32 bad = wrong(c, before, row_start_guess<C>(j, from));
    RC_NO_UNROLL for (; RC_UNLIKELY(bad != 0) && from + lowest_bit(bad) < j.timestamps; bad &= bad - 1) report_timestamp<C>(j, from + lowest_bit(bad));
}

template <class V, class C, bool Dense> RC_FN unit_made small_on(const fast_job &j) {
    if (RC_LIKELY(thread_x() < small_makers)) return small_unit<V, C, Dense>(j);
    small_check<C>(j, thread_x() - small_makers);
    return {0, 0, true};
}

template <class V, bool Dense> RC_FN unit_made small(const fast_job &j) {
    if (RC_LIKELY(j.clock() == clock_f32)) return small_on<V, float, Dense>(j);
    if (j.clock() == clock_f64) return small_on<V, double, Dense>(j);
    return small_on<V, i64, Dense>(j);
}

} // namespace rc
