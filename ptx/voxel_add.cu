// voxel_add.cu makes a dense grid of sums, means, extremes, or counts beside an empty value, of few points, or of more that crowd, by atomics on a
// table as large as the grid. Those on whole numbers depend on no order: a count, the greatest, and sums in units that the greatest of a cell tells, see tally.cuh.
//
// voxel_best counts each cell's points, finds the best of each feature, and lists the cells that have points; voxel_add adds the values up, for
// sums and means; voxel_finish writes the cells of the list, over the empty values that voxel_fill wrote, and leaves the table as it was: 0.
//
// Where many points lie in one cell their atomics would wait for each other. So a block, which takes 256 points, a thread for each, first brings
// together what it has of each cell, in a table in shared memory, four features at a time.
//
// Bytes moved: the points and features, the latter once more for sums; 4 a point written and read; of each cell with points 4, and 4 a feature, or 12
// for sums, for each block that has points of it, and twice more in the end; and the grid.
#include "voxel_keys.cuh"
#include "voxel_values.cuh"

using namespace rc;

namespace {

constexpr u32 add_threads = 256; // a block, and the points that it takes
constexpr u32 places = 2 * add_threads, place_bits = 9;
constexpr u32 at_once = 4;   // features
constexpr u32 low_bits = 21; // of a value in units, which has 41: those of 256 values are added in 32 bits, as are the others

// The table has a record for each cell: how many points it has, the best of each feature, and for sums and means, from an even word on, their sums.
// What is in 32 bytes together is fetched together: cells lie anywhere. ops/cuda makes room for as many words.
RC_FN bool adds(const voxel_job &j) { return j.reduce() == sum || j.reduce() == mean; }
RC_FN u32 first_sum(const voxel_job &j) { return (j.f + 2) & ~1u; }
RC_FN u32 words_of(const voxel_job &j) { return j.reduce() == count ? 1 : adds(j) ? (first_sum(j) + 2 * j.f + 3) & ~3u : first_sum(j); }
RC_FN u32 *record_of(const voxel_job &j, u32 cell) { return j.table + (u64)cell * words_of(j); }
RC_FN u32 *best_of(const voxel_job &j, u32 cell) { return record_of(j, cell) + 1; }
RC_FN u64 *sum_of(const voxel_job &j, u32 cell) { return (u64 *)(record_of(j, cell) + first_sum(j)); }

// A NaN is beyond all that order_of makes.
constexpr u32 no_number = ~0u;

// cells_shared is what a block has of its cells: which one has each place, and how many points; how many cells each warp is the first to have points
// of, and where the block's begin in the list.
struct cells_shared {
    u32 cell[places], count[places];
    u32 firsts[add_threads / warp_size], begin;
};
struct best_shared {
    cells_shared of;
    alignas(16) u32 best[places][at_once];
    u32 missed[2];
};
struct sums_shared {
    cells_shared of;
    alignas(16) u32 low[places][at_once];
    alignas(16) u32 high[places][at_once];
};

RC_FN void shared_max(u32 *p, u32 v) { asm volatile("red.shared.max.u32 [%0], %1;" ::"r"(shared_at(p)), "r"(v) : "memory"); }

RC_FN void no_cells(cells_shared &s) {
    for (u32 k = thread_x(); k < places; k += add_threads) s.cell[k] = nothing, s.count[k] = 0;
}

// place_for finds the place of a cell, of which a block has fewer than there are places.
RC_FN u32 place_for(cells_shared &s, u32 cell) {
    u32 place = (cell * 2654435761u) >> (32 - place_bits);
    for (;; place = (place + 1) % places) {
        const u32 there = shared_compare_swap(&s.cell[place], nothing, cell);
        if (there == nothing || there == cell) return place;
    }
}

template <u32 N> RC_FN void clear(u32 (&words)[N][at_once]) {
    for (u32 k = thread_x(); k < N; k += add_threads) st_shared_16(words[k], {0, 0, 0, 0});
}

// some_values reads at_once features of a point of a cell, as many as there are from `feature` on.
RC_FN void some_values(const voxel_job &j, u32 point, u32 cell, u32 feature, float (&x)[at_once]) {
    if (j.fours()) return values_at<at_once>(j, point, feature, 0, x);
    const u32 row = j.b > 1 ? (u32)(cell / j.cells) : 0;
    RC_UNROLL for (u32 i = 0; i < at_once; i++) {
        float one[1] = {0};
        if (feature + i < j.f) values_at<1>(j, point, feature + i, row, one);
        x[i] = one[0];
    }
}

// each_found gives use(cell, feature, which place, which word of it) the places of cells that the block has points of.
template <class Use> RC_FN void each_found(const voxel_job &j, const cells_shared &s, u32 feature, Use use) {
    for (u32 k = thread_x(); k < places * at_once; k += add_threads) {
        const u32 cell = s.cell[k / at_once], f = feature + k % at_once;
        if (cell != nothing && f < j.f) use(cell, f, k / at_once, k % at_once);
    }
}

// count_points adds what the block has of each cell to the grid's, and lists the cells that had no points before.
RC_FN void count_points(const voxel_job &j, cells_shared &s) {
    constexpr u32 each = places / add_threads;
    u32 cell[each], before[each], firsts[each], mine = 0;
    RC_UNROLL for (u32 u = 0; u < each; u++) {
        const u32 k = thread_x() + u * add_threads;
        cell[u] = s.cell[k], before[u] = 1;
        if (cell[u] != nothing) before[u] = atomic_add(record_of(j, cell[u]), s.count[k]);
    }
    RC_UNROLL for (u32 u = 0; u < each; u++) firsts[u] = votes(before[u] == 0), mine += count_bits(firsts[u]);
    if (lane() == 0) s.firsts[thread_x() / warp_size] = mine;
    barrier();
    const u32 upto = warp_scan(lane() < add_threads / warp_size ? s.firsts[lane()] : 0), all = shuffle_from(upto, warp_size - 1);
    if (thread_x() == 0) s.begin = all ? (u32)atomic_add(j.state + found, (u64)all) : 0;
    barrier();
    u32 at = s.begin + shuffle_from(upto, thread_x() / warp_size) - mine;
    RC_UNROLL for (u32 u = 0; u < each; u++) {
        if (before[u] == 0) j.numbers[at + count_bits(firsts[u] & below_mask())] = cell[u];
        at += count_bits(firsts[u]);
    }
}

// key_of_point finds the cell of point i, or nothing, and counts what is in no cell.
template <class T> RC_FN u32 key_of_point(const voxel_job &j, u64 i, u32 (&missed)[2]) {
    if (i >= j.last()) return nothing;
    position<T> at[1];
    load_group<T>(j, i, 1, at);
    const u32 row = j.b > 1 ? row_of(j, i) : 0;
    u32 bad = 0;
    const u32 key = exact_key<T>(j, posed<T>(j, at[0], row), row, bad);
    missed[0] = key == nothing && !bad, missed[1] = bad;
    return key;
}

template <class T> RC_FN void find_best(const voxel_job &j, best_shared &s) {
    const u32 point = (u32)j.first() + thread_x(), reduce = j.reduce();
    u32 missed[2] = {0, 0}, place = 0;
    no_cells(s.of);
    if (thread_x() < 2) s.missed[thread_x()] = 0;
    barrier();
    const u32 key = key_of_point<T>(j, point, missed);
    if (key != nothing) place = place_for(s.of, key), shared_add(&s.of.count[place], 1);
    wait_for_previous();
    let_next();
    if (point < j.n) j.voxel_at[point] = key;
    add_missed(j, s.missed, missed); // after which all have found their places
    count_points(j, s.of);
    if (reduce == count) return;
    for (u32 feature = 0; feature < j.f; feature += at_once) {
        clear(s.best);
        barrier();
        if (key != nothing) {
            float x[at_once];
            some_values(j, point, key, feature, x);
            RC_UNROLL for (u32 i = 0; i < at_once; i++) {
                const u32 size = bits(x[i]) & 0x7fffffffu;
                shared_max(&s.best[place][i], reduce < greatest ? size : size > infinite ? no_number : order_of(x[i], reduce == smallest));
            }
        }
        barrier();
        each_found(j, s.of, feature, [&](u32 cell, u32 f, u32 at, u32 i) {
            if (s.best[at][i]) reduce_max(best_of(j, cell) + f, s.best[at][i]);
        });
        barrier();
    }
}

// Of what is not finite there is one unit for each positive one, and for negative ones one above.
RC_FN i64 units_of(float x, u32 best) {
    if (best >= infinite) return (bits(x) & 0x7fffffffu) < infinite ? 0 : bits(x) >> 31 ? 1ll << low_bits : 1;
    tally t = {best, 0, 0};
    see_cut(t, x);
    return units(t.sum, best);
}

RC_FN double sum_from(i64 n, u32 best) {
    if (best < infinite) return all_units(n >> 32, n & 0xffffffff, best);
    const bool above = n & ((1 << low_bits) - 1), below = n >> low_bits;
    return best > infinite || (above && below) ? as_f64(0x7ff8000000000000ull) : above ? 1 : -1;
}

} // namespace

