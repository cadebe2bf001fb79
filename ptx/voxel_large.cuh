// voxel_large.cuh reduces large voxels, those of many points, in pieces of 256: one warp per piece, whose lanes share its points.
//
// A sum is one of multiples of a unit relative to the greatest value, which is known only when all points have been seen. But where no
// value has bits below the unit, which the greatest and the smallest value show, the sum of the values as they are is the same. So a piece
// adds them at once, and again, truncated to the unit, where it must. Whoever finishes last of a voxel's pieces adds their sums, if each was
// truncated as the greatest of the whole voxel requires, or had nothing to truncate. What is left goes to voxel_reduce_truncated, which
// reads the points once more.
#pragma once
#include "voxel_values.cuh"

namespace rc {

RC_HOST constexpr u32 reduce_threads = 256;

RC_HOST struct voxel_reduce_large_params {
    voxel_values values;
    const u32 *order; // the points, grouped by voxel
    voxel_large_list large_pieces;
};

template <u32 pass, u32 N> constexpr u32 in_flight_of = pass == sums && N == 1 ? 4 : 3; // points at once: with more, registers would be spilled

RC_FN u32 warp_of_grid() { return (block_x() * reduce_threads + thread_x()) / warp_size; }
RC_FN u32 warps_of_grid() { return blocks_x() * (reduce_threads / warp_size); }

// lane_partition is how a warp's lanes divide so many columns of work: as many columns at once as there are lanes, and of each some ranks.
struct lane_partition {
    u32 most, ranks, rank, column;

    RC_FN_MEMBER lane_partition(u32 columns) {
        most = columns < warp_size ? columns : warp_size, ranks = warp_size / most;
        rank = lane() / most, column = lane() - rank * most;
    }
};

// last_of reports whether this is the last of a voxel's pieces, after which what the others wrote can be read.
template <u32 pass> RC_FN bool last_of(const voxel_reduce_large_params &p, const entry &e) {
    fence();
    warp_barrier();
    u32 before = 0;
    if (lane() == 0) before = atomic_add(slot(p.values, p.large_pieces, e.slot - 1).done, 1);
    if (shuffle_from(before, 0) + 1 < pieces_of(e.n) * (pass == truncated_sums ? 2 : 1)) return false;
    fence();
    return true;
}

RC_FN void write_result(const voxel_reduce_large_params &p, const entry &e, u32 feature, const accumulator &t) {
    const float x[1] = {result(p.values.reduce(), t, e.n, reciprocal_of(p.values.reduce(), e.n))};
    write_out<1>(p.values, (i64)e.place, feature, x);
}

// add_parts makes a voxel of its pieces' sums.
RC_FN void add_parts(const voxel_reduce_large_params &p, const entry &e) {
    constexpr u32 in_flight = 4;
    const u32 pieces = pieces_of(e.n);
    const slot_at s = slot(p.values, p.large_pieces, e.slot - 1);
    const lane_partition by(p.values.f);
    bool left = false;
    for (u32 f = 0; f < p.values.f; f += by.most) {
        const u32 feature = f + by.column;
        const bool works = by.rank < by.ranks && feature < p.values.f;
        u32 best = 0, unlike = 0;
        u64 hi = 0, lo = 0;
        double sum = 0; // shows what is not finite
        if (works) {
            best = ld_relaxed(&s.all[feature].best);
            for (u32 first = by.rank; first < pieces; first += in_flight * by.ranks) {
                partial_result at[in_flight];
                RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                    const u32 piece = first + u * by.ranks;
                    at[u] = {0, best, 0};
                    if (piece < pieces) at[u] = s.parts[feature + piece * slot_size(p.values)];
                }
                RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                    const i64 n = units(as_f64(at[u].sum), best);
                    hi += (u64)(n >> 32), lo += (u64)(n & 0xffffffff), sum += as_f64(at[u].sum);
                    if (at[u].best > 0 && !is_exact(best, at[u].least) && exponent_of(at[u].best) != exponent_of(best)) unlike = 1;
                }
            }
        }
        for (u32 count = by.ranks; count > 1;) {
            const u32 half = (count + 1) / 2, apart = half * by.most;
            const u64 hi_there = shuffle_down(hi, apart), lo_there = shuffle_down(lo, apart);
            const double sum_there = as_f64(shuffle_down(bits(sum), apart));
            const u32 unlike_there = shuffle_down(unlike, apart);
            if (by.rank + half < count) hi += hi_there, lo += lo_there, sum += sum_there, unlike |= unlike_there;
            count = half;
        }
        if (!works || by.rank > 0) continue;
        if (!unlike) {
            write_result(p, e, feature, {best, 0, best < infinite ? all_units((i64)hi, (i64)lo, best) : sum});
        } else {
            s.all[feature].flag = 1, s.parts[feature].sum = 0, s.parts[feature + slot_size(p.values)].sum = 0, left = true;
        }
    }
    if (left) reduce_add((u32 *)(p.large_pieces.state + to_truncate), 1);
}

