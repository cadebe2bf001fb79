// voxel_f64.cu computes voxels of doubles: sums, means and extremes in float64 of what the sort has brought together, hard voxels, and
// what a call that has doubles needs before voxel_fill. Whatever is not f64 is widened.
//
// voxel_prepare_f64 widens poses of f32 for points of f64, and fills a grid of f64 with a value whose two words differ, which voxel_fill
// cannot write.
//
// voxel_reduce_f64: a thread takes one feature of one voxel, neighbouring threads neighbouring features. The lanes of a warp share the points
// of a voxel of more than `few_points`. The points are read twice: for the greatest magnitude, and for the sum of 128-bit integers scaled
// by it, see ops/cpu/voxelize_wide.go; for extremes once. voxel_hard_f64 writes hard voxels, as voxel_hard does.
//
// Bytes moved: 8 + 4 per point for keys and order, the features, those of sums twice, and the outputs.
#include "voxel_list.cuh"

using namespace rc;

RC_HOST constexpr u32 prepare_threads = 256;

RC_HOST struct voxel_prepare_params {
    void *out;          // doubles to fill; null if there are none
    u64 count;          // how many
    u64 value;          // the bits of each double
    const void *narrow; // poses in f32, which go to `poses` as f64; null if there are none
    void *poses;
    u64 numbers; // numbers in all poses
};

namespace {

constexpr u64 sign_bit = 1ull << 63, wide_infinite = 0x7ff0000000000000ull, wide_nan = 0x7ff8000000000000ull;
constexpr i32 wide_bits = 90; // below the power of two that the greatest value has
constexpr u32 few_in_flight = 2, many_in_flight = 4;

RC_FN double double_feature(const voxel_values &v, u32 point, u32 feature) {
    if (v.feature_type() == dt_f64) return ld_nc_f64((const double *)v.features + (i64)point * v.feature_step + feature);
    return feature_at(v, point, feature);
}
RC_FN double double_coordinate(const voxel_values &v, u32 point, u32 axis, u32 row) {
    if (v.cloud.wide()) return coordinate_at<double>(v.cloud, point, axis, row);
    return coordinate_at<float>(v.cloud, point, axis, row);
}

// for_each_double takes every step-th point from begin on, of those before end, in_flight at once, and gives use(x) a feature.
template <u32 in_flight, class Use>
RC_FN void for_each_double(const voxel_values &v, const u32 *order, u32 begin, u32 end, u32 step, u32 feature, u32 row, Use use) {
    RC_NO_UNROLL for (u32 k = begin; k < end; k += in_flight * step) {
        u32 point[in_flight];
        double x[in_flight];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) point[u] = order[u * step < end - k ? k + u * step : k];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) x[u] = v.features ? double_feature(v, point[u], feature) : double_coordinate(v, point[u], feature, row);
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            if (u * step < end - k) use(x[u]);
        }
    }
}

// wide_order maps values to integers in ascending order, or descending, NaN beyond all.
RC_FN u64 wide_order(double x, bool down) {
    if (is_nan(x)) return ~0ull;
    const u64 b = bits(x), up = b >> 63 ? ~b : b | sign_bit;
    return down ? ~up : up;
}
RC_FN double of_wide_order(u64 order, bool down) {
    const u64 up = down ? ~order : order;
    return as_f64(order == ~0ull ? wide_nan : up >> 63 ? up & ~sign_bit : ~up);
}

// wide_sum is an integer of 128 bits, in two's complement.
struct wide_sum {
    u64 hi, lo;

    RC_FN_MEMBER void add(u64 h, u64 l) { lo += l, hi += h + (lo < l); }
    RC_FN_MEMBER void negate() { lo = 0 - lo, hi = ~hi + (lo == 0); }
    // up shifts a number that is not 0 until its highest bit is the last, and returns how far.
    RC_FN_MEMBER i32 up() {
        const bool low = hi == 0;
        if (low) hi = lo, lo = 0;
        const i32 n = __builtin_clzll(hi);
        hi = hi << n | (lo >> 1) >> (63 - n), lo <<= n;
        return low ? 64 + n : n;
    }
};

// wide_exponent is the biased exponent of a finite magnitude, of denormal numbers 1.
RC_FN i32 wide_exponent(u64 magnitude) { return magnitude >> 52 ? (i32)(magnitude >> 52) : 1; }

