// matmul.cuh is a product on the tensor cores and what follows it: backend.MatMulJob says what is computed, and in which order.
//
// A block makes a tile of Bm x Bn elements, a warp of it Bm/Wm x Bn/Wn in registers. Steps of 64 over k come by cp.async into a ring of Stages slots in
// shared memory, the tile's rows of A and of B (of Plain, whose B is [K,N], 64 rows of Bn columns). Chunks of 16 bytes are swizzled: chunk c of row r lies
// at c ^ r % 8, so that neither the copies nor ldmatrix meet in a bank. While the tensor cores multiply one step of 16, ldmatrix loads the next.
//
// Then the sums go to shared memory as float32 and are read back by rows, lanes beside each other on columns beside each other: what follows is the same
// whatever the tile, and global memory is read and written 16 or 8 bytes a lane. A norm's row lies in one block, and its lanes in one warp.
#pragma once
#include "mma.cuh"
#include "rows.cuh"

namespace rc {

constexpr u32 matmul_step = 64; // elements of k that come into shared memory at once

// matmul_norm is a backend.NormStats. A step is bytes from a row to the next.
RC_HOST struct matmul_norm {
    const float *z;
    float *mean, *rstd;
    const float *gamma, *beta;
    u32 z_step, unused;
};

// matmul_params is the parameter for all kernels. If a pointer is null, its step is skipped.
RC_HOST struct matmul_params {
    const u16 *a, *b;
    u32 a_step, b_step;
    u32 m, n, k;
    u32 columns; // tiles next to each other in a row
    const float *bias;
    u16 *pre;
    const u16 *gate;
    matmul_norm residual; // z is the residual, gamma null if it is added as it is
    matmul_norm norm;     // for a norm, and for a norm's gradient, which then has z
    float *dgamma, *dbeta;
    const float *after;
    float *sum;
    u16 *out;
    u32 pre_step, gate_step, dgamma_step, dbeta_step, after_step, sum_step, out_step;
    float eps;
    nn_dropout dropout, out_dropout;
    u32 residual_rows;
    u32 flags;

    RC_FLAG(flags, u32, activation, 0, 2) // as backend.Activation
    RC_FLAG(flags, u32, gate_of, 2, 2)    // 0 without a gate
    RC_FLAG(flags, bool, narrow, 5, 1)    // the job has only a bias, ReLU, a ReLU gate, and out: see narrow
    // Of a norm: whether there is room behind the ring for a float32 of each element, and whether the residual, of a row for each, comes there during the
    // product. A gradient keeps there what column_sums needs.
    RC_FLAG(flags, bool, room, 4, 1)
    RC_FLAG(flags, bool, ahead, 6, 1)
    RC_FLAG(flags, bool, still, 7, 1) // the work before this launch does not write B
};

constexpr u32 activation_relu = 1, activation_gelu = 2;

// Loads that stay where they stand, of memory that the same thread may write later; zeros of what is not there, and no branch.
RC_FN v16 ld_16(const void *p, bool there) {
    v16 v;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\tmov.u32 %0, 0;\n\tmov.u32 %1, 0;\n\tmov.u32 %2, 0;\n\tmov.u32 %3, 0;\n\t"
                 "@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
                 : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
                 : "l"(global(p)), "r"((u32)there));
    return v;
}
RC_FN v8 ld_8(const void *p, bool there) {
    v8 v;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\tmov.u32 %0, 0;\n\tmov.u32 %1, 0;\n\t@p ld.global.v2.u32 {%0, %1}, [%2];\n\t}"
                 : "=&r"(v.x), "=&r"(v.y)
                 : "l"(global(p)), "r"((u32)there));
    return v;
}
RC_FN float ld_f32(const float *p, bool there) {
    u32 v;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\tmov.u32 %0, 0;\n\t@p ld.global.u32 %0, [%1];\n\t}" : "=&r"(v) : "l"(global(p)), "r"((u32)there));
    return as_f32(v);
}
// Stores of what is there.
RC_FN void st_16(void *p, v16 v, bool there) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\t@p st.global.v4.u32 [%0], {%1, %2, %3, %4};\n\t}" ::"l"(global(p)), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w), "r"((u32)there)
                 : "memory");
}
RC_FN void st_8(void *p, v8 v, bool there) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t@p st.global.v2.u32 [%0], {%1, %2};\n\t}" ::"l"(global(p)), "r"(v.x), "r"(v.y), "r"((u32)there)
                 : "memory");
}

