// voxel_values.cuh reads the values that voxels are reduced from, and has the list of large voxels.
#pragma once
#include "accumulate.cuh"

namespace rc {

RC_HOST constexpr u32 few_points = 16;           // the most points in a voxel for one or two lanes
RC_HOST constexpr u32 piece_points = 256; // the most points for a warp in voxel_reduce_large

// voxel_values has the inputs and outputs of voxels: features, or coordinates if there are no features.
RC_HOST struct voxel_values {
    u32 flags, f;         // features
    const void *features; // [n, f], or null
    i64 feature_step;
    void *out;            // f32, f per place; i32 for counts and majorities
    u64 cells;            // cells in a row
    voxel_cloud cloud;

    RC_FLAG(flags, u32, reduce, 0, 3)
    RC_FLAG(flags, u32, feature_type, 3, 2)
    RC_FLAG(flags, bool, double_out, 6, 1) // `out` is f64, see voxel_f64.cu
    RC_FLAG(flags, bool, fours, 5, 1) // features have groups of four f32, aligned to 16 bytes, and so has `out`
};

// voxel_large_list has the address for the list of large voxels.
RC_HOST struct voxel_large_list {
    void *pieces; // entries and slots, see below
    u64 *state;
};

// row_in is the row of a voxel by its key, which only coordinates need.
RC_FN u32 row_in(const voxel_values &v, u32 key) { return v.cloud.b > 1 ? (u32)(key / v.cells) : 0; }
RC_FN u32 row_in(const voxel_values &v, u64 key) { return v.cloud.b > 1 ? (u32)(key / v.cells) : 0; }

// coordinate_at returns a coordinate of a point of Ts, after the pose.
template <class T> RC_FN T coordinate_at(const voxel_cloud &c, u32 point, u32 axis, u32 row) {
    const T *const at = (const T *)c.points + (i64)point * c.point_step;
    if (c.poses == nullptr) return ld_element(at + axis);
    const T *const m = (const T *)c.poses + row * c.pose_batch + 4 * axis;
    return ((ld_element(m) * ld_element(at) + ld_element(m + 1) * ld_element(at + 1)) + ld_element(m + 2) * ld_element(at + 2)) + ld_element(m + 3);
}

// feature_at returns a feature of a point.
RC_FN float feature_at(const voxel_values &v, u32 point, u32 feature) {
    const i64 i = (i64)point * v.feature_step + feature;
    switch (v.feature_type()) {
    case dt_f32: return ld_nc_f32((const float *)v.features + i);
    case dt_f16: return f16_to_f32(ld_nc_u16((const u16 *)v.features + i));
    default: return as_f32((u32)ld_nc_u16((const u16 *)v.features + i) << 16);
    }
}

// values_at reads what is reduced: N neighbouring features, or coordinates where there are no features.
template <u32 N> RC_FN void values_at(const voxel_values &v, u32 point, u32 feature, u32 row, float (&x)[N]) {
    if constexpr (N == 4) {
        const v16 q = ld_nc_16((const float *)v.features + (i64)point * v.feature_step + feature);
        x[0] = as_f32(q.x), x[1] = as_f32(q.y), x[2] = as_f32(q.z), x[3] = as_f32(q.w);
    } else {
        x[0] = v.features ? feature_at(v, point, feature) : coordinate_at<float>(v.cloud, point, feature, row);
    }
}

// for_each_point takes every step-th point from begin on, of those before end, in_flight at once, and gives use(x) its values. Which points
// come next is loaded before what these have has arrived.
template <u32 N, u32 in_flight, class Use>
RC_FN void for_each_point(const voxel_values &v, const u32 *order, u32 begin, u32 end, u32 step, u32 feature, u32 row, Use use) {
    if (begin >= end) return;
    u32 point[in_flight];
    const auto load_order = [&](u32 k) { // from k on; past the end it is the first once more
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) point[u] = order[k < end && u * step < end - k ? k + u * step : begin];
    };
    load_order(begin);
    for (u32 k = begin; k < end; k += in_flight * step) {
        float x[in_flight][N];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) values_at<N>(v, point[u], feature, row, x[u]);
        if (in_flight * step < end - k) load_order(k + in_flight * step);
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            if (u * step < end - k) use(x[u]);
        }
    }
}

