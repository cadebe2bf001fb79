// voxel_count.cu counts the points of each cell of a large grid without an atomic on global memory.
//
// Cells are dealt out, 32 neighbouring ones at a time, to 512 buckets, by a hash that spreads what lies together in space.
// voxel_bin.cu has written each point's key and counted each block's keys of each bucket, and voxel_offsets has made offsets of
// the counts. voxel_deal brings the keys of each bucket together, in any order, through shared memory, so that writes are of
// neighbours. voxel_tally counts: a block takes part of a bucket's cells, reads the bucket's keys, counts its own in shared memory,
// and writes its cells, 128 bytes at a time, the empty ones too.
// Bytes moved: 4 + 4 a point for voxel_deal, 4 for each part of a bucket, and the grid once.
#include "voxel.cuh"

using namespace rc;

namespace {

constexpr u32 deal_threads = 1024, each = 8, tile = deal_threads * each;
constexpr u32 tally_threads = 1024, in_flight = 4;
constexpr u32 part = 32768; // cells that a block counts: ops/cuda gives it so many words of shared memory
constexpr u32 nothing = ~0u;

} // namespace

// extra: the words of a row of the table, then at bit 32 the number of rows, each of which is a block's. The totals follow the last
// row, the 256th at least. A table of one row counts voxels, and leaves their number in the state.
RC_KERNEL(256) voxel_offsets(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ u32 sums[8];
    const u32 words = (u32)j.extra, count = (u32)(j.extra >> 32);
    u32 *const row = j.table + (u64)block_x() * words;
    u32 before = 0;
    for (u32 base = 0; base < words; base += threads_x()) {
        const u32 i = base + thread_x();
        u32 total;
        const u32 v = i < words ? row[i] : 0, scanned = block_scan(v, sums, total);
        if (i < words) row[i] = before + scanned;
        before += total;
    }
    if (thread_x() == 0) {
        j.table[(u64)(blocks_x() < 256 ? 256 : blocks_x()) * words + block_x()] = before;
        if (count == 1) j.state[found] = before;
    }
}

RC_KERNEL(deal_threads) voxel_deal(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    __shared__ u32 bins[buckets]; // of the tile's keys; then where they begin in it
    __shared__ u32 away[buckets]; // from a place in the tile to that in the output
    __shared__ u32 sums[deal_threads / warp_size];
    __shared__ u32 keys_of[tile];
    wait_for_previous();
    let_next();
    const u32 own = thread_x(); // the bucket that the thread keeps the books of, if there is one
    u32 all;
    u32 next = block_scan(own < buckets ? j.table[(u64)buckets * blocks_x() + own] : 0, sums, all);
    if (own < buckets) next += j.table[(u64)own * blocks_x() + block_x()];
    for (u64 base = j.first(); base < j.last(); base += tile) {
        if (own < buckets) bins[own] = 0;
        barrier();
        u32 key[each], rank[each];
        RC_UNROLL for (u32 k = 0; k < each; k++) {
            const u64 i = base + k * deal_threads + thread_x();
            key[k] = i < j.last() ? ((const u32 *)j.from)[i] : nothing;
        }
        RC_UNROLL for (u32 k = 0; k < each; k++) rank[k] = key[k] == nothing ? 0 : shared_fetch_add(&bins[bucket_of(key[k])], 1);
        barrier();
        const u32 mine = own < buckets ? bins[own] : 0;
        u32 here;
        const u32 place = block_scan(mine, sums, here);
        if (own < buckets) away[own] = next - place, bins[own] = place;
        next += mine;
        barrier();
        RC_UNROLL for (u32 k = 0; k < each; k++) {
            if (key[k] != nothing) keys_of[bins[bucket_of(key[k])] + rank[k]] = key[k];
        }
        barrier();
        for (u32 at = thread_x(); at < here; at += deal_threads) {
            const u32 dealt = keys_of[at];
            ((u32 *)j.to)[away[bucket_of(dealt)] + at] = dealt;
        }
        barrier();
    }
}

// Block i takes part i / 512 of bucket i % 512. extra: the columns of the table, which the buckets' totals follow.
RC_KERNEL(tally_threads) voxel_tally(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    extern __shared__ v16 memory[];
    u32 *const counted = (u32 *)memory;
    __shared__ u32 sums[tally_threads / warp_size];
    __shared__ u32 range[2];
    for (u32 k = 4 * thread_x(); k < part; k += 4 * tally_threads) st_shared_16(counted + k, {0, 0, 0, 0});
    wait_for_previous();
    let_next();
    const u32 bucket = block_x() % buckets, piece = block_x() / buckets;
    u32 all;
    const u32 total = thread_x() < buckets ? j.table[(u64)buckets * j.extra + thread_x()] : 0, begins = block_scan(total, sums, all);
    if (thread_x() == bucket) range[0] = begins, range[1] = begins + total;
    barrier();
    const u32 *const dealt = (const u32 *)j.from;
    const u32 end = range[1];
    for (u32 i = range[0] + thread_x(); i < end; i += in_flight * tally_threads) {
        u32 key[in_flight];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) key[u] = end - i > u * tally_threads ? dealt[i + u * tally_threads] : nothing;
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const u32 cell = cell_in_bucket(key[u]);
            if (key[u] != nothing && cell / part == piece) shared_add(&counted[cell % part], 1);
        }
    }
    barrier();
    for (u32 k = 4 * thread_x(); k < part; k += 4 * tally_threads) {
        const u64 key = key_in_bucket(bucket, piece * part + k);
        if (key + 4 <= j.keys) {
            st_16((u32 *)j.out + key, {counted[k], counted[k + 1], counted[k + 2], counted[k + 3]});
            continue;
        }
        for (u32 u = 0; u < 4; u++) {
            if (key + u < j.keys) ((u32 *)j.out)[key + u] = counted[k + u];
        }
    }
}
