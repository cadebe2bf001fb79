// direct.cuh makes small plain jobs, see plain.cuh: linear ones, of rows of at least four samples. A launch of a few blocks a
// multiprocessor lasts as long as the reads that wait for each other, and the instructions between them. So a thread makes one unit
// and finds its target's place for itself, without a barrier: it asks for the four stamps around the place that the target's number
// suggests, for the four samples there, and for its share of the stamps to check, all at once. If the place is another, it goes on with these
// stamps as a thread of plain.cuh does.
//
// Bytes moved: as plain.cuh, and up to four source rows a target where two are needed.
#pragma once
#include "plain.cuh"

namespace rc {

constexpr u32 direct_threads = 128, direct_blocks = 6; // a block, and a multiprocessor

// direct_unit makes this thread's unit. Dense: as move_units. What is loaded last is needed last.
template <u32 DT, class V, class C, bool Dense> RC_FN void direct_unit(const plain_task &j, V *rows) {
    constexpr u32 n = stamps<C>::n;
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
    V *const kept = rows + thread_x();
    RC_UNROLL for (u32 r = 0; r < 4; r++) copy_async(kept + r * direct_threads, src + (u0 + r * j.src_step));
    const C first = ld_time(t), last = ld_time(t + j.s - 1);

    const u32 near = thread_x() * n, asked_of = j.share * j.block + near; // shares are whole 16 bytes; 0 of a job without a check
    const bool checks = near < j.share && asked_of < j.stamps;
    const u32 from = checks ? asked_of : 0;
    const C *const part = (const C *)j.times + from;
    stamps<C> c;
    if (RC_OFTEN(from + n <= j.stamps)) {
        c = __builtin_bit_cast(stamps<C>, ld_nc_16(part));
    } else {
        RC_UNROLL for (u32 u = 0; u < n; u++) c.v[u] = ld_time((const C *)j.times + (from + u < j.stamps ? from + u : j.stamps - 1));
    }
    const C before = ld_time(part - (from > 0 ? 1 : 0));

    if (RC_SELDOM(j.targets == nullptr)) given = tick<C>(j, pos); // while the memory answers
    const C x = j.on_own_clock(given);
    if (RC_SELDOM(j.check() && (beyond_range(given) || beyond_range(x)))) report(j, fault_targets, i, time_range);
    C limit;
    from_bits(j.max_gap, limit);
    const bool left = x < t1, right = t2 <= x, at_end = (g == j.s - 3) & (x == t3);
    const C begin = left ? t0 : right ? t2 : t1, end = left ? t1 : right ? t3 : t2;
    const bool on = x == begin, whole = on | at_end, tells = writes && unit == 0;
    V out;
    if (RC_OFTEN(((begin <= x) & (x < end) & (on | !longer(begin, end, limit))) | at_end)) {
        const float weight = ratio<float>(whole ? 1 : span(begin, x), whole ? 1 : span(begin, end));
        copies_landed();
        const V *const at = kept + (left ? 0 : right ? 2 : 1) * direct_threads;
        const V lo = at[0], hi = at[direct_threads];
        out = blend_unit<DT, V>(lo, hi, weight);
        if (whole) out = at_end ? hi : lo; // at the end t2 <= x, too
        if (RC_SELDOM(j.masked() && tells)) {
            if (j.valid) st_u8(j.valid + (u64)i * j.valid_step, 1);
            if (j.age) st_time((C *)j.age + (u64)i * j.age_step, minus(x, at_end ? t3 : begin));
        }
    } else {
        const slot s = place_anywhere<C>(j, i, {row, pos, t, given, {first, last, {g, t0, t1, t2, t3}}}, x, tells);
        const V *const p = src + (s.chunk + unit);
        out = made<DT, V>(j, ld_unit(p), ld_unit(p + (s.weight >= 0 ? j.src_step : 0)), s.weight);
        copies_landed(); // which nobody needs; a thread waits for what it began
    }
    if (writes) {
        char *const to = j.dst + (u64)i * j.dst_step + unit * (u32)sizeof(V);
        if (Dense || j.store() == 4)
            st_unit(to, out, 4);
        else if (j.store() == 3)
            st_unit(to, out, 3);
        else
            st_unit(to, out, 2);
    }
    if (checks) {
        u32 bad = wrong(c, before, row_begins<C>(j, from));
        RC_ROLLED for (; RC_SELDOM(bad != 0) && from + lowest_bit(bad) < j.stamps; bad &= bad - 1) tell<C>(j, from + lowest_bit(bad));
    }
}

template <u32 DT, class V, bool Dense> RC_FN void direct(const plain_task &j, v16 *rows) {
    switch (j.clock()) {
    case clock_i64: return direct_unit<DT, V, i64, Dense>(j, (V *)rows);
    case clock_f64: return direct_unit<DT, V, double, Dense>(j, (V *)rows);
    default: return direct_unit<DT, V, float, Dense>(j, (V *)rows);
    }
}

} // namespace rc
