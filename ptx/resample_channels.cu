// resample_channels.cu resamples rows whose ranges of features have kinds of their own, and the kinds that look at values or at
// more than two samples.
//
// A block takes `tile` targets. One thread a target finds its place among the row's stamps and keeps it in shared memory; warps
// without a target check the block's share of the stamps meanwhile. After a barrier the warps share out the targets' items, a warp those
// of one sort at a time, see channels.cuh. Rows that fit are put together in shared memory, and after another barrier written from
// there by 16 bytes; wider ones are written item by item. resample_channels makes quaternions, angles and the kinds that look at no
// value; resample_curves every kind, with more registers. What most poses are resample_poses.cu makes.
//
// Bytes moved: as resample.cu, with a cubic through samples two rows more a target, with a window all its rows. Promises equal bits
// with the CPU.
#include "channels.cuh"

using namespace rc;

namespace {

constexpr u32 max_tile = 128;    // targets a block
constexpr u32 max_staged = 8192; // bytes of the block's rows that are put together in shared memory
constexpr u32 max_near = 64;     // items that are kept there

template <bool Others> struct memory {
    spots<max_tile, Others> s;
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

// put_run writes an even number of bytes with `step` threads, of which this is number n.
RC_FN void put_run(char *to, const char *from, u32 bytes, u32 n, u32 step) {
    const u32 together = (u32)(u64)to | (u32)(u64)from;
    u32 done = 0;
    if ((together & 15) == 0) {
        done = bytes & ~15u;
        for (u32 i = n * 16; i < done; i += step * 16) st_16(to + i, *(const v16 *)(from + i));
    } else if ((together & 3) == 0) {
        done = bytes & ~3u;
        for (u32 i = n * 4; i < done; i += step * 4) st_u32(to + i, *(const u32 *)(from + i));
    }
    for (u32 i = done + n * 2; i < bytes; i += step * 2) st_u16(to + i, *(const u16 *)(from + i));
}

template <u32 In, class J, bool Others>
RC_FN void resample(const plain_of<J> &plain, memory<Others> &mem, const item *items, const sorts &g) {
    const J &j = plain;
    const bool near = j.chunks <= max_near && j.chunks <= j.threads();
    if (near && thread_x() < j.chunks) copy_async((v16 *)(mem.items + thread_x()), items + thread_x());
    const auto keep = [&](u32 i, const auto &m) { keep_spot(j, mem.s, g, i, m); };
    const u32 count = j.plain() ? survey_clock(plain, keep) : survey_clock(j, keep);
    copies_landed();
    barrier();
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
    if (j.dense()) return put_run((char *)j.dst + (u64)j.block() * j.tile * row, mem.rows, count * row, thread_x(), j.threads());
    for (u32 i = thread_x() / warp_size; i < count; i += j.threads() / warp_size)
        put_run((char *)j.dst + mem.s.dst[i] * size, mem.rows + i * row, row, thread_x() % warp_size, warp_size);
}

} // namespace

#define RC_SORTS_PARAMS u32 slerps, u32 moved, u32 angles, u32 cubics, u32 others, u32 moved_magic, u32 angles_magic, u32 cubics_magic, u32 others_magic, u32 shifts
#define RC_SORTS_ARGS {slerps, moved, angles, cubics, others, moved_magic, angles_magic, cubics_magic, others_magic, shifts}

#define RC_RESAMPLE_CHANNELS(name, dtype, blocks)                                                                    \
    RC_KERNEL_OCC(128, blocks) resample_channels_##name(RC_RESAMPLE_PARAMS, u64, const item *items, RC_SORTS_PARAMS) { \
        __shared__ memory<false> mem;                                                                                \
        plain_job j = {RC_RESAMPLE_ARGS};                                                                            \
        begin(j);                                                                                                    \
        resample<dtype>(j, mem, items, RC_SORTS_ARGS);                                                               \
        end(j);                                                                                                      \
    }                                                                                                                \
    RC_KERNEL_OCC(128, 8)                                                                                            \
    resample_curves_##name(RC_RESAMPLE_PARAMS, u64 shortest, const item *items, RC_SORTS_PARAMS) {                   \
        __shared__ memory<true> mem;                                                                                 \
        plain_of<windows_job> j = {{RC_RESAMPLE_ARGS, shortest}};                                                    \
        begin(j);                                                                                                    \
        resample<dtype>(j, mem, items, RC_SORTS_ARGS);                                                               \
        end(j);                                                                                                      \
    }

RC_RESAMPLE_CHANNELS(f32, dt_f32, 8)
RC_RESAMPLE_CHANNELS(f64, dt_f64, 6)
RC_RESAMPLE_CHANNELS(f16, dt_f16, 8)
RC_RESAMPLE_CHANNELS(bf16, dt_bf16, 8)
