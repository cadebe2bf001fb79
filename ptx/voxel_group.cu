// voxel_group.cu makes a dense grid of sums, means and extremes without a sort: what a cell holds depends on no order, so it is enough
// that its points lie together. voxel_deal.cuh tells how they are dealt out to buckets of cells.
//
// voxel_deal_points takes a tile of 4096 points a block, 8 a thread, and leaves their cells and numbers.
//
// voxel_group takes part of a bucket's cells a block. It learns which cells have points, and which several, bit by bit in shared memory.
// Points that are alone in their cell go to a list of their own, with five bits of the cell. Of cells of several the points are
// counted, and then go to the order, those of a cell one after the other. For each 32 neighbouring cells of the grid there is a mask of
// those that have points. Blocks ask for room in the lists with an atomic each: which places they get does not show.
//
// voxel_cells writes the grid, the empty cells too: lanes take neighbouring pieces of it, 16 bytes where they can be. What is done with
// voxels of several points is told in voxel_reduce.cu.
//
// Bytes moved: the points; 4 a point written, and read three times; 4 written and read for each run, which is 1 for 2 points; 4 a point
// for the lists, 16 for each voxel of several and each 32 cells, written and read; the features, and the grid once.
#include "voxel_deal.cuh"
#include "voxel_values.cuh"

using namespace rc;

