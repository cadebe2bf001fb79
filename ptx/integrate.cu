// integrate.cu fuses depth images into a volume of signed distances: ops/integrate.go has the formulas, which round each step. A run has five launches.
//
// integrate_clear empties a hash table of block keys, and integrate_known adds the volume's blocks to it. integrate_mark has a thread for each pixel: it
// adds the blocks near the surface, each with the first image that shows it. integrate_sort has a thread for each new block, which finds its place in the
// volume by the number of new blocks before it. integrate_update has a block of threads for each block in the volume: four voxels in a thread.
//
// The order in which threads add keys changes only the places in the table, never the volume. If there are more new blocks than the volume has room for,
// later ones are not added, and integrate_sort and integrate_update leave the volume as it is.
// Bytes moved: the depths once; of each block in view the weights and distances that change, twice.
#include "depth.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 integrate_threads = 256;
RC_HOST constexpr u32 update_threads = 128;
RC_HOST constexpr u32 integrate_words = 4; // of the scratch memory's control

constexpr u32 edge = 8, voxels = edge * edge * edge;
constexpr u32 block_bits = 21, block_mask = (1u << block_bits) - 1;
constexpr i32 block_range = 1 << (block_bits - 1); // a block's coordinates are from -block_range to block_range-1
constexpr u64 no_block = ~0ull;                    // a place of the table without a key
constexpr u32 count_words = 4, count_blocks = 3;

// Loads of the control are relaxed, because those of the read-only path could find what a launch that also writes it has read.
enum control : u32 { control_found, control_used, control_refused }; // new blocks in the table; blocks in the volume; whether images were refused before
static_assert(control_refused < integrate_words, "the host allocates the words");

RC_HOST struct integrate_params {
    i32 *blocks;                     // [m,3]
    float *distance, *weight, *color; // [m,512]; color [m,512,3], or null
    i64 *state, *counts;             // [3], [b,4]; counts may be null
    depth_images images;
    const float *intrinsics, *poses;
    u64 intrinsics_step, pose_step;
    const u8 *colors; // of pixels, or null
    u64 color_image, color_row;
    u64 *keys;     // [1 << table_bits]
    u32 *first;    // [1 << table_bits], the first image that shows the block, from 1 on; 0 if it is in the volume already
    u32 *begin;    // [m], the same for each block in the volume
    u32 *fresh;    // [m], places of new blocks in the table
    u32 *control;  // [integrate_words]
    float *metric; // [b,h,w], valid depths in metres, and NaN for others
    u32 b, m, table_bits, steps;
    u32 grid; // blocks for each image
    u32 depth_weight;
    float voxel, truncation, max_weight, step, per_block, per_distance;
};

RC_FN u64 key_of(i32 x, i32 y, i32 z) {
    return (u64)((u32)(x + block_range) & block_mask) << 2 * block_bits | (u64)((u32)(y + block_range) & block_mask) << block_bits |
           ((u32)(z + block_range) & block_mask);
}

// place_of returns a key's place in the table, and adds it if it is new. It returns ~0 if more new keys were added than there is room for.
RC_FN u32 place_of(const integrate_params &p, u64 key, u32 room, bool &added) {
    const u32 mask = (u32)((1ull << p.table_bits) - 1);
    u32 at = (u32)(key * 0x9e3779b97f4a7c15ull >> (64 - p.table_bits));
    added = false;
    for (u32 i = 0; i <= mask; i++) {
        u64 was = ld_relaxed(p.keys + at);
        if (was == no_block) {
            if (ld_relaxed(p.control + control_found) > room) return ~0u;
            was = atomic_compare_swap(p.keys + at, no_block, key);
            added = was == no_block;
            if (added) return at;
        }
        if (was == key) return at;
        at = (at + 1) & mask;
    }
    return ~0u;
}

// block_at sets a block's coordinate, and returns false if it is out of range.
RC_FN bool block_at(float at, i32 &block) {
    const bool good = at >= -(float)block_range && at < (float)block_range;
    block = good ? (i32)floor_f(at) : 0;
    return good;
}

// ray is a pixel's ray.
struct ray {
    float d[3], from[3], z;

