// voxel.cuh has the parameters of the voxel kernels, and how a point gets its cell.
//
// A call is a chain of small kernels. Points are cut into as many chunks as the kernels that walk over them have blocks: block b
// takes points b*chunk to b*chunk+chunk-1, in tiles, always in order.
#pragma once
#include "values.cuh"
#include "warp.cuh"

namespace rc {

// The parameters of every voxel kernel, in order. Steps count elements; a pointer that is not used is null. What the last four mean
// differs from launch to launch.
#define RC_VOXEL_PARAMS                                                                                                               \
    const void *__restrict__ points, i64 point_step, const void *__restrict__ features, i64 feature_step, const i32 *__restrict__ labels, \
        const i64 *__restrict__ offsets, const void *__restrict__ poses, u64 pose_batch, void *__restrict__ out, i32 *__restrict__ coords, \
        i32 *__restrict__ counts, i64 *__restrict__ splits, i32 *__restrict__ inverse, u64 *__restrict__ fault, u32 *__restrict__ fault_flag, \
        u64 *__restrict__ state, u64 *__restrict__ cell_keys, u32 *__restrict__ start, u32 *__restrict__ voxel_at,                    \
        u32 *__restrict__ table, u32 *__restrict__ rows, u32 *__restrict__ crowded, u32 *__restrict__ marks, u32 *__restrict__ numbers, \
        double min_x, double min_y, double min_z, double size_x, double size_y, double size_z, u32 n_x, u32 n_y, u32 n_z, u32 n,      \
        u64 chunk, u64 cells, u64 keys, u32 b, u32 f, u32 p, u32 v, u32 row_voxels, u32 flags, const void *__restrict__ from,         \
        const u32 *__restrict__ from_order, void *__restrict__ to, u32 *__restrict__ to_order, u64 extra
#define RC_VOXEL_ARGS                                                                                                                 \
    points, point_step, features, feature_step, labels, offsets, poses, pose_batch, out, coords, counts, splits, inverse, fault,      \
        fault_flag, state, cell_keys, start, voxel_at, table, rows, crowded, marks, numbers, min_x, min_y, min_z, size_x, size_y,     \
        size_z, n_x, n_y, n_z, n, chunk, cells, keys, b, f, p, v, row_voxels, flags, from, from_order, to, to_order, extra

enum modes : u32 { dense, hard, sparse };
enum reduces : u32 { by_default, occupancy, count, sum, mean, greatest, smallest, majority };

// The words of state: counters, and the number of voxels found.
enum words : u32 { in_range, out_of_range, not_finite, found, written, dropped, kept, crowds, state_words };

struct voxel_job {
    const void *points;
    i64 point_step;
    const void *features;
    i64 feature_step;
    const i32 *labels;
    const i64 *offsets;
    const void *poses;
    u64 pose_batch;
    void *out;
    i32 *coords, *counts;
    i64 *splits;
    i32 *inverse;
    u64 *fault;
    u32 *fault_flag;
    u64 *state;
    u64 *cell_keys; // [n] in the order of the points if labels are sorted first; else the sorted keys
    u32 *start;     // [voxels + 1] where each voxel's points begin in the sorted order
    u32 *voxel_at;  // [n] the voxel of each sorted point
    u32 *table;     // [256][blocks] counts of digits, or [blocks] of flags; then 256 totals
    u32 *rows;      // [2][b + 1] the first voxel of each row: of those found, of those written
    u32 *crowded;   // voxels with many points
    u32 *marks;     // [n] for each point 1 + the voxel it is the first of, or 0; then [n] how many such come before
    u32 *numbers;   // [voxels] the place of each hard voxel in the order of the first points
    double min_x, min_y, min_z, size_x, size_y, size_z;
    u32 n_x, n_y, n_z, n;
    u64 chunk, cells, keys; // keys is the key of a point in no cell, beyond all others
    u32 b, f, p, v, row_voxels, flags;
    const void *from;
    const u32 *from_order;
    void *to;
    u32 *to_order;
    u64 extra;

