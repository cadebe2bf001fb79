// voxel_bucket.cu computes a dense grid of sums, means and extremes as voxel_group.cu does, where there are about as many points as
// cells: one block per bucket of voxel_partition.cuh does all there is to do.
//
// It fills its cells with the empty value, counts the points of each in shared memory, and turns the counts into offsets. Then it stores
// the points' numbers there: into shared memory or, of more points than fit, into global memory, where it reserves space with one atomic.
// It writes the cells of one point, then those of a few; where there are few of the latter several lanes share each. Lanes take
// neighbouring features, 16 bytes where they can. Large cells (more than few_points points) are left to voxel_reduce_large.
//
// Bytes moved: the points; 4 per point written, and read twice; 4 written and read for each run; the features; the grid, and once more the
// cells with points; 4 for each point of a large cell, written and read.
#include "voxel_places.cuh"

using namespace rc;

RC_HOST constexpr u32 bucket_threads = 512;
// points that a block keeps in shared memory, six bytes each, after a word for each cell and each lane
RC_HOST constexpr u32 bucket_held = 4096;

RC_HOST struct voxel_bucket_params {
    const u32 *runs; // the result of voxel_partition_points
    const void *partitioned;
    u64 keys;
    u32 tiles, empty; // empty: four bytes of an empty cell's value
    voxel_values values;
    u32 *order; // [n] the points in a block with more than fit, and in large cells
    u16 *list;  // [n] the cells in such a block
    voxel_large_list large_pieces;
};

namespace {

constexpr u32 bucket_blocks = 2, walks_in_flight = 2;
constexpr u32 warps = bucket_threads / warp_size;
constexpr u32 run = 1 << group_bits; // cells that lie together in the grid
constexpr u32 in_flight = 3;         // cells of one point that a lane does at once
constexpr u32 max_ways = 4;         // lanes that share a cell of few points

// counters has a word for each cell: how many points it has, then where the next of them goes, and then where they end.
RC_FN u32 *counters() {
    extern __shared__ v16 memory[];
    return (u32 *)memory;
}

// contents is what a block has: the points in order, and a list of cells: those of one point, in the order of their points, those of several, in
// the same, and then which of these are large. Points are in shared memory, or in global memory from `reserved` on.
struct contents {
    u32 *order;
    u16 *list;
    u32 ones, several, reserved, fits, has_large;

