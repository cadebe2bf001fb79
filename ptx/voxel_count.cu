// voxel_count.cu counts the points of each cell of a large grid without an atomic on global memory.
//
// Cells are dealt out, 32 neighbouring ones at a time, to 512 buckets, by a hash that spreads what lies together in space. A cell's
// number in its bucket takes 16 bits. Nothing needs an order, but that what belongs to a bucket can be found:
//
// voxel_deal takes a tile of 8192 points a block, 16 a thread. It writes the cells of the points, those of a bucket together, to
// the tile's own place, through shared memory, and a table of runs: where in the tile each bucket's begin, and how many they are. A
// point in no cell leaves nothing.
//
// voxel_tally takes part of a bucket's cells a block. Its warps walk over the bucket's row of the table: the runs of 32 tiles are
// laid end to end, in pieces of 16 bytes, which the lanes take one after the other, so that a run of any length keeps all of them
// busy. The block counts in shared memory, and writes its cells, 128 bytes at a time, the empty ones too.
//
// Bytes moved: the points; 2 a point written and, in whole pieces, read for each part of a bucket; 4 written and read for each run,
// which is 1 for 4 points; and the grid once.
#include "voxel.cuh"

using namespace rc;

namespace {

constexpr u32 deal_threads = 512, each = 16, group = 4, tile = deal_threads * each;
constexpr u32 tally_threads = 1024, in_flight = 4;
constexpr u32 part = 32768; // cells that a block counts: ops/cuda gives it so many words of shared memory, and one for each lane
constexpr u32 nothing = ~0u;
constexpr u32 piece = 8; // cells of 16 bytes
static_assert(deal_threads == buckets, "a thread keeps the books of one bucket");

struct deal_shared {
    v16 held[each / group][deal_threads]; // of each point 4 times its bin and, from bit 16 on, its cell
    v16 cells[tile / piece];              // those of a bucket together
    u32 bins[buckets + warp_size];        // how many cells; then in which byte the next one goes. The last are a lane's each, for no cell
    u32 sums[deal_threads / warp_size];
    u32 not_finite, unused[3];
};
constexpr u32 deal_bytes = 51408;
static_assert(sizeof(deal_shared) == deal_bytes, "ops/cuda gives a block so much");

// A point in no cell has a bin as well, since an atomic under a condition costs a branch, and the lanes' bins do not meet.
RC_FN u32 *bin_of(deal_shared &s, u32 word) { return (u32 *)((u8 *)s.bins + word % 65536); }
RC_FN bool has_cell(u32 word) { return !(word & 4 * buckets); }

// quick_index finds an index without a division, and says whether it is right where there are n cells: floor((x - lo) / size), the
// quotient rounded, or n or more where that is no cell. t = (x - lo) * inverse is within 3 * 2^-24 of itself of the quotient: inverse, t
// and the quotient are each rounded once. So what lies between -1 and n + 1 has one floor, c, if t is farther than 2^-22 (n + 2) from
// whole numbers, which is nearer than near_of(n) to the middle between two; what lies beyond is in no cell either way. Floats from
// 2^23 to 2^24 are the whole numbers: a sum in there that is rounded down is a floor, and its last bits are an integer.
RC_FN float near_of(u32 n) { return 0.5f - ((float)n + 2.0f) * 0x1p-22f; }
RC_FN bool quick_index(float x, float lo, float inverse, float near, u32 &index) {
    constexpr float whole = 0x1.8p23f;
    const float t = (x - lo) * inverse, sum = add_rm(t, whole), c = sum - whole, past = t - c;
    index = bits(sum) - bits(whole);
    return abs_f(past - 0.5f) < near;
}

// exact_key is key_of, or nothing for a point in no cell; it counts what is not finite.
template <class T> RC_FN u32 exact_key(const voxel_job &j, const position<T> &at, u32 row, u32 &bad) {
    u32 kind;
    const u64 key = key_of<T>(j, at, row, kind);
    bad += kind == not_finite;
    return kind == in_range ? (u32)key : nothing;
}

// take holds the keys of a thread's group k, and counts them.
RC_FN void take(deal_shared &s, u32 k, const u32 (&key)[group]) {
    u32 word[group];
    RC_UNROLL for (u32 u = 0; u < group; u++) {
        word[u] = 4 * bucket_of(key[u]) | cell_in_bucket(key[u]) << 16;
        if (key[u] == nothing) word[u] = 4 * (buckets + lane());
        shared_add(bin_of(s, word[u]), 1);
    }
    st_shared_16(&s.held[k][thread_x()], {word[0], word[1], word[2], word[3]});
}

// deal_quickly takes a whole tile of f32 points, four of them 48 aligned bytes, of one row without a pose. Those near a border
// between cells are looked at again.
RC_FN void deal_quickly(const voxel_job &j, deal_shared &s, u32 &bad) {
    const float min_x = (float)j.min_x, min_y = (float)j.min_y, min_z = (float)j.min_z;
    const float near_x = near_of(j.n_x), near_y = near_of(j.n_y), near_z = near_of(j.n_z);
    const u32 step_x = j.xyz() ? j.n_y * j.n_z : 1, step_y = j.n2(), step_z = j.xyz() ? 1 : j.n_y * j.n_x;
    RC_ROLLED for (u32 k = 0; k < each / group; k++) {
        const u32 i = block_x() * tile + (k * deal_threads + thread_x()) * group;
        position<float> at[group];
        load_group<float>(j, i, group, at);
        u32 key[group], unsure = 0;
        RC_UNROLL for (u32 u = 0; u < group; u++) {
            u32 x, y, z;
            const bool sure_x = quick_index(at[u].x, min_x, j.inverse_x, near_x, x),
                       sure_y = quick_index(at[u].y, min_y, j.inverse_y, near_y, y),
                       sure_z = quick_index(at[u].z, min_z, j.inverse_z, near_z, z);
            if (!(sure_x & sure_y & sure_z)) unsure |= 1u << u;
            const bool in = (x < j.n_x) & (y < j.n_y) & (z < j.n_z);
            key[u] = in ? x * step_x + y * step_y + z * step_z : nothing;
        }
        while (unsure) {
            const u32 one = unsure & -unsure;
            unsure -= one;
            const float *const p = (const float *)j.points + 3 * (u64)(i + count_bits(one - 1));
            const u32 exact = exact_key<float>(j, {ld_nc_f32(p), ld_nc_f32(p + 1), ld_nc_f32(p + 2)}, 0, bad);
            RC_UNROLL for (u32 u = 0; u < group; u++) {
                if (one == 1u << u) key[u] = exact;
            }
        }
        take(s, k, key);
    }
}

// deal_slowly takes any tile.
template <class T> RC_FN void deal_slowly(const voxel_job &j, deal_shared &s, u32 &bad) {
    RC_ROLLED for (u32 k = 0; k < each / group; k++) {
        const u32 i = block_x() * tile + (k * deal_threads + thread_x()) * group;
        u32 key[group] = {nothing, nothing, nothing, nothing};
        RC_ROLLED for (u32 u = 0; u < group && i + u < j.n; u++) {
            position<T> at[1];
            load_group<T>(j, i + u, 1, at);
            const u32 row = j.b > 1 ? row_of(j, i + u) : 0;
            const u32 exact = exact_key<T>(j, posed<T>(j, at[0], row), row, bad);
            RC_UNROLL for (u32 v = 0; v < group; v++) {
                if (v == u) key[v] = exact;
            }
        }
        take(s, k, key);
    }
}

} // namespace

