// voxel_partition.cuh partitions the cells of points into buckets, and iterates over what a bucket got.
//
// Cells are partitioned, some neighbouring ones at a time, into 512 buckets, by a hash that spreads what lies together in space. A cell's
// number in its bucket takes 16 bits. Nothing needs an order, but that what belongs to a bucket can be found.
//
// A block takes a tile of points, `items_per_thread` a thread. It writes an entry for each point, those of a bucket together, to the
// tile's own place, through shared memory, and a table of runs: where in the tile each bucket's entries begin, and how many they are. A
// point in no cell leaves nothing. An entry has the cell's number in its bucket; one of 32 bits has the point's number in its tile too.
//
// To read a bucket, warps iterate over its row of the table. Of short runs a lane takes one; of long ones the lanes take all pieces of 16
// bytes, one run after the other. Else the runs of 32 tiles are laid end to end, and the lanes take the pieces of the whole, so that a run
// of any length keeps all lanes busy.
#pragma once
#include "voxel_keys.cuh"

namespace rc {

RC_HOST constexpr u32 partition_threads = buckets; // one thread per bucket
constexpr u32 partition_group = 4;

// voxel_partition_params is the parameter for voxel_partition_cells and voxel_partition_points. A row in `runs` has a word for each tile.
RC_HOST struct voxel_partition_params {
    voxel_cloud cloud;
    voxel_grid grid;
    u32 *runs;   // [buckets][tiles] each run's beginning in the tile, and its length
    void *partitioned; // the tiles' entries
    u64 *state;
};

template <class Entry> constexpr u32 piece_of = 16 / sizeof(Entry); // entries of 16 bytes

template <class Entry, u32 items_per_thread> struct partition_shared {
    v16 held[items_per_thread / partition_group][partition_threads];           // of each point 4 times its bin and, from bit 16 on, its cell
    v16 entries[items_per_thread * partition_threads / piece_of<Entry>];  // those of a bucket together
    u32 bins[buckets + warp_size];                       // how many entries; then in which byte the next one goes. The last are a lane's each, for no cell
    u32 sums[partition_threads / warp_size];
    u32 not_finite, unused[3];
};

// A point in no cell has a bin as well, since an atomic under a condition costs a branch, and the lanes' bins do not conflict.
template <class Shared> RC_FN u32 *bin_of(Shared &s, u32 word) { return (u32 *)((u8 *)s.bins + word % 65536); }
RC_FN bool has_cell(u32 word) { return !(word & 4 * buckets); }

// hold_keys holds the keys of a thread's group k, and counts them.
template <u32 G, class Shared> RC_FN void hold_keys(Shared &s, u32 k, const u32 (&key)[partition_group]) {
    u32 word[partition_group];
    RC_UNROLL for (u32 u = 0; u < partition_group; u++) {
        word[u] = 4 * bucket_of<G>(key[u]) | cell_in_bucket<G>(key[u]) << 16;
        if (key[u] == nothing) word[u] = 4 * (buckets + lane());
        shared_add(bin_of(s, word[u]), 1);
    }
    st_shared_16(&s.held[k][thread_x()], {word[0], word[1], word[2], word[3]});
}

// partition_fast takes a whole tile whose keys fast_keys can find, partition_general any.
template <u32 items_per_thread, u32 G, class Shared> RC_FN void partition_fast(const voxel_partition_params &p, Shared &s, u32 &bad) {
    RC_NO_UNROLL for (u32 k = 0; k < items_per_thread / partition_group; k++) {
        u32 key[partition_group];
        fast_keys(p.cloud, p.grid, block_x() * (items_per_thread * partition_threads) + (k * partition_threads + thread_x()) * partition_group, key, bad);
        hold_keys<G>(s, k, key);
    }
}
template <class T, u32 items_per_thread, u32 G, class Shared> RC_FN void partition_general(const voxel_partition_params &p, Shared &s, u32 &bad) {
    RC_NO_UNROLL for (u32 k = 0; k < items_per_thread / partition_group; k++) {
        u32 key[partition_group];
        any_keys<T>(p.cloud, p.grid, block_x() * (items_per_thread * partition_threads) + (k * partition_threads + thread_x()) * partition_group, p.cloud.n, key, bad);
        hold_keys<G>(s, k, key);
    }
}

// partition is the kernel that partitions, 2^G cells at a time: block i takes tile i, points i * tile to i * tile + tile - 1.
template <class Entry, u32 items_per_thread, u32 G> RC_FN void partition(const voxel_partition_params &p) {
    constexpr u32 tile = items_per_thread * partition_threads, group = partition_group, piece = piece_of<Entry>;
    extern __shared__ v16 memory[];
    partition_shared<Entry, items_per_thread> &s = *(partition_shared<Entry, items_per_thread> *)memory;
    const u32 own = thread_x(), warp = own / warp_size;
    s.bins[own] = 0;
    if (own < warp_size) s.bins[buckets + own] = 0;
    if (own == 0) s.not_finite = 0;
    barrier();
    const u32 here = p.cloud.n - block_x() * tile < tile ? p.cloud.n - block_x() * tile : tile;
    u32 bad = 0;
    if (here == tile && can_use_fast_keys(p.cloud))
        partition_fast<items_per_thread, G>(p, s, bad);
    else if (p.cloud.wide())
        partition_general<double, items_per_thread, G>(p, s, bad);
    else
        partition_general<float, items_per_thread, G>(p, s, bad);
    if (bad) shared_add(&s.not_finite, bad);
    barrier();
    const u32 count = s.bins[own], sum = warp_scan(count);
    if (lane() == warp_size - 1) s.sums[warp] = sum;
    barrier();
    const u32 of_warp = lane() < partition_threads / warp_size ? s.sums[lane()] : 0, sums = warp_scan(of_warp);
    const u32 begin = shuffle_from(sums - of_warp, warp) + sum - count, all = shuffle_from(sums, warp_size - 1);
    u8 *const partitioned = (u8 *)s.entries;
    s.bins[own] = sizeof(Entry) * begin;
    if (own < (piece - all % piece) % piece) *(Entry *)(partitioned + sizeof(Entry) * (all + own)) = 0; // pieces are written whole
    barrier();
    RC_UNROLL for (u32 k = 0; k < items_per_thread / group; k++) {
        const v16 held = s.held[k][own];
        const u32 word[group] = {held.x, held.y, held.z, held.w};
        u32 at[group];
        RC_UNROLL for (u32 u = 0; u < group; u++) at[u] = shared_fetch_add(bin_of(s, word[u]), sizeof(Entry));
        RC_UNROLL for (u32 u = 0; u < group; u++) {
            const u32 number = sizeof(Entry) == 4 ? ((k * partition_threads + own) * group + u) << 16 : 0;
            if (has_cell(word[u])) *(Entry *)(partitioned + at[u]) = (Entry)(word[u] >> 16 | number);
        }
    }
    barrier();
    grid_dependency_wait();
    launch_dependents();
    p.runs[(u64)own * blocks_x() + block_x()] = begin | count << 16;
    v16 *const place = (v16 *)p.partitioned + block_x() * (u64)(tile / piece);
    for (u32 k = own; k < (all + piece - 1) / piece; k += partition_threads) st_16(place + k, s.entries[k]);
    if (own <= not_finite) {
        const u32 of_category = own == in_range ? all : own == not_finite ? s.not_finite : here - all - s.not_finite;
        if (of_category) reduce_add(p.state + own, of_category);
    }
}

// The warps that read a bucket take eight tiles in a row, and again, so that what lies together is spread over many. tile_of is the tile that a lane takes, of
// those from `first` on, and first_run the first that it does.
template <u32 threads> RC_FN u32 tile_of(u32 first, u32 lane) { return first + thread_x() / warp_size * 8 + lane / 8 * (threads / 4) + lane % 8; }
template <u32 threads> RC_FN u32 first_run(const u32 *runs, u32 tiles) {
    const u32 mine = tile_of<threads>(0, lane());
    return mine < tiles ? runs[mine] : 0;
}

// visit_piece calls see of a piece.
template <class Entry, class See> RC_FN void visit_piece(const v16 &got, u32 past, u32 count, u32 number, See visit) {
    constexpr u32 piece = piece_of<Entry>, of_word = 4 / sizeof(Entry);
    u32 entry[piece];
    bool there[piece];
    RC_UNROLL for (u32 e = 0; e < piece; e++) {
        const u32 w = e / of_word, word = w == 0 ? got.x : w == 1 ? got.y : w == 2 ? got.z : got.w;
        entry[e] = of_word == 1 ? word : e % 2 ? word >> 16 : word & 0xffff;
        there[e] = past + e < count;
    }
    visit(entry, there, number);
}

// for_each_piece calls see(entries, there, number) of each piece of the bucket's runs, in all lanes of a warp at once; entries that are not the
// bucket's own are not there. number is what a point's number in its tile is added to. next is the first_run.
template <class Entry, u32 items_per_thread, u32 threads, u32 in_flight, class See>
RC_FN void for_each_piece(const u32 *runs, u32 tiles, const v16 *partitioned, u32 next, See visit) {
    constexpr u32 tile = items_per_thread * partition_threads, piece = piece_of<Entry>, short_run = sizeof(Entry) == 4 ? 8 : 0;
    const auto pieces_of = [](u32 run) { return run >> 16 ? (run % piece + (run >> 16) + piece - 1) / piece : 0; };
    for (u32 first = 0; first < tiles; first += threads) {
        const u32 t = tile_of<threads>(first, lane()), mine = next;
        next = t + threads < tiles ? runs[t + threads] : 0;
        v16 got[in_flight];
        u32 past[in_flight], counts[in_flight]; // the first entry's place in its run, which may be below 0, and the run's length
        if (short_run > 0 && votes(pieces_of(mine) > short_run) == 0) {
            // Where tiles are few, only the first lanes have one, and the others help them.
            const u32 ways = tiles - first <= threads / 4 ? 4 : tiles - first <= threads / 2 ? 2 : 1, homes = warp_size / ways, home = lane() % homes;
            const u32 run = shuffle_from(mine, home), pieces = pieces_of(run), at = tile_of<threads>(first, home);
            const v16 *const from = partitioned + (at * (tile / piece) + run % 65536 / piece);
            for (u32 k = lane() / homes; votes(k < pieces); k += in_flight * ways) {
                RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                    const bool has = k + u * ways < pieces;
                    got[u] = {}, past[u] = (k + u * ways) * piece - run % piece, counts[u] = has ? run >> 16 : 0;
                    if (has) got[u] = from[k + u * ways];
                }
                RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                    if (u == 0 || votes(k + u * ways < pieces)) visit_piece<Entry>(got[u], past[u], counts[u], at * tile, visit);
                }
            }
            continue;
        }
        // Of pieces end to end number k is partitioned[k + shift], its entries are those from piece * k on, and the run's are `count` from
        // `begins` on.
        const u32 count = mine >> 16, pieces = pieces_of(mine), upto = warp_scan(pieces), all = shuffle_from(upto, warp_size - 1), before = upto - pieces;
        const u32 shift = t * (tile / piece) + mine % 65536 / piece - before, begins = before * piece + mine % piece;
        const u32 some = votes(pieces > 0);
        if (all >= count_bits(some) * warp_size) {
            for (u32 rest = some; rest != 0; rest &= rest - 1) {
                const u32 r = lowest_bit(rest), run = shuffle_from(mine, r), ends = pieces_of(run), at = tile_of<threads>(first, r);
                const v16 *const from = partitioned + (at * (tile / piece) + run % 65536 / piece);
                for (u32 base = 0; base < ends; base += in_flight * warp_size) {
                    RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                        const u32 k = base + u * warp_size + lane();
                        got[u] = {}, past[u] = k * piece - run % piece, counts[u] = k < ends ? run >> 16 : 0;
                        if (k < ends) got[u] = from[k];
                    }
                    RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                        if (base + u * warp_size < ends) visit_piece<Entry>(got[u], past[u], counts[u], at * tile, visit);
                    }
                }
            }
            continue;
        }
        u32 numbers[in_flight];
        for (u32 base = 0; base < all; base += in_flight * warp_size) {
            RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                got[u] = {}, past[u] = 0, counts[u] = 0, numbers[u] = 0;
                if (base + u * warp_size >= all) continue; // for the whole warp
                const u32 k = base + u * warp_size + lane();
                u32 r = 0; // the last run that begins at or before piece k: it is not empty
                RC_UNROLL for (u32 step = warp_size / 2; step > 0; step /= 2) r += shuffle_from(before, r + step) <= k ? step : 0;
                const u32 at = k + shuffle_from(shift, r), of_run = shuffle_from(count, r);
                past[u] = k * piece - shuffle_from(begins, r), numbers[u] = tile_of<threads>(first, r) * tile;
                if (k < all) got[u] = partitioned[at], counts[u] = of_run;
            }
            RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                if (base + u * warp_size < all) visit_piece<Entry>(got[u], past[u], counts[u], numbers[u], visit);
            }
        }
    }
}

} // namespace rc
