// voxel_group.cu makes a dense grid of sums, means and extremes without a sort: what a cell holds depends on no order, so it is enough
// that its points lie together. voxel_deal.cuh tells how they are dealt out to buckets of cells.
//
// voxel_deal_points takes a tile of 4096 points a block, 8 a thread, and leaves their cells and numbers.
//
// voxel_group takes part of a bucket's cells a block, and counts the points of each in shared memory. A point that is alone in its cell goes to
// the list of singles, with five bits of the cell; a cell of several goes to a list of those, and its points to the order, one after the
// other. For each 32 neighbouring cells of the grid there is a mask of those that have points, of those that have one, and the number of
// the first single. Blocks ask for room in the lists with two atomics: which places they get does not show.
//
// voxel_cells writes the empty cells, which wait for nothing but the masks, and then those of one point: lanes take neighbouring pieces of
// the grid, 16 bytes where they can be. voxel_several does what has a few points, and leaves crowded cells to voxel_crowded.
//
// Bytes moved: the points; 4 a point written, and read twice; 4 written and read for each run, which is 1 for 2 points; 4 for each point in
// a list, 16 for each cell of several and each 32 cells, written and read; the features, and the grid once.
#include "voxel_deal.cuh"
#include "voxel_values.cuh"

using namespace rc;

namespace {

constexpr u32 each = 8, group_threads = 512, group_in_flight = 2;
constexpr u32 part = 16384; // cells that a block takes: ops/cuda gives it so many words of shared memory, and one for each lane
constexpr u32 cells_threads = 256, masks_at_once = 8, at_once = 4; // of voxel_cells: masks that a warp takes, and items that a lane does
constexpr u32 deal_bytes = 35024;
static_assert(sizeof(deal_shared<u32, each>) == deal_bytes, "ops/cuda gives a block so much");

// What a counter turns into: the number of a single, or where the next point goes in the order.
constexpr u32 single = 1u << 31;
constexpr u32 crowd = 32; // points of a cell from which on lanes that have it ask once for all of them

struct group_shared {
    // Of each warp's cells: how many have one point, how many several, and how many points these have.
    u32 alone[group_threads / warp_size], several[group_threads / warp_size], points[group_threads / warp_size];
    u32 crowds[part / warp_size]; // for each 32 cells, which are crowded
    u64 room;                     // of singles, above, and of points in the order
    u32 rest;                     // of voxels of several
    u32 crowded;                  // whether any is
};

// A mask tells of 32 neighbouring cells: which have points, which have one, and where theirs begin among the singles.
struct alignas(16) cell_mask {
    u32 has, alone, first, unused;
};

// several is a voxel of more than one point: its cell, and where its points begin in the order.
struct alignas(16) several {
    u32 key, begin, n, unused;
};

// row_at is the row of a cell, which only coordinates need.
RC_FN u32 row_at(const voxel_job &j, u32 key) { return j.b > 1 ? (u32)(key / j.cells) : 0; }

// over is off / width; magic is 2^32 / width rounded up where that is enough to know it, or 0.
RC_FN u32 over(u32 off, u32 width, u32 magic) { return width == 1 ? off : magic ? mul_hi(off, magic) : off / width; }

// write_cells is voxel_cells, N features a lane: a warp takes some neighbours of 32 cells. First it writes those that are empty, which
// waits for nothing but the masks; then those of one point.
template <u32 N> RC_FN void write_cells(const voxel_job &j) {
    const bool of_features = j.reduce() != count, extreme = j.reduce() >= greatest;
    const u32 width = items_of(j, N), keys = (u32)j.keys, value = (u32)j.extra, all_masks = (keys + warp_size - 1) / warp_size;
    const u32 magic = width > 1 && width < 4096 ? ~0u / width + 1 : 0; // exact below 32 * masks_at_once * width
    const u32 *const singles = (const u32 *)j.from;
    const u32 step = blocks_x() * (cells_threads / warp_size) * masks_at_once;
    float empty[N];
    RC_UNROLL for (u32 i = 0; i < N; i++) empty[i] = as_f32(value);
    for (u32 first = (block_x() * (cells_threads / warp_size) + thread_x() / warp_size) * masks_at_once; first < all_masks; first += step) {
        cell_mask mask = {0, 0, 0, 0};
        if (lane() < masks_at_once && first + lane() < all_masks) mask = ((const cell_mask *)j.marks)[first + lane()];
        RC_ROLLED for (u32 g = 0; g < masks_at_once; g++) {
            const u32 key = (first + g) * warp_size, here = key >= keys ? 0 : keys - key < warp_size ? (1u << (keys - key)) - 1 : ~0u;
            const u32 empties = here & ~shuffle_from(mask.has, g);
            float *to = (float *)j.out + (u64)key * (width * N) + lane() * N;
            for (u32 off = lane(); off < warp_size * width; off += warp_size, to += warp_size * N) {
                if (empties >> over(off, width, magic) & 1) put<N>(to, empty); // counts are 4 bytes too
            }
        }
        const u32 has = count_bits(mask.alone), upto = warp_scan(has), before = upto - has;
        const u32 items = shuffle_from(upto, warp_size - 1) * width;
        for (u32 base = 0; base < items; base += at_once * warp_size) {
            u32 key[at_once], feature[at_once], point[at_once];
            RC_UNROLL for (u32 u = 0; u < at_once; u++) {
                const u32 t = base + u * warp_size + lane(), which = over(t, width, magic);
                u32 r = 0; // the last mask that begins at or before single `which`: it has some
                RC_UNROLL for (u32 half = masks_at_once / 2; half > 0; half /= 2) r += shuffle_from(before, r + half) <= which ? half : 0;
                const u32 number = shuffle_from(mask.first, r) + which - shuffle_from(before, r);
                point[u] = t < items ? singles[number] : 0;
                feature[u] = (t - which * width) * N, key[u] = (first + r) * warp_size;
            }
            float x[at_once][N];
            RC_UNROLL for (u32 u = 0; u < at_once; u++) {
                key[u] += point[u] % warp_size, point[u] /= warp_size;
                RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = as_f32(1);
                if (base + u * warp_size + lane() < items && of_features) values_at<N>(j, point[u], feature[u], row_at(j, key[u]), x[u]);
            }
            RC_UNROLL for (u32 u = 0; u < at_once; u++) {
                if (of_features) {
                    RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = alone(x[u][i], extreme);
                }
                if (base + u * warp_size + lane() < items) put<N>((float *)j.out + (u64)key[u] * (width * N) + feature[u], x[u]);
            }
        }
    }
}

// write_several is voxel_several, N features a lane.
template <u32 N> RC_FN void write_several(const voxel_job &j) {
    const bool of_features = j.reduce() != count;
    const u32 width = items_of(j, N);
    const u64 items = j.state[found] * width;
    for (u64 t = block_x() * (u64)cells_threads + thread_x(); t < items; t += blocks_x() * (u64)cells_threads) {
        const u32 voxel = items >> 32 ? (u32)(t / width) : (u32)t / width, feature = (u32)(t - (u64)voxel * width) * N;
        const several it = ((const several *)j.cell_keys)[voxel];
        if (!of_features) {
            ((u32 *)j.out)[it.key] = it.n;
        } else if (it.n <= few) {
            float x[N];
            reduce_few<N>(j, it.begin, it.n, feature, row_at(j, it.key), x);
            write_out<N>(j, it.key, feature, x);
        } else if (feature == 0) {
            leave(j, it.key, it.begin, it.n, row_at(j, it.key));
        }
    }
}

} // namespace