// Block i takes tile i: points i * tile to i * tile + tile - 1.
RC_KERNEL_OCC(deal_threads, 3) voxel_deal(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    extern __shared__ v16 memory[];
    deal_shared &s = *(deal_shared *)memory;
    const u32 own = thread_x(), warp = own / warp_size;
    s.bins[own] = 0;
    if (own < warp_size) s.bins[buckets + own] = 0;
    if (own == 0) s.not_finite = 0;
    barrier();
    const u32 here = j.n - block_x() * tile < tile ? j.n - block_x() * tile : tile;
    u32 bad = 0;
    if (here == tile && j.by_four() && !j.poses && j.b == 1)
        deal_quickly(j, s, bad);
    else if (j.wide())
        deal_slowly<double>(j, s, bad);
    else
        deal_slowly<float>(j, s, bad);
    if (bad) shared_add(&s.not_finite, bad);
    barrier();
    const u32 count = s.bins[own], sum = warp_scan(count);
    if (lane() == warp_size - 1) s.sums[warp] = sum;
    barrier();
    const u32 of_warp = lane() < deal_threads / warp_size ? s.sums[lane()] : 0, sums = warp_scan(of_warp);
    const u32 begin = shuffle_from(sums - of_warp, warp) + sum - count, all = shuffle_from(sums, warp_size - 1);
    u8 *const dealt = (u8 *)s.cells;
    s.bins[own] = 2 * begin;
    if (own < (piece - all % piece) % piece) *(u16 *)(dealt + 2 * (all + own)) = 0; // pieces are written whole
    barrier();
    RC_UNROLL for (u32 k = 0; k < each / group; k++) {
        const v16 held = s.held[k][own];
        const u32 word[group] = {held.x, held.y, held.z, held.w};
        u32 at[group];
        RC_UNROLL for (u32 u = 0; u < group; u++) at[u] = shared_fetch_add(bin_of(s, word[u]), 2);
        RC_UNROLL for (u32 u = 0; u < group; u++) {
            if (has_cell(word[u])) *(u16 *)(dealt + at[u]) = (u16)(word[u] >> 16);
        }
    }
    barrier();
    wait_for_previous();
    let_next();
    j.table[(u64)own * blocks_x() + block_x()] = begin | count << 16;
    v16 *const place = (v16 *)j.to + block_x() * (u64)(tile / piece);
    for (u32 k = own; k < (all + piece - 1) / piece; k += deal_threads) st_16(place + k, s.cells[k]);
    if (own <= not_finite) {
        const u32 of_kind = own == in_range ? all : own == not_finite ? s.not_finite : here - all - s.not_finite;
        if (of_kind) reduce_add(j.state + own, of_kind);
    }
}

