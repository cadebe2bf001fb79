// voxel_atomic.cu computes a dense grid of sums, means, extremes, or counts beside an empty value, of few points, by atomics on a table in
// global memory that has a record per cell. The atomics are on integers, whose result depends on no order: counts, maxima, and sums in
// units that the greatest value of a cell determines, see accumulate.cuh.
//
// voxel_atomic_max counts each cell's points, finds the extreme (or the greatest magnitude) of each feature, and lists the cells that have
// points; voxel_atomic_sum adds the values, for sums and means; voxel_atomic_finish writes the listed cells, over the empty values that
// voxel_fill wrote, and clears the table again.
//
// Where many points lie in one cell their atomics would contend. So a block, which takes 256 points, one per thread, first combines what
// it has of each cell in a hash table in shared memory, four features at a time.
//
// Bytes moved: the points and features, the latter once more for sums; 4 per point written and read; of each cell with points 4, and 4 per
// feature, or 12 for sums, for each block that has points of it, and twice more in the end; and the grid.
#include "voxel_keys.cuh"
#include "voxel_values.cuh"

using namespace rc;

RC_HOST constexpr u32 atomic_threads = 256; // threads in a block, and the points that it handles

// voxel_atomic_table is shared by the kernels. The table has a record for each cell: the number of points, each feature's best value, and
// for sums and means, from an even word on, their sums. A record's words are adjacent, because memory is fetched in units of 32 bytes and
// neighbouring points have distant cells. The table is 0 between runs.
RC_HOST struct voxel_atomic_table {
    u32 *records;   // [keys][record_words]
    u32 *points_in; // [n] each point's cell, or `nothing`
    u32 *cells;     // the cells that have points; state has their number
    u64 *state;
    u32 record_words;
    u32 first_sum; // the word in a record where sums begin
};

RC_HOST struct voxel_atomic_max_params {
    voxel_values values;
    voxel_grid grid;
    voxel_atomic_table table;
};

// voxel_atomic_sum_params is the parameter for voxel_atomic_sum and voxel_atomic_finish.
RC_HOST struct voxel_atomic_sum_params {
    voxel_values values;
    voxel_atomic_table table;
};