// reduce_points reduces such points.
template <u32 pass, u32 N, u32 in_flight>
RC_FN void reduce_points(const voxel_values &v, const u32 *order, u32 begin, u32 end, u32 step, u32 feature, u32 row, accumulator (&t)[N]) {
    const bool down = v.reduce() == smallest;
    for_each_point<N, in_flight>(v, order, begin, end, step, feature, row, [&](const float (&x)[N]) {
        RC_UNROLL for (u32 i = 0; i < N; i++) {
            if constexpr (pass == extremes)
                add_extreme(t[i], x[i], down);
            else if constexpr (pass == sums)
                add_value(t[i], x[i]);
            else
                add_truncated(t[i], x[i]);
        }
    });
}

// put writes N neighbouring values, write_out features of a place.
template <u32 N> RC_FN void put(float *to, const float (&x)[N]) {
    if constexpr (N == 4)
        st_16(to, {bits(x[0]), bits(x[1]), bits(x[2]), bits(x[3])});
    else
        *to = x[0];
}
template <u32 N> RC_FN void write_out(const voxel_values &v, i64 place, u32 feature, const float (&x)[N]) {
    put<N>((float *)v.out + place * v.f + feature, x);
}

// reduce_together is what lanes of a warp find of the points from begin on: those with one column share them, `ranks` of them, `apart` from each
// other. The first has the result. Every lane comes along; those of some columns may have no work. Where a sum has something to truncate, the points
// are walked over again.
template <u32 pass, u32 N, u32 in_flight>
RC_FN void reduce_together(const voxel_values &v, const u32 *order, u32 begin, u32 end, u32 apart, u32 ranks, u32 rank, bool works, u32 feature, u32 row, accumulator (&t)[N]) {
    if (works) reduce_points<pass, N, in_flight>(v, order, begin + rank, end, ranks, feature, row, t);
    combine_lanes<pass>(t, apart, ranks, rank);
    if (pass != sums || RC_LIKELY(votes(works && rank == 0 && !is_exact(t)) == 0)) return;
    RC_UNROLL for (u32 i = 0; i < N; i++) t[i].best = shuffle_from(t[i].best, lane() - rank * apart), t[i].sum = 0;
    if (works) reduce_points<truncated_sums, N, 1>(v, order, begin + rank, end, ranks, feature, row, t);
    combine_lanes<truncated_sums>(t, apart, ranks, rank);
}

// reduce_few reduces N features of the n points from begin on in the order, which a lane does by itself.
template <u32 N> RC_FN void reduce_few(const voxel_values &v, const u32 *order, u32 begin, u32 n, u32 feature, u32 row, float (&x)[N]) {
    accumulator s[N] = {};
    if (v.reduce() >= greatest) {
        reduce_points<extremes, N, 2>(v, order, begin, begin + n, 1, feature, row, s);
    } else {
        reduce_points<sums, N, 2>(v, order, begin, begin + n, 1, feature, row, s);
        if (RC_UNLIKELY(!is_exact(s))) {
            RC_UNROLL for (u32 i = 0; i < N; i++) s[i].sum = 0;
            reduce_points<truncated_sums, N, 1>(v, order, begin, begin + n, 1, feature, row, s);
        }
    }
    const double reciprocal = reciprocal_of(v.reduce(), n);
    RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = result(v.reduce(), s[i], n, reciprocal);
}

// items_of is how many lanes a voxel takes, n features each.
RC_FN u32 items_of(const voxel_values &v, u32 n) { return v.reduce() >= sum && v.reduce() <= smallest ? v.f / n : 1; }

// ---- The pieces of large voxels ----

// entry is a piece of a voxel: where its result goes, all its n points from begin on, which piece it is, and 1 + the slot of the voxel's
// first piece, or 0 for a voxel of one piece.
struct alignas(16) entry {
    u64 place;
    u32 begin, n, number, slot, row, unused;
};

