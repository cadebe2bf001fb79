// voxel_list.cuh has the list of voxels that a sort leaves, where each goes, and what is written of it besides its values.
#pragma once
#include "voxel_large.cuh"

namespace rc {

// voxel_list has the voxels in the order of their keys, and their outputs.
RC_HOST struct voxel_list {
    voxel_values values;
    const u64 *keys;     // [n] keys of the sorted points
    const u32 *order;    // [n] the sorted points
    const u32 *start;    // [voxels + 1] where each voxel's points begin in the order
    const u32 *voxel_at; // [n] each sorted point's voxel; null without `inverse`
    const u32 *numbers;  // [voxels] each hard voxel's place in the order of first points; null in other modes
    const u32 *rows;     // [2][b + 1] each row's first voxel, among the found and among the written; null for a dense grid
    u64 *state;
    i32 *coords, *counts; // null for a dense grid
    i32 *inverse;         // [n] each point's voxel, -1 at first; or null
    u32 row_voxels, v, p; // the limits: voxels in a row, voxels, points in a hard voxel
    u32 n1, n2;           // cells along the last two dimensions
    u32 batched;          // 1 if coordinates have a row
};

// place_of returns where a voxel goes: its cell in a dense grid, its number in a list, or -1 if it is dropped.
RC_FN i64 place_of(const voxel_list &l, u32 voxel, u64 key, u32 &row) {
    row = row_in(l.values, key);
    if (l.rows == nullptr) return (i64)key;
    const u32 rank = (l.numbers ? l.numbers[voxel] : voxel) - l.rows[row];
    if (rank >= l.row_voxels) return -1;
    const u32 place = l.rows[l.values.cloud.b + 1 + row] + rank;
    return place < l.v ? (i64)place : -1;
}

// describe writes a voxel's coordinates and count.
RC_FN void describe(const voxel_list &l, u64 key, i64 place, u32 row, u32 n) {
    i32 *const at = l.coords + place * (l.batched ? 4 : 3) + (l.batched ? 1 : 0);
    key -= row * l.values.cells;
    at[2] = (i32)(key % l.n2);
    key /= l.n2;
    at[1] = (i32)(key % l.n1);
    at[0] = (i32)(key / l.n1);
    if (l.batched) at[-1] = (i32)row;
    l.counts[place] = (i32)n;
}

// write_inverse writes the voxel of each point that one has kept.
RC_FN void write_inverse(const voxel_list &l) {
    if (l.inverse == nullptr) return;
    const u64 points_in = l.state[in_range];
    for (u64 i = block_x() * (u64)reduce_threads + thread_x(); i < points_in; i += blocks_x() * (u64)reduce_threads) {
        const u32 voxel = l.voxel_at[i];
        u32 row;
        const i64 place = place_of(l, voxel, l.keys[i], row);
        if (place < 0 || (l.numbers && i - l.start[voxel] >= l.p)) continue;
        l.inverse[l.order[i]] = (i32)place;
    }
}

// add_kept adds up what the threads of a block kept.
RC_FN void add_kept(u64 *state, u64 *total, u64 mine) {
    if (mine) shared_add(total, mine);
    barrier();
    if (thread_x() == 0 && *total) reduce_add(state + kept, *total);
}

// write_hard_points writes a hard voxel, which a warp does: the first n of its points, and 0 beyond. get(point, column, row) is a number of a point.
template <class T, class Get> RC_FN void write_hard_points(const voxel_list &l, u32 place, u32 begin, u32 n, u32 row, Get get) {
    const voxel_values &v = l.values;
    const u32 width = 3 + v.f;
    const u64 items = (u64)l.p * width;
    T *const out = (T *)v.out + place * items;
    for (u64 e = lane(); e < items; e += warp_size) {
        const u32 k = items >> 32 ? (u32)(e / width) : (u32)e / width, column = (u32)(e - (u64)k * width);
        T x = 0;
        if (k < n) x = get(l.order[begin + k], column, row);
        out[e] = x;
    }
}

// write_hard_voxels is a kernel that writes hard voxels of Ts. A warp finds the places of some neighbouring voxels, a lane for each, as many as are its part. Then it writes those that are kept, one
// after the other.
template <class T, class Get> RC_FN void write_hard_voxels(const voxel_list &p, u64 *total, Get get) {
    grid_dependency_wait();
    launch_dependents();
    if (thread_x() == 0) *total = 0;
    barrier();
    const u32 voxels = (u32)p.state[found], warps = warps_of_grid(), all = (voxels + warps - 1) / warps, voxels_per_warp = all < warp_size ? all : warp_size;
    u64 mine = 0;
    for (u64 base = warp_of_grid() * (u64)voxels_per_warp; base < voxels; base += (u64)voxels_per_warp * warps) {
        const u64 voxel = base + lane();
        u32 begin = 0, n = 0, row = 0;
        i64 place = -1;
        if (lane() < voxels_per_warp && voxel < voxels) {
            begin = p.start[voxel], n = p.start[voxel + 1] - begin;
            if (n > p.p) n = p.p;
            const u64 key = p.keys[begin];
            place = place_of(p, (u32)voxel, key, row);
            if (place >= 0) describe(p, key, place, row, n), mine += n;
        }
        for (u32 rest = votes(place >= 0); rest != 0; rest &= rest - 1) {
            const u32 from = lowest_bit(rest);
            write_hard_points<T>(p, shuffle_from((u32)place, from), shuffle_from(begin, from), shuffle_from(n, from), shuffle_from(row, from), get);
        }
    }
    write_inverse(p);
    add_kept(p.state, total, mine);
}

} // namespace rc
