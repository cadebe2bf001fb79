// voxel_group.cu computes a dense grid of sums, means and extremes without a sort: what a cell holds depends on no order, so it is enough
// that its points lie together. voxel_partition.cuh says how they are partitioned into buckets of cells.
//
// voxel_partition_points takes a tile of 4096 points per block, 8 per thread, and writes their cells and numbers, bucket by bucket.
//
// voxel_group takes a part of a bucket's cells per block, and counts the points of each in shared memory. A point that is alone in its cell
// goes to the list of singles; a cell of several goes to a list of those, and its points to the order, one after the other. Blocks reserve
// space in the lists with two atomics; which places they get does not show in the result. Counting leaves the memory idle, so one warp of
// each block meanwhile fills the grid with the empty value.
//
// voxel_cells writes the cells that have points: some blocks those of one, others those of several, in proportion to the work. Lanes take
// neighbouring features, 16 bytes where they can. Large cells (more than few_points points) are left to voxel_reduce_large.
//
// Bytes moved: the points; 4 per point written, and read twice; 4 written and read for each run, of which there is 1 for 2 points; 8 for
// each single, 4 for each other point and 16 for each cell of several, written and read; the features; the grid, and once more each cell
// with points.
#include "voxel_places.cuh"

using namespace rc;

RC_HOST constexpr u32 group_threads = 512;
// cells per block: a word of shared memory each, in whole groups of group_warp_cells, and one for each lane
RC_HOST constexpr u32 group_part = 16384;
RC_HOST constexpr u32 group_warp_cells = 128;    // cells per warp at a time
RC_HOST constexpr u32 cells_threads = 256; // threads in voxel_cells

// voxel_single is a point that has a cell to itself; voxel_several is a voxel of more: its cell, and where its points begin in the order.
struct alignas(8) voxel_single {
    u32 key, point;
};
struct alignas(16) voxel_several {
    u32 key, begin, n, unused;
};

// voxel_group_lists has the results that voxel_group leaves for voxel_cells.
RC_HOST struct voxel_group_lists {
    voxel_single *singles;
    u32 *order; // the points in voxels with several points
    voxel_several *voxels;
    u64 *state; // the lengths of the lists
};

RC_HOST struct voxel_group_params {
    const u32 *runs; // the result of voxel_partition_points
    const void *partitioned;
    u64 keys;
    void *out;
    u64 words;        // words in the grid, 4 bytes each
    u32 tiles, empty; // empty: an empty word's value
    voxel_group_lists lists;
};

RC_HOST struct voxel_cells_params {
    voxel_group_lists lists;
    voxel_values values;
    voxel_large_list large_pieces;
};

namespace {

constexpr u32 group_in_flight = 2;
constexpr u32 counting_threads = group_threads - warp_size; // the last warp fills the grid
constexpr u32 in_flight = 4; // items that a lane of voxel_cells does at once

// What a counter turns into: the number of a single, or where the next point goes in the order.
constexpr u32 single = 1u << 31;

struct group_shared {
    // Of each warp's cells: how many have one point, how many several, and how many points these have.
    u32 single_cells[counting_threads / warp_size], several[counting_threads / warp_size], points[counting_threads / warp_size];
    u64 reserved; // of singles, above, and of points in the order
    u32 rest; // of voxels of several
};

// sync_counters waits for the warps that count.
RC_FN void sync_counters() { barrier_of<1>(counting_threads); }

// fill_some writes a value over the block's part of the grid, which a warp does by itself. Blocks take what comes next as they go, since
// memory is written fastest in order; a block has done its part after `turns` of them.
RC_FN void fill_some(const voxel_group_params &g) {
    constexpr u32 turn = 2048; // pieces of 16 bytes
    const u64 words = g.words;
    const u32 value = g.empty;
    u32 *const out = (u32 *)g.out;
    const u32 to_16 = (0 - (u32)(u64)out) % 16 / 4, head = to_16 < words ? to_16 : (u32)words, tail = (u32)(words - head) % 4;
    const u64 pieces = (words - head) / 4;
    if (block_x() == 0 && lane() < head) out[lane()] = value;
    if (block_x() == 0 && lane() < tail) out[words - tail + lane()] = value;
    const u32 all = (u32)((pieces + turn - 1) / turn), turns = (all + blocks_x() - 1) / blocks_x();
    u32 next = lane() == 0 && turns ? atomic_add((u32 *)(g.lists.state + filled), 1) : 0;
    for (u32 n = 1; n <= turns; n++) {
        const u32 now = shuffle_from(next, 0);
        if (now >= all) break;
        if (lane() == 0 && n < turns) next = atomic_add((u32 *)(g.lists.state + filled), 1);
        const u64 first = (u64)now * turn, end = first + turn < pieces ? first + turn : pieces;
        for (u64 k = first + lane(); k < end; k += warp_size) st_16(out + head + 4 * k, {value, value, value, value});
    }
}

// n_of is word u of four counters.
RC_FN u32 n_of(const v16 &c, u32 u) { return u == 0 ? c.x : u == 1 ? c.y : u == 2 ? c.z : c.w; }

// write_singles writes the cells of one point, N features a lane; write_several those of several, and lists the large ones. Both are
// block `block` of `blocks`.
template <u32 N> RC_FN void write_singles(const voxel_cells_params &c, u64 items, u32 width, u32 block, u32 blocks) {
    const bool of_features = c.values.reduce() != count, extreme = c.values.reduce() >= greatest;
    const u64 step = blocks * (u64)cells_threads;
    for (u64 base = block * (u64)cells_threads + thread_x(); base < items; base += in_flight * step) {
        voxel_single it[in_flight];
        u32 feature[in_flight];
        float x[in_flight][N];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const u64 given = base + u * step, t = given < items ? given : base; // past the last it is the first once more, and not stored
            const u32 which = items >> 32 ? (u32)(t / width) : (u32)t / width;
            feature[u] = (u32)(t - (u64)which * width) * N;
            it[u] = c.lists.singles[which];
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = as_f32(1); // counts are 4 bytes too
            if (of_features) values_at<N>(c.values, it[u].point, feature[u], row_in(c.values, it[u].key), x[u]);
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            if (of_features) {
                RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = single_value(x[u][i], extreme);
            }
            if (base + u * step < items) put<N>((float *)c.values.out + (u64)it[u].key * (width * N) + feature[u], x[u]);
        }
    }
}

