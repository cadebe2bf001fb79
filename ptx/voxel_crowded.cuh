// voxel_crowded.cuh reduces voxels of many points in pieces of 256, a warp for each, whose lanes share out the points.
//
// A sum is that of multiples of a unit relative to the greatest value, which is known when all points have been seen. But where no value has bits
// below the unit, which each piece's greatest and smallest value tell, the sum of the values as they are is the same. So voxel_crowded adds them at
// once. Of a voxel of one piece it then knows enough to add them again, cut, if it must; of one of several whoever comes last adds the pieces'
// sums, or leaves the feature to voxel_cut, which walks over the points once more.
#pragma once
#include "voxel_values.cuh"

namespace rc {

constexpr u32 crowded_threads = 256;

RC_FN u32 warp_of_grid() { return (block_x() * crowded_threads + thread_x()) / warp_size; }
RC_FN u32 warps_of_grid() { return blocks_x() * (crowded_threads / warp_size); }

// shares is how a warp's lanes share out so many columns of work: as many columns at once as there are lanes, and of each some ranks.
struct shares {
    u32 most, ranks, rank, column;

    RC_FN_MEMBER shares(u32 columns) {
        most = columns < warp_size ? columns : warp_size, ranks = warp_size / most;
        rank = lane() / most, column = lane() - rank * most;
    }
};

// last_of reports whether this is the last of a voxel's pieces, after which what the others wrote can be read.
template <u32 pass> RC_FN bool last_of(const voxel_job &j, const entry &e) {
    fence();
    warp_barrier();
    u32 before = 0;
    if (lane() == 0) before = atomic_add(slot(j, e.slot - 1).done, 1);
    if (shuffle_from(before, 0) + 1 < pieces_of(e.n) * (pass == cut_sums ? 2 : 1)) return false;
    fence();
    return true;
}

RC_FN void write_result(const voxel_job &j, const entry &e, u32 feature, const tally &t) {
    const float x[1] = {result(j, t, e.n, share_of(j, e.n))};
    write_out<1>(j, (i64)e.place, feature, x);
}

// add_sums makes a voxel of its pieces' sums, but for features that have to be added again.
RC_FN void add_sums(const voxel_job &j, const entry &e) {
    constexpr u32 in_flight = 4;
    const u32 first = e.slot - 1, pieces = pieces_of(e.n);
    const slot_at s = slot(j, first);
    const u64 *const own = s.hi;
    const u64 apart = slot(j, first + 1).hi - own; // words
    const shares by(j.f);
    bool more = false;
    for (u32 f = 0; f < j.f; f += by.most) {
        const u32 feature = f + by.column;
        const bool works = by.rank < by.ranks && feature < j.f;
        u32 best = 0, least = 0;
        u64 hi = 0, lo = 0;
        double sum = 0; // tells what is not finite
        if (works) {
            best = ld_relaxed(s.best + feature), least = ld_relaxed(s.least + feature);
            for (u32 p = by.rank; p < pieces; p += in_flight * by.ranks) {
                double x[in_flight];
                RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                    const u32 at = p + u * by.ranks;
                    x[u] = at < pieces ? as_f64(ld_relaxed(own + feature + at * apart)) : 0;
                }
                RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                    const i64 n = units(x[u], best);
                    hi += (u64)(n >> 32), lo += (u64)(n & 0xffffffff), sum += x[u];
                }
            }
        }
        for (u32 count = by.ranks; count > 1;) {
            const u32 half = (count + 1) / 2;
            const u64 hi_there = shuffle_down(hi, half * by.most), lo_there = shuffle_down(lo, half * by.most);
            const double sum_there = as_f64(shuffle_down(bits(sum), half * by.most));
            if (by.rank + half < count) hi += hi_there, lo += lo_there, sum += sum_there;
            count = half;
        }
        if (!works || by.rank > 0) continue;
        if (settled(best, least)) {
            write_result(j, e, feature, {best, least, best < infinite ? all_units((i64)hi, (i64)lo, best) : sum});
        } else {
            s.hi[feature] = 0, s.lo[feature] = 0, more = true;
        }
    }
    if (more) reduce_add((u32 *)(j.state + to_cut), 1);
}