// row_at is where an element lies whose row is step bytes from the next.
template <class T> RC_FN T *row_at(T *from, u32 row, u32 step, u32 column) { return (T *)((u64)(from + column) + (u64)row * step); }

RC_FN four four_of(v16 w) { return {{as_f32(w.x), as_f32(w.y), as_f32(w.z), as_f32(w.w)}}; }
RC_FN v16 words_of(const four &f) { return {bits(f.v[0]), bits(f.v[1]), bits(f.v[2]), bits(f.v[3])}; }
RC_FN four ld_four(const float *p, bool there) { return four_of(ld_16(p, there)); }
// widened is number i of four that are bfloat16.
RC_FN float widened(v8 w, u32 i) { return i == 0 ? bf16_lo(w.x) : i == 1 ? bf16_hi(w.x) : i == 2 ? bf16_lo(w.y) : bf16_hi(w.y); }
RC_FN void st_four(float *p, const four &f, bool there) { st_16(p, words_of(f), there); }
RC_FN void st_four(u16 *p, const four &f, bool there) { st_8(p, v8{pack_bf16x2(f.v[0], f.v[1]), pack_bf16x2(f.v[2], f.v[3])}, there); }

// matmul_tile says who makes what. Bm rows and Bn columns a block, by Wm x Wn warps.
template <u32 Bm, u32 Bn, u32 Wm, u32 Wn, u32 Stages, bool Plain> struct matmul_tile {
    static constexpr u32 bm = Bm, bn = Bn, wm = Wm, wn = Wn, stages = Stages;
    static constexpr bool plain = Plain;
    static constexpr u32 warps = Wm * Wn, threads = warps * warp_size;
    static constexpr u32 tm = Bm / Wm, tn = Bn / Wn, mt = tm / 16, nt = tn / 8; // of a warp
    static constexpr u32 a_bytes = Bm * 2 * matmul_step, slot = (Bm + Bn) * 2 * matmul_step;
    static constexpr u32 pitch = Bn + 8; // floats from a row of the sums to the next: pairs of four rows then lie in all banks
    static constexpr u32 ring = Stages * slot, sums = Bm * pitch * 4, shared = ring > sums ? ring : sums;
    // By rows: lanes of a row, rows of a warp at once, and chunks of 4 columns of a lane, bn columns apart by 4 * lanes.
    static constexpr u32 lanes = Bn / 4 < warp_size ? Bn / 4 : warp_size, beside = warp_size / lanes, chunks = Bn / 4 / lanes;
    static constexpr u32 stride = warps * beside; // rows that the block's warps read at once
    static constexpr u32 lane_rows = Bm / stride, ahead = Bm * Bn * 4; // rows of a lane; bytes of a matrix that comes ahead
    static_assert(nt % 2 == 0 && threads % 64 == 0, "whole pairs of tiles, and rows of a copy that keep their swizzle");
};

