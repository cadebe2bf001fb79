// voxel.cuh has the parameters of the voxel kernels, and how a point gets its cell.
//
// A call is a chain of small kernels. Points are cut into as many chunks as the kernels that walk over them have blocks: block b
// takes points b*chunk to b*chunk+chunk-1, in tiles, always in order.
#pragma once
#include "values.cuh"
#include "warp.cuh"

namespace rc {

enum modes : u32 { dense, hard, sparse };
enum reduces : u32 { by_default, occupancy, count, sum, mean, greatest, smallest, majority };

// The words of state: counters, the number of voxels found, how many pieces voxel_crowded has, and, above, slots, and whether voxel_cut has something to do. In voxel_group.cu `found` is how
// many cells of several there are, `kept` how many singles, above, and points in the order, `filled` how much of the grid. In voxel_bucket.cu
// `kept` is how many points are in the order, and `found` how many cells have any.
enum words : u32 { in_range, out_of_range, not_finite, found, written, dropped, kept, crowds, filled, to_cut, state_words };

// voxel_job is the parameter of every voxel kernel. Steps count elements; a pointer that is not used is null. What one kernel of a chain writes
// and the next reads is not constant while that runs, as a kernel may begin before the one in front of it has ended. A launch finds no parameter in
// the cache, and waits for each line of 64 bytes, the first of which holds 48, when it comes to it: what is needed first lies first.
struct voxel_job {
    // What the first four mean differs from launch to launch.
    void *to;
    u64 extra;
    const void *from;
    const u32 *from_order;
    u64 *state;
    u32 flags, b;

    const void *points;
    void *out;
    u64 keys; // the key of a point in no cell, beyond all others
    const void *poses;
    u32 n, chunk, n_x, n_y, n_z;
    float inverse_x, inverse_y, inverse_z; // 1 / size, or NaN where that is no use

    double min_x, min_y, min_z, size_x, size_y, size_z;
    u32 *table; // what is known of digits and tiles, see below; or [512][blocks] runs of voxel_deal.cuh
    const i64 *offsets;

    const void *features;
    i64 feature_step, point_step;
    u32 *to_order;
    u32 *crowded; // pieces of voxels with many points, and the slots of those of voxels of several, see voxel_values.cuh
    u64 cells;
    u32 f, p, v, row_voxels;

    const i32 *labels;
    u64 pose_batch;
    i32 *coords, *counts;
    i64 *splits;
    i32 *inverse;
    u64 *fault;
    u32 *fault_flag;

    u64 *cell_keys; // [n] in the order of the points if labels are sorted first; or the voxels of several points, see voxel_group.cu
    u32 *start;     // [voxels + 1] where each voxel's points begin in the sorted order
    u32 *voxel_at;  // [n] the voxel of each sorted point
    u32 *rows;      // [2][b + 1] the first voxel of each row: of those found, of those written
    u32 *marks;     // [n] for each point 1 + the voxel it is the first of, or 0; then [n] how many such come before
    u32 *numbers;   // [voxels] the place of each hard voxel in the order of the first points