// reduce_pieces is voxel_crowded, and voxel_cut with cut_sums. N: features a lane.
template <u32 pass, u32 N> RC_FN void reduce_pieces(const voxel_job &j) {
    const u32 listed = *(const u32 *)(j.state + crowds), groups = j.f / N;
    const shares by(groups);
    for (u32 c = warp_of_grid(); c < listed; c += warps_of_grid()) {
        const entry &e = entries(j)[c]; // what is needed late is read late
        const bool several = e.slot > 0;
        if (pass == cut_sums && !several) continue;
        const u32 begin = e.begin + e.number * piece_points, left = e.n - e.number * piece_points, row = e.row;
        const u32 end = begin + (left < piece_points ? left : piece_points);
        for (u32 g = 0; g < groups; g += by.most) {
            const u32 feature = (g + by.column) * N;
            const bool works = by.rank < by.ranks && feature < j.f;
            tally t[N] = {};
            if constexpr (pass == cut_sums) {
                const slot_at s = slot(j, e.slot - 1);
                RC_UNROLL for (u32 i = 0; i < N; i++) {
                    if (works) t[i].best = s.best[feature + i], t[i].least = s.least[feature + i];
                }
                if (votes(works && !settled(t)) == 0) continue;
            }
            if (works) reduce_points<pass, N, 3>(j, begin + by.rank, end, by.ranks, feature, row, t);
            meet<pass>(t, by.most, by.ranks, by.rank);
            const bool has = works && by.rank == 0;
            if (pass == sums && !several && RC_SELDOM(votes(has && !settled(t)) != 0)) {
                RC_UNROLL for (u32 i = 0; i < N; i++) t[i].best = shuffle_from(t[i].best, by.column), t[i].sum = 0;
                if (works) reduce_points<cut_sums, N, 1>(j, begin + by.rank, end, by.ranks, feature, row, t);
                meet<cut_sums>(t, by.most, by.ranks, by.rank);
            }
            if (!has) continue;
            if (!several) {
                float x[N];
                const double share = share_of(j, e.n);
                RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = result(j, t[i], e.n, share);
                write_out<N>(j, (i64)e.place, feature, x);
                continue;
            }
            const slot_at s = slot(j, e.slot - 1);
            RC_UNROLL for (u32 i = 0; i < N; i++) {
                if constexpr (pass == cut_sums) {
                    if (settled(t[i].best, t[i].least)) continue;
                    const i64 n = units(t[i].sum, t[i].best);
                    reduce_add(s.hi + feature + i, (u64)(n >> 32));
                    reduce_add(s.lo + feature + i, (u64)(n & 0xffffffff));
                } else {
                    reduce_max(s.best + feature + i, t[i].best);
                    if (pass == sums || t[i].least) reduce_max(s.least + feature + i, t[i].least);
                    if (pass == sums) slot(j, e.slot - 1 + e.number).hi[feature + i] = bits(t[i].sum);
                }
            }
        }
        if (!several || !last_of<pass>(j, e)) continue;
        if constexpr (pass == sums) {
            add_sums(j, e);
            continue;
        }
        const slot_at s = slot(j, e.slot - 1);
        for (u32 f = lane(); f < j.f; f += warp_size) {
            tally t = {ld_relaxed(s.best + f), ld_relaxed(s.least + f), 0};
            if (pass == cut_sums) {
                if (settled(t.best, t.least)) continue;
                t.sum = all_units((i64)ld_relaxed(s.hi + f), (i64)ld_relaxed(s.lo + f), t.best);
            }
            write_result(j, e, f, t);
        }
    }
}

} // namespace rc