RC_FN entry *entries(const voxel_large_list &c) { return (entry *)c.pieces; }

// partial_result is what a piece knows of a feature, known what is known of it for the whole voxel: the best, and of an extreme whether there was a NaN, of a
// sum whether it is left to voxel_reduce_truncated.
struct alignas(16) partial_result {
    u64 sum; // a double's bits
    u32 best, least;
};
struct alignas(8) combined_result {
    u32 best, flag;
};

// Each piece of a voxel of several has a slot, one after the other. The first is where they combine: it has how many of them are done, and what is known of
// the voxel. Slots follow the entries, of which there is room for as many as n points can make.
struct slot_at {
    u32 *done;
    partial_result *parts;
    combined_result *all;
};
RC_FN u64 max_entries(const voxel_values &v) { return v.cloud.n / (few_points + 1) + v.cloud.n / piece_points + 1; }
RC_FN u64 slot_size(const voxel_values &v) { return 1 + v.f + (v.f + 1) / 2; } // the size of a slot, in findings
RC_FN slot_at slot(const voxel_values &v, const voxel_large_list &c, u32 i) {
    partial_result *const p = (partial_result *)(entries(c) + max_entries(v)) + i * slot_size(v);
    return {(u32 *)p, p + 1, (combined_result *)(p + 1 + v.f)};
}
RC_FN u32 pieces_of(u32 n) { return (n + piece_points - 1) / piece_points; }

// reserved is where a voxel's pieces go: its first entry, and its first slot. The counter has entries, and slots above.
struct reserved {
    u32 entry, slot;
};
RC_FN u32 slots_of(u32 pieces) { return pieces > 1 ? pieces : 0; }
RC_FN reserved reserve_entries(const voxel_large_list &c, u32 pieces, u32 slots) {
    const u64 at = atomic_add(c.state + large_pieces, (u64)slots << 32 | pieces);
    return {(u32)at, (u32)(at >> 32)};
}

// list_pieces puts every step-th piece of a voxel from `from` on into its room, and clears as much of what is known of it.
RC_FN void list_pieces(const voxel_values &v, const voxel_large_list &c, reserved at, u64 place, u32 begin, u32 n, u32 row, u32 from, u32 step) {
    const u32 pieces = pieces_of(n);
    for (u32 i = from; i < pieces; i += step) entries(c)[at.entry + i] = {place, begin, n, i, pieces > 1 ? at.slot + 1 : 0, row, 0};
    if (pieces == 1) return;
    const slot_at s = slot(v, c, at.slot);
    if (from == 0) *s.done = 0;
    for (u32 f = from; f < v.f; f += step) s.all[f] = {0, 0};
}

// append_large puts the voxels that lanes of a warp have, of n points each, on the list: those of the lanes that leave theirs. Which place each gets does not
// show. The lanes ask for room together, and list together the pieces of each that has many.
RC_FN void append_large(const voxel_values &v, const voxel_large_list &c, bool leaves, u64 place, u32 begin, u32 n, u32 row) {
    if (votes(leaves) == 0) return;
    const u32 pieces = leaves ? pieces_of(n) : 0, slots = slots_of(pieces), pieces_upto = warp_scan(pieces), slots_upto = warp_scan(slots);
    reserved all = {};
    if (lane() == warp_size - 1) all = reserve_entries(c, pieces_upto, slots_upto);
    const reserved at = {shuffle_from(all.entry, warp_size - 1) + pieces_upto - pieces, shuffle_from(all.slot, warp_size - 1) + slots_upto - slots};
    constexpr u32 own = 8; // pieces that a lane lists by itself
    if (leaves && pieces <= own) list_pieces(v, c, at, place, begin, n, row, 0, 1);
    for (u32 rest = votes(pieces > own); rest != 0; rest &= rest - 1) {
        const u32 from = lowest_bit(rest);
        const reserved there = {shuffle_from(at.entry, from), shuffle_from(at.slot, from)};
        list_pieces(v, c, there, shuffle_from(place, from), shuffle_from(begin, from), shuffle_from(n, from), shuffle_from(row, from), lane(), warp_size);
    }
}

} // namespace rc
