// ahead.cuh makes plain jobs, see plain.cuh, that take about every other sample: linear ones, of rows of whole 16 bytes, onto outputs without gaps.
// A block does not wait for its stamps before it asks for the samples: each thread asks for those of its two units that evenly spaced stamps
// would lead to, right behind the stamps. When these have told where the targets lie most threads have what they need, and the others ask once
// more: mostly for a row that another target has had brought from DRAM.
//
// Where gaps, or an order of the targets' own, lead most guesses astray, the rows are read twice. So blocks spread over the launch tell the host when most of
// theirs were more than a row off, and it launches the plain kernel from then on.
//
// Bytes moved: as plain.cuh, and the rows that were guessed in vain, most of them from the L2 cache.
#pragma once
#include "plain.cuh"

namespace rc {

constexpr u32 ahead_each = 2;                    // units a thread; a target has at least as many
constexpr u32 ahead_blocks = 8;                  // a multiprocessor

template <u32 DT, class C> RC_FN void ahead_on(const plain_task &j, slot *slots) {
    const u32 first = j.block * j.tile, count = targets_of(j), all = count * j.chunks, mine = thread_x();
    watch<C> w = share_beside<C, 1>(j, count);
    w.load(j);
    asked<C> a;
    if (mine < count) a = ask<C>(j, first + mine);
    warp_barrier();
    v16 lo[ahead_each], hi[ahead_each];
    u32 guess[ahead_each];
    if (count > 0) {
        RC_UNROLL for (u32 u = 0; u < ahead_each; u++) {
            // A unit past the last is the last one once more, and is not stored.
            const u32 n = mine + u * plain_threads, at = n < all ? n : all - 1, target = (at * j.chunk_magic) >> 20;
            guess[u] = guessed(j, first + target) + (at - target * j.chunks);
            const v16 *p = (const v16 *)j.src + guess[u];
            lo[u] = ld_now_16(p), hi[u] = ld_now_16(p + j.src_step);
        }
    }
    if (mine < count) slots[mine] = row_slot(j, mine, place_target<C>(j, first + mine, a));
    check_rest<C, true>(j, w);
    barrier();
    if (count == 0) return;
    bool astray = true;
    RC_UNROLL for (u32 u = 0; u < ahead_each; u++) {
        const u32 n = mine + u * plain_threads, at = n < all ? n : all - 1;
        const slot s = slots[(at * j.chunk_magic) >> 20];
        const u32 unit = s.chunk + at, off = unit - guess[u];
        if (off != 0) {
            const v16 *p = (const v16 *)j.src + unit;
            lo[u] = ld_unit(p), hi[u] = ld_unit(p + (s.weight >= 0 ? j.src_step : 0));
        }
        astray = astray && off != 0 && off != j.src_step && off + j.src_step != 0;
        lo[u] = made<DT, v16>(j, lo[u], hi[u], s.weight);
    }
    store_units<v16, ahead_each, true>(j, lo, all);
    if (RC_SELDOM(j.block % told_every == told_first)) {
        if (count_bits(votes(astray)) > warp_size / 2 && lane() == 0) went_astray(j);
    }
}

template <u32 DT> RC_FN void ahead(const plain_task &j, slot *slots) {
    if (RC_OFTEN(j.clock() == clock_f32))
        ahead_on<DT, float>(j, slots);
    else if (j.clock() == clock_f64)
        ahead_on<DT, double>(j, slots);
    else
        ahead_on<DT, i64>(j, slots);
}

} // namespace rc