RC_KERNEL_OCC(deal_threads, 2) voxel_deal_points(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    deal<u32, each>(j);
}

// Block i takes part i / 512 of bucket i % 512. extra: how many tiles there are. `to` gets the voxels, to_order the order, marks the masks.
RC_KERNEL_OCC(group_threads, 2) voxel_group(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    extern __shared__ v16 memory[];
    __shared__ group_shared s;
    u32 *const counted = (u32 *)memory;
    const u32 bucket = block_x() % buckets, begin = block_x() / buckets * part, tiles = (u32)j.extra;
    const u32 *const runs = j.table + (u64)bucket * tiles;
    const v16 *const dealt = (const v16 *)j.from;
    const u32 warp = thread_x() / warp_size, warps = group_threads / warp_size;
    const u32 all = (u32)((j.keys + 32 * buckets - 1) / (32 * buckets)) * 32, limit = all < part ? all : part;
    const u32 here = all - begin < part ? all - begin : part;
    const u32 spare = limit + lane(); // a word for what is not to be counted
    for (u32 k = 4 * thread_x(); k < limit; k += 4 * group_threads) st_shared_16(counted + k, {0, 0, 0, 0});
    if (thread_x() < warp_size) counted[spare] = 0;
    if (thread_x() == 0) s.crowded = 0;
    wait_for_previous();
    let_next();
    const u32 next = first_run<group_threads>(runs, tiles);
    barrier();
    walk<u32, each, group_threads, group_in_flight>(runs, tiles, dealt, next, [&](u32 entry, bool there, u32) {
        // Many lanes often have the same cell, as points that lie near each other come one after the other.
        const u32 cell = (entry & 0xffff) - begin, at = there && cell < limit ? cell : spare, one = shuffle_from(at, 0);
        const u32 same = votes(at == one);
        const bool together = count_bits(same) > 4;
        if (!together || at != one)
            shared_add(&counted[at], 1);
        else if (lane() == 0)
            shared_add(&counted[at], count_bits(same));
    });
    barrier();
    u32 ones = 0, others = 0, theirs = 0; // cells of one point, of several, and these points, in the warp's cells
    for (u32 g = warp; g < here / warp_size; g += warps) {
        const u32 n = counted[g * warp_size + lane()];
        ones += count_bits(votes(n == 1)), others += count_bits(votes(n > 1)), theirs += n > 1 ? n : 0;
    }
    theirs = shuffle_from(warp_scan(theirs), warp_size - 1);
    if (lane() == 0) s.alone[warp] = ones, s.several[warp] = others, s.points[warp] = theirs;
    barrier();
    if (warp == 0) {
        const bool one = lane() < warps;
        const u32 alone_upto = warp_scan(one ? s.alone[lane()] : 0), several_upto = warp_scan(one ? s.several[lane()] : 0),
                  points_upto = warp_scan(one ? s.points[lane()] : 0);
        if (one) s.alone[lane()] = alone_upto, s.several[lane()] = several_upto, s.points[lane()] = points_upto;
        if (lane() == warps - 1) s.room = alone_upto | points_upto ? atomic_add(j.state + kept, (u64)alone_upto << 32 | points_upto) : 0;
        if (lane() == warps - 1) s.rest = several_upto ? atomic_add((u32 *)(j.state + found), several_upto) : 0;
    }
    barrier();
    u32 next_alone = (u32)(s.room >> 32) + s.alone[warp] - ones, next_place = (u32)s.room + s.points[warp] - theirs;
    u32 next_several = s.rest + s.several[warp] - others;
    for (u32 g = warp; g < here / warp_size; g += warps) {
        const u32 n = counted[g * warp_size + lane()], one = votes(n == 1), more = votes(n > 1);
        const u64 key = key_in_bucket(bucket, begin + g * warp_size);
        if (lane() == 0 && key < j.keys) st_16((v16 *)j.marks + key / warp_size, {one | more, one, next_alone, 0});
        if (n == 1) counted[g * warp_size + lane()] = single | (next_alone + count_bits(one & below_mask()));
        next_alone += count_bits(one);
        const u32 crowds = votes(n > crowd);
        if (lane() == 0) s.crowds[g] = crowds;
        if (more == 0) continue;
        if (crowds && lane() == 0) shared_or(&s.crowded, 1);
        const u32 upto = warp_scan(n > 1 ? n : 0), place = next_place + upto - n;
        if (n > 1) {
            st_16((v16 *)j.cell_keys + next_several + count_bits(more & below_mask()), {(u32)key + lane(), place, n, 0});
            counted[g * warp_size + lane()] = place;
        }
        next_several += count_bits(more), next_place += shuffle_from(upto, warp_size - 1);
    }
    barrier();
    const bool crowds = s.crowded;
    const u32 again = first_run<group_threads>(runs, tiles);
    walk<u32, each, group_threads, group_in_flight>(runs, tiles, dealt, again, [&](u32 entry, bool there, u32 number) {
        const u32 cell = (entry & 0xffff) - begin, point = number + (entry >> 16), at = there && cell < limit ? cell : spare;
        u32 got, of_crowd = 0;
        if (crowds) of_crowd = votes(at < limit && s.crowds[at / warp_size] >> at % warp_size & 1);
        if (of_crowd) {
            const u32 same = match(at), leader = lowest_bit(same);
            u32 old = 0;
            if (leader == lane()) old = shared_fetch_add(&counted[at], count_bits(same));
            got = shuffle_from(old, leader) + count_bits(same & below_mask());
        } else {
            got = shared_fetch_add(&counted[at], 1);
        }
        if (at >= limit) return;
        if (got & single)
            st_u32((u32 *)j.to + (got - single), point * warp_size + at % warp_size);
        else
            st_u32(j.to_order + got, point);
    });
}

// voxel_cells writes a grid, but what voxel_several does. `from` has the singles, marks the masks. extra: what an empty cell holds.
RC_KERNEL_OCC(cells_threads, 4) voxel_cells(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    if (j.fours())
        write_cells<4>(j);
    else
        write_cells<1>(j);
}

// voxel_several writes the voxels of several points, which cell_keys has, and leaves crowded ones to voxel_crowded.
RC_KERNEL_OCC(cells_threads, 3) voxel_several(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    if (j.fours())
        write_several<4>(j);
    else
        write_several<1>(j);
}