// add_truncated adds a value, truncated as the greatest of the biased exponent top asks for.
RC_FN void add_truncated(wide_sum &s, double x, i32 top) {
    const u64 size = bits(x) & ~sign_bit;
    const i32 e = wide_exponent(size), up = wide_bits - 52 - (top - e);
    const u64 m = size - ((u64)(e - 1) << 52); // with the bit that is not written
    wide_sum cut = {0, 0};
    if (up >= 0)
        cut = {(m >> 1) >> (63 - up), m << up};
    else if (up > -64)
        cut.lo = m >> -up;
    if (bits(x) & sign_bit) cut.negate();
    s.add(cut.hi, cut.lo);
}

// over is a sum divided by n, rounded once: ops/cpu/voxelize_wide.go says how.
RC_FN double over(wide_sum s, u32 n, i32 top) {
    const u64 sign = s.hi & sign_bit;
    if (sign) s.negate();
    if ((s.hi | s.lo) == 0) return 0;
    i32 e = top - wide_bits;
    e -= s.up();
    const u32 digits[4] = {(u32)(s.hi >> 32), (u32)s.hi, (u32)(s.lo >> 32), (u32)s.lo};
    wide_sum q = s;
    u64 rest = 0;
    if (n > 1) {
        q = {0, 0};
        RC_UNROLL for (u32 k = 0; k < 4; k++) {
            const u64 now = rest << 32 | digits[k], part = now / n;
            rest = now - part * n;
            q.hi = q.hi << 32 | q.lo >> 32, q.lo = q.lo << 32 | part;
        }
    }
    e += 127 - q.up();
    const i32 down = 11 + (e < 1 ? 1 - e : 0); // bits of hi that a double has no room for, of a denormal one more
    if (down > 64) return as_f64(sign);
    u64 m = down < 64 ? q.hi >> down : 0;
    const u64 half = q.hi >> (down - 1) & 1, below = (q.hi & ((1ull << (down - 1)) - 1)) | q.lo | rest;
    if (half && (below || m & 1)) m++;
    if (e >= 0x7ff)
        m = wide_infinite;
    else if (e >= 1)
        m += (u64)(e - 1) << 52; // a carry goes on to the exponent
    return as_f64(sign | m);
}

enum special_values : u32 { special_nan = 1, special_above = 2, special_below = 4 };

RC_FN u64 larger(u64 a, u64 b) { return a > b ? a : b; }

// combine_ranks makes one of what the lanes of a warp have for one feature, at the lowest: join(half, gets) takes what the lane `half` ranks above has.
template <class Join> RC_FN void combine_ranks(u32 ranks, u32 rank, Join join) {
    for (u32 count = ranks; count > 1;) {
        const u32 half = (count + 1) / 2;
        join(half, rank + half < count);
        count = half;
    }
}

// reduce_doubles is the result for the points from begin on. Together: those lanes of a warp that have one column share them, `ranks` of them, `apart`
// from each other, and the first has the result. Every lane then comes along.
template <bool Together, u32 in_flight>
RC_FN double reduce_doubles(const voxel_values &v, const u32 *order, u32 begin, u32 end, u32 apart, u32 ranks, u32 rank, bool works, u32 feature, u32 row) {
    const u32 reduce = v.reduce();
    const bool extreme = reduce >= greatest, down = reduce == smallest;
    u64 best = 0; // in order, or the greatest magnitude
    u32 special = 0;
    if (works) {
        for_each_double<in_flight>(v, order, begin + rank, end, ranks, feature, row, [&](double x) {
            const u64 size = bits(x) & ~sign_bit;
            best = larger(best, extreme ? wide_order(x, down) : size);
            if (size >= wide_infinite) special |= size > wide_infinite ? special_nan : negative(x) ? special_below : special_above;
        });
    }
    if constexpr (Together) {
        combine_ranks(ranks, rank, [&](u32 half, bool gets) {
            const u64 there = shuffle_down(best, half * apart);
            const u32 special_there = shuffle_down(special, half * apart);
            if (gets) best = larger(best, there), special |= special_there;
        });
        best = shuffle_from(best, lane() - rank * apart), special = shuffle_from(special, lane() - rank * apart);
    }
    if (extreme) return of_wide_order(best, down);
    const i32 top = wide_exponent(best);
    wide_sum s = {0, 0};
    if (works && !special) for_each_double<in_flight>(v, order, begin + rank, end, ranks, feature, row, [&](double x) { add_truncated(s, x, top); });
    if constexpr (Together) {
        combine_ranks(ranks, rank, [&](u32 half, bool gets) {
            const u64 hi = shuffle_down(s.hi, half * apart), lo = shuffle_down(s.lo, half * apart);
            if (gets) s.add(hi, lo);
        });
    }
    if (special) return as_f64(special == special_above ? wide_infinite : special == special_below ? wide_infinite | sign_bit : wide_nan);
    return over(s, reduce == mean ? end - begin : 1, top);
}