    RC_FN_MEMBER u32 mode() const { return flags & 3; }
    RC_FN_MEMBER u32 reduce() const { return flags >> 2 & 7; }
    RC_FN_MEMBER u32 feature_type() const { return flags >> 5 & 3; }
    RC_FN_MEMBER bool wide() const { return flags >> 7 & 1; }     // points are f64
    RC_FN_MEMBER bool batched() const { return flags >> 8 & 1; }  // coordinates have a row
    RC_FN_MEMBER bool xyz() const { return flags >> 9 & 1; }      // z is the fastest dimension
    RC_FN_MEMBER bool by_four() const { return flags >> 10 & 1; } // four points are three aligned loads of 16 bytes
    RC_FN_MEMBER u64 first() const { return block_x() * chunk; }
    RC_FN_MEMBER u64 last() const { return first() + chunk < n ? first() + chunk : n; }
    RC_FN_MEMBER u32 n0() const { return xyz() ? n_x : n_z; }
    RC_FN_MEMBER u32 n2() const { return xyz() ? n_z : n_x; }
};

// row_of returns the row of a point: the last that begins at or before it.
RC_FN u32 row_of(const voxel_job &j, u64 i) {
    u32 lo = 0, hi = j.b;
    while (hi - lo > 1) {
        const u32 mid = lo + (hi - lo) / 2;
        if ((i64)ld_nc_u64(j.offsets + mid) <= (i64)i)
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

// posed applies a row's pose, each step rounded.
template <class T> RC_FN position<T> posed(const voxel_job &j, position<T> at, u32 row) {
    if (j.poses == nullptr) return at;
    const T *m = (const T *)j.poses + row * j.pose_batch;
    T r[3];
    RC_UNROLL for (u32 a = 0; a < 3; a++)
        r[a] = ((ld_element(m + 4 * a) * at.x + ld_element(m + 4 * a + 1) * at.y) + ld_element(m + 4 * a + 2) * at.z) + ld_element(m + 4 * a + 3);
    return {r[0], r[1], r[2]};
}

// index_along returns the index of a coordinate along an axis, and whether it is one of the n.
template <class T> RC_FN bool index_along(T x, double lo, double size, u32 n, u32 &index) {
    const T q = floor_f(div_rn(x - (T)lo, (T)size));
    if (!(q >= (T)0 && q < (T)2147483648.0)) return false;
    index = (u32)q;
    return index < n;
}

// key_of returns the key of a position, and which counter it belongs to.
template <class T> RC_FN u64 key_of(const voxel_job &j, const position<T> &at, u32 row, u32 &kind) {
    if (!is_finite(at.x) || !is_finite(at.y) || !is_finite(at.z)) {
        kind = not_finite;
        return j.keys;
    }
    u32 x, y, z;
    const bool in_x = index_along(at.x, j.min_x, j.size_x, j.n_x, x), in_y = index_along(at.y, j.min_y, j.size_y, j.n_y, y),
               in_z = index_along(at.z, j.min_z, j.size_z, j.n_z, z);
    if (!(in_x && in_y && in_z)) {
        kind = out_of_range;
        return j.keys;
    }
    kind = in_range;
    return (((u64)row * j.n0() + (j.xyz() ? x : z)) * j.n_y + y) * j.n2() + (j.xyz() ? z : x);
}

// place_of returns where a voxel goes: its cell in a dense grid, its number in a list, or -1 if it is dropped.
RC_FN i64 place_of(const voxel_job &j, u32 voxel, u64 key, u32 &row) {
    row = 0;
    if (j.b > 1) row = (u32)(key / j.cells);
    if (j.mode() == dense) return (i64)key;
    const u32 rank = (j.mode() == hard ? j.numbers[voxel] : voxel) - j.rows[row];
    if (rank >= j.row_voxels) return -1;
    const u32 place = j.rows[j.b + 1 + row] + rank;
    return place < j.v ? (i64)place : -1;
}

// key_at returns the key of the point that is number i in the sorted order.
RC_FN u64 key_at(const voxel_job &j, u32 i) { return ((const u64 *)j.from)[i]; }

} // namespace rc