    RC_FN_MEMBER u32 mode() const { return flags & 3; }
    RC_FN_MEMBER u32 reduce() const { return flags >> 2 & 7; }
    RC_FN_MEMBER u32 feature_type() const { return flags >> 5 & 3; }
    RC_FN_MEMBER bool wide() const { return flags >> 7 & 1; }     // points are f64
    RC_FN_MEMBER bool batched() const { return flags >> 8 & 1; }  // coordinates have a row
    RC_FN_MEMBER bool xyz() const { return flags >> 9 & 1; }      // z is the fastest dimension
    RC_FN_MEMBER bool by_four() const { return flags >> 10 & 1; } // four points are three aligned loads of 16 bytes
    RC_FN_MEMBER bool ragged() const { return flags >> 11 & 1; }  // there are offsets
    RC_FN_MEMBER bool fours() const { return flags >> 12 & 1; }   // features are groups of four f32, 16 bytes aligned, and so is `out`
    RC_FN_MEMBER bool from_zero() const { return flags >> 13 & 1; } // empty cells of occupancy are 0, and `out` is 8 bytes aligned
    RC_FN_MEMBER u64 first() const { return (u64)block_x() * chunk; }
    RC_FN_MEMBER u64 last() const { return first() + chunk < n ? first() + chunk : n; }
    RC_FN_MEMBER u32 n0() const { return xyz() ? n_x : n_z; }
    RC_FN_MEMBER u32 n2() const { return xyz() ? n_z : n_x; }
};

static_assert(sizeof(voxel_job) == 352, "ops/cuda/voxelize_chain.go packs it");

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

// load_group loads n of N points from point i on, four f32 points as three loads of 16 bytes where they can be; the others are 0.
template <class T, u32 N> RC_FN void load_group(const voxel_job &j, u64 i, u32 n, position<T> (&at)[N]) {
    if constexpr (sizeof(T) == 4 && N == 4) {
        if (j.by_four() && n == N) {
            const v16 *q = (const v16 *)((const float *)j.points + 3 * i);
            const v16 a = ld_nc_16(q), b = ld_nc_16(q + 1), c = ld_nc_16(q + 2);
            at[0] = {as_f32(a.x), as_f32(a.y), as_f32(a.z)}, at[1] = {as_f32(a.w), as_f32(b.x), as_f32(b.y)};
            at[2] = {as_f32(b.z), as_f32(b.w), as_f32(c.x)}, at[3] = {as_f32(c.y), as_f32(c.z), as_f32(c.w)};
            return;
        }
    }
    RC_UNROLL for (u32 u = 0; u < N; u++) {
        at[u] = {};
        if (u >= n) continue;
        const T *p = (const T *)j.points + (i64)(i + u) * j.point_step;
        at[u] = {ld_element(p), ld_element(p + 1), ld_element(p + 2)};
    }
}

// posed applies a row's pose, each step rounded.
template <class T> RC_FN position<T> posed(const voxel_job &j, position<T> at, u32 row) {
    if (j.poses == nullptr) return at;
    const T *m = (const T *)j.poses + row * j.pose_batch;
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

// In float the product with 1 / size tells the floor of the rounded quotient, unless it lies within 2^-20 of itself of a whole
// number: it is within 2^-21.5 of the true quotient (1 / size is within 2^-22, the product rounds by 2^-24), and the rounded one
// within 2^-24. Of numbers too small for that the margin is 0, and 1 - past is no more.
RC_FN u32 index_along(float x, float lo, float size, float inverse) {
    const float d = x - lo, q = d * inverse, c = floor_f(q), past = q - c, margin = abs_f(q) * 0x1p-20f;
    if (past > margin && 1.0f - past > margin) return index_of(c);
    return index_of(floor_f(div_rn(d, size)));
}

// key_of returns the key of a position, and which counter it belongs to. A coordinate that is not finite has no index.
template <class T> RC_FN u64 key_of(const voxel_job &j, const position<T> &at, u32 row, u32 &kind) {
    const u32 x = index_along(at.x, (T)j.min_x, (T)j.size_x, j.inverse_x), y = index_along(at.y, (T)j.min_y, (T)j.size_y, j.inverse_y),
              z = index_along(at.z, (T)j.min_z, (T)j.size_z, j.inverse_z);
    if (x < j.n_x && y < j.n_y && z < j.n_z) {
        kind = in_range;
        const u32 first = j.xyz() ? x : z, last = j.xyz() ? z : x;
        if (j.keys >> 32) return (((u64)row * j.n0() + first) * j.n_y + y) * j.n2() + last;
        return ((row * j.n0() + first) * j.n_y + y) * j.n2() + last;
    }
    kind = is_finite(at.x) && is_finite(at.y) && is_finite(at.z) ? out_of_range : not_finite;
    return j.keys;
}

template <class T> constexpr u32 group_of = sizeof(T) == 4 ? 4 : 1; // points a thread takes at once

// keys_of finds the keys of n of N points from point i on, j.keys for those in no cell and past the last, asks see(which, key) of
// each, in all threads of the block, what to keep, and adds up those out of range, and those not finite. The points are taken one after the other: the code
// for four at once runs no faster once it has to be fetched.
template <class T, u32 N, class See>
RC_FN void keys_of(const voxel_job &j, u64 i, u32 n, u64 (&key)[N], u32 (&missed)[2], See see) {
    position<T> at[N];
    load_group<T>(j, i, n, at);
    RC_UNROLL for (u32 u = 0; u < N; u++) key[u] = j.keys;
    RC_ROLLED for (u32 u = 0; u < N; u++) {
        const u32 row = j.b > 1 && u < n ? row_of(j, i + u) : 0;
        u32 kind;
        u64 k = key_of<T>(j, posed<T>(j, at[0], row), row, kind);
        if (u < n) missed[0] += kind == out_of_range, missed[1] += kind == not_finite;
        if (u >= n) k = j.keys;
        k = see(u, k);
        RC_UNROLL for (u32 v = 0; v + 1 < N; v++) at[v] = at[v + 1], key[v] = key[v + 1]; // the next comes to the front
        key[N - 1] = k;
    }
}

// add_missed counts the block's points: those of a thread that are out of range, and not finite, and the others. sums are 0.
RC_FN void add_missed(const voxel_job &j, u32 (&sums)[2], const u32 (&missed)[2]) {
    RC_UNROLL for (u32 k = 0; k < 2; k++) {
        if (missed[k]) shared_add(&sums[k], missed[k]);
    }
    barrier();
    if (thread_x() < 3 && j.first() < j.last()) {
        const u32 out = sums[0], bad = sums[1];
        const u32 count = thread_x() == in_range ? (u32)(j.last() - j.first()) - out - bad : thread_x() == out_of_range ? out : bad;
        if (count) reduce_add(j.state + thread_x(), count);
    }
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

// ---- What the sort knows of digits and tiles: the table. A launch has as many tiles as blocks ----

constexpr u32 digits = 256, digit_bits = 8;
constexpr u32 most_passes = 12, most_launches = 16; // ops/cuda lays the table out by them
constexpr u32 label_passes = 4;                     // those before the keys', if there are labels

// totals has how many keys have each digit in a pass; a ticket is how many tiles of a launch have been taken.
RC_FN u32 *totals(const voxel_job &j, u32 pass) { return j.table + pass * digits; }
RC_FN u32 *ticket(const voxel_job &j, u32 launch) { return totals(j, most_passes) + launch; }

// heads has a word for each tile of voxel_number, for voxels and then for marks. looks, where a pass has `marks`, has one for each tile
// and digit, twice, as a pass clears what the next one needs. voxel_fill clears the rest.
RC_FN u64 *heads(const voxel_job &j, u32 which) { return (u64 *)ticket(j, most_launches) + (u64)which * blocks_x(); }
RC_FN u64 *looks(const voxel_job &j, u32 side) { return (u64 *)j.marks + (u64)side * blocks_x() * digits; }

// ---- The buckets of voxel_deal.cuh ----

constexpr u32 buckets = 512;

// bucket_of deals out cells, 2^G neighbouring ones at a time; a bucket's own have the numbers cell_in_bucket; key_in_bucket finds the way
// back. Of 2^25 cells a bucket has 2^16.
template <u32 G> RC_FN u32 bucket_of(u32 key) { return (key >> G ^ key >> (G + 9) ^ key >> (G + 18)) % buckets; }
template <u32 G> RC_FN u32 cell_in_bucket(u32 key) { return key >> (G + 9) << G | key % (1u << G); }
template <u32 G> RC_FN u64 key_in_bucket(u32 bucket, u32 cell) {
    const u32 high = cell >> G;
    return (u64)high << (G + 9) | ((bucket ^ high ^ high >> 9) % buckets) << G | cell % (1u << G);
}

// cells_of_bucket is how many of all cells a bucket may have.
template <u32 G> RC_FN u32 cells_of_bucket(u64 keys) { return (u32)((keys + (buckets << G) - 1) >> (G + 9)) << G; }

} // namespace rc
