// direct.cuh makes small plain jobs, see plain.cuh: linear ones, of rows of at least four samples. A launch of a few blocks a
// multiprocessor lasts as long as the reads that wait for each other, and the instructions between them. So a thread makes one unit
// and finds its target's place for itself, without a barrier: it asks for the four stamps around the place that the target's number
// suggests, and for the four samples there, all at once. If the place is another, it goes on with these stamps as a thread of
// plain.cuh does. One more warp of the block checks its share of the stamps.
//
// The code of what most targets are lies in one piece, before the rest, for the sake of the fetching of instructions: a condition that is
// seldom met leads to an end of its own, and not back.
//
// Bytes moved: as plain.cuh, and up to four source rows a target where two are needed.
#pragma once
#include "plain.cuh"

namespace rc {

RC_HOST constexpr u32 direct_makers = 128, direct_threads = direct_makers + warp_size; // a block: those that make units come first
RC_HOST constexpr u32 direct_blocks = 6, direct_fuse_blocks = 4;                      // a multiprocessor

template <class V, bool Dense> RC_FN void st_direct(const plain_task &j, u32 i, u32 unit, V out) {
    char *const to = j.dst + (u64)i * j.dst_step + unit * (u32)sizeof(V);
    if (Dense || j.store() == 4)
        st_unit(to, out, 4);
    else if (j.store() == 3)
        st_unit(to, out, 3);
    else
        st_unit(to, out, 2);
}

template <class C> RC_FN void check_target(const plain_task &j, u32 i, C given, C x) {
    if (RC_SELDOM(j.check() && (beyond_range(given) || beyond_range(x)))) report(j, fault_targets, i, time_range);
}

// unit_made is which unit of the source this thread's was made of, if all of it is finite, and the weight of that of the row after.
struct unit_made {
    u32 from;
    float weight;
    bool finite;
};

// direct_unit makes this thread's unit. Dense: as move_units.
template <class V, class C, bool Dense> RC_FN unit_made direct_unit(const plain_task &j) {
    // A thread without a target does the work of one of the last's, and writes nothing.
    const u32 mine = (thread_x() * j.chunk_magic) >> 20, own = j.block * j.tile + mine, unit = thread_x() - mine * j.chunks;
    const bool writes = mine < j.tile && own < j.total;
    const u32 i = writes ? own : j.total - 1, row = mul_hi(i, j.t_magic) >> j.t_shift(), pos = i - row * j.t;
    u32 g = (u32)((float)pos * j.pace); // the second of the four
    g = g > 1 ? g : 1;
    g = g < j.s - 3 ? g : j.s - 3;
    const C *const t = (const C *)j.times + row * j.times_batch;
    const C t0 = ld_time(t + g - 1), t1 = ld_time(t + g), t2 = ld_time(t + g + 1), t3 = ld_time(t + g + 2);
    C given = ld_time(j.targets != nullptr ? (const C *)j.targets + (row * j.targets_batch + pos) : t);
    const V *const src = (const V *)j.src;
    const u32 u0 = row * j.src_batch + (g - 1) * j.src_step + unit;
    const V r0 = ld_unit(src + u0), r1 = ld_unit(src + (u0 + j.src_step)), r2 = ld_unit(src + (u0 + 2 * j.src_step)),
            r3 = ld_unit(src + (u0 + 3 * j.src_step));

    if (RC_SELDOM(j.targets == nullptr)) given = tick<C>(j, pos); // while the memory answers
    const C x = j.on_own_clock(given);
    C limit;
    from_bits(j.max_gap, limit);
    const bool left = x < t1, right = t2 <= x, at_end = (g == j.s - 3) & (x == t3);
    const C begin = left ? t0 : right ? t2 : t1, end = left ? t1 : right ? t3 : t2;
    const bool on = x == begin, whole = on | at_end, tells = writes && unit == 0;
    // Made before it is known whether it will do: ptxas puts off loads that only one way needs until it is known which is taken.
    const float weight = ratio<float>(whole ? 1 : span(begin, x), whole ? 1 : span(begin, end));
    const V lo = left ? r0 : right ? r2 : r1, hi = left ? r1 : right ? r3 : r2;
    V out;
    bool finite = true;
    tell_dtype(j.dtype(), [&](auto known) RC_INLINED { out = blend_unit<decltype(known)::dtype, V>(lo, hi, weight, finite); });
    if (whole) out = at_end ? hi : lo; // at the end t2 <= x, too
    if (RC_OFTEN(((begin <= x) & (x < end) & (on | !longer(begin, end, limit))) | at_end)) {
        if (RC_SELDOM(j.masked() && tells)) {
            if (j.valid) st_u8(j.valid + (u64)i * j.valid_step, 1);
            if (j.age) st_time((C *)j.age + (u64)i * j.age_step, minus(x, at_end ? t3 : begin));
        }
        if (writes) st_direct<V, Dense>(j, i, unit, out);
        check_target(j, i, given, x);
        return {u0 + (left ? 0 : right ? 2 : 1) * j.src_step, weight, finite || whole || !writes};
    } else {
        const slot s = place_anywhere<C>(j, i, {row, pos, t, given, {ld_time(t), ld_time(t + j.s - 1), {g, t0, t1, t2, t3}}}, x, tells);
        const V *const p = src + (s.chunk + unit);
        finite = true;
        out = made(j, ld_unit(p), ld_unit(p + (s.weight >= 0 ? j.src_step : 0)), s.weight, finite);
        if (writes) st_direct<V, Dense>(j, i, unit, out);
        check_target(j, i, given, x);
        return {s.chunk + unit, s.weight, finite || !writes};
    }
}

// mend_direct makes this thread's unit anew.
RC_FN void mend_direct(const plain_task &j, unit_made u) {
    const u32 mine = (thread_x() * j.chunk_magic) >> 20, bytes = 1u << j.unit();
    const char *const lo = (const char *)j.src + (u64)u.from * bytes;
    mend(j.dtype(), lo, lo + (u64)j.src_step * bytes, u.weight, j.dst + (u64)(j.block * j.tile + mine) * j.dst_step + (thread_x() - mine * j.chunks) * bytes,
         bytes / (j.dtype() == dt_f32 ? 4 : 2));
}

// direct_check looks at the stamps that fall to thread `checker` of a block's last warp. Shares are whole 16 bytes, and 0 of a job without a check.
template <class C> RC_FN void direct_check(const plain_task &j, u32 checker) {
    constexpr u32 n = stamps<C>::n;
    const u32 from = j.share * j.block + checker * n;
    if (checker * n >= j.share || from >= j.stamps) return;
    const C *const part = (const C *)j.times + from;
    stamps<C> c;
    if (RC_OFTEN(from + n <= j.stamps)) {
        c = __builtin_bit_cast(stamps<C>, ld_nc_16(part));
    } else {
        RC_UNROLL for (u32 u = 0; u < n; u++) c.v[u] = ld_time(part + (from + u < j.stamps ? u : 0));
    }
    const C before = ld_time(part - (from > 0 ? 1 : 0));
    u32 bad = wrong(c, before, row_begins<C>(j, from));
    RC_ROLLED for (; RC_SELDOM(bad != 0) && from + lowest_bit(bad) < j.stamps; bad &= bad - 1) tell<C>(j, from + lowest_bit(bad));
}

template <class V, class C, bool Dense> RC_FN unit_made direct_on(const plain_task &j) {
    if (RC_OFTEN(thread_x() < direct_makers)) return direct_unit<V, C, Dense>(j);
    direct_check<C>(j, thread_x() - direct_makers);
    return {0, 0, true};
}

template <class V, bool Dense> RC_FN unit_made direct(const plain_task &j) {
    if (RC_OFTEN(j.clock() == clock_f32)) return direct_on<V, float, Dense>(j);
    if (j.clock() == clock_f64) return direct_on<V, double, Dense>(j);
    return direct_on<V, i64, Dense>(j);
}

} // namespace rc
