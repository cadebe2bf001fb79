// fuse_items.cuh computes the features of a stream item by item, with channels.cuh. f32, f16 and bf16 are told apart when the kernel
// runs, as one dtype dt_narrow that is computed in float, so that the formulas are compiled twice and not four times.
#pragma once
#include "fuse_job.cuh"

namespace rc {

RC_HOST constexpr u32 fuse_item_tile = 128; // targets per block

constexpr u32 dt_narrow = 4;
template <> struct element<dt_narrow> {
    static constexpr u32 size = 0; // known when the kernel runs
    using wide = float;
};
// pack of it is an element's bits and its value.
template <> struct pack<dt_narrow, 1> {
    u32 w[1];
    float x;
};
template <> RC_FN_MEMBER pack<dt_narrow, 1> load<dt_narrow>(const resample_job &job, i64 at) {
    return {{ld_narrow_bits(job, at)}, ld_narrow(job, at)};
}
RC_FN float get(const pack<dt_narrow, 1> &v, u32) { return v.x; }

// fuse_sink writes the features of an item from element `at` of dst on, normalised by the numbers of feature `feature` on.
struct fuse_sink {
    const fuse_job &j;
    i64 at;
    u32 feature;

    RC_FN_MEMBER void store(u32 i, u64 b) const {
        if (j.out() == dt_f32)
            st_u32((u32 *)j.dst + at + i, (u32)b);
        else if (j.out() == dt_f64)
            st_u64((u64 *)j.dst + at + i, b);
        else
            st_u16((u16 *)j.dst + at + i, (u16)b);
    }
    RC_FN_MEMBER void number(u32 i, float x) const {
        float y[1] = {x};
        if (j.affine) normalise(j, feature + i, y);
        st_number(j.out(), j.dst, at + i, y[0]);
    }
    RC_FN_MEMBER void number(u32 i, double x) const {
        if (j.affine) return number(i, f64_to_f32(x));
        st_number(j.out(), j.dst, at + i, x);
    }
    template <u32 N> RC_FN_MEMBER void numbers(const double (&x)[N], u32 apart) const {
        RC_UNROLL for (u32 i = 0; i < N; i++) number(i * apart, x[i]);
    }
    template <u32 In> RC_FN_MEMBER void same(u32 i, const pack<In, 1> &v) const {
        if (j.out() != j.in() || j.affine) return number(i, get(v, 0));
        if constexpr (In == dt_f64)
            store(i, (u64)v.w[1] << 32 | v.w[0]);
        else
            store(i, v.w[0]);
    }
    RC_FN_MEMBER void fill(u32 i) const { store(i, j.fill); }
    template <u32 In, class W> RC_FN_MEMBER void moved(u32 act, bool blended, const pack<In, 1> &v, W x) const {
        if (act == put_fill)
            fill(0);
        else if (act == put_nan)
            number(0, as_f32(0x7fc00000u));
        else if (blended)
            number(0, x);
        else
            same(0, v);
    }
};

template <u32 In, u32 Max> RC_FN void make_stream(const fuse_job &j, const cached_targets<Max, true> &s, u32 count, const item *items, const item_categories &g) {
    const auto item_of = [&](u32 n) { return ld_item(items + n); };
    make_items<In>(j, s, count, g, item_of, [&](u32 target, u32 feature) { return fuse_sink{j, s.dst[target] + feature, feature}; });
}

} // namespace rc
