// voxel_reduce.cu computes voxels from their points, which lie together in the sorted order.
//
// voxel_reduce, for sparse voxels, and for dense ones that no other algorithm handles: a thread takes one feature of one voxel, or four
// neighbouring ones where they are 16 aligned bytes; neighbouring threads take neighbouring features. A voxel of one point is done at once;
// others wait in a queue until there is one for each lane, so that no warp does the long work for a lane or two. Large voxels, of more than
// `few_points` points, are listed for voxel_reduce_large, see voxel_large.cuh, which also says why sums depend on no order.
//
// voxel_hard writes hard voxels, one warp for each that is kept. Both also write each point's voxel, one thread per point.
// Bytes moved: 8 + 4 per point for keys and order, the features, and the outputs.
#include "voxel_list.cuh"

using namespace rc;

RC_HOST struct voxel_reduce_params {
    voxel_list list;
    voxel_large_list large_pieces;
    const i32 *labels;
};

namespace {

// commonest returns the label that most of a voxel's points have, the smallest of several. Labels are sorted within the voxel.
RC_FN i32 commonest(const voxel_reduce_params &p, u32 begin, u32 end) {
    i32 best = 0;
    u32 most = 0;
    while (begin < end) {
        const i32 label = p.labels[p.list.order[begin]];
        u32 lo = begin, step = 1; // lo has the label
        while (lo + step < end && p.labels[p.list.order[lo + step]] == label) lo += step, step *= 2;
        u32 hi = lo + step < end ? lo + step : end;
        while (hi - lo > 1) {
            const u32 mid = lo + (hi - lo) / 2;
            if (p.labels[p.list.order[mid]] == label)
                lo = mid;
            else
                hi = mid;
        }
        if (hi - begin > most) most = hi - begin, best = label;
        begin = hi;
    }
    return best;
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
template <u32 N> RC_FN void reduce_item(const voxel_list &l, item it) {
    const u32 begin = l.start[it.voxel], n = l.start[it.voxel + 1] - begin;
    u32 row;
    const i64 place = place_of(l, it.voxel, l.keys[begin], row);
    float x[N];
    reduce_few<N>(l.values, l.order, begin, n, it.feature, row, x);
    write_out<N>(l.values, place, it.feature, x);
}

// reduce_voxels is voxel_reduce, N features a lane; returns how many points the thread has kept. What a warp takes at once
// lies far apart, so that dense regions are spread over many warps.
template <u32 N> RC_FN u64 reduce_voxels(const voxel_reduce_params &p, queue &q) {
    const voxel_list &l = p.list;
    const voxel_values &v = l.values;
    u64 mine = 0;
    const u32 reduce = v.reduce(), width = items_of(v, N);
    const bool of_features = reduce >= sum && reduce <= smallest, extreme = reduce >= greatest;
    const u64 items = l.state[found] * width, step = warps_of_grid() * (u64)warp_size;
    u32 waiting = 0; // in the queue
    for (u64 base = warp_of_grid() * (u64)warp_size; base < items; base += at_once * step) {
        // What is read for one item waits for nothing that is read for another.
        u32 voxel[at_once], feature[at_once], begin[at_once], n[at_once], point[at_once];
        u64 key[at_once];
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            const u64 t = base + u * step + lane();
            voxel[u] = 0, feature[u] = 0, begin[u] = 0, n[u] = 0, key[u] = 0, point[u] = 0;
            if (t >= items) continue;
            voxel[u] = items >> 32 ? (u32)(t / width) : (u32)t / width, feature[u] = (u32)(t - (u64)voxel[u] * width) * N;
            begin[u] = l.start[voxel[u]], n[u] = l.start[voxel[u] + 1] - begin[u];
        }
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            if (n[u]) key[u] = l.keys[begin[u]], point[u] = l.order[begin[u]];
        }
        float x[at_once][N];
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            if (n[u] == 1 && of_features) values_at<N>(v, point[u], feature[u], row_in(v, key[u]), x[u]);
        }
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            u32 row = 0;
            const i64 place = n[u] == 0 ? -1 : place_of(l, voxel[u], key[u], row);
            if (l.coords && place >= 0 && feature[u] == 0) {
                describe(l, key[u], place, row, n[u]);
                mine += n[u];
            }
            bool waits = false, leaves = false;
            if (place < 0) {
            } else if (!of_features) {
                if (reduce == majority)
                    ((i32 *)v.out)[place] = commonest(p, begin[u], begin[u] + n[u]);
                else if (l.coords == nullptr)
                    ((i32 *)v.out)[place] = (i32)n[u];
            } else if (n[u] > few_points) {
                leaves = feature[u] == 0;
            } else if (n[u] == 1) {
                RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = single_value(x[u][i], extreme);
                write_out<N>(v, place, feature[u], x[u]);
            } else {
                waits = true;
            }
            append_large(v, p.large_pieces, leaves, (u64)place, begin[u], n[u], row);
            const u32 more = votes(waits);
            if (waits) q.waiting[waiting + count_bits(more & below_mask())] = {voxel[u], feature[u]};
            waiting += count_bits(more);
        }
        warp_barrier();
        while (waiting >= warp_size) {
            waiting -= warp_size;
            reduce_item<N>(l, q.waiting[waiting + lane()]);
        }
        warp_barrier();
    }
    if (lane() < waiting) reduce_item<N>(l, q.waiting[lane()]);
    return mine;
}

} // namespace

RC_KERNEL_OCC(reduce_threads, 2) voxel_reduce(const voxel_reduce_params p) {
    grid_dependency_wait();
    launch_dependents();
    __shared__ u64 total;
    __shared__ queue queues[reduce_threads / warp_size];
    if (thread_x() == 0) total = 0;
    barrier();
    queue &q = queues[thread_x() / warp_size];
    const u64 mine = p.list.values.fours() ? reduce_voxels<4>(p, q) : reduce_voxels<1>(p, q);
    write_inverse(p.list);
    add_kept(p.list.state, &total, mine);
}

// voxel_reduce_large takes the pieces that voxel_reduce, voxel_bucket or voxel_cells has listed, voxel_reduce_truncated those of them that it leaves. As one kernel with
// two passes they would spill registers.
RC_KERNEL_OCC(reduce_threads, 3) voxel_reduce_large(const voxel_reduce_large_params p) {
    grid_dependency_wait();
    launch_dependents();
    if (p.values.reduce() >= greatest)
        p.values.fours() ? reduce_pieces<extremes, 4>(p) : reduce_pieces<extremes, 1>(p);
    else
        p.values.fours() ? reduce_pieces<sums, 4>(p) : reduce_pieces<sums, 1>(p);
}

RC_KERNEL_OCC(reduce_threads, 3) voxel_reduce_truncated(const voxel_reduce_large_params p) {
    grid_dependency_wait();
    launch_dependents();
    if (*(const u32 *)(p.large_pieces.state + to_truncate) == 0) return;
    p.values.fours() ? reduce_pieces<truncated_sums, 4>(p) : reduce_pieces<truncated_sums, 1>(p);
}

RC_KERNEL_OCC(reduce_threads, 4) voxel_hard(const voxel_list p) {
    __shared__ u64 total;
    write_hard_voxels<float>(p, &total, [&](u32 point, u32 column, u32 row) {
        const voxel_values &v = p.values;
        return column >= 3 ? feature_at(v, point, column - 3) : coordinate_at<float>(v.cloud, point, column, row);
    });
}