    // sample returns the key of the block of a sample, or no_block if it is out of range.
    RC_FN_MEMBER u64 sample(const integrate_params &p, u32 i) const {
        float t = (z - p.truncation) + (float)i * p.step;
        t = t > 0.0f ? t : 0.0f;
        i32 block[3];
        bool good = true;
        RC_UNROLL for (u32 a = 0; a < 3; a++) good &= block_at((d[a] * t + from[a]) * p.per_block, block[a]);
        return good ? key_of(block[0], block[1], block[2]) : no_block;
    }
};

// show records that image n shows a block.
RC_FN void show(const integrate_params &p, u64 key, u32 n, u32 room) {
    bool added;
    const u32 at = place_of(p, key, room, added);
    if (at == ~0u) return;
    if (added) {
        const u32 i = atomic_add(p.control + control_found, 1);
        if (i < room) st_u32(p.fresh + i, at);
    }
    if (ld_relaxed(p.first + at) > n + 1) reduce_min(p.first + at, n + 1);
}

// camera is an image's camera.
struct camera {
    float fx, fy, cx, cy, m[12];

    RC_FN_MEMBER camera(const integrate_params &p, u32 n) {
        const float *k = waited(p.intrinsics) + n * p.intrinsics_step, *pose = waited(p.poses) + n * p.pose_step;
        fx = ld_nc_f32(k), fy = ld_nc_f32(k + 1), cx = ld_nc_f32(k + 2), cy = ld_nc_f32(k + 3);
        RC_UNROLL for (u32 i = 0; i < 12; i++) m[i] = ld_nc_f32(pose + i);
    }

    // within reports whether the sphere around a block may reach between two edges of the image. low and high are the edges, relative to the centre.
    RC_FN_MEMBER bool within(float f, float low, float high, float x, float z, float r) const {
        x = f * x;
        return !(x + low * z < -(r * (abs_f(f) + abs_f(low)))) && !(x + high * z > r * (abs_f(f) + abs_f(high)));
    }
};

} // namespace

RC_KERNEL(integrate_threads) integrate_clear(const integrate_params p) {
    grid_dependency_wait();
    launch_dependents();
    const u64 places = 1ull << p.table_bits, step = (u64)blocks_x() * integrate_threads, begin = (u64)block_x() * integrate_threads + thread_x();
    for (u64 i = begin; i < places; i += step) {
        st_u64(p.keys + i, no_block);
        st_u32(p.first + i, ~0u);
    }
    if (p.counts != nullptr) {
        for (u64 i = begin; i < (u64)count_words * p.b; i += step) st_u64(p.counts + i, 0);
    }
    if (begin == 0) {
        const i64 used = (i64)ld_nc_u64(waited(p.state)), refused = (i64)ld_nc_u64(waited(p.state) + 2);
        st_u32(p.control + control_found, 0);
        st_u32(p.control + control_used, used < 0 ? 0 : used > (i64)p.m ? p.m : (u32)used);
        st_u32(p.control + control_refused, refused > 0);
    }
}

RC_KERNEL(integrate_threads) integrate_known(const integrate_params p) {
    grid_dependency_wait();
    launch_dependents();
    const u32 used = ld_relaxed(p.control + control_used);
    const i32 *blocks = waited(p.blocks);
    for (u64 i = (u64)block_x() * integrate_threads + thread_x(); i < used; i += (u64)blocks_x() * integrate_threads) {
        const i32 *b = blocks + 3 * i;
        bool added;
        const u32 at = place_of(p, key_of((i32)ld_nc_u32(b), (i32)ld_nc_u32(b + 1), (i32)ld_nc_u32(b + 2)), ~0u, added);
        reduce_min(p.first + at, 0);
        st_u32(p.begin + i, 0);
    }
}

