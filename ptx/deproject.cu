// deproject.cu turns depth images into points: ops/deproject.go has the formulas, which round each step.
//
// A thread makes pixels of one image, deproject_each of them, a block apart. With counts, each block adds its own to sums of the image in scratch memory. The
// image's last block writes them, and leaves zeros for the next run.
// Bytes moved: the depths once, the points and the mask once.
#include "depth.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 deproject_threads = 256;
RC_HOST constexpr u32 deproject_each = 4; // pixels in a thread

RC_HOST constexpr u32 deproject_sums = 3; // of an image: valid pixels, those without a depth, and blocks that are done

RC_HOST struct deproject_params {
    float *points; // [b,h,w,3]
    u8 *mask;      // [b,h,w], or null
    i64 *counts;   // [b,3], or null
    u64 *sums;     // [b,deproject_sums], 0 between runs
    depth_images images;
    const float *intrinsics, *poses;
    u64 intrinsics_step, pose_step;
    u32 blocks; // for each image
};

} // namespace

RC_KERNEL(deproject_threads) deproject(const deproject_params p) {
    __shared__ u32 found[2];
    if (thread_x() < 2) found[thread_x()] = 0;
    grid_dependency_wait();
    launch_dependents();
    barrier();
    const u32 n = block_x() / p.blocks, block = block_x() - n * p.blocks, pixels = p.images.h * p.images.w;
    const float *k = waited(p.intrinsics) + n * p.intrinsics_step;
    const float fx = ld_nc_f32(k), fy = ld_nc_f32(k + 1), cx = ld_nc_f32(k + 2), cy = ld_nc_f32(k + 3);
    const float *m = p.poses == nullptr ? nullptr : waited(p.poses) + n * p.pose_step;
    const float nan = as_f32(0x7fc00000u);
    u32 valid = 0, missing = 0;
    for (u32 i = 0; i < deproject_each; i++) {
        const u64 pixel = (u64)(block * deproject_each + i) * deproject_threads + thread_x();
        if (pixel >= pixels) break;
        const u32 v = (u32)pixel / p.images.w, u = (u32)pixel - v * p.images.w;
        float z;
        const u32 kind = metres(p.images, n, v, u, z);
        const bool good = kind == count_valid;
        float at[3] = {nan, nan, nan};
        if (good) {
            at[0] = div_rn(((float)u - cx) * z, fx), at[1] = div_rn(((float)v - cy) * z, fy), at[2] = z;
            if (m != nullptr) {
                const float x = at[0], y = at[1];
                RC_UNROLL for (u32 a = 0; a < 3; a++)
                    at[a] = ((ld_nc_f32(m + 4 * a) * x + ld_nc_f32(m + 4 * a + 1) * y) + ld_nc_f32(m + 4 * a + 2) * z) + ld_nc_f32(m + 4 * a + 3);
            }
        }
        const u64 to = (u64)n * pixels + pixel;
        RC_UNROLL for (u32 a = 0; a < 3; a++) st_f32(p.points + 3 * to + a, at[a]);
        if (p.mask != nullptr) st_u8(p.mask + to, good);
        valid += good, missing += kind == count_missing;
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
    RC_UNROLL for (u32 i = 0; i < deproject_sums; i++) st_relaxed(sums + i, 0);
}
