// rows.cuh is what kernels of networks that take a row a warp share. A lane has fours of columns: 4 * lane to 4 * lane + 3, and so on every 128.
#pragma once
#include "fp32.cuh"
#include "warp.cuh"

namespace rc {

constexpr u32 row_step = 4 * warp_size; // columns from a four of a lane to its next

// Loads that stay where they stand, of memory that the same kernel may write later.
RC_FN v16 ld_16(const void *p) {
    v16 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(global(p)));
    return v;
}
RC_FN v8 ld_8(const void *p) {
    v8 v;
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(global(p)));
    return v;
}
RC_FN u32 ld_u32(const void *p) {
    u32 v;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(global(p)));
    return v;
}
RC_FN float ld_f32(const float *p) { return as_f32(ld_u32(p)); }

// four are neighbouring elements of a row.
struct four {
    float v[4];
};
RC_FN four ld_four(const float *p) {
    const v16 w = ld_16(p);
    return {{as_f32(w.x), as_f32(w.y), as_f32(w.z), as_f32(w.w)}};
}
RC_FN void st_four(float *p, const four &f) { st_16(p, v16{bits(f.v[0]), bits(f.v[1]), bits(f.v[2]), bits(f.v[3])}); }
RC_FN void st_four(u16 *p, const four &f) { st_8(p, v8{f32_to_bf16x2(f.v[0], f.v[1]), f32_to_bf16x2(f.v[2], f.v[3])}); }

// lanes_sum adds up what the lanes have, in the order of backend.NormStats.
RC_FN float lanes_sum(float x) {
    RC_UNROLL for (u32 d = warp_size / 2; d > 0; d /= 2) x += as_f32(shuffle_xor(bits(x), d));
    return x;
}

// nn_dropout is a backend.Dropout; its state is null for none.
RC_HOST struct nn_dropout {
    const i64 *state; // its first word is the step
    u64 seed;
    u32 site, threshold;
    float scale;
    u32 unused;
};

// leave_out is dropout of a four, whose first element has a number.
RC_FN void leave_out(four &x, const nn_dropout &d, u32 step, u64 number) {
    const v16 w = random_words(d.seed, step, d.site, number / 4);
    RC_UNROLL for (u32 i = 0; i < 4; i++) x.v[i] = word_of(w, i) < d.threshold ? 0.0f : x.v[i] * d.scale;
}
// step_of is the step of a dropout.
RC_FN u32 step_of(const nn_dropout &d) { return d.state != nullptr ? ld_u32(d.state) : 0; }

// nn_norm is a backend.NormStats. Steps are elements from a row to the next.
RC_HOST struct nn_norm {
    const float *z;
    float *mean, *rstd;
    const float *gamma, *beta;
    u64 z_step;
};

} // namespace rc
