// fuse_chunks.cuh computes the features of a stream of one interpolation that looks at no value, a chunk of neighbouring elements at a
// time. f32, f16 and bf16 are told apart when the kernel runs; all are computed in float.
#pragma once
#include "fuse_job.cuh"

namespace rc {

RC_HOST constexpr u32 fuse_chunk_tile = 256; // targets per block

enum step : u32 { take, blend, write_fill, write_nan, skip_it };

// chunk_target is what the search leaves of a target, but for where it is written: what its loads need is read at once.
struct alignas(16) chunk_target {
    u64 src;      // bytes to the row to read
    float weight; // of the row after it
    u32 act;
};
RC_HOST constexpr u32 targets_per_thread = 4; // consecutive targets that a thread computes together
struct chunk_targets {
    chunk_target of[fuse_chunk_tile + targets_per_thread - 1]; // behind the block's last are some that are not stored
    u64 dst[fuse_chunk_tile + targets_per_thread - 1];         // bytes to the target's first feature
};

constexpr u32 line = 128; // bytes of the L2 cache

template <class C> RC_FN void cache_chunk_target(const fuse_job &j, chunk_targets &s, u32 i, const located_target<C> &m) {
    u32 act = take, k = m.at.k;
    float weight = 0;
    if (m.filled) {
        act = write_fill, k = 0;
    } else if (m.at.where == nowhere) {
        act = write_nan;
    } else if (m.at.where == inside) {
        if (j.interpolation() == linear)
            act = blend, weight = m.at.template weight<float>();
        else
            k += j.interpolation() == next || (j.interpolation() == nearest && m.at.later);
    } else if (m.at.line && j.interpolation() == linear) {
        act = blend, weight = m.at.template weight<float>(), k = m.at.base;
    }
    const u64 src = (u64)(m.src + (i64)k * j.src_step) * size_of(j.in());
    // The rows of targets that follow each other lie close together, and a line has the begin of one at least if they are short.
    if (act < write_fill && j.d * size_of(j.in()) <= line) prefetch((const char *)j.src + src);
    s.of[i] = {src, weight, act};
    s.dst[i] = (u64)m.dst * size_of(j.out());
}

// store_chunk writes N elements, 1 << store bytes at once at most.
template <u32 Out, u32 N> RC_FN void store_chunk(char *p, const pack<Out, N> &v, u32 store) {
    using P = pack<Out, N>;
    if (RC_LIKELY(P::bytes <= 2 || 1u << store >= (P::bytes < 16 ? P::bytes : 16))) return st_pack(p, v);
    if (P::bytes >= 16 && store == 3) {
        if constexpr (P::bytes >= 16) {
            RC_UNROLL for (u32 i = 0; i < P::words; i += 2) st_8((u32 *)p + i, {v.w[i], v.w[i + 1]});
        }
    } else if (store == 2) {
        RC_UNROLL for (u32 i = 0; i < P::words; i++) st_u32((u32 *)p + i, v.w[i]);
    } else {
        RC_UNROLL for (u32 i = 0; i < P::bytes / 2; i++) st_u16((u16 *)p + i, (u16)(v.w[i / 2] >> 16 * (i % 2)));
    }
}

// chunk_cursor iterates over what the threads partition: a chunk of several consecutive targets, so that what is the same for all is computed once.
struct chunk_cursor {
    u32 row, chunk, rows; // which rows of targets, and how many there are
    u32 skip, over;       // to the thread's next