// Block i takes points 256 i to 256 i + 255.
RC_KERNEL_OCC(add_threads, 4) voxel_best(const voxel_job j) {
    __shared__ best_shared s;
    if (j.wide())
        find_best<double>(j, s);
    else
        find_best<float>(j, s);
}

RC_KERNEL_OCC(add_threads, 4) voxel_add(const voxel_job j) {
    __shared__ sums_shared s;
    const u32 point = (u32)j.first() + thread_x();
    no_cells(s.of);
    barrier();
    wait_for_previous();
    let_next();
    const u32 key = point < j.n ? j.voxel_at[point] : nothing, place = key != nothing ? place_for(s.of, key) : 0;
    for (u32 feature = 0; feature < j.f; feature += at_once) {
        clear(s.low), clear(s.high);
        barrier();
        if (key != nothing) {
            float x[at_once];
            u32 best[at_once];
            some_values(j, point, key, feature, x);
            RC_UNROLL for (u32 i = 0; i < at_once; i++) best[i] = best_of(j, key)[feature + i < j.f ? feature + i : feature];
            RC_UNROLL for (u32 i = 0; i < at_once; i++) {
                const i64 n = units_of(x[i], best[i]); // 0 of a feature that is not there
                if (n == 0) continue;
                shared_add(&s.low[place][i], (u32)n & ((1u << low_bits) - 1));
                shared_add(&s.high[place][i], (u32)(n >> low_bits));
            }
        }
        barrier();
        each_found(j, s.of, feature, [&](u32 cell, u32 f, u32 at, u32 i) {
            const i64 n = (i64)(i32)s.high[at][i] * (1 << low_bits) + s.low[at][i];
            if (n != 0) reduce_add(sum_of(j, cell) + f, (u64)n);
        });
        barrier();
    }
}