    RC_FN_MEMBER u32 cell(u32 i) const { return list[ones + i]; } // of several
    RC_FN_MEMBER u32 first(u32 i) const { return i > 0 ? counters()[cell(i - 1)] : ones; }
    RC_FN_MEMBER u32 end(u32 i) const { return counters()[cell(i)]; }
    RC_FN_MEMBER u32 key(u32 cell) const { return (u32)key_in_bucket<group_bits>(block_x(), cell); }
};

// large_cell is a large cell: where its points are, where they go, and where its pieces do.
struct large_cell {
    u32 key, begin, n, to;
    reserved at;
};

struct bucket_shared {
    u32 points[warps], cells[warps]; // of each warp: points of cells of several; such cells, and above those of one
    contents own;
    u32 large_cells;
    large_cell large[warp_size];
};

// packed_count is 1 of a cell of several points, 2^16 of one of one; many is the number of several.
RC_FN u32 packed_count(u32 n) { return n == 1 ? 1u << 16 : n > 1 ? 1 : 0; }
RC_FN u32 many(u32 n) { return n > 1 ? n : 0; }

// fill_cells writes a value over the block's cells. Of its runs only the last may go past the grid.
RC_FN void fill_cells(const voxel_bucket_params &b, u32 cells) {
    const u32 words = b.values.reduce() == count ? 1 : b.values.f, runs = cells / run;
    const auto key_of_run = [&](u32 r) { return (u32)key_in_bucket<group_bits>(block_x(), r * run); };
    const u32 whole = (u64)b.values.out % 16 ? 0 : (u64)key_of_run(runs - 1) + run <= b.keys ? runs : runs - 1;
    const u32 pieces = run / 4 * words, steps = bucket_threads / pieces, rest = bucket_threads - steps * pieces;
    u32 r = thread_x() / pieces, piece = thread_x() - r * pieces;
    while (r < whole) {
        st_16((u8 *)b.values.out + ((u64)key_of_run(r) * (4 * words) + 16 * piece), {b.empty, b.empty, b.empty, b.empty});
        r += steps, piece += rest;
        if (piece >= pieces) piece -= pieces, r++;
    }
    for (u32 k = whole * run * words + thread_x(); k < cells * words; k += bucket_threads) {
        const u32 cell = k / words, key = (u32)key_in_bucket<group_bits>(block_x(), cell);
        if (key < b.keys) st_u32((u32 *)b.values.out + ((u64)key * words + (k - cell * words)), b.empty);
    }
}

// write_ones writes the cells of one point, N features a lane; write_several those of a few, and lists the others.
template <u32 N> RC_FN void write_ones(const voxel_bucket_params &b, const contents &p, u32 width) {
    const bool of_features = b.values.reduce() != count, extreme = b.values.reduce() >= greatest;
    const u32 items = p.ones * width;
    for (u32 base = thread_x(); base < items; base += in_flight * bucket_threads) {
        u32 to[in_flight]; // keys
        u32 feature[in_flight];
        float x[in_flight][N];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const u32 t = base + u * bucket_threads;
            if (t >= items) continue;
            const u32 which = width == 1 ? t : t / width;
            feature[u] = (t - which * width) * N, to[u] = p.key(p.list[which]);
            RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = as_f32(1); // counts are 4 bytes too
            if (of_features) values_at<N>(b.values, p.order[which], feature[u], row_in(b.values, to[u]), x[u]);
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            if (base + u * bucket_threads >= items) continue;
            if (of_features) {
                RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = single_value(x[u][i], extreme);
            }
            put<N>((float *)b.values.out + (u64)to[u] * (width * N) + feature[u], x[u]);
        }
    }
}

// A block of few such cells gives each some lanes, since the one that has most points would be the last to end.
template <u32 N> RC_FN void write_several(const voxel_bucket_params &b, const contents &p, bucket_shared &s, u32 width) {
    const u32 items = p.several * width;
    u32 ways = max_ways;
    while (ways > 1 && items * ways > bucket_threads) ways /= 2;
    const u32 rank = thread_x() % ways;
    // From the other end, as the first threads may have more cells of one point.
    const u32 own = (bucket_threads - 1 - thread_x()) / ways;
    for (u32 base = 0; base < items; base += bucket_threads / ways) {
        const u32 t = base + own, which = t >= items ? 0 : width == 1 ? t : t / width, feature = (t - which * width) * N, key = p.key(p.cell(which));
        const u32 begin = p.first(which), n = t < items ? p.end(which) - begin : 0;
        const bool works = n > 0 && n <= few_points && b.values.reduce() != count;
        accumulator found[N] = {};
        if (b.values.reduce() >= greatest)
            reduce_together<extremes, N, 2>(b.values, p.order, begin, begin + n, 1, ways, rank, works, feature, row_in(b.values, key), found);
        else
            reduce_together<sums, N, 2>(b.values, p.order, begin, begin + n, 1, ways, rank, works, feature, row_in(b.values, key), found);
        if (rank > 0 || n == 0) continue;
        if (b.values.reduce() == count) {
            ((u32 *)b.values.out)[key] = n;
        } else if (works) {
            float x[N];
            const double reciprocal = reciprocal_of(b.values.reduce(), n);
            RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = result(b.values.reduce(), found[i], n, reciprocal);
            write_out<N>(b.values, key, feature, x);
        } else if (feature == 0) {
            s.own.list[s.own.ones + s.own.several + shared_fetch_add(&s.large_cells, 1)] = (u16)which;
        }
    }
}

