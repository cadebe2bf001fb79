// voxel_reduce.cu writes what voxels make of their points, which lie together in the sorted order.
//
// voxel_reduce, for sparse voxels, and voxel_grid, for dense ones: a thread takes one feature of one voxel, or four neighbouring ones
// where they are 16 aligned bytes; neighbouring threads take neighbouring features. A voxel of one point is done at once; others
// wait in a queue until the block has a full turn of them, so that no warp does the long work for a lane or two. Voxels of more
// than `few` points are left to voxel_crowded, in pieces, a warp for each, whose lanes share out the points. Where a voxel has several
// pieces they meet in a slot of global memory, and a third launch writes the result. Sums are of integers, relative to the
// greatest exponent of the voxel, which is found first: so they depend on no order.
//
// voxel_grid writes empty cells too, span by span: a block notes in shared memory which cells of a span have a voxel,
// writes the others, which waits for nothing, and then takes the span's voxels.
//
// voxel_keep writes hard voxels, a warp for each; voxel_inverse each point's voxel, a thread for each point.
// Bytes moved: 8 + 4 a point for keys and order, the features, and the outputs.
#include "tally.cuh"

using namespace rc;

namespace {

constexpr u32 threads = 256;
constexpr u32 few = 16, piece = 256; // ops/cuda sizes the lists by them
constexpr u32 most_span = 8192;      // cells of a span

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

// values_at reads what is reduced: N neighbouring features, or coordinates where there are no features.
template <u32 N> RC_FN void values_at(const voxel_job &j, u32 point, u32 feature, u32 row, float (&x)[N]) {
    if constexpr (N == 4) {
        const v16 v = ld_nc_16((const float *)j.features + (i64)point * j.feature_step + feature);
        x[0] = as_f32(v.x), x[1] = as_f32(v.y), x[2] = as_f32(v.z), x[3] = as_f32(v.w);
    } else {
        x[0] = j.features ? feature_at(j, point, feature) : coordinate_at(j, point, feature, row);
    }
}

// reduce_points takes every step-th point from begin on, of those before end, in_flight at once, and looks at them (pass 0) or adds
// them.
template <u32 N, u32 in_flight>
RC_FN void reduce_points(const voxel_job &j, u32 begin, u32 end, u32 step, u32 feature, u32 row, u32 pass, tally (&t)[N]) {
    const u32 reduce = j.reduce();
    const bool extreme = reduce >= greatest, down = reduce == smallest;
    for (u32 k = begin; k < end; k += in_flight * step) {
        float x[in_flight][N];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            const u32 at = u * step < end - k ? k + u * step : k;
            values_at<N>(j, j.from_order[at], feature, row, x[u]);
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            if (u * step >= end - k) continue;
            RC_UNROLL for (u32 i = 0; i < N; i++) {
                if (pass == 0)
                    see(t[i], x[u][i], extreme, down);
                else
                    add(t[i], x[u][i]);
            }
        }
    }
}

template <u32 N> RC_FN void write_out(const voxel_job &j, i64 place, u32 feature, const float (&x)[N]) {
    float *const to = (float *)j.out + place * j.f + feature;
    if constexpr (N == 4)
        st_16(to, {bits(x[0]), bits(x[1]), bits(x[2]), bits(x[3])});
    else
        *to = x[0];
}

// ---- The pieces of crowded voxels ----

// entry is a piece: of which voxel, which one, and 1 + the slot in which the pieces meet, or 0 for a voxel of one piece.
struct alignas(16) entry {
    u32 voxel, number, slot, unused;
};

RC_FN entry *entries(const voxel_job &j) { return (entry *)j.crowded; }

// A slot has its voxel, then for each feature the sum and what else a tally has. Slots follow the entries, of which there is room for
// as many as n points can make.
struct slot_at {
    u32 *voxel;
    u64 *hi, *lo;
    u32 *best, *special;
};

RC_FN u64 most_entries(const voxel_job &j) { return j.n / (few + 1) + j.n / piece + 1; }
RC_FN slot_at slot(const voxel_job &j, u32 i) {
    u64 *const words = (u64 *)(entries(j) + most_entries(j)) + (u64)i * (1 + 3 * (u64)j.f);
    u32 *const rest = (u32 *)(words + 1 + 2 * (u64)j.f);
    return {(u32 *)words, words + 1, words + 1 + j.f, rest, rest + j.f};
}