    RC_FN_MEMBER bool left() const { return row < rows; }
    RC_FN_MEMBER u32 first() const { return row * targets_per_thread; } // target
    RC_FN_MEMBER void next(const fuse_job &j) {
        row += skip, chunk += over;
        if (chunk >= j.chunks) chunk -= j.chunks, row++;
    }
};

RC_FN chunk_cursor first_chunk(const fuse_job &j, u32 count) {
    const u32 thread = reload_thread_x(), skip = chunk_of(j, threads_x()), row = chunk_of(j, thread);
    return {row, thread - row * j.chunks, (count + targets_per_thread - 1) / targets_per_thread, skip, threads_x() - skip * j.chunks};
}

// floats puts N elements of 4 bytes, or of 2 that are bf16 or f16, into x.
template <u32 DT, u32 N> RC_FN void floats(float (&x)[N], const pack<DT, N> &v, bool bf16) {
    if (DT == dt_f32 || !bf16) {
        RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = get(v, i);
    } else {
        RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = i % 2 ? bf16_hi(v.w[i / 2]) : bf16_lo(v.w[i / 2]);
    }
}

// rounds is what N numbers are in elements of 4 bytes, or of 2.
template <u32 DT, u32 N> RC_FN pack<DT, N> rounds(const float (&x)[N], bool bf16) {
    if constexpr (DT != dt_f32) {
        if (bf16) return __builtin_bit_cast(pack<DT, N>, round_pack<dt_bf16, N>(x));
    }
    return round_pack<DT, N>(x);
}

// put writes a chunk of a target in any state: x, or its sample's, or the fill value or NaN.
template <u32 Out, u32 In, u32 N> RC_FN void put(const fuse_job &j, char *to, u32 act, const pack<In, N> &lo, const float (&x)[N]) {
    pack<Out, N> r = rounds<Out, N>(x, j.out() == dt_bf16);
    if constexpr (In == Out) {
        if (act == take && j.in() == j.out() && !j.affine) r = lo; // a NaN keeps its bits
    }
    if (act == write_fill || act == write_nan) r = repeat<Out, N>(act == write_fill ? j.fill : Out == dt_f32 ? nan_of<dt_f32>() : j.out() == dt_bf16 ? nan_of<dt_bf16>() : nan_of<dt_f16>());
    if (act != skip_it) store_chunk<Out, N>(to, r, j.store());
}

// move computes the features of the block's targets, N at once, and reports whether all that it has blended are finite. The size of an element, in the
// source and in dst, is a template parameter, f16 and bf16 are told apart when it runs: loads of either width into one register would wait for each other.
template <u32 In, u32 N> RC_FN bool move(const fuse_job &j, const chunk_targets &s, u32 count) {
    constexpr u32 size = element<In>::size;
    constexpr u32 in_flight = N == 8 ? 1 : N == 4 ? 2 : targets_per_thread; // a thread has not the registers for more at once
    const bool bf16 = j.in() == dt_bf16;
    const u32 out_size = j.out() == dt_f32 ? 4 : 2;
    const i64 next_row = j.src_step * (i64)size;
    bool finite = true;
    for (chunk_cursor p = first_chunk(j, count); p.left(); p.next(j)) {
        const u64 at = (u64)p.chunk * N;
        const char *const src = (const char *)j.src + at * size;
        char *const dst = (char *)j.dst + at * out_size;
        RC_UNROLL for (u32 first = 0; first < targets_per_thread; first += in_flight) {
            const u32 target = p.first() + first;
            chunk_target r[in_flight];
            pack<In, N> lo[in_flight], hi[in_flight];
            float x[in_flight][N];
            bool blends = true;
            RC_UNROLL for (u32 u = 0; u < in_flight; u++) r[u] = s.of[target + u], blends = blends && r[u].act == blend;
            if (RC_LIKELY(blends)) { // most threads blend all theirs: no test of each, and all loads behind all those of r
                RC_UNROLL for (u32 u = 0; u < in_flight; u++) lo[u] = ld_pack<In, N>(src + r[u].src), hi[u] = ld_pack<In, N>(src + r[u].src + next_row);
            } else {
                RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                    lo[u] = hi[u] = {};
                    if (r[u].act >= write_fill) continue; // a row that is filled may not be there at all
                    lo[u] = ld_pack<In, N>(src + r[u].src);
                    hi[u] = ld_pack<In, N>(src + r[u].src + (r[u].act == blend ? next_row : 0));
                }
            }
            RC_UNROLL for (u32 u = 0; u < in_flight; u++) {
                float y[N], none = 0; // as lerps
                floats(x[u], lo[u], bf16);
                if (blends || r[u].act == blend) {
                    floats(y, hi[u], bf16);
                    RC_UNROLL for (u32 i = 0; i < N; i++) {
                        x[u][i] = x[u][i] + r[u].weight * (y[i] - x[u][i]);
                        none = fma_rn(x[u][i], 0, none);
                    }
                    finite &= none == 0;
                }
            }
            if (j.affine) {
                RC_UNROLL for (u32 u = 0; u < in_flight; u++) normalise(j, (u32)at, x[u]);
            }
            const auto store = [&](auto known) RC_INLINE_LAMBDA {
                constexpr u32 Out = decltype(known)::dtype;
                if (RC_LIKELY(blends)) {
                    RC_UNROLL for (u32 u = 0; u < in_flight; u++) store_chunk<Out, N>(dst + s.dst[target + u], rounds<Out, N>(x[u], j.out() == dt_bf16), j.store());
                } else {
                    RC_UNROLL for (u32 u = 0; u < in_flight; u++) put<Out, In, N>(j, dst + s.dst[target + u], r[u].act, lo[u], x[u]);
                }
            };
            if (j.out() == dt_f32)
                store(static_dtype<dt_f32>());
            else
                store(static_dtype<dt_f16>());
        }
    }
    return finite;
}

// recompute_chunks recomputes what this thread has blended, element by element: something was not finite.
RC_FN void recompute_chunks(const fuse_job &j, const chunk_targets &s, u32 count) {
    const u32 features = 1u << j.vector(), size = size_of(j.in()), out_size = size_of(j.out());
    RC_NO_UNROLL for (chunk_cursor p = first_chunk(j, count); p.left(); p.next(j)) {
        RC_NO_UNROLL for (u32 n = 0; n < targets_per_thread * features; n++) {
            const u32 target = p.first() + n / features;
            const chunk_target r = s.of[target];
            const u32 i = p.chunk * features + n % features;
            if (r.act != blend) continue;
            const i64 from = (i64)r.src / size + i;
            float x[1] = {lerp(ld_narrow(j, from), ld_narrow(j, from + j.src_step), r.weight)};
            if (j.affine) normalise(j, i, x);
            st_number(j.out(), j.dst, (i64)s.dst[target] / out_size + i, x[0]);
        }
    }
}

RC_FN bool move_by_chunks(const fuse_job &j, const chunk_targets &s, u32 count) {
    const u32 vector = j.vector();
    if (j.in() == dt_f32) {
        if (vector == 2) return move<dt_f32, 4>(j, s, count);
        return vector == 1 ? move<dt_f32, 2>(j, s, count) : move<dt_f32, 1>(j, s, count);
    }
    switch (vector) {
    case 3: return move<dt_f16, 8>(j, s, count);
    case 2: return move<dt_f16, 4>(j, s, count);
    case 1: return move<dt_f16, 2>(j, s, count);
    default: return move<dt_f16, 1>(j, s, count);
    }
}

// end_chunks ends the block's targets, whose number is `count`.
RC_FN void end_chunks(chunk_targets &s, u32 count) {
    const u32 thread = reload_thread_x();
    if (thread < targets_per_thread - 1) s.of[count + thread] = {0, 0, skip_it}, s.dst[count + thread] = 0;
}

RC_FN void move_chunks(const fuse_job &j, const chunk_targets &s, u32 count) {
    if (RC_UNLIKELY(!move_by_chunks(j, s, count))) recompute_chunks(j, s, count);
}

} // namespace rc
