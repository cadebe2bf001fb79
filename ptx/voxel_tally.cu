// voxel_tally.cu counts the points of each cell of a large grid without an atomic on global memory: voxel_deal.cuh tells how cells are
// dealt out to buckets.
//
// voxel_deal takes a tile of 8192 points a block, 16 a thread, and leaves their cells.
//
// voxel_tally takes part of a bucket's cells a block. The block counts in shared memory, and writes its cells, 128 bytes at a time, the
// empty ones too.
//
// Bytes moved: the points; 2 a point written and, in whole pieces, read for each part of a bucket; 4 written and read for each run,
// which is 1 for 4 points; and the grid once.
#include "voxel_deal.cuh"

using namespace rc;

// voxel_tally_params: what voxel_deal has left, and the grid.
RC_HOST struct voxel_tally_params {
    const u32 *runs;
    const void *dealt;
    i32 *out;
    u64 keys;
    u32 tiles;
};

RC_HOST constexpr u32 tally_each = 16, tally_bits = 5; // points a thread deals, 2^5 cells at once, which voxel_tally writes as 128 bytes
RC_HOST constexpr u32 tally_threads = 1024;
RC_HOST constexpr u32 tally_part = 32768; // cells that a block counts: a word of shared memory each, and one for each lane
RC_HOST constexpr u32 tally_deal_shared = 51408; // bytes that a block of voxel_deal has
static_assert(sizeof(deal_shared<u16, tally_each>) == tally_deal_shared, "the host gives a block so much");

RC_KERNEL_OCC(deal_threads, 3) voxel_deal(const voxel_deal_params p) {
    deal<u16, tally_each, tally_bits>(p);
}

// Block i takes part i / 512 of bucket i % 512.
RC_KERNEL(tally_threads) voxel_tally(const voxel_tally_params p) {
    constexpr u32 in_flight = 4;
    extern __shared__ v16 memory[];
    u32 *const counted = (u32 *)memory;
    const u32 bucket = block_x() % buckets, begin = block_x() / buckets * tally_part, tiles = p.tiles;
    const u32 *const runs = p.runs + (u64)bucket * tiles;
    const u32 spare = tally_part + lane(); // a word for what is not to be counted: an atomic under a condition costs a branch
    wait_for_previous();
    let_next();
    const u32 next = first_run<tally_threads>(runs, tiles);
    const u32 cells_left = cells_of_bucket<tally_bits>(p.keys) - begin, cells_here = cells_left < tally_part ? cells_left : tally_part;
    for (u32 k = 4 * thread_x(); k < cells_here; k += 4 * tally_threads) st_shared_16(counted + k, {0, 0, 0, 0});
    if (thread_x() < warp_size) counted[spare] = 0;
    barrier();
    walk<u16, tally_each, tally_threads, in_flight>(runs, tiles, (const v16 *)p.dealt, next, [&](const auto &entry, const auto &there, u32) {
        RC_UNROLL for (u32 e = 0; e < piece_of<u16>; e++) {
            const u32 cell = entry[e] - begin;
            shared_add(&counted[!there[e] || cell > spare ? spare : cell], 1);
        }
    });
    barrier();
    for (u32 k = 4 * thread_x(); k < cells_here; k += 4 * tally_threads) {
        const u64 key = key_in_bucket<tally_bits>(bucket, begin + k);
        if (key + 4 <= p.keys) {
            st_16((u32 *)p.out + key, {counted[k], counted[k + 1], counted[k + 2], counted[k + 3]});
            continue;
        }
        for (u32 u = 0; u < 4; u++) {
            if (key + u < p.keys) ((u32 *)p.out)[key + u] = counted[k + u];
        }
    }
}
