// norm.cu is LayerNorm, and its gradient, where no product makes the rows: backend.NormJob and backend.NormBackwardJob say what is computed.
//
// norm: a warp makes a row, whose first 512 columns it keeps in registers. 4 bytes read an element, and 2 and 4 written.
//
// norm_backward: a block of 16 warps has norm_rows rows. A thread adds up four columns of a quarter of the rows, for the gradients of gamma and beta. Then a warp
// makes four of the rows, whose first 512 columns it keeps in registers. 8 bytes read an element, and again from a cache, 4 more with After, and 2 and 4 written.
#include "rows.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 norm_threads = 256;
RC_HOST constexpr u32 norm_backward_threads = 512;
RC_HOST constexpr u32 norm_rows = 64; // rows per block in norm_backward

// norm_params is the parameter for norm, norm_backward_params for norm_backward. If a pointer is null, its step is skipped.
RC_HOST struct norm_params {
    nn_norm norm;
    float *sum;
    u64 sum_step;
    u16 *out;
    u64 out_step;
    u32 m, n;
    float eps;
    u32 unused;
};
RC_HOST struct norm_backward_params {
    nn_norm norm;
    const float *g;
    u64 g_step;
    const float *after;
    u64 after_step;
    float *sum;
    u64 sum_step;
    u16 *out;
    u64 out_step;
    float *dgamma, *dbeta;
    u64 dgamma_step, dbeta_step;
    nn_dropout out_dropout;
    u32 m, n;
};

// kept_row is a row of which a lane keeps its first fours.
struct kept_row {
    static constexpr u32 fours = 4;
    const float *row;
    u32 n;
    four kept[fours];

    RC_FN_MEMBER kept_row(const float *row, u32 n) : row(row), n(n) {
        RC_UNROLL for (u32 i = 0; i < fours; i++) {
            if (lane() * 4 + i * row_step < n) kept[i] = ld_four(row + lane() * 4 + i * row_step);
        }
    }
    // each calls fn with every four of the lane, its column and its number, which is fours for all that are not kept.
    template <class F> RC_FN_MEMBER void each(const F &fn) const {
        RC_UNROLL for (u32 i = 0; i < fours; i++) {
            if (lane() * 4 + i * row_step < n) fn(kept[i], lane() * 4 + i * row_step, i);
        }
        RC_NO_UNROLL for (u32 c = lane() * 4 + fours * row_step; c < n; c += row_step) fn(ld_four(row + c), c, fours);
    }
    // at is number i of the fours, whose column is c, as each has them.
    RC_FN_MEMBER four at(u32 c, u32 i) const { return i < fours ? kept[i] : ld_four(row + c); }
    // mean is that of what fn gives for each element.
    template <class F> RC_FN_MEMBER float mean(const F &fn) const {
        float sum = 0.0f;
        each([&](const four &x, u32, u32) {
            RC_UNROLL for (u32 i = 0; i < 4; i++) sum += fn(x.v[i]);
        });
        return div_rn(lanes_sum(sum), (float)n);
    }
};

// gradient makes a row of norm_backward.
RC_FN void gradient(const norm_backward_params &p, u32 m, u32 step) {
    const kept_row g(p.g + m * p.g_step, p.n), z(p.norm.z + m * p.norm.z_step, p.n);
    const float row_mean = ld_f32(p.norm.mean + m), rstd = ld_f32(p.norm.rstd + m);
    // each calls fn with the fours of h, of x, the norm before gamma, and their column.
    const auto each = [&](const auto &fn) RC_INLINE_LAMBDA {
        g.each([&](const four &g, u32 c, u32 i) RC_INLINE_LAMBDA {
            const four gamma = ld_four(p.norm.gamma + c);
            four h = g, x = z.at(c, i);
            RC_UNROLL for (u32 i = 0; i < 4; i++) {
                h.v[i] *= gamma.v[i];
                x.v[i] = (x.v[i] - row_mean) * rstd;
            }
            fn(h, x, c);
        });
    };
    float sum_h = 0.0f, sum_hx = 0.0f;
    each([&](const four &h, const four &x, u32) RC_INLINE_LAMBDA {
        RC_UNROLL for (u32 i = 0; i < 4; i++) {
            sum_h += h.v[i];
            sum_hx += h.v[i] * x.v[i];
        }
    });
    const float mean_h = div_rn(lanes_sum(sum_h), (float)p.n), mean_hx = div_rn(lanes_sum(sum_hx), (float)p.n);
    each([&](const four &h, const four &x, u32 c) RC_INLINE_LAMBDA {
        four v;
        RC_UNROLL for (u32 i = 0; i < 4; i++) v.v[i] = rstd * (h.v[i] - mean_h - x.v[i] * mean_hx);
        if (p.after != nullptr) {
            const four after = ld_four(p.after + m * p.after_step + c);
            RC_UNROLL for (u32 i = 0; i < 4; i++) v.v[i] += after.v[i];
        }
        if (p.sum != nullptr) st_four(p.sum + m * p.sum_step + c, v);
        if (p.out == nullptr) return;
        if (p.out_dropout.state != nullptr) leave_out(v, p.out_dropout, step, (u64)m * p.n + c);
        st_four(p.out + m * p.out_step + c, v);
    });
}