// leave puts a voxel of n points on the list. Which place it gets does not show.
RC_FN void leave(const voxel_job &j, u32 voxel, u32 n) {
    const u32 pieces = (n + piece - 1) / piece, at = atomic_add((u32 *)(j.state + crowds), pieces);
    u32 number = 0;
    if (pieces > 1) {
        number = atomic_add((u32 *)(j.state + slots), 1);
        const slot_at s = slot(j, number++);
        *s.voxel = voxel;
        for (u32 i = 0; i < j.f; i++) s.hi[i] = 0, s.lo[i] = 0, s.best[i] = 0, s.special[i] = 0;
    }
    for (u32 i = 0; i < pieces; i++) entries(j)[at + i] = {voxel, i, number, 0};
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

// item is what a thread of voxel_reduce takes: features of a voxel.
struct item {
    u32 voxel, feature;
};

constexpr u32 at_once = 2; // items a thread takes

struct queue {
    item waiting[(at_once + 1) * threads];
    u32 count;
};

// reduce_item takes a voxel of a few points.
template <u32 N, bool Dense> RC_FN void reduce_item(const voxel_job &j, item it) {
    const u32 begin = j.start[it.voxel], n = j.start[it.voxel + 1] - begin;
    u32 row = 0;
    const u64 key = key_at(j, begin);
    const i64 place = Dense ? (i64)key : place_of(j, it.voxel, key, row);
    if (Dense && j.b > 1) row = (u32)(key / j.cells);
    tally s[N] = {};
    for (u32 pass = 0; pass < (j.reduce() >= greatest ? 1u : 2u); pass++) reduce_points<N, 2>(j, begin, begin + n, 1, it.feature, row, pass, s);
    float x[N];
    RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = result(j, s[i], n);
    write_out<N>(j, place, it.feature, x);
}

// reduce_span takes `voxels` neighbouring voxels, of `width` items each; returns how many points the thread has kept. What waits in the
// queue at the end is not done yet.
template <u32 N, bool Dense> RC_FN u64 reduce_span(const voxel_job &j, queue &q, u32 width, u32 first, u32 voxels) {
    u64 mine = 0;
    const u32 items = voxels * width;
    const u32 reduce = j.reduce();
    const bool of_features = reduce >= sum && reduce <= smallest, extreme = reduce >= greatest;
    for (u32 base = 0; base < items; base += at_once * threads) {
        // What is read for one item waits for nothing that is read for another.
        u32 voxel[at_once], feature[at_once], begin[at_once], n[at_once], point[at_once];
        u64 key[at_once];
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            const u32 t = base + u * threads + thread_x();
            voxel[u] = 0, feature[u] = 0, begin[u] = 0, n[u] = 0;
            if (t >= items) continue;
            voxel[u] = t / width, feature[u] = (t - voxel[u] * width) * N, voxel[u] += first;
            begin[u] = j.start[voxel[u]], n[u] = j.start[voxel[u] + 1] - begin[u];
        }
        RC_UNROLL for (u32 u = 0; u < at_once; u++) key[u] = n[u] ? key_at(j, begin[u]) : 0, point[u] = n[u] ? j.from_order[begin[u]] : 0;
        float x[at_once][N];
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            if (n[u] == 1 && of_features) values_at<N>(j, point[u], feature[u], j.b > 1 ? (u32)(key[u] / j.cells) : 0, x[u]);
        }
        RC_UNROLL for (u32 u = 0; u < at_once; u++) {
            if (n[u] == 0) continue;
            u32 row;
            const i64 place = Dense ? (i64)key[u] : place_of(j, voxel[u], key[u], row);
            if (!Dense && place < 0) continue;
            if (!Dense && feature[u] == 0) {
                describe(j, key[u], place, row, n[u]);
                mine += n[u];
            }
            if (!of_features) {
                if (reduce == majority)
                    ((i32 *)j.out)[place] = commonest(j, begin[u], begin[u] + n[u]);
                else if (Dense)
                    ((i32 *)j.out)[place] = (i32)n[u];
            } else if (n[u] > few) {
                if (feature[u] == 0) leave(j, voxel[u], n[u]);
            } else if (n[u] == 1) {
                RC_UNROLL for (u32 i = 0; i < N; i++) x[u][i] = alone(x[u][i], extreme);
                write_out<N>(j, place, feature[u], x[u]);
            } else {
                q.waiting[shared_fetch_add(&q.count, 1)] = {voxel[u], feature[u]};
            }
        }
        if (!of_features) continue;
        barrier();
        u32 count = q.count;
        barrier();
        while (count >= threads) {
            count -= threads;
            reduce_item<N, Dense>(j, q.waiting[count + thread_x()]);
            if (thread_x() == 0) q.count = count;
            barrier();
        }
    }
    return mine;
}

