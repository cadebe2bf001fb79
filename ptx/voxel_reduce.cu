// voxel_reduce.cu writes what voxels make of their points, which lie together in the sorted order.
//
// voxel_reduce, for sparse voxels, and voxel_grid, for dense ones that voxel_group.cu and voxel_bucket.cu do not make: a thread takes one feature of one voxel, or four neighbouring ones
// where they are 16 aligned bytes; neighbouring threads take neighbouring features. A voxel of one point is done at once; others
// wait in a queue until there is one for each lane, so that no warp does the long work for a lane or two. Voxels of more
// than `few` points are left to voxel_crowded and voxel_cut, see voxel_crowded.cuh, which tells, too, why sums depend on no order.
//
// voxel_choose and voxel_keep write hard voxels; voxel_inverse each point's voxel, a thread for each point.
// Bytes moved: 8 + 4 a point for keys and order, the features, and the outputs.
#include "voxel_crowded.cuh"

using namespace rc;

namespace {

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

// item is what a thread of voxel_reduce takes: features of a voxel.
struct item {
    u32 voxel, feature;
};

constexpr u32 at_once = 3; // items a thread takes

// queue is where a warp's voxels of a few points wait until there is one for each lane.
struct queue {
    item waiting[(at_once + 1) * warp_size];
};

// reduce_item takes a voxel of a few points.
template <u32 N, bool Dense> RC_FN void reduce_item(const voxel_job &j, item it) {
    const u32 begin = j.start[it.voxel], n = j.start[it.voxel + 1] - begin;
    u32 row = 0;
    const u64 key = key_at(j, begin);
    const i64 place = Dense ? (i64)key : place_of(j, it.voxel, key, row);
    if (Dense && j.b > 1) row = (u32)(key / j.cells);
    float x[N];
    reduce_few<N>(j, begin, n, it.feature, row, x);
    write_out<N>(j, place, it.feature, x);
}

// reduce_voxels is voxel_reduce and voxel_grid, N features a lane; returns how many points the thread has kept. What a warp takes at once
// lies far apart, so that crowded regions are shared out.
template <u32 N, bool Dense> RC_FN u64 reduce_voxels(const voxel_job &j, queue &q) {
    constexpr u32 many = at_once; // items a lane takes in a turn
    u64 mine = 0;
    const u32 reduce = j.reduce(), width = items_of(j, N);
    const bool of_features = reduce >= sum && reduce <= smallest, extreme = reduce >= greatest;
    const u64 items = j.state[found] * width, step = warps_of_grid() * (u64)warp_size;
    u32 count = 0; // that wait in the queue
    for (u64 base = warp_of_grid() * (u64)warp_size; base < items; base += many * step) {
        // What is read for one item waits for nothing that is read for another.
        u32 voxel[many], feature[many], begin[many], n[many], point[many];
        u64 key[many];
        RC_UNROLL for (u32 u = 0; u < many; u++) {
            const u64 t = base + u * step + lane();
            voxel[u] = 0, feature[u] = 0, begin[u] = 0, n[u] = 0, key[u] = 0, point[u] = 0;
            if (t >= items) continue;
            voxel[u] = items >> 32 ? (u32)(t / width) : (u32)t / width, feature[u] = (u32)(t - (u64)voxel[u] * width) * N;
            begin[u] = j.start[voxel[u]], n[u] = j.start[voxel[u] + 1] - begin[u];
            if (Dense) key[u] = ((const u64 *)j.to)[voxel[u]], point[u] = j.to_order[voxel[u]];
        }
        if (!Dense) {
            RC_UNROLL for (u32 u = 0; u < many; u++) {
                if (n[u]) key[u] = key_at(j, begin[u]), point[u] = j.from_order[begin[u]];
            }
        }
        float x[many][N];
        RC_UNROLL for (u32 u = 0; u < many; u++) {
            if (n[u] == 1 && of_features) values_at<N>(j, point[u], feature[u], j.b > 1 ? (u32)(key[u] / j.cells) : 0, x[u]);
        }
        RC_UNROLL for (u32 u = 0; u < many; u++) {
            u32 row = 0;
            const i64 place = n[u] == 0 ? -1 : Dense ? (i64)key[u] : place_of(j, voxel[u], key[u], row);
            if (!Dense && place >= 0 && feature[u] == 0) {
                describe(j, key[u], place, row, n[u]);
                mine += n[u];
            }
            bool waits = false, leaves = false;
            if (place < 0) {
            } else if (!of_features) {
                if (reduce == majority)
                    ((i32 *)j.out)[place] = commonest(j, j.start[voxel[u]], j.start[voxel[u]] + n[u]);
                else if (Dense)
                    ((i32 *)j.out)[place] = (i32)n[u];
            } else if (n[u] > few) {
                leaves = feature[u] == 0;
            } else if (n[u] == 1) {
                RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = alone(x[u][i], extreme);
                write_out<N>(j, place, feature[u], x[u]);
            } else {
                waits = true;
            }
            leave(j, leaves, (u64)place, begin[u], n[u], Dense && j.b > 1 ? (u32)(key[u] / j.cells) : row);
            const u32 waiting = votes(waits);
            if (waits) q.waiting[count + count_bits(waiting & below_mask())] = {voxel[u], feature[u]};
            count += count_bits(waiting);
        }
        warp_barrier();
        while (count >= warp_size) {
            count -= warp_size;
            reduce_item<N, Dense>(j, q.waiting[count + lane()]);
        }
        warp_barrier();
    }
    if (lane() < count) reduce_item<N, Dense>(j, q.waiting[lane()]);
    return mine;
}

} // namespace