template <u32 N> RC_FN void write_several(const voxel_cells_params &c, u64 items, u32 width, u32 block, u32 blocks) {
    for (u64 t = block * (u64)cells_threads + thread_x(); t < items; t += blocks * (u64)cells_threads) {
        const u32 voxel = items >> 32 ? (u32)(t / width) : (u32)t / width, feature = (u32)(t - (u64)voxel * width) * N;
        const voxel_several it = c.lists.voxels[voxel];
        if (c.values.reduce() == count) {
            ((u32 *)c.values.out)[it.key] = it.n;
        } else if (it.n <= few_points) {
            float x[N];
            reduce_few<N>(c.values, c.lists.order, it.begin, it.n, feature, row_in(c.values, it.key), x);
            write_out<N>(c.values, it.key, feature, x);
        }
    }
    if (c.values.reduce() == count) return;
    const u32 cells = (u32)(items / width);
    for (u32 base = block * cells_threads + thread_x() - lane(); base < cells; base += blocks * cells_threads) {
        voxel_several it = {};
        if (base + lane() < cells) it = c.lists.voxels[base + lane()];
        append_large(c.values, c.large_pieces, it.n > few_points, it.key, it.begin, it.n, row_in(c.values, it.key));
    }
}

// write_cells is voxel_cells, N features a lane. An item of several points is worth some of one: its reads wait for each other.
template <u32 N> RC_FN void write_cells(const voxel_cells_params &c) {
    constexpr float worth = 6;
    const u32 width = items_of(c.values, N), blocks = blocks_x();
    const u64 ones = (c.lists.state[kept] >> 32) * width, others = c.lists.state[found] * width;
    u32 theirs = 0; // of the blocks, those that take cells of several: they are spread among the others
    if (others > 0) {
        const float work = worth * (float)others, blocks_share = (float)blocks * div_fast(work, work + (float)ones);
        theirs = (u32)blocks_share < 1 ? 1 : (u32)blocks_share < blocks ? (u32)blocks_share : blocks;
        if (ones > 0 && theirs == blocks) theirs = blocks - 1;
    }
    const u32 before = block_x() * theirs / blocks, after = (block_x() + 1) * theirs / blocks;
    if (after > before)
        write_several<N>(c, others, width, before, theirs);
    else
        write_singles<N>(c, ones, width, block_x() - before, blocks - theirs);
}

} // namespace

RC_KERNEL_OCC(partition_threads, 2) voxel_partition_points(const voxel_partition_params p) {
    partition<u32, group_items_per_thread, group_bits>(p);
}

