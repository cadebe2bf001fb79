// fuse_chunks.cuh makes the features of a stream of one kind that looks at no value, a chunk of neighbouring elements at a time.
// f32, f16 and bf16 are told apart when the kernel runs; all are computed in float.
#pragma once
#include "fuse_job.cuh"

namespace rc {

RC_HOST constexpr u32 fuse_chunk_tile = 256; // targets a block
constexpr u32 in_flight = 2;        // chunks a thread loads before it stores the first

enum step : u32 { take, blend, write_fill, write_nan, skip_it };

// chunk_targets is what the search leaves of a block's targets.
struct chunk_targets {
    i64 src[fuse_chunk_tile], dst[fuse_chunk_tile]; // elements to the row to read; to the target's first feature
    float weight[fuse_chunk_tile];                 // of the row after it
    u32 act[fuse_chunk_tile];
};

template <class C> RC_FN void keep_chunk(const fuse_job &j, chunk_targets &s, u32 i, const aim<C> &m) {
    u32 act = take, k = m.at.k;
    float weight = 0;
    if (m.filled) {
        act = write_fill, k = 0;
    } else if (m.at.where == nowhere) {
        act = write_nan;
    } else if (m.at.where == inside) {
        if (j.kind() == linear)
            act = blend, weight = m.at.template weight<float>();
        else
            k += j.kind() == next || (j.kind() == nearest && m.at.later);
    } else if (m.at.line && j.kind() == linear) {
        act = blend, weight = m.at.template weight<float>(), k = m.at.base;
    }
    s.src[i] = m.src + (i64)k * j.src_step;
    s.dst[i] = m.dst;
    s.weight[i] = weight;
    s.act[i] = act;
}

// raw is the words of N elements of a dtype of at most 4 bytes, of which a narrower one fills half.
template <u32 N> struct raw {
    u32 w[N];
};

// ld_raw reads N elements of 4 bytes, or of 2.
template <u32 N> RC_FN raw<N> ld_raw(const void *p, bool four) {
    raw<N> r = {};
    if (four) {
        if constexpr (N < 8) { // 16 bytes at most
            const pack<dt_f32, N> v = ld_pack<dt_f32, N>(p);
            RC_UNROLL for (u32 i = 0; i < N; i++) r.w[i] = v.w[i];
        }
    } else {
        const pack<dt_f16, N> v = ld_pack<dt_f16, N>(p);
        RC_UNROLL for (u32 i = 0; i < (N + 1) / 2; i++) r.w[i] = v.w[i];
    }
    return r;
}

// st_raw writes them, `most` bytes at once at most, as a power of two.
template <u32 N> RC_FN void st_raw(void *p, const raw<N> &r, bool four, u32 most) {
    const u32 words = four ? N : N / 2;
    u32 *const to = (u32 *)p;
    if (N >= 4 && words >= 4 && most >= 4) {
        if constexpr (N >= 4) {
            RC_UNROLL for (u32 i = 0; i < N; i += 4) {
                if (i < words) st_16(to + i, {r.w[i], r.w[i + 1], r.w[i + 2], r.w[i + 3]});
            }
        }
    } else if (N >= 2 && words >= 2 && most >= 3) {
        if constexpr (N >= 2) {
            RC_UNROLL for (u32 i = 0; i < N; i += 2) {
                if (i < words) st_8(to + i, {r.w[i], r.w[i + 1]});
            }
        }
    } else if (words >= 1 && most >= 2) {
        RC_UNROLL for (u32 i = 0; i < N; i++) {
            if (i < words) st_u32(to + i, r.w[i]);
        }
    } else {
        RC_UNROLL for (u32 i = 0; i < N; i++) st_u16((u16 *)p + i, (u16)(r.w[i / 2] >> 16 * (i % 2)));
    }
}

template <u32 N> RC_FN void to_floats(float (&x)[N], const raw<N> &r, u32 dtype) {
    if (dtype == dt_f32) {
        RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = as_f32(r.w[i]);
    } else if (dtype == dt_f16) {
        RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = i % 2 ? f16_hi(r.w[i / 2]) : f16_lo(r.w[i / 2]);
    } else {
        RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = i % 2 ? bf16_hi(r.w[i / 2]) : bf16_lo(r.w[i / 2]);
    }
}

template <u32 DT, u32 N> RC_FN raw<N> rounded_to(const float (&x)[N]) {
    const pack<DT, N> v = round_pack<DT, N>(x);
    raw<N> r = {};
    RC_UNROLL for (u32 i = 0; i < pack<DT, N>::words; i++) r.w[i] = v.w[i];
    return r;
}
template <u32 N> RC_FN raw<N> from_floats(const float (&x)[N], u32 dtype) {
    if (dtype == dt_f32) return rounded_to<dt_f32>(x);
    if (dtype == dt_f16) return rounded_to<dt_f16>(x);
    return rounded_to<dt_bf16>(x);
}

// all_of is N times one element's bits.
template <u32 N> RC_FN raw<N> all_of(u64 b, bool four) {
    raw<N> r;
    RC_UNROLL for (u32 i = 0; i < N; i++) r.w[i] = four ? (u32)b : (u32)b | (u32)b << 16;
    return r;
}
RC_FN u64 nan_bits(u32 dtype) { return dtype == dt_f32 ? nan_of<dt_f32>() : dtype == dt_f16 ? nan_of<dt_f16>() : nan_of<dt_bf16>(); }

constexpr u32 told_later = ~0u;

// move makes the features of the block's targets, N at once, and reports whether all are finite that it has blended. DT is the dtype on both sides of a stream that is not normalised, so
// that the most frequent jobs are told at compile time, or told_later.
template <u32 N, u32 DT = told_later> RC_FN bool move(const fuse_job &j, const chunk_targets &s, u32 count) {
    constexpr bool told = DT != told_later;
    const u32 in = told ? DT : j.in(), out = told ? DT : j.out(), chunks = j.chunks;
    const bool four = in == dt_f32, out_four = out == dt_f32, affine = !told && j.affine != nullptr, keeps = in == out && !affine;
    const i64 in_size = four ? 4 : 2, out_size = out_four ? 4 : 2;
    const u32 skip = chunk_of(j, threads_x()), over = threads_x() - skip * chunks;
    u32 target = chunk_of(j, thread_x()), chunk = thread_x() - target * chunks;
    const i64 next_row = j.src_step * in_size;
    const char *src = (const char *)j.src;
    char *dst = (char *)j.dst;
    bool finite = true;
    while (target < count) {
        i64 to[in_flight];
        u32 act[in_flight], at[in_flight];
        float a[in_flight];
        raw<N> v0[in_flight], v1[in_flight];
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            // A chunk past the last is the last target's once more, and is not stored.
            const u32 it = target < count ? target : count - 1;
            act[u] = target < count ? s.act[it] : skip_it;
            a[u] = s.weight[it];
            at[u] = chunk * N;
            to[u] = s.dst[it] + at[u];
            const char *p = src + (s.src[it] + at[u]) * in_size;
            // A row that is filled may not be there at all.
            v0[u] = {}, v1[u] = {};
            if (act[u] < write_fill) v0[u] = ld_raw<N>(p, four);
            if (act[u] == blend) v1[u] = ld_raw<N>(p + next_row, four);
            target += skip, chunk += over;
            if (chunk >= chunks) chunk -= chunks, target++;
        }
        RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
            raw<N> r = v0[u];
            if (!keeps || act[u] == blend) {
                float x[N], y[N];
                to_floats(x, v0[u], in), to_floats(y, v1[u], in);
                u32 odd = 0;
                RC_UNROLL for (u32 i = 0; i < N; i++) {
                    const float z = x[i] + a[u] * (y[i] - x[i]);
                    odd |= bits(z - z);
                    x[i] = act[u] == blend ? z : x[i];
                }
                finite &= odd == 0 || act[u] != blend;
                if (affine) normalise(j, at[u], x);
                r = from_floats(x, out);
            }
            if (act[u] == write_fill || act[u] == write_nan) r = all_of<N>(act[u] == write_fill ? j.fill : nan_bits(out), out_four);
            if (act[u] != skip_it) st_raw(dst + to[u] * out_size, r, out_four, j.store());
        }
    }
    return finite;
}