RC_KERNEL(integrate_threads) integrate_mark(const integrate_params p) {
    __shared__ u32 found[count_blocks];
    if (thread_x() < count_blocks) found[thread_x()] = 0;
    grid_dependency_wait();
    launch_dependents();
    barrier();
    const u32 n = block_x() / p.grid, pixels = p.images.h * p.images.w;
    const u32 room = p.m - ld_relaxed(p.control + control_used);
    const u64 pixel = (u64)(block_x() - n * p.grid) * integrate_threads + thread_x();
    const camera c(p, n);
    u32 kind = ~0u;
    ray r = {};
    u64 last = no_block;
    if (pixel < pixels) {
        const u32 v = (u32)pixel / p.images.w, u = (u32)pixel - v * p.images.w;
        kind = metres(p.images, n, v, u, r.z);
        st_f32(p.metric + (u64)n * pixels + pixel, kind == count_valid ? r.z : as_f32(0x7fc00000u));
        if (kind == count_valid) {
            const float rx = div_rn((float)u - c.cx, c.fx), ry = div_rn((float)v - c.cy, c.fy);
            RC_UNROLL for (u32 a = 0; a < 3; a++) {
                r.d[a] = (c.m[4 * a] * rx + c.m[4 * a + 1] * ry) + c.m[4 * a + 2];
                r.from[a] = c.m[4 * a + 3];
            }
            if (r.sample(p, 0) == no_block || r.sample(p, p.steps) == no_block) kind = count_range;
        }
        shared_add(found + kind, 1);
    }
    for (u32 i = 0; i <= p.steps; i++) {
        const u64 key = kind == count_valid ? r.sample(p, i) : no_block, other = shuffle_down(key, 1);
        // The next lane shows the block if that has it too.
        if (key != no_block && key != last && (key != other || lane() == warp_size - 1)) {
            show(p, key, n, room);
        }
        last = key;
    }
    barrier();
    if (p.counts != nullptr && thread_x() < count_blocks) reduce_add((u64 *)p.counts + (u64)n * count_words + thread_x(), (u64)found[thread_x()]);
}

RC_KERNEL(integrate_threads) integrate_sort(const integrate_params p) {
    __shared__ u64 keys[integrate_threads];
    __shared__ u32 firsts[integrate_threads];
    grid_dependency_wait();
    launch_dependents();
    const u32 count = ld_relaxed(p.control + control_found), used = ld_relaxed(p.control + control_used);
    const bool refused = ld_relaxed(p.control + control_refused) || count > p.m - used;
    if (block_x() == 0 && thread_x() == 0) {
        i64 *state = p.state;
        if (refused) {
            state[2] += p.b;
        } else {
            state[0] = used + count;
            state[1] += p.b;
        }
    }
    if (refused) return;
    for (u32 tile = block_x() * integrate_threads; tile < count; tile += blocks_x() * integrate_threads) {
        const u32 own = tile + thread_x();
        const u32 place = own < count ? ld_nc_u32(waited(p.fresh) + own) : 0;
        const u64 key = ld_nc_u64(waited(p.keys) + place);
        const u32 first = ld_nc_u32(waited(p.first) + place);
        u32 rank = used;
        for (u32 from = 0; from < count; from += integrate_threads) {
            const u32 many = count - from < integrate_threads ? count - from : integrate_threads;
            barrier();
            if (thread_x() < many) {
                const u32 at = ld_nc_u32(waited(p.fresh) + from + thread_x());
                keys[thread_x()] = ld_nc_u64(waited(p.keys) + at);
                firsts[thread_x()] = ld_nc_u32(waited(p.first) + at);
            }
            barrier();
            for (u32 i = 0; i < many; i++) rank += firsts[i] < first || (firsts[i] == first && keys[i] < key);
        }
        if (own >= count) continue;
        RC_UNROLL for (u32 a = 0; a < 3; a++)
            st_u32(p.blocks + 3 * (u64)rank + a, (u32)((i32)((u32)(key >> (block_bits * (2 - a))) & block_mask) - block_range));
        st_u32(p.begin + rank, first);
        if (p.counts != nullptr) reduce_add((u64 *)p.counts + (u64)(first - 1) * count_words + count_blocks, (u64)1);
    }
}