RC_FN void write_double(const voxel_values &v, i64 place, u32 feature, double x) {
    const i64 at = place * v.f + feature;
    if (v.double_out())
        st_f64((double *)v.out + at, x);
    else
        st_f32((float *)v.out + at, f64_to_f32(x));
}

// write_large makes a voxel of many points, which a warp does.
RC_FN void write_large(const voxel_list &l, i64 place, u32 begin, u32 n, u32 row) {
    const lane_partition by(l.values.f);
    for (u32 f = 0; f < l.values.f; f += by.most) {
        const u32 feature = f + by.column;
        const bool works = by.rank < by.ranks && feature < l.values.f;
        const double x = reduce_doubles<true, many_in_flight>(l.values, l.order, begin, begin + n, by.most, by.ranks, by.rank, works, feature, row);
        if (works && by.rank == 0) write_double(l.values, place, feature, x);
    }
}

} // namespace

RC_KERNEL(prepare_threads) voxel_prepare_f64(const voxel_prepare_params p) {
    grid_dependency_wait();
    launch_dependents();
    const u64 thread = block_x() * (u64)prepare_threads + thread_x(), threads = blocks_x() * (u64)prepare_threads;
    for (u64 k = thread; k < p.numbers; k += threads) st_f64((double *)p.poses + k, ld_nc_f32((const float *)p.narrow + k));
    for (u64 k = thread; k < p.count; k += threads) st_u64((u64 *)p.out + k, p.value);
}

RC_KERNEL_OCC(reduce_threads, 2) voxel_reduce_f64(const voxel_list p) {
    grid_dependency_wait();
    launch_dependents();
    __shared__ u64 total;
    if (thread_x() == 0) total = 0;
    barrier();
    const voxel_values &v = p.values;
    const u32 width = v.f;
    const u64 items = p.state[found] * width, step = warps_of_grid() * (u64)warp_size;
    u64 mine = 0;
    for (u64 base = warp_of_grid() * (u64)warp_size; base < items; base += step) {
        const u64 t = base + lane();
        u32 feature = 0, begin = 0, n = 0, row = 0;
        i64 place = -1;
        if (t < items) {
            const u32 voxel = items >> 32 ? (u32)(t / width) : (u32)t / width;
            feature = (u32)(t - (u64)voxel * width), begin = p.start[voxel], n = p.start[voxel + 1] - begin;
            const u64 key = p.keys[begin];
            place = place_of(p, voxel, key, row);
            if (p.coords && place >= 0 && feature == 0) describe(p, key, place, row, n), mine += n;
        }
        if (place >= 0 && n <= few_points) write_double(v, place, feature, reduce_doubles<false, few_in_flight>(v, p.order, begin, begin + n, 1, 1, 0, true, feature, row));
        for (u32 rest = votes(place >= 0 && n > few_points && feature == 0); rest != 0; rest &= rest - 1) {
            const u32 from = lowest_bit(rest);
            write_large(p, (i64)shuffle_from((u64)place, from), shuffle_from(begin, from), shuffle_from(n, from), shuffle_from(row, from));
        }
    }
    write_inverse(p);
    add_kept(p.state, &total, mine);
}

RC_KERNEL_OCC(reduce_threads, 3) voxel_hard_f64(const voxel_list p) {
    __shared__ u64 total;
    const auto get = [&](u32 point, u32 column, u32 row) {
        return column >= 3 ? double_feature(p.values, point, column - 3) : double_coordinate(p.values, point, column, row);
    };
    if (p.values.double_out())
        write_hard_voxels<double>(p, &total, get);
    else
        write_hard_voxels<float>(p, &total, [&](u32 point, u32 column, u32 row) { return f64_to_f32(get(point, column, row)); });
}