// voxel_reduce writes sparse voxels.
RC_KERNEL_OCC(reduce_threads, 2) voxel_reduce(const voxel_job j) {
    wait_for_previous();
    let_next();
    __shared__ u64 total;
    __shared__ queue queues[reduce_threads / warp_size];
    if (thread_x() == 0) total = 0;
    barrier();
    queue &q = queues[thread_x() / warp_size];
    add_kept(j, &total, j.fours() ? reduce_voxels<4, false>(j, q) : reduce_voxels<1, false>(j, q));
}

// voxel_grid writes the voxels of a dense grid. `to` has their keys, to_order their first points.
RC_KERNEL_OCC(reduce_threads, 2) voxel_grid(const voxel_job j) {
    wait_for_previous();
    let_next();
    __shared__ queue queues[reduce_threads / warp_size];
    queue &q = queues[thread_x() / warp_size];
    if (j.fours())
        reduce_voxels<4, true>(j, q);
    else
        reduce_voxels<1, true>(j, q);
}

// voxel_crowded takes the pieces that voxel_reduce, voxel_grid, voxel_bucket or voxel_cells has listed, voxel_cut those of them that it leaves.
RC_KERNEL_OCC(reduce_threads, 3) voxel_crowded(const voxel_job j) {
    wait_for_previous();
    let_next();
    if (j.reduce() >= greatest)
        j.fours() ? reduce_pieces<extremes, 4>(j) : reduce_pieces<extremes, 1>(j);
    else
        j.fours() ? reduce_pieces<sums, 4>(j) : reduce_pieces<sums, 1>(j);
}

RC_KERNEL_OCC(reduce_threads, 3) voxel_cut(const voxel_job j) {
    wait_for_previous();
    let_next();
    if (*(const u32 *)(j.state + to_cut) == 0) return;
    j.fours() ? reduce_pieces<cut_sums, 4>(j) : reduce_pieces<cut_sums, 1>(j);
}

// voxel_choose finds where hard voxels go: to_order has the voxel of each place that is written.
RC_KERNEL(reduce_threads) voxel_choose(const voxel_job j) {
    wait_for_previous();
    let_next();
    __shared__ u64 total;
    if (thread_x() == 0) total = 0;
    barrier();
    u64 mine = 0;
    const u64 voxels = j.state[found];
    for (u64 voxel = block_x() * (u64)reduce_threads + thread_x(); voxel < voxels; voxel += blocks_x() * (u64)reduce_threads) {
        const u32 begin = j.start[voxel], all = j.start[voxel + 1] - begin, n = all < j.p ? all : j.p;
        const u64 key = key_at(j, begin);
        u32 row;
        const i64 place = place_of(j, (u32)voxel, key, row);
        if (place < 0) continue;
        describe(j, key, place, row, n);
        mine += n;
        j.to_order[place] = (u32)voxel;
    }
    add_kept(j, &total, mine);
}

// voxel_keep writes hard voxels, a warp for each: those that voxel_choose left in to_order.
RC_KERNEL_OCC(reduce_threads, 4) voxel_keep(const voxel_job j) {
    wait_for_previous();
    let_next();
    const u32 width = 3 + j.f, places = (u32)j.state[written];
    const u64 items = (u64)j.p * width;
    for (u32 place = warp_of_grid(); place < places; place += warps_of_grid()) {
        const u32 voxel = j.to_order[place], begin = j.start[voxel], all = j.start[voxel + 1] - begin, n = all < j.p ? all : j.p;
        const u32 row = j.b > 1 ? (u32)(key_at(j, begin) / j.cells) : 0;
        float *const out = (float *)j.out + place * items;
        for (u64 e = lane(); e < items; e += warp_size) {
            const u32 k = items >> 32 ? (u32)(e / width) : (u32)e / width, column = (u32)(e - (u64)k * width);
            float x = 0;
            if (k < n) {
                const u32 point = j.from_order[begin + k];
                x = column >= 3 ? feature_at(j, point, column - 3) : coordinate_at(j, point, column, row);
            }
            out[e] = x;
        }
    }
}

RC_KERNEL(reduce_threads) voxel_inverse(const voxel_job j) {
    wait_for_previous();
    let_next();
    const u64 points_in = j.state[in_range];
    for (u64 i = block_x() * (u64)reduce_threads + thread_x(); i < points_in; i += blocks_x() * (u64)reduce_threads) {
        const u32 voxel = j.voxel_at[i];
        u32 row;
        const i64 place = place_of(j, voxel, key_at(j, (u32)i), row);
        if (place < 0 || (j.mode() == hard && i - j.start[voxel] >= j.p)) continue;
        j.inverse[j.from_order[i]] = (i32)place;
    }
}