// matmul_copies is what a thread copies of each step.
template <class C> struct matmul_copies {
    const u16 *a, *b;   // at step 0
    i32 a_rows, b_rows; // of A from the thread's first on; of B too, unless it is plain: then whether it has its columns

    static constexpr u32 a_apart = C::threads / 8, row = C::plain ? C::bn / 8 : 8, b_apart = C::threads / row;
    static constexpr u32 row_bytes = row * 16;

    RC_FN_MEMBER void begin(const matmul_params &p, u32 m0, u32 n0) {
        const u32 i = thread_x();
        a = row_at(p.a, m0 + i / 8, p.a_step, i % 8 * 8);
        a_rows = (i32)(p.m - m0 - i / 8);
        b = C::plain ? row_at(p.b, i / row, p.b_step, n0 + i % row * 8) : row_at(p.b, n0 + i / 8, p.b_step, i % 8 * 8);
        b_rows = C::plain ? (i32)(n0 + i % row * 8 < p.n) : (i32)(p.n - n0 - i / 8);
    }

    // copy begins to copy the step at k0 to a slot, if there is one. There is no branch, so that it goes beside what the tensor cores do.
    RC_FN_MEMBER void copy(const matmul_params &p, u32 k0, u32 slot) const {
        copy_a(p, k0, slot);
        copy_b(p, k0, slot);
    }
    RC_FN_MEMBER void copy_a(const matmul_params &p, u32 k0, u32 slot) const {
        const i32 rows = has(p, k0) ? a_rows : 0;
        RC_UNROLL for (u32 r = 0; r < C::bm; r += a_apart) cp_async_16_if(k0 < p.k, place(slot) + r * 128, row_at(a + k0, r, p.a_step, 0), (i32)r < rows);
    }
    RC_FN_MEMBER void copy_b(const matmul_params &p, u32 k0, u32 slot) const {
        const u32 i = thread_x();
        const bool copies = k0 < p.k;
        if (C::plain) {
            const u16 *from = row_at(b, k0, p.b_step, 0);
            const i32 left = b_rows ? (i32)(p.k - k0 - i / row) : 0;
            RC_UNROLL for (u32 r = 0; r < matmul_step; r += b_apart) {
                const u32 at = i / row + r;
                cp_async_16_if(copies, slot + C::a_bytes + at * row_bytes + ((i % row ^ at % 8) << 4), row_at(from, r, p.b_step, 0), (i32)r < left);
            }
        } else {
            const i32 left = has(p, k0) ? b_rows : 0;
            RC_UNROLL for (u32 r = 0; r < C::bn; r += a_apart)
                cp_async_16_if(copies, place(slot) + C::a_bytes + r * 128, row_at(b + k0, r, p.b_step, 0), (i32)r < left);
        }
    }
    // has says whether the matrices have the thread's columns, and place is where the thread's first row lies.
    RC_FN_MEMBER bool has(const matmul_params &p, u32 k0) const { return k0 + thread_x() % 8 * 8 < p.k; }
    RC_FN_MEMBER u32 place(u32 slot) const { return slot + thread_x() / 8 * 128 + ((thread_x() % 8 ^ thread_x() / 8 % 8) << 4); }
};