// append_large_cells leaves the cells of many points to voxel_reduce_large, and their points in global memory. Of some cells a turn the first warp finds room
// for all; then a warp for each lists its pieces and copies its points.
RC_FN void append_large_cells(const voxel_bucket_params &b, bucket_shared &s) {
    const contents &p = s.own;
    const u32 warp = thread_x() / warp_size;
    for (u32 base = 0; base < s.large_cells; base += warp_size) {
        const u32 here = s.large_cells - base < warp_size ? s.large_cells - base : warp_size;
        if (warp == 0) {
            const bool one = lane() < here;
            const u32 which = one ? p.list[p.ones + p.several + base + lane()] : 0, begin = one ? p.first(which) : 0, n = one ? p.end(which) - begin : 0;
            // Pieces, and slots above: of so few cells either are fewer than 2^16.
            const u32 pieces = pieces_of(n), both = pieces | slots_of(pieces) << 16, both_upto = warp_scan(both), points_upto = warp_scan(n);
            const u32 all = shuffle_from(both_upto, warp_size - 1), before = both_upto - both;
            reserved at = {};
            u32 to = 0;
            if (lane() == 0) {
                at = reserve_entries(b.large_pieces, all & 0xffff, all >> 16);
            } else if (lane() == warp_size - 1 && p.fits) {
                to = (u32)atomic_add(b.large_pieces.state + kept, (u64)points_upto);
            }
            at = {shuffle_from(at.entry, 0) + (before & 0xffff), shuffle_from(at.slot, 0) + (before >> 16)};
            to = p.fits ? shuffle_from(to, warp_size - 1) + points_upto - n : p.reserved + begin;
            if (one) s.large[lane()] = {p.key(p.cell(which)), begin, n, to, at};
        }
        barrier();
        for (u32 c = warp; c < here; c += warps) {
            const large_cell large = s.large[c];
            list_pieces(b.values, b.large_pieces, large.at, large.key, large.to, large.n, row_in(b.values, large.key), lane(), warp_size);
            if (!p.fits) continue;
            for (u32 k = lane(); k < large.n; k += warp_size) st_u32(b.order + (large.to + k), p.order[large.begin + k]);
        }
        barrier();
    }
}

template <u32 N> RC_FN void write_cells(const voxel_bucket_params &b, const contents &p, bucket_shared &s) {
    const u32 width = b.values.reduce() == count ? 1 : b.values.f / N;
    write_ones<N>(b, p, width);
    write_several<N>(b, p, s, width);
    if (!s.own.has_large) return;
    barrier();
    append_large_cells(b, s);
}

} // namespace