namespace {

constexpr u32 each = 8, group_threads = 512, group_in_flight = 2;
constexpr u32 part = 16384; // cells that a block takes: ops/cuda gives it so many words of shared memory, or as many as a bucket has
constexpr u32 cells_threads = 256, masks_at_once = 8, at_once = 4; // masks that a warp takes, and items that a lane does
static_assert(sizeof(deal_shared<u32, each>) == 35024, "ops/cuda gives a block so much");

constexpr u32 crowd = 32; // points of a cell from which on lanes that have it ask once for all of them

// Of each 32 cells: which have points, which several, and the first one's number, of those with one and of those with several.
struct group_shared {
    u32 has[part / warp_size], more[part / warp_size], first_alone[part / warp_size], first_more[part / warp_size];
    u32 sums[group_threads / warp_size];
    u64 room;    // the block's among the singles, above, and among the several
    u32 place;   // and in the order
    u32 entries; // that are in the block's part
    u32 crowded; // whether a cell is
};
static_assert(part / warp_size == group_threads, "a thread keeps the books of 32 cells");

// A mask tells of 32 neighbouring cells: which have points, which have one, and where theirs begin among the singles.
struct alignas(16) cell_mask {
    u32 has, alone, first, unused;
};

// several is a voxel of more than one point: its cell, and where its points begin in the order.
struct alignas(16) several {
    u32 key, unused, begin, n;
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
    const u64 items = (u64) * (const u32 *)(j.state + found) * width;
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

// Block i takes part i / 512 of bucket i % 512. extra: how many tiles there are. `to` gets the singles, cell_keys the several, to_order the
// order, marks the masks.
RC_KERNEL_OCC(group_threads, 2) voxel_group(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    extern __shared__ v16 memory[];
    __shared__ group_shared s;
    u32 *const counted = (u32 *)memory; // for each cell of several: how many points, then where the next goes
    const u32 own = thread_x(), bucket = block_x() % buckets, begin = block_x() / buckets * part, tiles = (u32)j.extra;
    const u32 *const runs = j.table + (u64)bucket * tiles;
    const v16 *const dealt = (const v16 *)j.from;
    const u32 all = (u32)((j.keys + 32 * buckets - 1) / (32 * buckets)) * 32, here = all - begin < part ? all - begin : part;
    s.has[own] = 0, s.more[own] = 0;
    if (own == 0) s.entries = 0, s.crowded = 0;
    wait_for_previous();
    let_next();
    const u32 next = first_run<group_threads>(runs, tiles);
    barrier();
    // Lanes often have the same cell, as points that lie near each other come one after the other.
    u32 entries = 0;
    walk<u32, each, group_threads, group_in_flight>(runs, tiles, dealt, next, [&](u32 entry, bool there, u32) {
        const u32 cell = (entry & 0xffff) - begin, at = there && cell < here ? cell : nothing, bit = 1u << at % warp_size;
        const u32 same = votes(at == shuffle_from(at, 0) && at != nothing);
        if (at == nothing) return;
        entries++;
        if (count_bits(same) > 1 && same >> lane() & 1) {
            if (lowest_bit(same) == lane()) shared_or(&s.has[at / warp_size], bit), shared_or(&s.more[at / warp_size], bit);
        } else if (shared_fetch_or(&s.has[at / warp_size], bit) & bit) {
            shared_or(&s.more[at / warp_size], bit);
        }
    });
    entries = shuffle_from(warp_scan(entries), warp_size - 1);
    if (lane() == 0 && entries) shared_add(&s.entries, entries);
    barrier();
    const u32 has = s.has[own], more = s.more[own], alone = has & ~more;
    u32 total;
    const u32 before = block_scan(count_bits(alone) | count_bits(more) << 16, s.sums, total), several_here = total >> 16;
    if (own == 0) {
        s.room = total ? atomic_add(j.state + found, (u64)(total & 0xffff) << 32 | several_here) : 0;
    } else if (own == warp_size) {
        s.place = several_here ? atomic_add((u32 *)(j.state + kept), s.entries) : 0;
    }
    for (u32 k = own; k < several_here; k += group_threads) counted[k] = 0;
    barrier();
    several *const list = (several *)j.cell_keys + (u32)s.room;
    const u32 first_alone = (u32)(s.room >> 32) + (before & 0xffff), first_more = before >> 16;
    s.first_alone[own] = first_alone, s.first_more[own] = first_more;
    const u64 key = key_in_bucket(bucket, begin + own * warp_size);
    if (own * warp_size < here && key < j.keys) st_16((v16 *)j.marks + key / warp_size, {has, alone, first_alone, 0});
    for (u32 left = more, k = first_more; left; left &= left - 1, k++) st_u32(&list[k].key, (u32)key + lowest_bit(left));
    barrier();
    // number_of is the number of a cell of several.
    const auto number_of = [&](u32 at) { return s.first_more[at / warp_size] + count_bits(s.more[at / warp_size] & ((1u << at % warp_size) - 1)); };
    walk<u32, each, group_threads, group_in_flight>(runs, tiles, dealt, first_run<group_threads>(runs, tiles), [&](u32 entry, bool there, u32 number) {
        const u32 cell = (entry & 0xffff) - begin, at = there && cell < here ? cell : nothing, mask = at / warp_size % (part / warp_size);
        const bool one = at != nothing && !(s.more[mask] >> at % warp_size & 1);
        if (one) {
            const u32 k = s.first_alone[mask] + count_bits(s.has[mask] & ~s.more[mask] & ((1u << at % warp_size) - 1));
            st_u32((u32 *)j.to + k, (number + (entry >> 16)) * warp_size + at % warp_size);
        }
        const u32 to = one || at == nothing ? nothing : number_of(at), same = votes(to == shuffle_from(to, 0) && to != nothing);
        if (to == nothing) return;
        if (!(count_bits(same) > 1 && same >> lane() & 1))
            shared_add(&counted[to], 1);
        else if (lowest_bit(same) == lane())
            shared_add(&counted[to], count_bits(same));
    });
    barrier();
    u32 place = s.place;
    for (u32 base = 0; base < several_here; base += group_threads) {
        const u32 k = base + own, n = k < several_here ? counted[k] : 0;
        const u32 at = place + block_scan(n, s.sums, total);
        place += total;
        if (n) counted[k] = at, st_8(&list[k].begin, {at, n});
        if (n > crowd) shared_or(&s.crowded, 1);
    }
    barrier();
    if (several_here == 0) return;
    const bool crowds = s.crowded;
    walk<u32, each, group_threads, group_in_flight>(runs, tiles, dealt, first_run<group_threads>(runs, tiles), [&](u32 entry, bool there, u32 number) {
        const u32 cell = (entry & 0xffff) - begin, at = there && cell < here ? cell : nothing;
        const bool of_several = at != nothing && s.more[at / warp_size % (part / warp_size)] >> at % warp_size & 1;
        const u32 to = of_several ? number_of(at) : nothing - lane();
        u32 got;
        if (crowds) {
            const u32 same = match(to), leader = lowest_bit(same);
            u32 old = 0;
            if (leader == lane() && of_several) old = shared_fetch_add(&counted[to], count_bits(same));
            got = shuffle_from(old, leader) + count_bits(same & below_mask());
        } else {
            got = of_several ? shared_fetch_add(&counted[to], 1) : 0;
        }
        if (of_several) st_u32(j.to_order + got, number + (entry >> 16));
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
