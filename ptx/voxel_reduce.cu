// voxel_reduce.cu writes what voxels make of their points, which lie together in the sorted order.
//
// voxel_reduce: a thread takes one feature of one voxel; neighbouring threads take neighbouring features. Voxels of more than
// `few` points are left to voxel_crowded, a block for each, whose threads share out the points and meet in shared memory.
// Sums are of integers, relative to the greatest exponent of the voxel, which is found first: so they depend on no
// order, and nothing is read twice from DRAM but the features of large voxels.
//
// voxel_keep writes hard voxels, a warp for each; voxel_inverse each point's voxel, a thread for each point.
// Bytes moved: 8 + 4 a point for keys and order, the features, and the outputs.
#include "voxel.cuh"

using namespace rc;

namespace {

constexpr u32 threads = 256, crowd_threads = 256, in_flight = 4;
constexpr u32 few = 64; // ops/cuda sizes the list of crowded voxels by it

// coordinate_at returns a coordinate of a point, after the pose.
RC_FN float coordinate_at(const voxel_job &j, u32 point, u32 axis, u32 row) {
    const float *const at = (const float *)j.points + (i64)point * j.point_step;
    if (j.poses == nullptr) return ld_nc_f32(at + axis);
    const float *const m = (const float *)j.poses + row * j.pose_batch + 4 * axis;
    return ((ld_nc_f32(m) * ld_nc_f32(at) + ld_nc_f32(m + 1) * ld_nc_f32(at + 1)) + ld_nc_f32(m + 2) * ld_nc_f32(at + 2)) + ld_nc_f32(m + 3);
}

// feature_at returns a feature of a point.
RC_FN float feature_at(const voxel_job &j, u32 point, u32 feature) {
    const i64 i = (i64)point * j.feature_step + feature;
    switch (j.feature_type()) {
    case dt_f32: return ld_nc_f32((const float *)j.features + i);
    case dt_f16: return f16_to_f32(ld_nc_u16((const u16 *)j.features + i));
    default: return as_f32((u32)ld_nc_u16((const u16 *)j.features + i) << 16);
    }
}

// value_at returns what is reduced: a feature, or a coordinate where there are no features.
RC_FN float value_at(const voxel_job &j, u32 point, u32 feature, u32 row) {
    return j.features ? feature_at(j, point, feature) : coordinate_at(j, point, feature, row);
}

// ---- What is kept of one feature while its points go by; ops/cpu_voxelize_reduce.go says why ----

constexpr u32 saw_nan = 1, saw_inf = 2, saw_minus_inf = 4;
constexpr u32 sum_shift = 17;

struct tally {
    u32 best;    // the greatest biased exponent, at least 1, or the greatest value in order
    u32 special; // saw_*
    i64 hi, lo;  // a sum is hi * 2^32 + lo
};

// order_of maps values to integers in ascending order, or descending.
RC_FN u32 order_of(float x, bool down) {
    const u32 b = bits(x), up = b >> 31 ? ~b : b | 0x80000000u;
    return down ? ~up : up;
}
RC_FN float of_order(u32 order, bool down) {
    const u32 up = down ? ~order : order;
    return as_f32(up >> 31 ? up & 0x7fffffffu : ~up);
}

// see looks at a value in the first pass.
RC_FN void see(tally &t, float x, bool extreme, bool down) {
    const u32 b = bits(x), e = b >> 23 & 255;
    u32 now = e > 1 ? e : 1;
    if (extreme) {
        now = order_of(x, down);
        if (is_nan(x)) t.special |= saw_nan;
    } else if (e == 255) {
        now = 0;
        t.special |= b << 9 ? saw_nan : b >> 31 ? saw_minus_inf : saw_inf;
    }
    t.best = now > t.best ? now : t.best;
}

// add adds a value in the second.
RC_FN void add(tally &t, float x) {
    const u32 b = bits(x), e = b >> 23 & 255;
    if (e == 255) return;
    const u32 down = t.best - (e > 1 ? e : 1);
    const u64 m = (u64)((b & 0x7fffffu) | (e ? 0x800000u : 0u)) << sum_shift;
    const i64 cut = down < 64 ? (i64)(m >> down) : 0;
    const i64 v = b >> 31 ? -cut : cut;
    t.hi += v >> 32;
    t.lo += v & 0xffffffff;
}

RC_FN float result(const voxel_job &j, const tally &t, u32 n) {
    const u32 reduce = j.reduce();
    if (t.special & saw_nan || (t.special & (saw_inf | saw_minus_inf)) == (saw_inf | saw_minus_inf)) return as_f32(0x7fc00000u);
    if (reduce == greatest || reduce == smallest) return of_order(t.best, reduce == smallest);
    if (t.special & saw_inf) return as_f32(0x7f800000u);
    if (t.special & saw_minus_inf) return as_f32(0xff800000u);
    const i64 hi = t.hi + (t.lo >> 32), lo = t.lo & 0xffffffff;
    double s = (double)hi * 4294967296.0 + (double)lo;
    s = s * as_f64((u64)(t.best + 1023 - 127 - 40) << 52);
    return f64_to_f32(div_rn(s, (double)(reduce == mean ? n : 1)));
}

// commonest returns the label that most of a voxel's points have, the smallest of several. Labels are sorted within the voxel.
RC_FN i32 commonest(const voxel_job &j, u32 begin, u32 end) {
    i32 best = 0;
    u32 most = 0;
    while (begin < end) {
        const i32 label = j.labels[j.from_order[begin]];
        u32 lo = begin, step = 1; // lo has the label
        while (lo + step < end && j.labels[j.from_order[lo + step]] == label) lo += step, step *= 2;
        u32 hi = lo + step < end ? lo + step : end;
        while (hi - lo > 1) {
            const u32 mid = lo + (hi - lo) / 2;
            if (j.labels[j.from_order[mid]] == label)
                lo = mid;
            else
                hi = mid;
        }
        if (hi - begin > most) most = hi - begin, best = label;
        begin = hi;
    }
    return best;
}

// describe writes a voxel's coordinates and count.
RC_FN void describe(const voxel_job &j, u64 key, i64 place, u32 row, u32 n) {
    if (j.coords == nullptr) return;
    i32 *const at = j.coords + place * (j.batched() ? 4 : 3) + (j.batched() ? 1 : 0);
    key -= row * j.cells;
    at[2] = (i32)(key % j.n2());
    key /= j.n2();
    at[1] = (i32)(key % j.n_y);
    at[0] = (i32)(key / j.n_y);
    if (j.batched()) at[-1] = (i32)row;
    j.counts[place] = (i32)n;
}

// add_kept adds up what the threads of a block kept.
RC_FN void add_kept(const voxel_job &j, u64 *total, u64 mine) {
    if (mine) shared_add(total, mine);
    barrier();
    if (thread_x() == 0 && *total) reduce_add(j.state + kept, *total);
}

} // namespace