// Block i takes part i / 512 of bucket i % 512.
RC_KERNEL_OCC(group_threads, 2) voxel_group(const voxel_group_params g) {
    extern __shared__ v16 memory[];
    __shared__ group_shared s;
    const u32 warp = thread_x() / warp_size, warps = counting_threads / warp_size;
    if (warp == warps) {
        // What was launched before voxel_partition_points has ended: that waited for it before it let this begin.
        fill_some(g);
        return;
    }
    u32 *const counted = (u32 *)memory;
    const u32 bucket = block_x() % buckets, begin = block_x() / buckets * group_part, tiles = g.tiles;
    const u32 *const runs = g.runs + (u64)bucket * tiles;
    const v16 *const partitioned = (const v16 *)g.partitioned;
    const u32 all = cells_of_bucket<group_bits>(g.keys), limit = all < group_part ? all : group_part;
    const u32 here = all - begin < group_part ? all - begin : group_part, most = (limit + group_warp_cells - 1) / group_warp_cells * group_warp_cells;
    const u32 spare = most + lane(); // a word for what is not to be counted
    for (u32 k = 4 * thread_x(); k < most; k += 4 * counting_threads) st_shared_16(counted + k, {0, 0, 0, 0});
    if (thread_x() < warp_size) counted[spare] = 0;
    grid_dependency_wait();
    launch_dependents();
    const u32 next = first_run<counting_threads>(runs, tiles);
    sync_counters();
    for_each_piece<u32, group_items_per_thread, counting_threads, group_in_flight>(runs, tiles, partitioned, next, [&](const auto &entry, const auto &there, u32) {
        count_them(counted, {entry, there, begin, limit, spare});
    });
    sync_counters();
    u32 has = 0, theirs = 0; // of the lane's cells: those of one point, above those of several, and the points of these
    for (u32 segment = warp; segment * group_warp_cells < here; segment += warps) {
        const v16 c = *(const v16 *)(counted + segment * group_warp_cells + 4 * lane());
        RC_UNROLL for (u32 u = 0; u < 4; u++) {
            const u32 n = n_of(c, u);
            has += n == 1 ? 1u << 16 : n > 1 ? 1 : 0, theirs += n > 1 ? n : 0;
        }
    }
    has = shuffle_from(warp_scan(has), warp_size - 1), theirs = shuffle_from(warp_scan(theirs), warp_size - 1);
    const u32 ones = has >> 16, others = has & 0xffff;
    if (lane() == 0) s.single_cells[warp] = ones, s.several[warp] = others, s.points[warp] = theirs;
    sync_counters();
    if (warp == 0) {
        const bool one = lane() < warps;
        const u32 alone_upto = warp_scan(one ? s.single_cells[lane()] : 0), several_upto = warp_scan(one ? s.several[lane()] : 0),
                  points_upto = warp_scan(one ? s.points[lane()] : 0);
        if (one) s.single_cells[lane()] = alone_upto, s.several[lane()] = several_upto, s.points[lane()] = points_upto;
        if (lane() == warps - 1) s.reserved = alone_upto | points_upto ? atomic_add(g.lists.state + kept, (u64)alone_upto << 32 | points_upto) : 0;
        if (lane() == warps - 1) s.rest = several_upto ? atomic_add((u32 *)(g.lists.state + found), several_upto) : 0;
    }
    sync_counters();
    u32 next_alone = (u32)(s.reserved >> 32) + s.single_cells[warp] - ones, next_place = (u32)s.reserved + s.points[warp] - theirs;
    u32 next_several = s.rest + s.several[warp] - others;
    for (u32 segment = warp; segment * group_warp_cells < here; segment += warps) {
        u32 *const at = counted + segment * group_warp_cells + 4 * lane();
        const v16 c = *(const v16 *)at;
        u32 n[4] = {c.x, c.y, c.z, c.w}, mine = 0, points = 0;
        RC_UNROLL for (u32 u = 0; u < 4; u++) mine += n[u] == 1 ? 1u << 16 : n[u] > 1 ? 1 : 0, points += n[u] > 1 ? n[u] : 0;
        if (votes(mine > 0) == 0) continue;
        const u32 upto = warp_scan(mine), sum = shuffle_from(upto, warp_size - 1);
        const u32 before = upto - mine;
        u32 number = next_alone + (before >> 16), voxel = next_several + (before & 0xffff), place = next_place;
        next_alone += sum >> 16, next_several += sum & 0xffff;
        if (sum & 0xffff) {
            const u32 points_upto = warp_scan(points);
            place += points_upto - points, next_place += shuffle_from(points_upto, warp_size - 1);
        }
        const u32 cell = segment * group_warp_cells + 4 * lane(), key = (u32)key_in_bucket<group_bits>(bucket, begin + cell);
        RC_UNROLL for (u32 u = 0; u < 4; u++) {
            if (n[u] == 1) {
                n[u] = single | number++;
            } else if (n[u] > 1) {
                st_16((v16 *)g.lists.voxels + voxel++, {key + u, place, n[u], 0});
                const u32 begins = place;
                place += n[u], n[u] = begins;
            }
        }
        st_shared_16(at, {n[0], n[1], n[2], n[3]});
    }
    sync_counters();
    const u32 again = first_run<counting_threads>(runs, tiles);
    for_each_piece<u32, group_items_per_thread, counting_threads, group_in_flight>(runs, tiles, partitioned, again, [&](const auto &entry, const auto &there, u32 number) {
        const places p = {entry, there, begin, limit, spare};
        u32 got[of_piece];
        take_places(counted, p, got);
        RC_UNROLL for (u32 e = 0; e < of_piece; e++) {
            const u32 point = number + (entry[e] >> 16);
            if (p.at[e] >= limit) continue;
            if (got[e] & single)
                st_8(g.lists.singles + (got[e] - single), {(u32)key_in_bucket<group_bits>(bucket, begin + p.at[e]), point});
            else
                st_u32(g.lists.order + got[e], point);
        }
    });
}

// voxel_cells writes the cells that have points.
RC_KERNEL_OCC(cells_threads, 3) voxel_cells(const voxel_cells_params c) {
    grid_dependency_wait();
    launch_dependents();
    if (c.values.fours())
        write_cells<4>(c);
    else
        write_cells<1>(c);
}
