// voxel_reduce.cu writes what voxels make of their points, which lie together in the sorted order.
//
// voxel_reduce, for sparse voxels, and for dense ones that no other way makes: a thread takes one feature of one voxel, or four neighbouring ones
// where they are 16 aligned bytes; neighbouring threads take neighbouring features. A voxel of one point is done at once; others
// wait in a queue until there is one for each lane, so that no warp does the long work for a lane or two. Voxels of more
// than `few_points` points are left to voxel_crowded, see voxel_crowded.cuh, which tells, too, why sums depend on no order.
//
// voxel_keep writes hard voxels, a warp for each that is kept. Either also writes each point's voxel, a thread for each point.
// Bytes moved: 8 + 4 a point for keys and order, the features, and the outputs.
#include "voxel_crowded.cuh"

using namespace rc;

// voxel_list is the voxels in the order of their keys, and where they go.
RC_HOST struct voxel_list {
    voxel_values values;
    const u64 *keys;     // [n] of the sorted points
    const u32 *order;    // [n] the sorted points
    const u32 *start;    // [voxels + 1] where each voxel's points begin in the order
    const u32 *voxel_at; // [n] the voxel of each sorted point; null without `inverse`
    const u32 *numbers;  // [voxels] the place of each hard voxel in the order of the first points; null of others
    const u32 *rows;     // [2][b + 1] the first voxel of each row: of those found, of those written; null of a dense grid
    u64 *state;
    i32 *coords, *counts; // null of a dense grid
    i32 *inverse;         // [n] each point's voxel, -1 now; or null
    u32 row_voxels, v, p; // the caps: voxels of a row, voxels, points of a hard voxel
    u32 n1, n2;           // cells along the last two dimensions
    u32 batched;          // 1 where coordinates have a row
};

RC_HOST struct voxel_reduce_params {
    voxel_list list;
    voxel_crowds crowds;
    const i32 *labels;
};

namespace {

// place_of returns where a voxel goes: its cell in a dense grid, its number in a list, or -1 if it is dropped.
RC_FN i64 place_of(const voxel_list &l, u32 voxel, u64 key, u32 &row) {
    row = row_in(l.values, key);
    if (l.rows == nullptr) return (i64)key;
    const u32 rank = (l.numbers ? l.numbers[voxel] : voxel) - l.rows[row];
    if (rank >= l.row_voxels) return -1;
    const u32 place = l.rows[l.values.cloud.b + 1 + row] + rank;
    return place < l.v ? (i64)place : -1;
}

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
// lies far apart, so that crowded regions are shared out.
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
                RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = alone(x[u][i], extreme);
                write_out<N>(v, place, feature[u], x[u]);
            } else {
                waits = true;
            }
            leave(v, p.crowds, leaves, (u64)place, begin[u], n[u], row);
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

// keep_points writes a hard voxel, which a warp does: the first n of its points, and 0 beyond.
RC_FN void keep_points(const voxel_list &l, u32 place, u32 begin, u32 n, u32 row) {
    const voxel_values &v = l.values;
    const u32 width = 3 + v.f;
    const u64 items = (u64)l.p * width;
    float *const out = (float *)v.out + place * items;
    for (u64 e = lane(); e < items; e += warp_size) {
        const u32 k = items >> 32 ? (u32)(e / width) : (u32)e / width, column = (u32)(e - (u64)k * width);
        float x = 0;
        if (k < n) {
            const u32 point = l.order[begin + k];
            x = column >= 3 ? feature_at(v, point, column - 3) : coordinate_at(v.cloud, point, column, row);
        }
        out[e] = x;
    }
}

} // namespace

RC_KERNEL_OCC(reduce_threads, 2) voxel_reduce(const voxel_reduce_params p) {
    wait_for_previous();
    let_next();
    __shared__ u64 total;
    __shared__ queue queues[reduce_threads / warp_size];
    if (thread_x() == 0) total = 0;
    barrier();
    queue &q = queues[thread_x() / warp_size];
    const u64 mine = p.list.values.fours() ? reduce_voxels<4>(p, q) : reduce_voxels<1>(p, q);
    write_inverse(p.list);
    add_kept(p.list.state, &total, mine);
}

// voxel_crowded takes the pieces that voxel_reduce, voxel_bucket or voxel_cells has listed, voxel_cut those of them that it leaves. As one kernel with
// two passes they would spill registers.
RC_KERNEL_OCC(reduce_threads, 3) voxel_crowded(const voxel_crowded_params p) {
    wait_for_previous();
    let_next();
    if (p.values.reduce() >= greatest)
        p.values.fours() ? reduce_pieces<extremes, 4>(p) : reduce_pieces<extremes, 1>(p);
    else
        p.values.fours() ? reduce_pieces<sums, 4>(p) : reduce_pieces<sums, 1>(p);
}

RC_KERNEL_OCC(reduce_threads, 3) voxel_cut(const voxel_crowded_params p) {
    wait_for_previous();
    let_next();
    if (*(const u32 *)(p.crowds.state + to_cut) == 0) return;
    p.values.fours() ? reduce_pieces<cut_sums, 4>(p) : reduce_pieces<cut_sums, 1>(p);
}

// A warp of voxel_keep finds the places of some neighbouring voxels, a lane for each, as many as are its share. Then it writes those that are kept, one
// after the other.
RC_KERNEL_OCC(reduce_threads, 4) voxel_keep(const voxel_list p) {
    wait_for_previous();
    let_next();
    __shared__ u64 total;
    if (thread_x() == 0) total = 0;
    barrier();
    const u32 voxels = (u32)p.state[found], warps = warps_of_grid(), all = (voxels + warps - 1) / warps, share = all < warp_size ? all : warp_size;
    u64 mine = 0;
    for (u64 base = warp_of_grid() * (u64)share; base < voxels; base += (u64)share * warps) {
        const u64 voxel = base + lane();
        u32 begin = 0, n = 0, row = 0;
        i64 place = -1;
        if (lane() < share && voxel < voxels) {
            begin = p.start[voxel], n = p.start[voxel + 1] - begin;
            if (n > p.p) n = p.p;
            const u64 key = p.keys[begin];
            place = place_of(p, (u32)voxel, key, row);
            if (place >= 0) describe(p, key, place, row, n), mine += n;
        }
        for (u32 rest = votes(place >= 0); rest != 0; rest &= rest - 1) {
            const u32 from = lowest_bit(rest);
            keep_points(p, shuffle_from((u32)place, from), shuffle_from(begin, from), shuffle_from(n, from), shuffle_from(row, from));
        }
    }
    write_inverse(p);
    add_kept(p.state, &total, mine);
}