// fill_span writes the empty cells of a span of a dense grid; its voxels begin with `first`. Groups of N values are written at once.
template <u32 N> RC_FN void fill_span(const voxel_job &j, u32 (&taken)[most_span / 32], u32 width, u32 span, u32 first, u32 voxels) {
    const u64 begin = (u64)span << j.span_shift();
    const u32 cells = (u32)(j.keys - begin < 1ull << j.span_shift() ? j.keys - begin : 1ull << j.span_shift());
    if (voxels == cells) return;
    if (voxels > 0) {
        barrier(); // of the span before this one
        for (u32 k = thread_x(); k < most_span / 32; k += threads) taken[k] = 0;
        barrier();
        for (u32 v = thread_x(); v < voxels; v += threads) {
            const u32 cell = (u32)(key_at(j, j.start[first + v]) - begin);
            shared_or(&taken[cell / 32], 1u << cell % 32);
        }
        barrier();
    }
    const u32 value = (u32)j.extra, over = threads / width, rest = threads % width;
    u32 *const out = (u32 *)j.out + begin * (width * N);
    u32 cell = thread_x() / width, column = thread_x() % width;
    while (cell < cells) {
        if (voxels == 0 || !(taken[cell / 32] >> cell % 32 & 1)) {
            u32 *const to = out + (u64)(cell * width + column) * N;
            if constexpr (N == 4)
                st_16(to, {value, value, value, value});
            else
                *to = value;
        }
        cell += over, column += rest;
        if (column >= width) column -= width, cell++;
    }
}

RC_FN u32 items_of(const voxel_job &j, u32 n) { return j.reduce() >= sum && j.reduce() <= smallest ? j.f / n : 1; }

// reduce_list is voxel_reduce, N features a thread; returns how many points the thread has kept.
template <u32 N> RC_FN u64 reduce_list(const voxel_job &j, queue &q) {
    u64 mine = 0;
    const u32 width = items_of(j, N), each = width < at_once * threads ? at_once * threads / width : 1;
    const u64 all = j.state[found];
    for (u64 first = (u64)block_x() * each; first < all; first += (u64)blocks_x() * each)
        mine += reduce_span<N, false>(j, q, width, (u32)first, all - first < each ? (u32)(all - first) : each);
    barrier();
    if (thread_x() < q.count) reduce_item<N, false>(j, q.waiting[thread_x()]);
    return mine;
}

// reduce_grid is voxel_grid.
template <u32 N> RC_FN void reduce_grid(const voxel_job &j, queue &q, u32 (&taken)[most_span / 32]) {
    const u32 width = items_of(j, N);
    for (u32 span = block_x(); span < (u32)spans(j); span += blocks_x()) { // of 32 kB and more each
        const u32 first = j.numbers[span], voxels = j.numbers[span + 1] - first;
        fill_span<N>(j, taken, width, span, first, voxels);
        reduce_span<N, true>(j, q, width, first, voxels);
    }
    barrier();
    if (thread_x() < q.count) reduce_item<N, true>(j, q.waiting[thread_x()]);
}

// reduce_pieces is voxel_crowded's first launch and, with adding, its second.
template <u32 N> RC_FN void reduce_pieces(const voxel_job &j, bool adding) {
    const bool extreme = j.reduce() >= greatest;
    const u32 listed = *(const u32 *)(j.state + crowds);
    const u32 groups = j.f / N, most = groups < warp_size ? groups : warp_size; // groups of N features, and those at once
    const u32 ranks = warp_size / most, rank = lane() / most, column = lane() - rank * most;
    const u32 all = blocks_x() * (threads / warp_size);
    for (u32 c = block_x() * (threads / warp_size) + thread_x() / warp_size; c < listed; c += all) {
        const entry e = entries(j)[c];
        if (adding && e.slot == 0) continue;
        const u32 voxel_begin = j.start[e.voxel], voxel_end = j.start[e.voxel + 1];
        const u32 begin = voxel_begin + e.number * piece, end = voxel_end - begin < piece ? voxel_end : begin + piece;
        u32 row;
        const i64 place = place_of(j, e.voxel, key_at(j, voxel_begin), row);
        const slot_at s = slot(j, e.slot ? e.slot - 1 : 0);
        for (u32 base = 0; base < groups; base += most) {
            const u32 feature = (base + column) * N;
            const bool works = rank < ranks && feature < j.f;
            tally t[N] = {};
            if (adding && works) {
                RC_UNROLL for (u32 i = 0; i < N; i++) t[i].best = s.best[feature + i];
            }
            for (u32 pass = adding; pass < (e.slot || extreme ? adding + 1u : 2u); pass++) {
                if (works) reduce_points<N, 4>(j, begin + rank, end, ranks, feature, row, pass, t);
                meet<N>(t, most, ranks, rank);
                if (pass == 0 && !extreme && e.slot == 0) {
                    RC_UNROLL for (u32 i = 0; i < N; i++) {
                        t[i].best = shuffle_from(t[i].best, column);
                        t[i].special = rank == 0 ? t[i].special : 0;
                    }
                }
            }
            if (!works || rank > 0) continue;
            if (e.slot == 0) {
                float x[N];
                RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = result(j, t[i], end - begin);
                write_out<N>(j, place, feature, x);
                continue;
            }
            RC_UNROLL for (u32 i = 0; i < N; i++) {
                if (adding) {
                    reduce_add(s.hi + feature + i, (u64)(t[i].sum >> 32));
                    reduce_add(s.lo + feature + i, (u64)(t[i].sum & 0xffffffff));
                } else {
                    reduce_max(s.best + feature + i, t[i].best);
                    if (t[i].special) reduce_or(s.special + feature + i, t[i].special);
                }
            }
        }
    }
}

} // namespace

