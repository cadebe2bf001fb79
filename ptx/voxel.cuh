// voxel.cuh has what the voxel kernels share: where points lie, the grid, and how a point gets its cell.
//
// A call of Voxelize is a chain of small kernels; ops/cuda/voxelize.go lists them, algorithm by algorithm. Each has a parameter struct of
// its own, composed of the parts below. Steps count elements; a pointer that is not used is null. What one kernel of a chain writes and
// the next reads is not constant while that runs, as a kernel may begin before the one in front of it has ended. A launch finds no
// parameter in the cache, and waits for each line of 64 bytes, the first of which holds 48, when it comes to it: what is needed first
// lies first.
#pragma once
#include "values.cuh"
#include "warp.cuh"

namespace rc {

RC_HOST enum voxel_reduction : u32 { by_default, occupancy, count, sum, mean, greatest, smallest, majority };

// The words in state: counters, the number of voxels found, the number of pieces for voxel_reduce_large with its slots in the upper bits,
// and whether voxel_reduce_truncated has work. In voxel_group.cu `found` is the number of cells with several points, `kept` has the number
// of single points in the upper bits and of points in the order below, and `filled` is the filled part of the grid. In voxel_bucket.cu
// `kept` is the number of points in the order.
RC_HOST enum voxel_state : u32 { in_range, out_of_range, not_finite, found, written, dropped, kept, large_pieces, filled, to_truncate, state_words };

// voxel_cloud has the points' addresses and each block's share.
RC_HOST struct voxel_cloud {
    const void *points;  // [n,3] f32 or f64
    const void *poses;   // [4,4], one or for each row
    const i64 *offsets;  // [b + 1] where each row's points begin; not read if there is one row
    u32 n, b;            // points, rows
    u32 chunk;           // block i handles points i * chunk to i * chunk + chunk - 1, if blocks handle chunks
    u32 flags;
    i64 point_step;
    u64 pose_batch;      // 0 for one pose

    RC_FLAG(flags, bool, wide, 0, 1)    // points are f64
    RC_FLAG(flags, bool, by_four, 1, 1) // four points are three aligned loads with 16 bytes each
    RC_FN_MEMBER u64 first() const { return (u64)block_x() * chunk; }
    RC_FN_MEMBER u64 last() const { return first() + chunk < n ? first() + chunk : n; }
};

// voxel_grid has the cells.
RC_HOST struct voxel_grid {
    u64 keys; // the number of cells in all rows; also the key for a point in no cell, which is above all others
    u32 n_x, n_y, n_z;
    float inverse_x, inverse_y, inverse_z; // 1 / size, or NaN if it cannot replace the division
    double min_x, min_y, min_z, size_x, size_y, size_z;
    u32 xyz; // 1 if z is the fastest dimension, 0 if x is
    u32 border; // indices to cut off at each end of an axis

    RC_FN_MEMBER u32 n0() const { return xyz ? n_x : n_z; }
    RC_FN_MEMBER u32 n2() const { return xyz ? n_z : n_x; }
};

// row_of returns the row of a point: the last that begins at or before it.
RC_FN u32 row_of(const voxel_cloud &c, u64 i) {
    u32 lo = 0, hi = c.b;
    while (hi - lo > 1) {
        const u32 mid = lo + (hi - lo) / 2;
        if ((i64)ld_nc_u64(c.offsets + mid) <= (i64)i)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

template <class T> struct position {
    T x, y, z;
};

RC_FN float ld_element(const float *p) { return ld_nc_f32(p); }
RC_FN double ld_element(const double *p) { return ld_nc_f64(p); }

// load_group loads n of N points from point i on, four f32 points as three loads of 16 bytes where they can be; the others are 0.
template <class T, u32 N> RC_FN void load_group(const voxel_cloud &c, u64 i, u32 n, position<T> (&at)[N]) {
    if constexpr (sizeof(T) == 4 && N == 4) {
        if (c.by_four() && n == N) {
            const v16 *q = (const v16 *)((const float *)c.points + 3 * i);
            const v16 u = ld_nc_16(q), v = ld_nc_16(q + 1), w = ld_nc_16(q + 2);
            at[0] = {as_f32(u.x), as_f32(u.y), as_f32(u.z)}, at[1] = {as_f32(u.w), as_f32(v.x), as_f32(v.y)};
            at[2] = {as_f32(v.z), as_f32(v.w), as_f32(w.x)}, at[3] = {as_f32(w.y), as_f32(w.z), as_f32(w.w)};
            return;
        }
    }
    RC_UNROLL for (u32 u = 0; u < N; u++) {
        at[u] = {};
        if (u >= n) continue;
        const T *p = (const T *)c.points + (i64)(i + u) * c.point_step;
        at[u] = {ld_element(p), ld_element(p + 1), ld_element(p + 2)};
    }
}

// posed applies a row's pose, each step rounded.
template <class T> RC_FN position<T> posed(const voxel_cloud &c, position<T> at, u32 row) {
    if (c.poses == nullptr) return at;
    const T *m = (const T *)c.poses + row * c.pose_batch;
    T r[3];
    RC_UNROLL for (u32 a = 0; a < 3; a++)
        r[a] = ((ld_element(m + 4 * a) * at.x + ld_element(m + 4 * a + 1) * at.y) + ld_element(m + 4 * a + 2) * at.z) + ld_element(m + 4 * a + 3);
    return {r[0], r[1], r[2]};
}

// index_along returns the index of a coordinate along an axis: floor((x - lo) / size), the quotient rounded, or ~0 where that is
// below 0, 2^31 or more, or NaN.
RC_FN u32 index_of(double q) { return q >= 0 && q < 2147483648.0 ? (u32)q : ~0u; }
RC_FN u32 index_of(float q) { return q >= 0 && q < 2147483648.0f ? (u32)q : ~0u; }
RC_FN u32 index_along(double x, double lo, double size, float) { return index_of(floor_f(div_rn(x - lo, size))); }

// In float the product with 1 / size gives the floor of the rounded quotient, unless it lies within 2^-20 of itself of a whole
// number: it is within 2^-21.5 of the true quotient (1 / size is within 2^-22, the product rounds by 2^-24), and the rounded one
// within 2^-24. Of numbers too small for that the margin is 0, and 1 - past is no more.
RC_FN u32 index_along(float x, float lo, float size, float inverse) {
    const float d = x - lo, q = d * inverse, c = floor_f(q), past = q - c, margin = abs_f(q) * 0x1p-20f;
    if (past > margin && 1.0f - past > margin) return index_of(c);
    return index_of(floor_f(div_rn(d, size)));
}

// key_of returns the key of a position, and which counter it belongs to. A coordinate that is not finite has no index.
template <class T> RC_FN u64 key_of(const voxel_grid &g, const position<T> &at, u32 row, u32 &category) {
    const u32 x = index_along(at.x, (T)g.min_x, (T)g.size_x, g.inverse_x) - g.border, y = index_along(at.y, (T)g.min_y, (T)g.size_y, g.inverse_y) - g.border,
              z = index_along(at.z, (T)g.min_z, (T)g.size_z, g.inverse_z) - g.border;
    if (x < g.n_x && y < g.n_y && z < g.n_z) {
        category = in_range;
        const u32 first = g.xyz ? x : z, last = g.xyz ? z : x;
        if (g.keys >> 32) return (((u64)row * g.n0() + first) * g.n_y + y) * g.n2() + last;
        return ((row * g.n0() + first) * g.n_y + y) * g.n2() + last;
    }
    category = is_finite(at.x) && is_finite(at.y) && is_finite(at.z) ? out_of_range : not_finite;
    return g.keys;
}

RC_HOST constexpr u32 point_group = 4; // the points for which a thread finds the cells at once
template <class T> constexpr u32 group_of = sizeof(T) == 4 ? point_group : 1;

// keys_of finds the keys of n of N points from point i on, g.keys for those in no cell and past the last, asks see(which, key) of
// each, in all threads of the block, what to keep, and adds up those out of range, and those not finite. The points are taken one after the other: the code
// for four at once runs no faster once it has to be fetched.
template <class T, u32 N, class See>
RC_FN void keys_of(const voxel_cloud &c, const voxel_grid &g, u64 i, u32 n, u64 (&key)[N], u32 (&missed)[2], See visit) {
    position<T> at[N];
    load_group<T>(c, i, n, at);
    RC_UNROLL for (u32 u = 0; u < N; u++) key[u] = g.keys;
    RC_NO_UNROLL for (u32 u = 0; u < N; u++) {
        const u32 row = c.b > 1 && u < n ? row_of(c, i + u) : 0;
        u32 category;
        u64 k = key_of<T>(g, posed<T>(c, at[0], row), row, category);
        if (u < n) missed[0] += category == out_of_range, missed[1] += category == not_finite;
        if (u >= n) k = g.keys;
        k = visit(u, k);
        RC_UNROLL for (u32 v = 0; v + 1 < N; v++) at[v] = at[v + 1], key[v] = key[v + 1]; // the next comes to the front
        key[N - 1] = k;
    }
}

// add_missed counts the block's points: those of a thread that are out of range, and not finite, and the others. sums are 0.
RC_FN void add_missed(const voxel_cloud &c, u64 *state, u32 (&sums)[2], const u32 (&missed)[2]) {
    RC_UNROLL for (u32 k = 0; k < 2; k++) {
        if (missed[k]) shared_add(&sums[k], missed[k]);
    }
    barrier();
    if (thread_x() < 3 && c.first() < c.last()) {
        const u32 out = sums[0], bad = sums[1];
        const u32 count = thread_x() == in_range ? (u32)(c.last() - c.first()) - out - bad : thread_x() == out_of_range ? out : bad;
        if (count) reduce_add(state + thread_x(), count);
    }
}

// ---- The buckets of voxel_partition.cuh ----

RC_HOST constexpr u32 buckets = 512; // buckets for a partition of cells

// bucket_of partitions cells, 2^G neighbouring ones at a time; a bucket's own have the numbers cell_in_bucket; key_in_bucket is the
// inverse. Of 2^25 cells a bucket has 2^16.
template <u32 G> RC_FN u32 bucket_of(u32 key) { return (key >> G ^ key >> (G + 9) ^ key >> (G + 18)) % buckets; }
template <u32 G> RC_FN u32 cell_in_bucket(u32 key) { return key >> (G + 9) << G | key % (1u << G); }
template <u32 G> RC_FN u64 key_in_bucket(u32 bucket, u32 cell) {
    const u32 high = cell >> G;
    return (u64)high << (G + 9) | ((bucket ^ high ^ high >> 9) % buckets) << G | cell % (1u << G);
}

// cells_of_bucket is how many of all cells a bucket may have.
template <u32 G> RC_FN u32 cells_of_bucket(u64 keys) { return (u32)((keys + (buckets << G) - 1) >> (G + 9)) << G; }

} // namespace rc
