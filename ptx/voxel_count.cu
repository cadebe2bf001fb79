// voxel_count.cu counts the points of each cell of a large grid without an atomic on global memory: voxel_deal.cuh tells how cells are
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

namespace {

constexpr u32 each = 16, dealt_bits = 5; // 32 cells at once, which voxel_tally writes as 128 bytes
constexpr u32 tally_threads = 1024, in_flight = 4;
constexpr u32 part = 32768; // cells that a block counts: ops/cuda gives it so many words of shared memory, and one for each lane
constexpr u32 deal_bytes = 51408;
static_assert(sizeof(deal_shared<u16, each>) == deal_bytes, "ops/cuda gives a block so much");

} // namespace

RC_KERNEL_OCC(deal_threads, 3) voxel_deal(const voxel_job j) {
    deal<u16, each, dealt_bits>(j);
}

// Block i takes part i / 512 of bucket i % 512. extra: how many tiles there are, which is the length of a row of the table.
RC_KERNEL(tally_threads) voxel_tally(const voxel_job j) {
    extern __shared__ v16 memory[];
    u32 *const counted = (u32 *)memory;
    const u32 bucket = block_x() % buckets, begin = block_x() / buckets * part, tiles = (u32)j.extra;
    const u32 *const runs = j.table + (u64)bucket * tiles;
    const u32 spare = part + lane(); // a word for what is not to be counted: an atomic under a condition costs a branch
    wait_for_previous();
    let_next();
    const u32 next = first_run<tally_threads>(runs, tiles);
    const u32 cells_left = cells_of_bucket<dealt_bits>(j.keys) - begin, cells_here = cells_left < part ? cells_left : part;
    for (u32 k = 4 * thread_x(); k < cells_here; k += 4 * tally_threads) st_shared_16(counted + k, {0, 0, 0, 0});
    if (thread_x() < warp_size) counted[spare] = 0;
    barrier();
    walk<u16, each, tally_threads, in_flight>(runs, tiles, (const v16 *)j.from, next, [&](const auto &entry, const auto &there, u32) {
        RC_UNROLL for (u32 e = 0; e < piece_of<u16>; e++) {
            const u32 cell = entry[e] - begin;
            shared_add(&counted[!there[e] || cell > spare ? spare : cell], 1);
        }
    });
    barrier();
    for (u32 k = 4 * thread_x(); k < cells_here; k += 4 * tally_threads) {
        const u64 key = key_in_bucket<dealt_bits>(bucket, begin + k);
        if (key + 4 <= j.keys) {
            st_16((u32 *)j.out + key, {counted[k], counted[k + 1], counted[k + 2], counted[k + 3]});
            continue;
        }
        for (u32 u = 0; u < 4; u++) {
            if (key + u < j.keys) ((u32 *)j.out)[key + u] = counted[k + u];
        }
    }
}
