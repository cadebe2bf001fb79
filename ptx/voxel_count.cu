// voxel_count.cu counts the points of each cell of a large grid without atomics on global memory: voxel_partition.cuh says how cells
// are partitioned into buckets.
//
// voxel_partition_cells takes a tile of 8192 points per block, 16 per thread, and writes their cells, bucket by bucket.
//
// voxel_count takes a part of a bucket's cells per block. The block counts in shared memory, and writes its cells, 128 bytes at a time, the
// empty ones too.
//
// Bytes moved: the points; 2 per point written and, in whole pieces, read for each part of a bucket; 4 written and read for each run,
// of which there is 1 for 4 points; and the grid once.
#include "voxel_partition.cuh"

using namespace rc;

// voxel_count_params has the result of voxel_partition_cells, and the grid.
RC_HOST struct voxel_count_params {
    const u32 *runs;
    const void *partitioned;
    i32 *out;
    u64 keys;
    u32 tiles;
};

RC_HOST constexpr u32 count_items_per_thread = 16, count_group_bits = 5; // points that a thread partitions, 2^5 cells at once, which voxel_count writes as 128 bytes
RC_HOST constexpr u32 count_threads = 1024;
RC_HOST constexpr u32 count_part = 32768; // cells that a block counts: a word of shared memory each, and one for each lane
RC_HOST constexpr u32 count_partition_shared = 51408; // bytes of shared memory for a block in voxel_partition_cells
static_assert(sizeof(partition_shared<u16, count_items_per_thread>) == count_partition_shared, "the host gives a block so much");

RC_KERNEL_OCC(partition_threads, 3) voxel_partition_cells(const voxel_partition_params p) {
    partition<u16, count_items_per_thread, count_group_bits>(p);
}

// Block i takes part i / 512 of bucket i % 512.
RC_KERNEL(count_threads) voxel_count(const voxel_count_params p) {
    constexpr u32 in_flight = 4;
    extern __shared__ v16 memory[];
    u32 *const counted = (u32 *)memory;
    const u32 bucket = block_x() % buckets, begin = block_x() / buckets * count_part, tiles = p.tiles;
    const u32 *const runs = p.runs + (u64)bucket * tiles;
    const u32 spare = count_part + lane(); // a word for what is not to be counted: an atomic under a condition costs a branch
    grid_dependency_wait();
    launch_dependents();
    const u32 next = first_run<count_threads>(runs, tiles);
    const u32 cells_left = cells_of_bucket<count_group_bits>(p.keys) - begin, cells_here = cells_left < count_part ? cells_left : count_part;
    for (u32 k = 4 * thread_x(); k < cells_here; k += 4 * count_threads) st_shared_16(counted + k, {0, 0, 0, 0});
    if (thread_x() < warp_size) counted[spare] = 0;
    barrier();
    for_each_piece<u16, count_items_per_thread, count_threads, in_flight>(runs, tiles, (const v16 *)p.partitioned, next, [&](const auto &entry, const auto &there, u32) {
        RC_UNROLL for (u32 e = 0; e < piece_of<u16>; e++) {
            const u32 cell = entry[e] - begin;
            shared_add(&counted[!there[e] || cell > spare ? spare : cell], 1);
        }
    });
    barrier();
    for (u32 k = 4 * thread_x(); k < cells_here; k += 4 * count_threads) {
        const u64 key = key_in_bucket<count_group_bits>(bucket, begin + k);
        if (key + 4 <= p.keys) {
            st_16((u32 *)p.out + key, {counted[k], counted[k + 1], counted[k + 2], counted[k + 3]});
            continue;
        }
        for (u32 u = 0; u < 4; u++) {
            if (key + u < p.keys) ((u32 *)p.out)[key + u] = counted[k + u];
        }
    }
}
