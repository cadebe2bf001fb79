// deproject.cu turns depth images into points: ops/deproject.go has the formulas, which round each step.
//
// A thread of deproject makes pixels of one image, deproject_each of them, a block apart. With counts, each block adds its own to sums of the image in
// scratch memory. The image's last block writes them, and leaves zeros for the next run.
//
// Valid points alone, one after the other, take a launch of deproject_count before. Its blocks mark and count the valid pixels that the same blocks of
// deproject have. An image's last block turns the image's numbers into the places where the blocks' points begin, and the last of all does so with the images.
// Bytes moved: the depths once, or twice for valid points alone; the points, the colors and the mask once.
#include "depth.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 deproject_threads = 256;
RC_HOST constexpr u32 deproject_each = 4; // pixels in a thread

RC_HOST constexpr u32 deproject_sums = 4; // of an image: valid pixels, those without a depth, and blocks of deproject and deproject_count that are done

constexpr u32 deproject_warps = deproject_threads / warp_size;
static_assert(deproject_each * deproject_warps == warp_size, "a warp reads the marks of a block");

RC_HOST struct deproject_params {
    float *points; // [b,h,w,3], or [capacity,3] with offsets
    u8 *mask;      // [b,h,w], or null
    i64 *counts;   // [b,3], or null
    u64 *sums;     // [b,deproject_sums], 0 between runs
    depth_images images;
    const float *intrinsics, *poses;
    u64 intrinsics_step, pose_step;
    i64 *offsets;    // [b + 1] where each image's points begin, or null if each pixel has a point
    u64 *begins;     // [b,blocks] where the points of a block begin among those of its image
    u32 *marks;      // [b,blocks,32] a bit for each valid pixel
    u64 *done;       // images that deproject_count has counted, 0 between runs
    u64 capacity;    // points that fit
    u8 *colors;      // [capacity,3], or null
    const u8 *color; // of pixels
    u64 color_image, color_row;
    u32 b, blocks; // images, and blocks for each
};

// pixel_of returns a thread's pixel with a number.
RC_FN u64 pixel_of(u32 block, u32 i) { return (u64)(block * deproject_each + i) * deproject_threads + thread_x(); }

// depth_of is metres for a pixel of image n, and for one past the last it counts nothing.
RC_FN u32 depth_of(const deproject_params &p, u32 n, u64 pixel, float &z) {
    const u32 v = (u32)pixel / p.images.w, u = (u32)pixel - v * p.images.w;
    return pixel < p.images.h * p.images.w ? metres(p.images, n, v, u, z) : ~0u;
}

constexpr u32 low_bits = 12; // of a number with 32. As many low or high parts as there are threads have a sum with 32 bits
static_assert(deproject_threads * deproject_each < 1u << low_bits, "the points of a block have a low part alone");

// accumulate replaces each of n numbers by the sum of those before it, and returns the sum of all. Numbers are below 2^low_bits, or with Wide below 2^32. The
// whole block comes along.
template <bool Wide> RC_FN u64 accumulate(u64 *list, u64 n, u32 *sums) {
    u64 before = 0;
    RC_NO_UNROLL for (u64 base = 0; base < n; base += deproject_threads) {
        const u64 i = base + thread_x(), own = i < n ? ld_relaxed(list + i) : 0;
        u32 total;
        u64 at = before + block_scan((u32)own & ((1u << low_bits) - 1), sums, total);
        before += total;
        if constexpr (Wide) {
            at += (u64)block_scan((u32)(own >> low_bits), sums, total) << low_bits;
            before += (u64)total << low_bits;
        }
        if (i < n) st_relaxed(list + i, at);
    }
    return before;
}

// is_last returns whether this is the last of n blocks that come here, and makes writes of the others visible. The next n may come then.
RC_FN bool is_last(u64 *done, u64 n, u32 *last) {
    barrier();
    if (thread_x() == 0) {
        fence();
        *last = atomic_add(done, (u64)1) + 1 == n;
        if (*last) st_relaxed(done, 0);
        fence();
    }
    barrier();
    return *last;
}

} // namespace

RC_KERNEL(deproject_threads) deproject_count(const deproject_params p) {
    __shared__ u32 sums[deproject_warps], last;
    grid_dependency_wait();
    launch_dependents();
    const u32 n = block_x() / p.blocks, block = block_x() - n * p.blocks;
    u64 *offsets = (u64 *)p.offsets, *begins = p.begins + (u64)n * p.blocks;
    if (p.b == 0) {
        if (thread_x() == 0) st_u64(offsets, 0);
        return;
    }
    u32 valid = 0, all_valid;
    RC_UNROLL for (u32 i = 0; i < deproject_each; i++) {
        float z;
        const u32 marks = votes(depth_of(p, n, pixel_of(block, i), z) == count_valid);
        if (lane() == 0) {
            valid += count_bits(marks);
            st_u32(p.marks + (u64)block_x() * warp_size + i * deproject_warps + thread_x() / warp_size, marks);
        }
    }
    block_scan(valid, sums, all_valid);
    if (thread_x() == 0) st_relaxed(begins + block, all_valid);
    if (!is_last(p.sums + (u64)n * deproject_sums + 3, p.blocks, &last)) return;
    const u64 all = accumulate<false>(begins, p.blocks, sums);
    if (thread_x() == 0) st_relaxed(offsets + n, all);
    if (!is_last(p.done, p.b, &last)) return;
    const u64 total = accumulate<true>(offsets, p.b, sums);
    if (thread_x() == 0) st_u64(offsets + p.b, total);
}