// Block i takes bucket i.
RC_KERNEL_OCC(bucket_threads, bucket_blocks) voxel_bucket(const voxel_bucket_params b) {
    __shared__ bucket_shared s;
    const u32 warp = thread_x() / warp_size, tiles = b.tiles, own_cells = cells_of_bucket<group_bits>(b.keys);
    const u32 *const runs = b.runs + (u64)block_x() * tiles;
    const v16 *const partitioned = (const v16 *)b.partitioned;
    u32 *const upto = counters();
    const u32 spare = own_cells + lane(); // a word for what is not to be counted
    for (u32 k = 4 * thread_x(); k < own_cells + warp_size; k += 4 * bucket_threads) st_shared_16(upto + k, {0, 0, 0, 0});
    if (thread_x() == 0) s.large_cells = 0;
    // What was launched before voxel_partition_points has ended: that waited for it before it let this begin.
    fill_cells(b, own_cells);
    grid_dependency_wait();
    launch_dependents();
    const u32 next = first_run<bucket_threads>(runs, tiles);
    barrier();
    for_each_piece<u32, group_items_per_thread, bucket_threads, walks_in_flight>(runs, tiles, partitioned, next, [&](const auto &entry, const auto &there, u32) {
        count_them(upto, {entry, there, 0, own_cells, spare});
    });
    barrier();
    // Counts to places: a thread takes some cells that follow each other.
    const u32 mine = (own_cells + 4 * bucket_threads - 1) / (4 * bucket_threads) * 4;
    const u32 lo = thread_x() * mine < own_cells ? thread_x() * mine : own_cells, hi = lo + mine < own_cells ? lo + mine : own_cells;
    u32 of_several = 0, packed_counts = 0, all = 0; // points of cells of several; such cells, and above those of one; the bits of all counts
    for (u32 k = lo; k < hi; k += 4) {
        const v16 c = *(const v16 *)(upto + k);
        all |= (c.x | c.y) | (c.z | c.w);
        of_several += (many(c.x) + many(c.y)) + (many(c.z) + many(c.w)), packed_counts += (packed_count(c.x) + packed_count(c.y)) + (packed_count(c.z) + packed_count(c.w));
    }
    const u32 points_upto = warp_scan(of_several), packed_upto = warp_scan(packed_counts);
    if (lane() == warp_size - 1) s.points[warp] = points_upto, s.cells[warp] = packed_upto;
    const bool any_large = barrier_count(all > few_points) > 0; // or the bits of several counts together give as much
    const u32 points_of = lane() < warps ? s.points[lane()] : 0, cells_of = lane() < warps ? s.cells[lane()] : 0;
    const u32 points_all = warp_scan(points_of), cells_all = warp_scan(cells_of), sum = shuffle_from(cells_all, warp_size - 1);
    const u32 ones = sum >> 16, before = shuffle_from(cells_all - cells_of, warp) + packed_upto - packed_counts;
    u32 alone_at = before >> 16, several = ones + (before & 0xffff);
    u32 place = ones + shuffle_from(points_all - points_of, warp) + points_upto - of_several;
    const u32 total = ones + shuffle_from(points_all, warp_size - 1);
    if (thread_x() == 0) {
        const bool fits = total <= bucket_held;
        const u32 reserved = fits ? 0 : (u32)atomic_add(b.large_pieces.state + kept, (u64)total);
        u32 *const order = fits ? upto + own_cells + warp_size : b.order + reserved;
        s.own = {order, fits ? (u16 *)(order + bucket_held) : b.list + reserved, ones, sum & 0xffff, reserved, fits, any_large};
    }
    barrier();
    u16 *const list = s.own.list;
    for (u32 k = lo; k < hi; k += 4) {
        const v16 c = *(const v16 *)(upto + k);
        u32 n[4] = {c.x, c.y, c.z, c.w};
        RC_UNROLL for (u32 u = 0; u < 4; u++) {
            const bool single = n[u] == 1;
            const u32 here = many(n[u]);
            if (n[u] > 0) list[single ? alone_at : several] = (u16)(k + u);
            n[u] = single ? alone_at : place;
            alone_at += single, several += here > 0, place += here;
        }
        st_shared_16(upto + k, {n[0], n[1], n[2], n[3]});
    }
    barrier();
    u32 *const order = s.own.order;
    const u32 again = first_run<bucket_threads>(runs, tiles);
    for_each_piece<u32, group_items_per_thread, bucket_threads, walks_in_flight>(runs, tiles, partitioned, again, [&](const auto &entry, const auto &there, u32 number) {
        const places p = {entry, there, 0, own_cells, spare};
        u32 got[of_piece];
        take_places(upto, p, got);
        RC_UNROLL for (u32 e = 0; e < of_piece; e++) {
            if (p.at[e] < own_cells) order[got[e]] = number + (entry[e] >> 16);
        }
    });
    barrier();
    const contents own = s.own;
    if (b.values.fours())
        write_cells<4>(b, own, s);
    else
        write_cells<1>(b, own, s);
}
