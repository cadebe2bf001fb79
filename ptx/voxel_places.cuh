// voxel_places.cuh counts the points of a bucket's cells, and finds their places, for the kernels that read what voxel_partition_points
// wrote.
#pragma once
#include "voxel_partition.cuh"
#include "voxel_values.cuh"

namespace rc {

// points that a thread partitions, 2^4 cells at once, so that points in few places go to many buckets
RC_HOST constexpr u32 group_items_per_thread = 8, group_bits = 4;
RC_HOST constexpr u32 group_partition_shared = 35024;      // bytes of shared memory for a block in voxel_partition_points
static_assert(sizeof(partition_shared<u32, group_items_per_thread>) == group_partition_shared, "the host gives a block so much");

// places has for each entry of a piece its cell's counter among those from `begin` on, or a spare one that nothing is kept of.
constexpr u32 of_piece = piece_of<u32>;
struct places {
    u32 at[of_piece];

    template <class Entry, class There> RC_FN_MEMBER places(const Entry &entry, const There &there, u32 begin, u32 limit, u32 spare) {
        RC_UNROLL for (u32 e = 0; e < of_piece; e++) {
            const u32 cell = (entry[e] & 0xffff) - begin;
            at[e] = there[e] && cell < limit ? cell : spare;
        }
    }
};

// count_them adds the entries to their counters, take_places adds them and says what was there before each. Many may have one: the atomics of a warp
// on one word take less than finding those that do.
RC_FN void count_them(u32 *counters, const places &p) {
    RC_UNROLL for (u32 e = 0; e < of_piece; e++) shared_add(&counters[p.at[e]], 1);
}
RC_FN void take_places(u32 *counters, const places &p, u32 (&got)[of_piece]) {
    RC_UNROLL for (u32 e = 0; e < of_piece; e++) got[e] = shared_fetch_add(&counters[p.at[e]], 1);
}

} // namespace rc