RC_KERNEL(deproject_threads) deproject(const deproject_params p) {
    __shared__ u32 found[2];
    if (thread_x() < 2) found[thread_x()] = 0;
    grid_dependency_wait();
    launch_dependents();
    barrier();
    const u32 n = block_x() / p.blocks, block = block_x() - n * p.blocks, pixels = p.images.h * p.images.w;
    const u32 warp = thread_x() / warp_size;
    u64 begin = 0;
    u32 marks = 0, rank = 0; // a lane's 32 pixels of the block, and the valid pixels before them
    if (p.offsets != nullptr) {
        begin = ld_relaxed((const u64 *)p.offsets + n) + ld_relaxed(p.begins + block_x());
        marks = ld_relaxed(p.marks + (u64)block_x() * warp_size + lane());
        rank = warp_scan(count_bits(marks)) - count_bits(marks);
    }
    const float *k = waited(p.intrinsics) + n * p.intrinsics_step;
    const float fx = ld_nc_f32(k), fy = ld_nc_f32(k + 1), cx = ld_nc_f32(k + 2), cy = ld_nc_f32(k + 3);
    const float *m = p.poses == nullptr ? nullptr : waited(p.poses) + n * p.pose_step;
    const float nan = as_f32(0x7fc00000u);
    u32 valid = 0, missing = 0;
    RC_NO_UNROLL for (u32 i = 0; i < deproject_each; i++) {
        const u64 pixel = pixel_of(block, i);
        const u32 v = (u32)pixel / p.images.w, u = (u32)pixel - v * p.images.w;
        float z;
        const u32 kind = depth_of(p, n, pixel, z);
        const bool good = kind == count_valid;
        valid += good, missing += kind == count_missing;
        u64 to = (u64)n * pixels + pixel;
        if (p.mask != nullptr && pixel < pixels) st_u8(p.mask + to, good);
        if (p.offsets != nullptr) {
            const u32 from = i * deproject_warps + warp;
            to = begin + shuffle_from(rank, from) + count_bits(shuffle_from(marks, from) & below_mask());
        }
        if (p.offsets != nullptr ? !good || to >= p.capacity : pixel >= pixels) continue;
        float at[3] = {nan, nan, nan};
        if (good) {
            at[0] = div_rn(((float)u - cx) * z, fx), at[1] = div_rn(((float)v - cy) * z, fy), at[2] = z;
            if (m != nullptr) {
                const float x = at[0], y = at[1];
                RC_UNROLL for (u32 a = 0; a < 3; a++)
                    at[a] = ((ld_nc_f32(m + 4 * a) * x + ld_nc_f32(m + 4 * a + 1) * y) + ld_nc_f32(m + 4 * a + 2) * z) + ld_nc_f32(m + 4 * a + 3);
            }
        }
        RC_UNROLL for (u32 a = 0; a < 3; a++) st_f32(p.points + 3 * to + a, at[a]);
        if (p.colors == nullptr) continue;
        const u8 *color = waited(p.color) + n * p.color_image + v * p.color_row + 3 * (u64)u;
        RC_UNROLL for (u32 a = 0; a < 3; a++) st_u8(p.colors + 3 * to + a, color[a]);
    }
    if (p.counts == nullptr) return;
    if (valid) shared_add(found, valid);
    if (missing) shared_add(found + 1, missing);
    barrier();
    if (thread_x() != 0) return;
    u64 *sums = p.sums + (u64)n * deproject_sums;
    reduce_add(sums, (u64)found[0]);
    reduce_add(sums + 1, (u64)found[1]);
    fence();
    if (atomic_add(sums + 2, (u64)1) + 1 < p.blocks) return;
    fence();
    const u64 all = ld_relaxed(sums), none = ld_relaxed(sums + 1);
    st_u64(p.counts + 3 * (u64)n, all);
    st_u64(p.counts + 3 * (u64)n + 1, none);
    st_u64(p.counts + 3 * (u64)n + 2, pixels - all - none);
    RC_UNROLL for (u32 i = 0; i < 3; i++) st_relaxed(sums + i, 0);
}