// reduce_pieces is voxel_reduce_large, and voxel_reduce_truncated with truncated_sums, which adds up in the sums of the first two parts. N: features a lane.
template <u32 pass, u32 N> RC_FN void reduce_pieces(const voxel_reduce_large_params &p) {
    const u32 listed = *(const u32 *)(p.large_pieces.state + large_pieces), groups = p.values.f / N;
    const lane_partition by(groups);
    for (u32 c = warp_of_grid(); c < listed; c += warps_of_grid()) {
        const entry &e = entries(p.large_pieces)[c]; // what is needed late is read late
        const bool several = e.slot > 0;
        if (pass == truncated_sums && !several) continue;
        const u32 begin = e.begin + e.number * piece_points, left = e.n - e.number * piece_points, row = e.row;
        const u32 end = begin + (left < piece_points ? left : piece_points);
        for (u32 g = 0; g < groups; g += by.most) {
            const u32 feature = (g + by.column) * N;
            const bool works = by.rank < by.ranks && feature < p.values.f;
            accumulator t[N] = {};
            if constexpr (pass == truncated_sums) {
                const slot_at s = slot(p.values, p.large_pieces, e.slot - 1);
                u32 flags = 0;
                RC_UNROLL for (u32 i = 0; i < N; i++) {
                    if (works) t[i].best = s.all[feature + i].best, flags |= s.all[feature + i].flag;
                }
                if (votes(flags) == 0) continue;
            }
            reduce_together<pass, N, in_flight_of<pass, N>>(p.values, p.order, begin, end, by.most, by.ranks, by.rank, works, feature, row, t);
            if (!works || by.rank > 0) continue;
            if (!several) {
                float x[N];
                const double reciprocal = reciprocal_of(p.values.reduce(), e.n);
                RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = result(p.values.reduce(), t[i], e.n, reciprocal);
                write_out<N>(p.values, (i64)e.place, feature, x);
                continue;
            }
            const slot_at s = slot(p.values, p.large_pieces, e.slot - 1);
            RC_UNROLL for (u32 i = 0; i < N; i++) {
                if constexpr (pass == truncated_sums) {
                    const i64 n = units(t[i].sum, t[i].best);
                    reduce_add(&s.parts[feature + i].sum, (u64)(n >> 32));
                    reduce_add(&s.parts[feature + i + slot_size(p.values)].sum, (u64)(n & 0xffffffff));
                } else {
                    reduce_max(&s.all[feature + i].best, t[i].best);
                    if (pass == extremes && t[i].least) reduce_max(&s.all[feature + i].flag, t[i].least);
                    if (pass == sums) s.parts[feature + i + e.number * slot_size(p.values)] = {bits(t[i].sum), t[i].best, t[i].least};
                }
            }
        }
        if (!several || !last_of<pass>(p, e)) continue;
        if constexpr (pass == sums) {
            add_parts(p, e);
            continue;
        }
        const slot_at s = slot(p.values, p.large_pieces, e.slot - 1);
        for (u32 f = lane(); f < p.values.f; f += warp_size) {
            accumulator t = {ld_relaxed(&s.all[f].best), ld_relaxed(&s.all[f].flag), 0};
            if constexpr (pass == truncated_sums) {
                if (!t.least) continue;
                t.sum = all_units((i64)ld_relaxed(&s.parts[f].sum), (i64)ld_relaxed(&s.parts[f + slot_size(p.values)].sum), t.best);
            }
            write_result(p, e, f, t);
        }
    }
}

} // namespace rc