// A block takes as many cells of the list at once as it has threads for their features, of which there are fewer than threads. A record is cleared
// by 16 bytes where it can be.
RC_KERNEL_OCC(add_threads, 8) voxel_finish(const voxel_job j) {
    wait_for_previous();
    let_next();
    const u32 reduce = j.reduce(), width = reduce == count ? 1 : j.f, cells = (u32)j.state[found], words = words_of(j);
    const u32 share = add_threads / width, mine = thread_x() / width, f = thread_x() - mine * width;
    for (u32 base = block_x() * share; base < cells; base += blocks_x() * share) {
        const bool works = mine < share && base + mine < cells;
        const u32 cell = works ? j.numbers[base + mine] : 0;
        u32 *const record = record_of(j, cell);
        const u32 n = works ? *record : 0;
        if (reduce == count) {
            if (works) ((u32 *)j.out)[cell] = n;
        } else if (works) {
            const double each = share_of(j, n);
            tally t = {best_of(j, cell)[f], 0, 0};
            t.least = t.best == no_number;
            if (reduce < greatest) t.sum = sum_from((i64)sum_of(j, cell)[f], t.best);
            const float x[1] = {result(j, t, n, each)};
            write_out<1>(j, cell, f, x);
        }
        barrier(); // all have read the block's records
        if (!works) continue;
        if (words % 4 == 0) {
            for (u32 k = 4 * f; k < words; k += 4 * width) st_16(record + k, {0, 0, 0, 0});
        } else {
            for (u32 k = f; k < words; k += width) record[k] = 0;
        }
    }
}
