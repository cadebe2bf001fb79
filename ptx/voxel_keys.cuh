// voxel_keys.cuh finds the keys of four points at a time, on grids whose keys take 32 bits.
#pragma once
#include "voxel.cuh"

namespace rc {

constexpr u32 nothing = ~0u;        // the key of a point in no cell
constexpr float whole = 0x1.8p23f; // between floats that are whole numbers

// fast_index finds an index without a division, and says whether it is right where there are n cells: floor((x - lo) / size), the
// quotient rounded, or n or more where that is no cell. t = (x - lo) * inverse is within 3 * 2^-24 of itself of the quotient: inverse, t
// and the quotient are each rounded once. So what lies between -1 and n + 1 has one floor, c, if t is farther than 2^-22 (n + 2) from
// whole numbers, which is nearer than near_of(n) to the middle between two; what lies beyond is in no cell either way. Floats from
// 2^23 to 2^24 are the whole numbers: a sum in there that is rounded down is a floor, and its last bits are an integer. first is the sum of
// the index that becomes 0.
RC_FN float near_of(u32 n) { return 0.5f - ((float)n + 2.0f) * 0x1p-22f; }
RC_FN bool fast_index(float x, float lo, float inverse, float near, u32 first, u32 &index) {
    const float t = (x - lo) * inverse, sum = add_rm(t, whole), c = sum - whole, past = t - c;
    index = bits(sum) - first;
    return abs_f(past - 0.5f) < near;
}

// exact_key is key_of, or nothing for a point in no cell; it counts what is not finite.
template <class T> RC_FN u32 exact_key(const voxel_grid &g, const position<T> &at, u32 row, u32 &bad) {
    u32 category;
    const u64 key = key_of<T>(g, at, row, category);
    bad += category == not_finite;
    return category == in_range ? (u32)key : nothing;
}

// can_use_fast_keys reports whether a job's points, but for the last three, are such as fast_keys takes: four of them are 48 aligned bytes, of f32, of one row
// without a pose.
RC_FN bool can_use_fast_keys(const voxel_cloud &c) { return c.by_four() && !c.poses && c.b == 1; }

// fast_keys finds the keys of four points from point i on. Those near a border between cells are looked at again.
RC_FN void fast_keys(const voxel_cloud &c, const voxel_grid &g, u32 i, u32 (&key)[4], u32 &bad) {
    const float min_x = (float)g.min_x, min_y = (float)g.min_y, min_z = (float)g.min_z;
    const u32 cut = 2 * g.border, first = bits(whole) + g.border;
    const float near_x = near_of(g.n_x + cut), near_y = near_of(g.n_y + cut), near_z = near_of(g.n_z + cut);
    const u32 step_x = g.xyz ? g.n_y * g.n_z : 1, step_y = g.n2(), step_z = g.xyz ? 1 : g.n_y * g.n_x;
    position<float> at[4];
    load_group<float>(c, i, 4, at);
    u32 unsure = 0;
    RC_UNROLL for (u32 u = 0; u < 4; u++) {
        u32 x, y, z;
        const bool sure_x = fast_index(at[u].x, min_x, g.inverse_x, near_x, first, x),
                   sure_y = fast_index(at[u].y, min_y, g.inverse_y, near_y, first, y),
                   sure_z = fast_index(at[u].z, min_z, g.inverse_z, near_z, first, z);
        if (!(sure_x & sure_y & sure_z)) unsure |= 1u << u;
        const bool in = (x < g.n_x) & (y < g.n_y) & (z < g.n_z);
        key[u] = in ? x * step_x + y * step_y + z * step_z : nothing;
    }
    while (unsure) {
        const u32 one = unsure & -unsure;
        unsure -= one;
        const float *const p = (const float *)c.points + 3 * (u64)(i + count_bits(one - 1));
        const u32 exact = exact_key<float>(g, {ld_nc_f32(p), ld_nc_f32(p + 1), ld_nc_f32(p + 2)}, 0, bad);
        RC_UNROLL for (u32 u = 0; u < 4; u++) {
            if (one == 1u << u) key[u] = exact;
        }
    }
}

// any_keys finds the keys of any four points from point i on, of those before `end`.
template <class T> RC_FN void any_keys(const voxel_cloud &c, const voxel_grid &g, u32 i, u32 end, u32 (&key)[4], u32 &bad) {
    RC_UNROLL for (u32 u = 0; u < 4; u++) key[u] = nothing;
    RC_NO_UNROLL for (u32 u = 0; u < 4 && i + u < end; u++) {
        position<T> at[1];
        load_group<T>(c, i + u, 1, at);
        const u32 row = c.b > 1 ? row_of(c, i + u) : 0;
        const u32 exact = exact_key<T>(g, posed<T>(c, at[0], row), row, bad);
        RC_UNROLL for (u32 v = 0; v < 4; v++) {
            if (v == u) key[v] = exact;
        }
    }
}

} // namespace rc