RC_KERNEL(update_threads) integrate_update(const integrate_params p) {
    grid_dependency_wait();
    launch_dependents();
    const u64 *state = (const u64 *)p.state;
    if ((i64)ld_relaxed(state + 2) > 0) return;
    const u32 used = (u32)ld_relaxed(state);
    const u32 i = thread_x() % edge, j = thread_x() / edge % edge, pixels = p.images.h * p.images.w;
    for (u32 slot = block_x(); slot < used; slot += blocks_x()) {
        const i32 *key = waited(p.blocks) + 3 * (u64)slot;
        const i32 kx = (i32)ld_nc_u32(key) * (i32)edge, ky = (i32)ld_nc_u32(key + 1) * (i32)edge, kz = (i32)ld_nc_u32(key + 2) * (i32)edge;
        u32 n = ld_nc_u32(waited(p.begin) + slot);
        const u64 at = (u64)slot * voxels + thread_x();
        if (n > 0) {
            n--;
            RC_UNROLL for (u32 k = 0; k < voxels; k += update_threads) {
                st_f32(p.distance + at + k, 0.0f);
                st_f32(p.weight + at + k, 0.0f);
                for (u32 a = 0; p.color != nullptr && a < 3; a++) st_f32(p.color + 3 * (at + k) + a, 0.0f);
            }
        }
        for (; n < p.b; n++) {
            const camera c(p, n);
            {
                const float x = (float)(kx + 4) * p.voxel - c.m[3], y = (float)(ky + 4) * p.voxel - c.m[7], z = (float)(kz + 4) * p.voxel - c.m[11];
                const float px = (c.m[4] * y + c.m[8] * z) + c.m[0] * x, py = (c.m[5] * y + c.m[9] * z) + c.m[1] * x;
                const float pz = (c.m[6] * y + c.m[10] * z) + c.m[2] * x, r = (float)edge * p.voxel;
                const float left = c.cx + 0.5f, top = c.cy + 0.5f;
                if (pz < -r || pz - r > p.images.far + p.truncation || !c.within(c.fx, left, left - (float)p.images.w, px, pz, r) ||
                    !c.within(c.fy, top, top - (float)p.images.h, py, pz, r))
                    continue;
            }
            const float x = ((float)(kx + (i32)i) + 0.5f) * p.voxel - c.m[3], y = ((float)(ky + (i32)j) + 0.5f) * p.voxel - c.m[7];
            RC_UNROLL for (u32 k = 0; k < voxels; k += update_threads) {
                const float z = ((float)(kz + (i32)((thread_x() + k) / (edge * edge))) + 0.5f) * p.voxel - c.m[11];
                const float pz = (c.m[6] * y + c.m[10] * z) + c.m[2] * x;
                if (!(pz > 0.0f)) continue;
                const float inverse = div_rn(1.0f, pz);
                const float u = ((c.fx * ((c.m[4] * y + c.m[8] * z) + c.m[0] * x)) * inverse + c.cx) + 0.5f;
                const float v = ((c.fy * ((c.m[5] * y + c.m[9] * z) + c.m[1] * x)) * inverse + c.cy) + 0.5f;
                if (!(u >= 0.0f && u < (float)p.images.w && v >= 0.0f && v < (float)p.images.h)) continue;
                const float depth = ld_nc_f32(waited(p.metric) + (u64)n * pixels + (u64)(u32)v * p.images.w + (u32)u);
                const float s = depth - pz;
                if (!(s >= -p.truncation)) continue;
                float a = p.depth_weight ? div_rn(1.0f, depth * depth) : 1.0f;
                a = a < p.max_weight ? a : p.max_weight;
                float *distance = p.distance + at + k, *weight = p.weight + at + k;
                const float sum = *weight + a;
                if (!(sum > 0.0f)) continue;
                const float r = div_rn(a, sum), scaled = s * p.per_distance, clamped = scaled > 1.0f ? 1.0f : scaled < -1.0f ? -1.0f : scaled;
                st_f32(distance, *distance + (clamped - *distance) * r);
                st_f32(weight, sum < p.max_weight ? sum : p.max_weight);
                if (p.color == nullptr) continue;
                const u8 *from = waited(p.colors) + n * p.color_image + (u32)v * p.color_row + 3 * (u64)(u32)u;
                RC_UNROLL for (u32 b = 0; b < 3; b++) {
                    float *color = p.color + 3 * (at + k) + b;
                    st_f32(color, *color + ((float)from[b] - *color) * r);
                }
            }
        }
    }
}