RC_KERNEL(threads) voxel_reduce(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    __shared__ u64 total;
    if (thread_x() == 0) total = 0;
    barrier();
    u64 mine = 0;
    const u32 reduce = j.reduce();
    const bool of_features = reduce >= sum && reduce <= smallest, extreme = reduce >= greatest;
    const u32 width = of_features ? j.f : 1;
    const u64 items = j.state[found] * width;
    for (u64 t = block_x() * (u64)threads + thread_x(); t < items; t += blocks_x() * (u64)threads) {
        const u32 voxel = items >> 32 ? (u32)(t / width) : (u32)t / width, feature = (u32)(t - (u64)voxel * width);
        const u32 begin = j.start[voxel], n = j.start[voxel + 1] - begin;
        const u64 key = key_at(j, begin);
        u32 row;
        const i64 place = place_of(j, voxel, key, row);
        if (place < 0) continue;
        if (feature == 0) {
            describe(j, key, place, row, n);
            mine += n;
        }
        if (!of_features) {
            if (reduce == majority)
                ((i32 *)j.out)[place] = commonest(j, begin, begin + n);
            else if (j.mode() == dense)
                ((i32 *)j.out)[place] = (i32)n;
            continue;
        }
        if (n > few) {
            if (feature == 0) {
                // Which place of the list a voxel gets does not show.
                const u32 at = atomic_add((u32 *)(j.state + crowds), 1);
                j.crowded[at] = voxel;
            }
            continue;
        }
        tally s = {0, 0, 0, 0};
        for (u32 k = 0; k < n; k++) see(s, value_at(j, j.from_order[begin + k], feature, row), extreme, reduce == smallest);
        if (!extreme) {
            for (u32 k = 0; k < n; k++) add(s, value_at(j, j.from_order[begin + k], feature, row));
        }
        ((float *)j.out)[place * j.f + feature] = result(j, s, n);
    }
    add_kept(j, &total, mine);
}

