// depth.cuh reads depth images.
#pragma once
#include "warp.cuh"

namespace rc {

RC_HOST struct depth_images {
    const void *depth;
    u64 image, row; // elements from an image to the next, and from a row to the next; bytes of 16-bit depths
    u32 h, w;
    u32 words; // depths are 16-bit numbers
    float scale, near, far;
};

constexpr u32 count_valid = 0, count_missing = 1, count_range = 2; // what a pixel counts as

// metres sets z to the depth of a pixel, and returns what it counts as. Numbers of 16 bits may begin at any byte.
RC_FN u32 metres(const depth_images &p, u32 n, u32 v, u32 u, float &z) {
    const void *from = waited(p.depth);
    const u64 at = n * p.image + v * p.row;
    float depth;
    if (p.words) {
        const u8 *q = (const u8 *)from + at + 2 * (u64)u;
        depth = (float)(q[0] | (u32)q[1] << 8);
    } else {
        depth = ld_nc_f32((const float *)from + at + u);
    }
    z = depth * p.scale;
    if (depth == 0.0f || !is_finite(depth)) return count_missing;
    return z >= p.near && z <= p.far ? count_valid : count_range;
}

} // namespace rc
