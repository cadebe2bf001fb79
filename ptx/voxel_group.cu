// voxel_group.cu makes a dense grid of sums, means and extremes without a sort: what a cell holds depends on no order, so it is enough
// that its points lie together. voxel_deal.cuh tells how they are dealt out to buckets of cells.
//
// voxel_deal_points takes a tile of 4096 points a block, 8 a thread, and leaves their cells and numbers.
//
// voxel_group takes part of a bucket's cells a block. It counts the points of each cell in shared memory, and asks for room in the list of
// voxels, and in the order, with one atomic. A voxel of one point has it in the list itself, the others have where theirs begin in the
// order and how many they are; then the points go there, one after the other. For each 32 neighbouring cells of the grid there is a mask
// of those that have points, and the number of the first one's voxel. Which numbers they get does not show.
//
// voxel_cells writes the grid, in order, the empty cells too: lanes take neighbouring pieces of it, 16 bytes where they can be. What is
// done with voxels of several points is told in voxel_reduce.cu.
//
// Bytes moved: the points; 4 a point written, and read twice; 4 written and read for each run, which is 1 for 2 points; 8 for each voxel
// and each 32 cells, written and read; the features, and the grid once.
#include "voxel_deal.cuh"
#include "voxel_values.cuh"

using namespace rc;

namespace {

constexpr u32 each = 8, group_threads = 512, group_in_flight = 2;
constexpr u32 part = 16384; // cells that a block takes: ops/cuda gives it so many words of shared memory, and one for each lane
constexpr u32 cells_threads = 256, at_once = 3;
static_assert(sizeof(deal_shared<u32, each>) == 35024, "ops/cuda gives a block so much");

// What a counter turns into: the number of the voxel of a single point, or where the next point goes in the order.
constexpr u32 single = 1u << 31;
constexpr u32 crowd = 32; // points of a cell from which on lanes that have it ask once for all of them

struct group_shared {
    u32 voxels[group_threads / warp_size], points[group_threads / warp_size]; // of each warp's cells
    u32 crowds[part / warp_size];                                             // for each 32 cells, which are crowded
    u64 room;
    u32 crowded; // whether any is
};

// A queue is where a warp's voxels of a few points wait until there is one for each lane: cell, first feature, begin, points.
struct cell_queue {
    v16 waiting[(at_once + 1) * warp_size];
};

// row_at is the row of a cell, which only coordinates need.
RC_FN u32 row_at(const voxel_job &j, u32 key) { return j.b > 1 ? (u32)(key / j.cells) : 0; }

// wait_done does what a lane has in its queue.
template <u32 N> RC_FN void reduce_waiting(const voxel_job &j, v16 it) {
    float x[N];
    reduce_few<N>(j, it.z, it.w, it.y, row_at(j, it.x), x);
    write_out<N>(j, it.x, it.y, x);
}

// write_cells is voxel_cells, N features a lane. An item is N features of a cell: in the order of the grid.
template <u32 N> RC_FN void write_cells(const voxel_job &j, cell_queue &q) {
    constexpr u32 turn = at_once * warp_size;
    const bool of_features = j.reduce() != count, extreme = j.reduce() >= greatest;
    const u32 width = items_of(j, N), keys = (u32)j.keys, value = (u32)j.extra;
    const u32 magic = width > 1 ? ~0u / width + 1 : 0; // off / width is the high half of their product, for what is below 256 and width below 128
    const u64 warps = blocks_x() * (cells_threads / warp_size), warp = block_x() * (cells_threads / warp_size) + thread_x() / warp_size;
    const u32 step_key = (u32)(warps * turn / width), step_feature = (u32)(warps * turn % width);
    const v8 *const masks = (const v8 *)j.marks, *const voxels = (const v8 *)j.from;
    u32 first_key = (u32)(warp * turn / width), first_part = (u32)(warp * turn % width), waits = 0;
    for (; first_key < keys; first_key += step_key, first_part += step_feature) {
        if (first_part >= width) first_part -= width, first_key++;
        u32 key[at_once], feature[at_once], n[at_once], point[at_once];
        v8 mask[at_once];
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            const u32 off = first_part + u * warp_size + lane(), past = width >= turn ? off >= width : width > 1 ? mul_hi(off, magic) : off;
            key[u] = first_key + past, feature[u] = (off - past * width) * N;
            mask[u] = {0, 0};
            if (key[u] < keys) mask[u] = masks[key[u] / 32];
        }
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            n[u] = 0, point[u] = 0;
            if (!(mask[u].x >> key[u] % 32 & 1)) continue;
            const v8 voxel = voxels[mask[u].y + count_bits(mask[u].x & ((1u << key[u] % 32) - 1))];
            point[u] = voxel.x, n[u] = voxel.y;
        }
        float x[at_once][N];
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = as_f32(value);
            if (n[u] == 1 && of_features) values_at<N>(j, point[u], feature[u], row_at(j, key[u]), x[u]);
        }
        bool any = false;
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            if (n[u] == 1) {
                RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = alone(x[u][i], extreme);
            }
            if (!of_features && n[u]) x[u][0] = as_f32(n[u]);
            if (key[u] < keys && (n[u] < 2 || !of_features)) put<N>((float *)j.out + (u64)key[u] * (width * N) + feature[u], x[u]); // counts are 4 bytes too
            any |= n[u] > 1;
        }
        if (!of_features || !votes(any)) continue;
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            if (n[u] > few && feature[u] == 0) leave(j, key[u], point[u], n[u], row_at(j, key[u]));
            const u32 waiting = votes(n[u] > 1 && n[u] <= few);
            if (waiting >> lane() & 1) q.waiting[waits + count_bits(waiting & below_mask())] = {key[u], feature[u], point[u], n[u]};
            waits += count_bits(waiting);
        }
        warp_barrier();
        while (waits >= warp_size) {
            waits -= warp_size;
            reduce_waiting<N>(j, q.waiting[waits + lane()]);
        }
        warp_barrier();
    }
    if (lane() < waits) reduce_waiting<N>(j, q.waiting[lane()]);
}

} // namespace