// voxel_crowded takes the voxels that voxel_reduce has listed.
RC_KERNEL(crowd_threads) voxel_crowded(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    __shared__ u32 best[crowd_threads], special[crowd_threads];
    __shared__ u64 hi[crowd_threads], lo[crowd_threads];
    const u32 reduce = j.reduce(), listed = *(const u32 *)(j.state + crowds);
    const bool extreme = reduce >= greatest;
    const u32 most = j.f < crowd_threads ? j.f : crowd_threads; // features at once
    const u32 lanes = crowd_threads / most, share = thread_x() / most, column = thread_x() - share * most;
    for (u32 c = block_x(); c < listed; c += blocks_x()) {
        const u32 voxel = j.crowded[c], begin = j.start[voxel], n = j.start[voxel + 1] - begin;
        u32 row;
        const i64 place = place_of(j, voxel, key_at(j, begin), row);
        for (u32 base = 0; base < j.f; base += most) {
            const u32 feature = base + column;
            const bool works = share < lanes && feature < j.f;
            best[thread_x()] = 0, special[thread_x()] = 0, hi[thread_x()] = 0, lo[thread_x()] = 0;
            barrier();
            tally s = {0, 0, 0, 0};
            for (u32 pass = 0; pass < (extreme ? 1u : 2u); pass++) {
                for (u64 k = share; works && k < n; k += in_flight * (u64)lanes) {
                    float x[in_flight];
                    RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                        const u64 at = k + u * (u64)lanes < n ? k + u * (u64)lanes : k;
                        x[u] = value_at(j, j.from_order[begin + at], feature, row);
                    }
                    RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                        if (k + u * (u64)lanes >= n) continue;
                        if (pass == 0)
                            see(s, x[u], extreme, reduce == smallest);
                        else
                            add(s, x[u]);
                    }
                }
                if (works && pass == 0) {
                    shared_max(&best[column], s.best);
                    if (s.special) shared_or(&special[column], s.special);
                } else if (works) {
                    shared_add(&hi[column], (u64)s.hi);
                    shared_add(&lo[column], (u64)s.lo);
                }
                barrier();
                s.best = best[column];
            }
            if (works && share == 0) {
                s = {best[column], special[column], (i64)hi[column], (i64)lo[column]};
                ((float *)j.out)[place * j.f + feature] = result(j, s, n);
            }
            barrier();
        }
    }
}

RC_KERNEL(threads) voxel_keep(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    __shared__ u64 total;
    if (thread_x() == 0) total = 0;
    barrier();
    u64 mine = 0;
    const u32 width = 3 + j.f;
    const u64 items = (u64)j.p * width, warps_all = (u64)blocks_x() * (threads / warp_size);
    const u64 voxels = j.state[found];
    for (u64 voxel = (u64)block_x() * (threads / warp_size) + thread_x() / warp_size; voxel < voxels; voxel += warps_all) {
        const u32 begin = j.start[voxel], all = j.start[voxel + 1] - begin, n = all < j.p ? all : j.p;
        const u64 key = key_at(j, begin);
        u32 row;
        const i64 place = place_of(j, (u32)voxel, key, row);
        if (place < 0) continue;
        if (lane() == 0) {
            describe(j, key, place, row, n);
            mine += n;
        }
        float *const out = (float *)j.out + (u64)place * items;
        for (u64 e = lane(); e < items; e += warp_size) {
            const u32 k = items >> 32 ? (u32)(e / width) : (u32)e / width, column = (u32)(e - (u64)k * width);
            float x = 0;
            if (k < n) {
                const u32 point = j.from_order[begin + k];
                if (column >= 3) {
                    x = feature_at(j, point, column - 3);
                } else {
                    x = coordinate_at(j, point, column, row);
                }
            }
            out[e] = x;
        }
    }
    add_kept(j, &total, mine);
}

RC_KERNEL(threads) voxel_inverse(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    const u64 points_in = j.state[in_range];
    for (u64 i = block_x() * (u64)threads + thread_x(); i < points_in; i += blocks_x() * (u64)threads) {
        const u32 voxel = j.voxel_at[i];
        u32 row;
        const i64 place = place_of(j, voxel, key_at(j, (u32)i), row);
        if (place < 0 || (j.mode() == hard && i - j.start[voxel] >= j.p)) continue;
        j.inverse[j.from_order[i]] = (i32)place;
    }
}
