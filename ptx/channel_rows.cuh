// channel_rows.cuh is the kernel behind resample_channels and resample_curves: rows in which ranges of features (channels) have
// interpolations of their own, among them those that look at values or at more than two samples.
//
// A block takes `tile` targets. One thread per target finds its place among the row's timestamps and leaves the result in shared
// memory; warps without a target meanwhile check the block's part of the timestamps. After a barrier the warps partition the targets'
// items among themselves, each warp items of one category at a time, see channels.cuh. Rows that fit are assembled in shared memory
// and, after another barrier, written from there 16 bytes at a time; wider rows are written item by item. resample_channels handles
// quaternions, angles and the interpolations that only select or blend (linear, previous, next, nearest); resample_curves handles all,
// with more registers. Most rows of positions and quaternions go to resample_thread_per_row instead.
//
// Bytes moved: as resample.cu; a cubic through samples reads two more rows per target, a window all rows inside it. Equal bits with the
// CPU.
#pragma once
#include "channels.cuh"

namespace rc {

RC_HOST constexpr u32 item_tile = 128;    // targets per block
RC_HOST constexpr u32 max_staged = 8192; // bytes that a block assembles in shared memory for its rows
constexpr u32 max_near = 64;     // items that are kept there

template <bool Others> struct memory {
    cached_targets<item_tile, Others> s;
    alignas(16) item items[max_near];
    alignas(16) char rows[max_staged];
};

template <u32 DT> RC_FN u64 raw(const pack<DT, 1> &v) {
    if constexpr (element<DT>::size == 8) return (u64)v.w[1] << 32 | v.w[0];
    return v.w[0];
}

RC_FN u32 size_of_out(const resample_job &j) { return j.out() == dt_f32 ? 4 : j.out() == dt_f64 ? 8 : 2; }

constexpr u32 any = ~0u;

// sink writes an item of which the first feature goes to `to`, in shared or global memory. Out is dst's dtype, or any.
template <u32 Out> struct sink {
    static constexpr u32 dtype = Out;
    const resample_job &j;
    char *to;

    template <u32 DT> RC_FN_MEMBER void bits(u32 i, u64 b) const {
        if constexpr (element<DT>::size == 8)
            *(u64 *)(to + i * 8ull) = b;
        else if constexpr (element<DT>::size == 4)
            *(u32 *)(to + i * 4ull) = (u32)b;
        else
            *(u16 *)(to + i * 2ull) = (u16)b;
    }
    // as calls f with a sink whose dtype is known.
    template <class F> RC_FN_MEMBER void as(F f) const {
        if constexpr (dtype != any) {
            f(*this);
        } else {
            switch (j.out()) {
            case dt_f32: return f(sink<dt_f32>{j, to});
            case dt_f64: return f(sink<dt_f64>{j, to});
            case dt_f16: return f(sink<dt_f16>{j, to});
            default: return f(sink<dt_bf16>{j, to});
            }
        }
    }
    template <u32 N, class W> RC_FN_MEMBER void numbers(const W (&x)[N], u32 apart) const {
        as([&](auto known) {
            constexpr u32 DT = decltype(known)::dtype;
            RC_UNROLL for (u32 i = 0; i < N; i++) known.template bits<DT>(i * apart, rounded<DT>(x[i]));
        });
    }
    template <class W> RC_FN_MEMBER void number(u32 i, W x) const {
        as([&](auto known) {
            constexpr u32 DT = decltype(known)::dtype;
            known.template bits<DT>(i, rounded<DT>(x));
        });
    }
    template <u32 In> RC_FN_MEMBER void same(u32 i, const pack<In, 1> &v) const {
        as([&](auto known) {
            constexpr u32 DT = decltype(known)::dtype;
            known.template bits<DT>(i, DT == In ? raw(v) : rounded<DT>(get(v, 0)));
        });
    }
    RC_FN_MEMBER void fill(u32 i) const {
        as([&](auto known) {
            constexpr u32 DT = decltype(known)::dtype;
            known.template bits<DT>(i, j.fill);
        });
    }
    template <u32 In, class W> RC_FN_MEMBER void moved(u32 act, bool blended, const pack<In, 1> &v, W x) const {
        as([&](auto known) {
            constexpr u32 DT = decltype(known)::dtype;
            u64 b = blended || DT != In ? rounded<DT>(blended ? x : get(v, 0)) : raw(v);
            b = act == put_fill ? j.fill : act == put_nan ? nan_of<DT>() : b;
            known.template bits<DT>(0, b);
        });
    }
};

// job_of is a job whose windows decide on valid, or one that has none.
template <bool Others> struct job_of;
template <> struct job_of<true> : windows_job {};
template <> struct job_of<false> : windows_job {
    RC_FN_MEMBER u32 threads() const { return threads_x(); }
    RC_FN_MEMBER bool has_window() const { return false; }
    RC_FN_MEMBER bool limited() const { return has_gap() || has_tolerance(); }
    RC_FN_MEMBER u64 window() const { return 0; }
};

// copy_out writes an even number of bytes with `step` threads, of which this is number n.
RC_FN void copy_out(char *to, const char *from, u32 bytes, u32 n, u32 step) {
    const u32 alignment = (u32)(u64)to | (u32)(u64)from;
    u32 done = 0;
    if ((alignment & 15) == 0) {
        done = bytes & ~15u;
        for (u32 i = n * 16; i < done; i += step * 16) st_16(to + i, *(const v16 *)(from + i));
    } else if ((alignment & 3) == 0) {
        done = bytes & ~3u;
        for (u32 i = n * 4; i < done; i += step * 4) st_u32(to + i, *(const u32 *)(from + i));
    }
    for (u32 i = done + n * 2; i < bytes; i += step * 2) st_u16(to + i, *(const u16 *)(from + i));
}

// channels_job is the kernels' parameter.
RC_HOST struct channels_job {
    resample_job job;
    u64 shortest; // for curves: the shortest window, as the bits of a time
    const item *items;
    item_categories items_of;
};

// make makes the rows of the block's targets.
template <u32 In, bool Others>
RC_FN void make(const resample_job &j, memory<Others> &mem, const item *items, const item_categories &g, u32 count, bool near) {
    const u32 size = size_of_out(j), row = j.d * size;
    const bool staged = (u64)j.tile * j.d * size <= max_staged;
    const auto item_of = [&](u32 n) { return near ? mem.items[n] : ld_item(items + n); };
    const auto place = [&](u32 target, u32 feature) {
        return staged ? mem.rows + (target * j.d + feature) * size : (char *)j.dst + (u64)(mem.s.dst[target] + feature) * size;
    };
    if (!Others && j.out() == In)
        make_items<In>(j, mem.s, count, g, item_of, [&](u32 target, u32 feature) { return sink<In>{j, place(target, feature)}; });
    else
        make_items<In>(j, mem.s, count, g, item_of, [&](u32 target, u32 feature) { return sink<any>{j, place(target, feature)}; });
    if (!staged) return;
    barrier();
    if (j.dense()) return copy_out((char *)j.dst + (u64)j.block() * j.tile * row, mem.rows, count * row, thread_x(), j.threads());
    for (u32 i = thread_x() / warp_size; i < count; i += j.threads() / warp_size)
        copy_out((char *)j.dst + mem.s.dst[i] * size, mem.rows + i * row, row, thread_x() % warp_size, warp_size);
}

// resample finds the block's targets, brings the items near, and makes the rows.
template <bool Wide, class J, bool Others> RC_FN void resample(const J &j, memory<Others> &mem, const item *items, const item_categories &g) {
    const bool near = j.chunks <= max_near && j.chunks <= j.threads();
    if (near && thread_x() < j.chunks) copy_async((v16 *)(mem.items + thread_x()), items + thread_x());
    const u32 count = locate_targets_on_clock(j, [&](u32 i, const auto &m) { cache_target(j, mem.s, g, i, m); });
    copies_landed();
    barrier();
    if constexpr (Wide)
        make<dt_f64>(j, mem, items, g, count, near);
    else
        dispatch_dtype(j.in(), [&](auto known) RC_INLINE_LAMBDA { make<decltype(known)::dtype>(j, mem, items, g, count, near); });
}

} // namespace rc

#define RC_CHANNELS(name, others, wide, blocks)                 \
    RC_KERNEL_OCC(128, blocks) name(const channels_job p) {     \
        __shared__ memory<others> mem;                          \
        job_of<others> j = {p.job, p.shortest};                 \
        begin(j);                                               \
        resample<wide>(j, mem, p.items, p.items_of);            \
        end(j);                                                 \
    }