// matmul_factors are a warp's parts of A and B of 16 elements of k.
template <class C> struct matmul_factors {
    u32 a[C::mt][4], b[C::nt / 2][4];

    // load takes step s of a slot. a_at and b_at are the lane's places in it at step 0.
    RC_FN_MEMBER void load(u32 a_at, u32 b_at, u32 s) {
        RC_UNROLL for (u32 i = 0; i < C::mt; i++) ldmatrix_x4(a[i], (a_at ^ s * 32) + i * 16 * 128);
        RC_UNROLL for (u32 i = 0; i < C::nt / 2; i++) {
            if (C::plain)
                ldmatrix_x4_trans(b[i], (b_at ^ i * 32) + s * 16 * C::bn * 2);
            else
                ldmatrix_x4(b[i], (b_at ^ s * 32) + i * 16 * 128);
        }
    }
    RC_FN_MEMBER void multiply(float (&sums)[C::mt][C::nt][4]) const {
        RC_UNROLL for (u32 i = 0; i < C::mt; i++) {
            RC_UNROLL for (u32 n = 0; n < C::nt; n++) mma_bf16(sums[i][n], a[i], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
        }
    }
};

// matmul_place is where a warp's part of the tile begins.
template <class C> struct matmul_place {
    u32 row, column;
    RC_FN_MEMBER matmul_place() : row(thread_x() / warp_size / C::wn * C::tm), column(thread_x() / warp_size % C::wn * C::tn) {}
};

// product waits for the work before this launch and makes the tile's sums. If B is still, it comes during the wait. beside(step) may begin other
// copies: it is called for the numbers up to more, at least.
template <class C, class F>
RC_FN void product(float (&sums)[C::mt][C::nt][4], const matmul_params &p, u32 m0, u32 n0, u32 memory, u32 more, const F &beside) {
    matmul_copies<C> copies;
    copies.begin(p, m0, n0);
    const auto first = [&](const auto &copy, bool commits) RC_INLINE_LAMBDA {
        RC_UNROLL for (u32 s = 0; s + 1 < C::stages; s++) {
            copy(s * matmul_step, memory + s * C::slot);
            if (commits) cp_async_commit();
        }
    };
    const auto copy_b = [&](u32 k0, u32 slot) RC_INLINE_LAMBDA { copies.copy_b(p, k0, slot); };
    if (p.still()) first(copy_b, false);
    grid_dependency_wait();
    launch_dependents();
    if (!p.still()) first(copy_b, false);
    first([&](u32 k0, u32 slot) RC_INLINE_LAMBDA { copies.copy_a(p, k0, slot); }, true);
    const u32 l = lane();
    const matmul_place<C> part;
    const u32 a_at = (part.row + l % 16) * 128 + ((l / 16 ^ l % 8) << 4);
    const u32 b_at = C::a_bytes + (C::plain ? l % 16 * C::bn * 2 + ((part.column / 8 ^ l / 16 ^ l % 8) << 4)
                                            : (part.column + l % 8 + l / 16 * 8) * 128 + ((l / 8 % 2 ^ l % 8) << 4));
    matmul_factors<C> factors[2];
    u32 here = memory, free = memory + (C::stages - 1) * C::slot;
    const u32 end = memory + C::ring, steps = (p.k + matmul_step - 1) / matmul_step, whole = p.k / matmul_step;
    cp_async_wait<C::stages - 2>();
    barrier();
    factors[0].load(here + a_at, here + b_at, 0);
    RC_NO_UNROLL for (u32 step = 0; step < whole; step++) {
        RC_UNROLL for (u32 s = 0; s < 4; s++) {
            if (s == 3) { // the next step has come, and nobody reads the one before this any more
                cp_async_wait<C::stages - 2>();
                barrier();
                free = here;
                here = step + 1 == steps ? here : here + C::slot == end ? memory : here + C::slot; // after the last step it is read again, in vain
            }
            factors[(s + 1) % 2].load(here + a_at, here + b_at, (s + 1) % 4);
            if (s == 0) {
                copies.copy(p, (step + C::stages - 1) * matmul_step, free);
                cp_async_commit();
            }
            if (s == 1) beside(step);
            factors[s % 2].multiply(sums);
        }
    }
    RC_NO_UNROLL for (u32 s = 0; s < p.k % matmul_step / 16; s++) {
        factors[0].load(here + a_at, here + b_at, s);
        factors[0].multiply(sums);
    }
    for (u32 step = whole; step < more; step++) beside(step);
}

// after_product waits until nobody reads the ring any more, and until other copies have come.
RC_FN void after_product() {
    copies_landed();
    barrier();
}

// stage writes a warp's sums to shared memory, for all to read.
template <class C> RC_FN void stage(const float (&sums)[C::mt][C::nt][4], u32 memory) {
    const matmul_place<C> part;
    const u32 l = lane();
    after_product();
    RC_UNROLL for (u32 i = 0; i < C::mt; i++) {
        RC_UNROLL for (u32 n = 0; n < C::nt; n++) {
            const u32 to = memory + ((part.row + i * 16 + l / 4) * C::pitch + part.column + n * 8 + l % 4 * 2) * 4;
            st_shared_8(to, v8{bits(sums[i][n][0]), bits(sums[i][n][1])});
            st_shared_8(to + 8 * C::pitch * 4, v8{bits(sums[i][n][2]), bits(sums[i][n][3])});
        }
    }
    barrier();
}

} // namespace rc