namespace {

constexpr u32 places = 2 * atomic_threads, place_bits = 9;
constexpr u32 at_once = 4;   // features
constexpr u32 low_bits = 21; // of a value in units, which has 41: those of 256 values are added in 32 bits, as are the others

RC_FN u32 *record_of(const voxel_atomic_table &t, u32 cell) { return t.records + (u64)cell * t.record_words; }
RC_FN u32 *best_of(const voxel_atomic_table &t, u32 cell) { return record_of(t, cell) + 1; }
RC_FN u64 *sum_of(const voxel_atomic_table &t, u32 cell) { return (u64 *)(record_of(t, cell) + t.first_sum); }

// A NaN is beyond all that order_of makes.
constexpr u32 no_number = ~0u;

// cells_shared is what a block has of its cells: which one has each place, and how many points; how many cells each warp is the first to have points
// of, and where the block's begin in the list.
struct cells_shared {
    u32 cell[places], count[places];
    u32 firsts[atomic_threads / warp_size], begin;
};
struct max_shared {
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
    for (u32 k = thread_x(); k < places; k += atomic_threads) s.cell[k] = nothing, s.count[k] = 0;
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
    for (u32 k = thread_x(); k < N; k += atomic_threads) st_shared_16(words[k], {0, 0, 0, 0});
}

// some_values reads at_once features of a point of a cell, as many as there are from `feature` on.
RC_FN void some_values(const voxel_values &v, u32 point, u32 cell, u32 feature, float (&x)[at_once]) {
    if (v.fours()) return values_at<at_once>(v, point, feature, 0, x);
    const u32 row = row_in(v, cell);
    RC_UNROLL for (u32 i = 0; i < at_once; i++) {
        float one[1] = {0};
        if (feature + i < v.f) values_at<1>(v, point, feature + i, row, one);
        x[i] = one[0];
    }
}

// for_each_found gives use(cell, feature, which place, which word of it) the places of cells that the block has points of.
template <class Use> RC_FN void for_each_found(const cells_shared &s, u32 features, u32 feature, Use use) {
    for (u32 k = thread_x(); k < places * at_once; k += atomic_threads) {
        const u32 cell = s.cell[k / at_once], f = feature + k % at_once;
        if (cell != nothing && f < features) use(cell, f, k / at_once, k % at_once);
    }
}

// count_points adds what the block has of each cell to the grid's, and lists the cells that had no points before.
RC_FN void count_points(const voxel_atomic_table &t, cells_shared &s) {
    constexpr u32 reciprocal = places / atomic_threads;
    u32 cell[reciprocal], before[reciprocal], firsts[reciprocal], mine = 0;
    RC_UNROLL for (u32 u = 0; u < reciprocal; u++) {
        const u32 k = thread_x() + u * atomic_threads;
        cell[u] = s.cell[k], before[u] = 1;
        if (cell[u] != nothing) before[u] = atomic_add(record_of(t, cell[u]), s.count[k]);
    }
    RC_UNROLL for (u32 u = 0; u < reciprocal; u++) firsts[u] = votes(before[u] == 0), mine += count_bits(firsts[u]);
    if (lane() == 0) s.firsts[thread_x() / warp_size] = mine;
    barrier();
    const u32 upto = warp_scan(lane() < atomic_threads / warp_size ? s.firsts[lane()] : 0), all = shuffle_from(upto, warp_size - 1);
    if (thread_x() == 0) s.begin = all ? (u32)atomic_add(t.state + found, (u64)all) : 0;
    barrier();
    u32 at = s.begin + shuffle_from(upto, thread_x() / warp_size) - mine;
    RC_UNROLL for (u32 u = 0; u < reciprocal; u++) {
        if (before[u] == 0) t.cells[at + count_bits(firsts[u] & below_mask())] = cell[u];
        at += count_bits(firsts[u]);
    }
}

// key_of_point finds the cell of point i, or nothing, and counts what is in no cell.
template <class T> RC_FN u32 key_of_point(const voxel_cloud &c, const voxel_grid &g, u64 i, u32 (&missed)[2]) {
    if (i >= c.last()) return nothing;
    position<T> at[1];
    load_group<T>(c, i, 1, at);
    const u32 row = c.b > 1 ? row_of(c, i) : 0;
    u32 bad = 0;
    const u32 key = exact_key<T>(g, posed<T>(c, at[0], row), row, bad);
    missed[0] = key == nothing && !bad, missed[1] = bad;
    return key;
}

template <class T> RC_FN void find_max(const voxel_atomic_max_params &p, max_shared &s) {
    const voxel_values &v = p.values;
    const u32 point = (u32)v.cloud.first() + thread_x(), reduce = v.reduce();
    u32 missed[2] = {0, 0}, place = 0;
    no_cells(s.of);
    if (thread_x() < 2) s.missed[thread_x()] = 0;
    barrier();
    const u32 key = key_of_point<T>(v.cloud, p.grid, point, missed);
    if (key != nothing) place = place_for(s.of, key), shared_add(&s.of.count[place], 1);
    grid_dependency_wait();
    launch_dependents();
    if (point < v.cloud.n) p.table.points_in[point] = key;
    add_missed(v.cloud, p.table.state, s.missed, missed); // after which all have found their places
    count_points(p.table, s.of);
    if (reduce == count) return;
    for (u32 feature = 0; feature < v.f; feature += at_once) {
        clear(s.best);
        barrier();
        if (key != nothing) {
            float x[at_once];
            some_values(v, point, key, feature, x);
            RC_UNROLL for (u32 i = 0; i < at_once; i++) {
                const u32 size = bits(x[i]) & 0x7fffffffu;
                shared_max(&s.best[place][i], reduce < greatest ? size : size > infinite ? no_number : order_of(x[i], reduce == smallest));
            }
        }
        barrier();
        for_each_found(s.of, v.f, feature, [&](u32 cell, u32 f, u32 at, u32 i) {
            if (s.best[at][i]) reduce_max(best_of(p.table, cell) + f, s.best[at][i]);
        });
        barrier();
    }
}

// Of what is not finite there is one unit for each positive one, and for negative ones one above.
RC_FN i64 units_of(float x, u32 best) {
    if (best >= infinite) return (bits(x) & 0x7fffffffu) < infinite ? 0 : bits(x) >> 31 ? 1ll << low_bits : 1;
    accumulator t = {best, 0, 0};
    add_truncated(t, x);
    return units(t.sum, best);
}

RC_FN double sum_from(i64 n, u32 best) {
    if (best < infinite) return all_units(n >> 32, n & 0xffffffff, best);
    const bool above = n & ((1 << low_bits) - 1), below = n >> low_bits;
    return best > infinite || (above && below) ? as_f64(0x7ff8000000000000ull) : above ? 1 : -1;
}

} // namespace

