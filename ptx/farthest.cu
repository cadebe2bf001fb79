// farthest.cu chooses points that are far apart, one after the other: ops/farthest.go has the rule.
//
// Step 0 gives each finite point an infinite distance. Each later step takes the greatest key of the step before, writes that point's index, and lowers the
// distances of all points to those from it. A key is a point's distance and the complement of its index, so the greatest is the farthest point, and the
// lowest of several. The same thread has the same points in every step.
//
// If a row has one block, that makes all steps in one launch, and the key stays in registers. Otherwise each step is a launch: each block writes its greatest
// key, and reads those of all blocks of its row in the next.
// Bytes moved by a step: the points once, and their distances twice; all lie in the cache if it is large enough.
#include "warp.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 farthest_threads = 512;
constexpr u32 warps = farthest_threads / warp_size;

RC_HOST struct farthest_params {
    const float *points;
    i64 *indices;      // [b,k]
    float *distances;  // [b,n], -1 for a point that is not finite
    u64 *best;         // [2,b,blocks], the greatest keys of even steps and of odd ones; not used with one block
    const u32 *firsts; // [b], the index from which the first point is searched, or null for 0
    u64 row, step;     // elements from a row to the next, and from a point to the next
    u32 b, n, k;
    u32 blocks, share; // blocks in a row, and points in a block
    u32 from, to;      // the steps of this launch; there are k + 1
};

// greatest_of returns the greatest key of the block's threads.
RC_FN u64 greatest_of(u64 key, u64 (&kept)[warps]) {
    RC_UNROLL for (u32 d = warp_size / 2; d > 0; d /= 2) {
        const u64 other = shuffle_down(key, d);
        if (other > key) key = other;
    }
    barrier();
    if (lane() == 0) kept[thread_x() / warp_size] = key;
    barrier();
    key = kept[0];
    RC_UNROLL for (u32 i = 1; i < warps; i++) {
        if (kept[i] > key) key = kept[i];
    }
    return key;
}

} // namespace

RC_KERNEL(farthest_threads) farthest(const farthest_params p) {
    __shared__ u64 kept[warps];
    grid_dependency_wait();
    launch_dependents();
    const u32 row = block_x() / p.blocks, block = block_x() - row * p.blocks;
    const float *points = waited(p.points) + row * p.row;
    float *distances = p.distances + (u64)row * p.n;
    const u32 first = p.firsts == nullptr ? 0 : p.firsts[row];
    const u32 begin = block * p.share, end = p.n - begin < p.share ? p.n : begin + p.share;
    u64 key = 0;
    for (u32 i = p.from; i < p.to; i++) {
        u32 chosen = 0;
        if (i > 0) {
            if (p.blocks > 1) {
                const u64 *best = p.best + ((u64)((i - 1) % 2) * p.b + row) * p.blocks;
                key = 0;
                for (u32 other = thread_x(); other < p.blocks; other += farthest_threads) {
                    const u64 its = ld_relaxed(best + other);
                    if (its > key) key = its;
                }
                key = greatest_of(key, kept);
            }
            chosen = ~(u32)key;
            if (i == 1 && key != 0) chosen = (u32)(((u64)chosen + first) % p.n);
            if (block == 0 && thread_x() == 0) st_u64(p.indices + (u64)row * p.k + i - 1, key == 0 ? ~0ull : (u64)chosen);
        }
        if (i == p.k) return;
        u64 own = 0;
        if (i == 0) {
            for (u32 at = begin + thread_x(); at < end; at += farthest_threads) {
                const float *q = points + (u64)at * p.step;
                const bool good = is_finite(ld_nc_f32(q)) && is_finite(ld_nc_f32(q + 1)) && is_finite(ld_nc_f32(q + 2));
                st_f32(distances + at, good ? as_f32(0x7f800000u) : -1.0f);
                const u32 rank = at >= first ? at - first : at + (p.n - first);
                const u64 its = 0x7f800000ull << 32 | ~rank;
                if (good && its > own) own = its;
            }
        } else if (key != 0) {
            const float *q = points + (u64)chosen * p.step;
            const float cx = ld_nc_f32(q), cy = ld_nc_f32(q + 1), cz = ld_nc_f32(q + 2);
            for (u32 at = begin + thread_x(); at < end; at += farthest_threads) {
                q = points + (u64)at * p.step;
                const float x = ld_nc_f32(q) - cx, y = ld_nc_f32(q + 1) - cy, z = ld_nc_f32(q + 2) - cz;
                const float was = as_f32(ld_relaxed((const u32 *)distances + at)), d = (x * x + y * y) + z * z;
                const float now = d < was ? d : was;
                if (d < was) st_f32(distances + at, d);
                const u64 its = (u64)bits(now) << 32 | ~at;
                if (now >= 0.0f && its > own) own = its;
            }
        }
        key = greatest_of(own, kept);
        if (p.blocks > 1 && thread_x() == 0) st_u64(p.best + ((u64)(i % 2) * p.b + row) * p.blocks + block, key);
    }
}