RC_KERNEL_OCC(deal_threads, 2) voxel_deal_points(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    deal<u32, each>(j);
}

// Block i takes part i / 512 of bucket i % 512. extra: how many tiles there are. `to` gets the voxels, to_order the order, marks the masks.
RC_KERNEL_OCC(group_threads, 3) voxel_group(RC_VOXEL_PARAMS) {
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
        const u32 cell = (entry & 0xffff) - begin;
        shared_add(&counted[there && cell < limit ? cell : spare], 1);
    });
    barrier();
    u32 mine = 0, more = 0; // voxels of the warp's cells, and points that go to the order
    for (u32 g = warp; g < here / warp_size; g += warps) {
        const u32 n = counted[g * warp_size + lane()];
        mine += count_bits(votes(n > 0)), more += n > 1 ? n : 0;
    }
    more = shuffle_from(warp_scan(more), warp_size - 1);
    if (lane() == 0) s.voxels[warp] = mine, s.points[warp] = more;
    barrier();
    if (warp == 0) {
        const u32 voxels = warp_scan(lane() < warps ? s.voxels[lane()] : 0), points = warp_scan(lane() < warps ? s.points[lane()] : 0);
        if (lane() < warps) s.voxels[lane()] = voxels, s.points[lane()] = points;
        if (lane() == warps - 1) s.room = voxels ? atomic_add(j.state + found, (u64)voxels << 32 | points) : 0;
    }
    barrier();
    u32 voxel = (u32)(s.room >> 32) + s.voxels[warp] - mine, place = (u32)s.room + s.points[warp] - more;
    for (u32 g = warp; g < here / warp_size; g += warps) {
        const u32 n = counted[g * warp_size + lane()], has = votes(n > 0);
        const u64 key = key_in_bucket(bucket, begin + g * warp_size);
        if (lane() == 0 && key < j.keys) st_8((v8 *)j.marks + key / 32, {has, voxel});
        if (has == 0) continue;
        const u32 several = n > 1 ? n : 0, upto = warp_scan(several), own = voxel + count_bits(has & below_mask());
        const u32 crowds = votes(n > crowd);
        if (lane() == 0) {
            s.crowds[g] = crowds;
            if (crowds) shared_or(&s.crowded, 1);
        }
        if (several) st_8((v8 *)j.to + own, {place + upto - several, n});
        if (n) counted[g * warp_size + lane()] = several ? place + upto - several : single | own;
        voxel += count_bits(has), place += shuffle_from(upto, warp_size - 1);
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
            st_8((v8 *)j.to + (got - single), {point, 1});
        else
            st_u32(j.to_order + got, point);
    });
}

// voxel_cells writes a grid. `from` has the voxels, from_order the order, marks the masks. extra: what an empty cell holds.
RC_KERNEL_OCC(cells_threads, 3) voxel_cells(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ cell_queue queues[cells_threads / warp_size];
    cell_queue &q = queues[thread_x() / warp_size];
    if (j.fours())
        write_cells<4>(j, q);
    else
        write_cells<1>(j, q);
}