// Block i takes points 256 i to 256 i + 255.
RC_KERNEL_OCC(atomic_threads, 4) voxel_atomic_max(const voxel_atomic_max_params p) {
    __shared__ max_shared s;
    if (p.values.cloud.wide())
        find_max<double>(p, s);
    else
        find_max<float>(p, s);
}

RC_KERNEL_OCC(atomic_threads, 4) voxel_atomic_sum(const voxel_atomic_sum_params p) {
    const voxel_values &v = p.values;
    __shared__ sums_shared s;
    const u32 point = (u32)v.cloud.first() + thread_x();
    no_cells(s.of);
    barrier();
    grid_dependency_wait();
    launch_dependents();
    const u32 key = point < v.cloud.n ? p.table.points_in[point] : nothing, place = key != nothing ? place_for(s.of, key) : 0;
    for (u32 feature = 0; feature < v.f; feature += at_once) {
        clear(s.low), clear(s.high);
        barrier();
        if (key != nothing) {
            float x[at_once];
            u32 best[at_once];
            some_values(v, point, key, feature, x);
            RC_UNROLL for (u32 i = 0; i < at_once; i++) best[i] = best_of(p.table, key)[feature + i < v.f ? feature + i : feature];
            RC_UNROLL for (u32 i = 0; i < at_once; i++) {
                const i64 n = units_of(x[i], best[i]); // 0 of a feature that is not there
                if (n == 0) continue;
                shared_add(&s.low[place][i], (u32)n & ((1u << low_bits) - 1));
                shared_add(&s.high[place][i], (u32)(n >> low_bits));
            }
        }
        barrier();
        for_each_found(s.of, v.f, feature, [&](u32 cell, u32 f, u32 at, u32 i) {
            const i64 n = (i64)(i32)s.high[at][i] * (1 << low_bits) + s.low[at][i];
            if (n != 0) reduce_add(sum_of(p.table, cell) + f, (u64)n);
        });
        barrier();
    }
}

// A block takes as many cells of the list at once as it has threads for their features, of which there are fewer than threads. A record is cleared
// by 16 bytes where it can be.
RC_KERNEL_OCC(atomic_threads, 8) voxel_atomic_finish(const voxel_atomic_sum_params p) {
    const voxel_values &v = p.values;
    grid_dependency_wait();
    launch_dependents();
    const u32 reduce = v.reduce(), width = reduce == count ? 1 : v.f, cells = (u32)p.table.state[found], words = p.table.record_words;
    const u32 cells_per_turn = atomic_threads / width, mine = thread_x() / width, f = thread_x() - mine * width;
    for (u32 base = block_x() * cells_per_turn; base < cells; base += blocks_x() * cells_per_turn) {
        const bool works = mine < cells_per_turn && base + mine < cells;
        const u32 cell = works ? p.table.cells[base + mine] : 0;
        u32 *const record = record_of(p.table, cell);
        const u32 n = works ? *record : 0;
        if (reduce == count) {
            if (works) ((u32 *)v.out)[cell] = n;
        } else if (works) {
            const double reciprocal = reciprocal_of(reduce, n);
            accumulator t = {best_of(p.table, cell)[f], 0, 0};
            t.least = t.best == no_number;
            if (reduce < greatest) t.sum = sum_from((i64)sum_of(p.table, cell)[f], t.best);
            const float x[1] = {result(reduce, t, n, reciprocal)};
            write_out<1>(v, cell, f, x);
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