// Block i takes part i / 512 of bucket i % 512. extra: how many tiles there are, which is the length of a row of the table.
RC_KERNEL(tally_threads) voxel_tally(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    extern __shared__ v16 memory[];
    u32 *const counted = (u32 *)memory;
    const u32 bucket = block_x() % buckets, begin = block_x() / buckets * part, tiles = (u32)j.extra;
    const u32 *const runs = j.table + (u64)bucket * tiles;
    const v16 *const dealt = (const v16 *)j.from;
    const u32 spare = part + lane(); // a word for what is not to be counted: an atomic under a condition costs a branch
    // Tiles are given out eight to a warp, and again, so that what lies together goes to many.
    const u32 mine = thread_x() / warp_size * 8 + lane() / 8 * (tally_threads / 4) + lane() % 8;
    wait_for_previous();
    let_next();
    u32 next = mine < tiles ? runs[mine] : 0;
    const u32 cells_left = (u32)((j.keys + 32 * buckets - 1) / (32 * buckets)) * 32 - begin, cells_here = cells_left < part ? cells_left : part;
    for (u32 k = 4 * thread_x(); k < cells_here; k += 4 * tally_threads) st_shared_16(counted + k, {0, 0, 0, 0});
    if (thread_x() < warp_size) counted[spare] = 0;
    barrier();
    for (u32 first = 0; first < tiles; first += tally_threads) {
        const u32 t = first + mine, run = next, count = run >> 16, pieces = count ? (run % piece + count + piece - 1) / piece : 0;
        next = t + tally_threads < tiles ? runs[t + tally_threads] : 0;
        const u32 upto = warp_scan(pieces), all = shuffle_from(upto, warp_size - 1), before = upto - pieces;
        // Of pieces end to end: number k is dealt[k + shift], its cells are those from 8 k on, and the run's are `count` from `begins` on.
        const u32 shift = t * (tile / piece) + run % 65536 / piece - before, begins = before * piece + run % piece;
        for (u32 base = 0; base < all; base += in_flight * warp_size) {
            v16 got[in_flight];
            u32 past[in_flight], counts[in_flight]; // the first cell's place in its run, which may be below 0, and the run's length
            RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                got[u] = {}, past[u] = 0, counts[u] = 0;
                if (base + u * warp_size >= all) continue; // for the whole warp
                const u32 k = base + u * warp_size + lane();
                u32 r = 0; // the last run that begins at or before piece k: it is not empty
                RC_UNROLL for (u32 step = warp_size / 2; step > 0; step /= 2) r += shuffle_from(before, r + step) <= k ? step : 0;
                const u32 at = k + shuffle_from(shift, r);
                past[u] = k * piece - shuffle_from(begins, r);
                counts[u] = shuffle_from(count, r);
                if (k < all)
                    got[u] = dealt[at];
                else
                    counts[u] = 0;
            }
            RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                if (base + u * warp_size >= all) continue;
                RC_UNROLL for (u32 e = 0; e < piece; e++) {
                    const u32 two = e < 2 ? got[u].x : e < 4 ? got[u].y : e < 6 ? got[u].z : got[u].w;
                    const u32 cell = (e % 2 ? two >> 16 : two & 0xffff) - begin;
                    shared_add(&counted[past[u] + e >= counts[u] || cell > spare ? spare : cell], 1);
                }
            }
        }
    }
    barrier();
    for (u32 k = 4 * thread_x(); k < cells_here; k += 4 * tally_threads) {
        const u64 key = key_in_bucket(bucket, begin + k);
        if (key + 4 <= j.keys) {
            st_16((u32 *)j.out + key, {counted[k], counted[k + 1], counted[k + 2], counted[k + 3]});
            continue;
        }
        for (u32 u = 0; u < 4; u++) {
            if (key + u < j.keys) ((u32 *)j.out)[key + u] = counted[k + u];
        }
    }
}