// mend_chunks makes what this thread has blended anew, each element by itself.
RC_FN void mend_chunks(const fuse_job &j, const chunk_targets &s, u32 count) {
    const u32 chunks = j.chunks, n = 1u << j.vector();
    const u32 skip = chunk_of(j, threads_x()), over = threads_x() - skip * chunks;
    u32 target = chunk_of(j, thread_x()), chunk = thread_x() - target * chunks;
    RC_ROLLED while (target < count) {
        RC_ROLLED for (u32 i = 0; i < n && s.act[target] == blend; i++) {
            const i64 from = s.src[target] + chunk * n + i;
            float x[1] = {lerp(ld_narrow(j, from), ld_narrow(j, from + j.src_step), s.weight[target])};
            if (j.affine) normalise(j, chunk * n + i, x);
            st_number(j.out(), j.dst, s.dst[target] + chunk * n + i, x[0]);
        }
        target += skip, chunk += over;
        if (chunk >= chunks) chunk -= chunks, target++;
    }
}

RC_FN bool move_by_chunks(const fuse_job &j, const chunk_targets &s, u32 count) {
    const bool told = j.in() == j.out() && j.affine == nullptr;
    switch (j.vector()) {
    case 3:
        if (told && j.in() == dt_bf16) return move<8, dt_bf16>(j, s, count);
        if (told) return move<8, dt_f16>(j, s, count);
        return move<8>(j, s, count);
    case 2:
        if (told && j.in() == dt_f32) return move<4, dt_f32>(j, s, count);
        return move<4>(j, s, count);
    case 1: return move<2>(j, s, count);
    default: return move<1>(j, s, count);
    }
}

RC_FN void move_chunks(const fuse_job &j, const chunk_targets &s, u32 count) {
    if (RC_SELDOM(!move_by_chunks(j, s, count))) mend_chunks(j, s, count);
}

} // namespace rc