// voxel_reduce writes sparse voxels.
RC_KERNEL_OCC(threads, 3) voxel_reduce(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ u64 total;
    __shared__ queue q;
    if (thread_x() == 0) total = 0, q.count = 0;
    barrier();
    add_kept(j, &total, j.fours() ? reduce_list<4>(j, q) : reduce_list<1>(j, q));
}

// voxel_grid writes a dense grid. extra: the bits of what empty cells hold.
RC_KERNEL_OCC(threads, 3) voxel_grid(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ queue q;
    __shared__ u32 taken[most_span / 32];
    if (thread_x() == 0) q.count = 0;
    barrier();
    if (j.fours())
        reduce_grid<4>(j, q, taken);
    else
        reduce_grid<1>(j, q, taken);
}

// voxel_crowded takes the pieces that voxel_reduce has listed. extra: 0 to look at the values, which is all that voxels of one piece
// and reductions without a sum need; 1 to add those of the others; 2 to write the others' results.
RC_KERNEL_OCC(threads, 3) voxel_crowded(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    if (j.extra < 2) {
        if (j.fours())
            reduce_pieces<4>(j, j.extra);
        else
            reduce_pieces<1>(j, j.extra);
        return;
    }
    const u64 items = (u64) * (const u32 *)(j.state + slots) * j.f;
    for (u64 t = block_x() * (u64)threads + thread_x(); t < items; t += blocks_x() * (u64)threads) {
        const u32 number = (u32)(t / j.f), feature = (u32)(t - (u64)number * j.f);
        const slot_at s = slot(j, number);
        const u32 voxel = *s.voxel, begin = j.start[voxel], n = j.start[voxel + 1] - begin;
        u32 row;
        const i64 place = place_of(j, voxel, key_at(j, begin), row);
        const float x[1] = {result(j, s.best[feature], s.special[feature], (i64)s.hi[feature], (i64)s.lo[feature], n)};
        write_out<1>(j, place, feature, x);
    }
}

RC_KERNEL_OCC(threads, 4) voxel_keep(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ u64 total;
    if (thread_x() == 0) total = 0;
    barrier();
    u64 mine = 0;
    const u32 width = 3 + j.f;
    const u64 items = (u64)j.p * width, warps_all = (u64)blocks_x() * (threads / warp_size);
    const u64 voxels = j.state[found];
    for (u64 base = ((u64)block_x() * threads + thread_x()) / warp_size * warp_size; base < voxels; base += warps_all * warp_size) {
        // A lane finds where a voxel goes; then all lanes write the voxels that stay, one after the other.
        const u64 voxel = base + lane();
        u32 begin = 0, n = 0, row = 0;
        i64 place = -1;
        if (voxel < voxels) {
            begin = j.start[voxel], n = j.start[voxel + 1] - begin;
            n = n < j.p ? n : j.p;
            const u64 key = key_at(j, begin);
            place = place_of(j, (u32)voxel, key, row);
            if (place >= 0) {
                describe(j, key, place, row, n);
                mine += n;
            }
        }
        for (u32 left = votes(place >= 0); left; left &= left - 1) {
            const u32 leader = lowest_bit(left), from = shuffle_from(begin, leader), points = shuffle_from(n, leader), its_row = shuffle_from(row, leader);
            float *const out = (float *)j.out + shuffle_from((u64)place, leader) * items;
            for (u64 e = lane(); e < items; e += warp_size) {
                const u32 k = items >> 32 ? (u32)(e / width) : (u32)e / width, column = (u32)(e - (u64)k * width);
                float x = 0;
                if (k < points) {
                    const u32 point = j.from_order[from + k];
                    x = column >= 3 ? feature_at(j, point, column - 3) : coordinate_at(j, point, column, its_row);
                }
                out[e] = x;
            }
        }
    }
    add_kept(j, &total, mine);
}

RC_KERNEL(threads) voxel_inverse(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    const u64 points_in = j.state[in_range];
    for (u64 i = block_x() * (u64)threads + thread_x(); i < points_in; i += blocks_x() * (u64)threads) {
        const u32 voxel = j.voxel_at[i];
        u32 row;
        const i64 place = place_of(j, voxel, key_at(j, (u32)i), row);
        if (place < 0 || (j.mode() == hard && i - j.start[voxel] >= j.p)) continue;
        j.inverse[j.from_order[i]] = (i32)place;
    }
}