// column_sums adds up a block's columns, 512 at a time: a thread has a four of a quarter of the rows.
RC_FN void column_sums(const norm_backward_params &p) {
    constexpr u32 beside = norm_backward_threads / 4, rows = norm_rows / 4;
    __shared__ four sums[2][4][beside];
    const u32 quarter = thread_x() / beside, at = thread_x() % beside, first = block_x() * norm_rows + quarter * rows;
    for (u32 columns = 0; columns < p.n; columns += 4 * beside) {
        const u32 c = columns + at * 4;
        if (c < p.n) {
            four dgamma = {}, dbeta = {};
            _Pragma("unroll 4") for (u32 r = 0; r < rows; r++) {
                const u32 m = first + r < p.m ? first + r : p.m - 1; // in place of one that is not there, which counts 0
                const four g = ld_four(p.g + m * p.g_step + c), z = ld_four(p.norm.z + m * p.norm.z_step + c);
                const float mean = ld_f32(p.norm.mean + m), rstd = ld_f32(p.norm.rstd + m);
                RC_UNROLL for (u32 i = 0; i < 4; i++) {
                    dgamma.v[i] += first + r < p.m ? g.v[i] * ((z.v[i] - mean) * rstd) : 0.0f;
                    dbeta.v[i] += first + r < p.m ? g.v[i] : 0.0f;
                }
            }
            sums[0][quarter][at] = dgamma, sums[1][quarter][at] = dbeta;
        }
        barrier();
        if (quarter < 2 && c < p.n) {
            four sum = sums[quarter][0][at];
            RC_UNROLL for (u32 q = 1; q < 4; q++) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) sum.v[i] += sums[quarter][q][at].v[i];
            }
            st_four(quarter == 0 ? p.dgamma + block_x() * p.dgamma_step + c : p.dbeta + block_x() * p.dbeta_step + c, sum);
        }
        barrier();
    }
}

} // namespace

RC_KERNEL(norm_threads) norm(const norm_params p) {
    grid_dependency_wait();
    launch_dependents();
    const u32 m = block_x() * (norm_threads / warp_size) + thread_x() / warp_size;
    if (m >= p.m) return;
    const kept_row row(p.norm.z + m * p.norm.z_step, p.n);
    const float mean = row.mean([](float x) { return x; });
    const float variance = row.mean([&](float x) { return (x - mean) * (x - mean); });
    const float rstd = div_rn(1.0f, sqrt_rn(variance + p.eps));
    if (lane() == 0) {
        st_f32(p.norm.mean + m, mean);
        st_f32(p.norm.rstd + m, rstd);
    }
    row.each([&](const four &x, u32 c, u32) {
        const four gamma = ld_four(p.norm.gamma + c), beta = ld_four(p.norm.beta + c);
        four v;
        RC_UNROLL for (u32 i = 0; i < 4; i++) v.v[i] = (x.v[i] - mean) * rstd * gamma.v[i] + beta.v[i];
        if (p.sum != nullptr) st_four(p.sum + m * p.sum_step + c, v);
        if (p.out != nullptr) st_four(p.out + m * p.out_step + c, v);
    });
}

RC_KERNEL(norm_backward_threads) norm_backward(const norm_backward_params p) {
    grid_dependency_wait();
    launch_dependents();
    const u32 step = step_of(p.out_dropout), first = block_x() * norm_rows;
    column_sums(p); // before sum is written, which may be g
    RC_NO_UNROLL for (u32 r = thread_x() / warp_size; r < norm_rows && first + r < p.m; r += norm_backward_threads / warp_size) gradient(p, first + r, step);
}
