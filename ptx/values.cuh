// values.cuh moves and converts the elements of value tensors. f16, bf16 and f32 are computed in float, f64 in double; a result
// is rounded once from the type it was computed in.
#pragma once
#include "common.cuh"

namespace rc {

RC_HOST enum dt : u32 { dt_f32, dt_f64, dt_f16, dt_bf16 };

template <u32 DT> struct element;
template <> struct element<dt_f32> {
    static constexpr u32 size = 4;
    using wide = float;
};
template <> struct element<dt_f64> {
    static constexpr u32 size = 8;
    using wide = double;
};
template <> struct element<dt_f16> {
    static constexpr u32 size = 2;
    using wide = float;
};
template <> struct element<dt_bf16> {
    static constexpr u32 size = 2;
    using wide = float;
};

// static_dtype is a dtype as a type, known when the kernel is compiled. dispatch_dtype calls f with that of a job whose values are computed in float,
// and dispatch_half with one of two bytes: all threads of a block take the same branch.
template <u32 DT> struct static_dtype {
    static constexpr u32 dtype = DT;
};
template <class F> RC_FN void dispatch_half(u32 dtype, F f) {
    if (RC_LIKELY(dtype == dt_bf16))
        f(static_dtype<dt_bf16>());
    else
        f(static_dtype<dt_f16>());
}
template <class F> RC_FN void dispatch_dtype(u32 dtype, F f) {
    if (RC_UNLIKELY(dtype == dt_f32))
        f(static_dtype<dt_f32>());
    else
        dispatch_half(dtype, f);
}

// pack is N elements of a dtype, as 32-bit words; two bytes alone lie in the low half of one.
template <u32 DT, u32 N> struct pack {
    static constexpr u32 bytes = N * element<DT>::size;
    static constexpr u32 words = (bytes + 3) / 4;
    u32 w[words];
};

template <u32 DT, u32 N> RC_FN pack<DT, N> ld_pack(const void *p) {
    pack<DT, N> r;
    if constexpr (pack<DT, N>::bytes >= 16) {
        RC_UNROLL for (u32 i = 0; i < pack<DT, N>::words; i += 4) {
            const v16 v = ld_nc_16((const u32 *)p + i);
            r.w[i] = v.x, r.w[i + 1] = v.y, r.w[i + 2] = v.z, r.w[i + 3] = v.w;
        }
    } else if constexpr (pack<DT, N>::bytes == 8) {
        const v8 v = ld_nc_8(p);
        r.w[0] = v.x, r.w[1] = v.y;
    } else if constexpr (pack<DT, N>::bytes == 4) {
        r.w[0] = ld_nc_u32(p);
    } else {
        r.w[0] = ld_nc_u16(p);
    }
    return r;
}

template <u32 DT, u32 N> RC_FN void st_pack(void *p, const pack<DT, N> &r) {
    if constexpr (pack<DT, N>::bytes >= 16) {
        RC_UNROLL for (u32 i = 0; i < pack<DT, N>::words; i += 4) st_16((u32 *)p + i, {r.w[i], r.w[i + 1], r.w[i + 2], r.w[i + 3]});
    } else if constexpr (pack<DT, N>::bytes == 8) {
        st_8(p, {r.w[0], r.w[1]});
    } else if constexpr (pack<DT, N>::bytes == 4) {
        st_u32(p, r.w[0]);
    } else {
        st_u16(p, (u16)r.w[0]);
    }
}

// get returns element i in the type it is computed in. i is known when the kernel is compiled.
template <u32 DT, u32 N> RC_FN typename element<DT>::wide get(const pack<DT, N> &r, u32 i) {
    if constexpr (DT == dt_f32) {
        return as_f32(r.w[i]);
    } else if constexpr (DT == dt_f64) {
        return as_f64((u64)r.w[2 * i + 1] << 32 | r.w[2 * i]);
    } else if constexpr (DT == dt_f16) {
        return i % 2 ? f16_hi(r.w[i / 2]) : f16_lo(r.w[i / 2]);
    } else {
        return i % 2 ? bf16_hi(r.w[i / 2]) : bf16_lo(r.w[i / 2]);
    }
}

// Rounding to the bits of an element.
template <u32 DT> RC_FN u64 rounded(float x) {
    if constexpr (DT == dt_f32) return bits(x);
    if constexpr (DT == dt_f64) return bits((double)x);
    if constexpr (DT == dt_f16) return f32_to_f16(x);
    return f32_to_bf16(x);
}
template <u32 DT> RC_FN u64 rounded(double x) {
    if constexpr (DT == dt_f32) return bits(f64_to_f32(x));
    if constexpr (DT == dt_f64) return bits(x);
    if constexpr (DT == dt_f16) return f64_to_f16(x);
    return f64_to_bf16(x);
}

// st_number writes x, rounded, as element `at` of a tensor of a dtype.
template <class W> RC_FN void st_number(u32 dtype, void *p, i64 at, W x) {
    switch (dtype) {
    case dt_f32: return st_u32((u32 *)p + at, (u32)rounded<dt_f32>(x));
    case dt_f64: return st_u64((u64 *)p + at, rounded<dt_f64>(x));
    case dt_f16: return st_u16((u16 *)p + at, (u16)rounded<dt_f16>(x));
    default: return st_u16((u16 *)p + at, (u16)rounded<dt_bf16>(x));
    }
}

// round_pack rounds N values to a dtype.
template <u32 DT, u32 N, class W> RC_FN pack<DT, N> round_pack(const W (&x)[N]) {
    pack<DT, N> r;
    if constexpr (element<DT>::size == 8) {
        RC_UNROLL for (u32 i = 0; i < N; i++) {
            const u64 b = rounded<DT>(x[i]);
            r.w[2 * i] = (u32)b, r.w[2 * i + 1] = (u32)(b >> 32);
        }
    } else if constexpr (element<DT>::size == 4) {
        RC_UNROLL for (u32 i = 0; i < N; i++) r.w[i] = (u32)rounded<DT>(x[i]);
    } else if constexpr (N == 1) {
        r.w[0] = (u32)rounded<DT>(x[0]);
    } else if constexpr (sizeof(W) == 4) {
        RC_UNROLL for (u32 i = 0; i < N; i += 2) {
            if constexpr (DT == dt_f16)
                r.w[i / 2] = f32_to_f16x2(x[i], x[i + 1]);
            else
                r.w[i / 2] = f32_to_bf16x2(x[i], x[i + 1]);
        }
    } else {
        RC_UNROLL for (u32 i = 0; i < N; i += 2)
            r.w[i / 2] = (u32)rounded<DT>(x[i]) | (u32)rounded<DT>(x[i + 1]) << 16;
    }
    return r;
}

// repeat makes a pack of one element's bits.
template <u32 DT, u32 N> RC_FN pack<DT, N> repeat(u64 b) {
    pack<DT, N> r;
    RC_UNROLL for (u32 i = 0; i < pack<DT, N>::words; i++) {
        if constexpr (element<DT>::size == 8)
            r.w[i] = i % 2 ? (u32)(b >> 32) : (u32)b;
        else if constexpr (element<DT>::size == 4)
            r.w[i] = (u32)b;
        else
            r.w[i] = (u32)b | (u32)b << 16;
    }
    return r;
}

// nan_of returns the bits of a quiet NaN.
template <u32 DT> RC_FN u64 nan_of() {
    if constexpr (DT == dt_f32) return 0x7fc00000u;
    if constexpr (DT == dt_f64) return 0x7ff8000000000000ull;
    if constexpr (DT == dt_f16) return 0x7e00u;
    return 0x7fc0u;
}

// lerp is v0 + a*(v1 - v0), each step rounded, and where that is not finite what stands for it: see mended of package ops. The sum of two
// samples is what they give if one of them is not finite: their value if they are equal, that of the infinite one, NaN if their signs differ.
template <class W> RC_FN W lerp(W v0, W v1, W a) {
    const W d = v1 - v0, r = v0 + a * d;
    if (RC_LIKELY(is_finite(r))) return r;
    if (!is_finite(v0) || !is_finite(v1)) return v0 + v1;
    return !is_finite(d) ? (1 - a) * v0 + a * v1 : d == 0 ? v0 : r;
}

// lerps puts v0 + a*(v1 - v0) of the elements of two packs into x, and reports whether all are finite. Kernels recompute the others
// with lerp, in a loop at their end: inlined beside each of these, its code would crowd out what most jobs need.
template <u32 DT, u32 N> RC_FN bool lerps(typename element<DT>::wide (&x)[N], const pack<DT, N> &v0, const pack<DT, N> &v1, typename element<DT>::wide a) {
    decltype(a) none = 0; // stays 0 until something infinite or a NaN comes
    RC_UNROLL for (u32 i = 0; i < N; i++) {
        x[i] = get(v0, i) + a * (get(v1, i) - get(v0, i));
        none = fma_rn(x[i], 0, none);
    }
    return none == 0;
}

} // namespace rc
