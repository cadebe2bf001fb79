// loss.cu compares a prediction with its target: backend.LossJob says what is computed, and in which order.
//
// A block has loss_rows rows, a warp four of them. The sums of the rows are added up by the block's first thread, the partial sums by
// the first warp of the block that ends last: each block counts itself when its partial sum is written. Of a cross-entropy each block counts the rows that
// count, of all. 8 bytes read an element, and 2 written; of a cross-entropy 4 and 2, read three times by the same warp.
#include "kernel.cuh"
#include "rows.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 loss_threads = 256;
RC_HOST constexpr u32 loss_rows = 32; // rows in a block

constexpr u32 mse = 0, cross_entropy = 2; // of backend.LossKind

// loss_params is the parameter for loss. If a pointer is null, its step is skipped.
RC_HOST struct loss_params {
    const float *prediction, *target;
    u64 prediction_step, target_step;
    const i32 *classes;
    const float *weights;
    u16 *grad;
    u64 grad_step;
    float *partials;
    float *losses;
    u64 *state;
    u64 *fault;
    u32 *fault_flag;
    u32 m, n;
    u32 width; // columns in grad
    u32 items, item_width;
    u32 ring; // elements in losses
    u32 flags;
    u32 unused;

    RC_FLAG(flags, u32, kind, 0, 2) // as backend.LossKind
    RC_FN_MEMBER u64 stream_bits() const { return 0; }
};

// Words of the state, as package ops/backend has them.
constexpr u32 state_step = 0, state_bad = 1, state_valid = 2, state_ticket = 3;

// counts reports whether a row of a cross-entropy does.
RC_FN bool counts(const loss_params &p, u32 m) {
    return ld_u32(p.classes + m) < p.n && (p.weights == nullptr || ld_f32(p.weights + m) != 0.0f);
}

// counted is how many values or rows count.
RC_FN float counted(const loss_params &p) {
    if (p.kind() != cross_entropy) return p.weights == nullptr ? (float)((u64)p.m * p.n) : (float)(i64)ld_relaxed(p.state + state_valid);
    u32 n = 0;
    for (u32 first = 0; first < p.m; first += loss_threads) n += barrier_count(first + thread_x() < p.m && counts(p, first + thread_x()));
    return (float)n;
}

constexpr u32 warp_rows = loss_rows / (loss_threads / warp_size); // of a warp

// distances makes the gradients of a warp's rows from m on, and the sums of their losses. What it reads of them is under way at once.
RC_FN void distances(const loss_params &p, u32 m, float n, float (&sums)[warp_rows]) {
    const float one = div_rn(1.0f, n), two = div_rn(2.0f, n);
    const u32 rows = p.m > m ? p.m - m : 0; // that there are
    bool counts[warp_rows];
    RC_UNROLL for (u32 r = 0; r < warp_rows; r++) {
        counts[r] = r < rows && (p.weights == nullptr || p.items > 1 || ld_f32(p.weights + m + r) != 0.0f);
        sums[r] = 0.0f;
    }
    for (u32 c = lane() * 4; c < p.width; c += row_step) {
        four x[warp_rows], t[warp_rows];
        RC_UNROLL for (u32 r = 0; r < warp_rows; r++) {
            x[r] = t[r] = {};
            if (counts[r] && c < p.n) x[r] = ld_four(p.prediction + (m + r) * p.prediction_step + c);
            RC_UNROLL for (u32 i = 0; i < 4; i++) {
                if (counts[r] && c + i < p.n) t[r].v[i] = ld_f32(p.target + (m + r) * p.target_step + c + i);
            }
        }
        RC_UNROLL for (u32 r = 0; r < warp_rows; r++) {
            four g;
            RC_UNROLL for (u32 i = 0; i < 4; i++) {
                bool on = counts[r] && c + i < p.n;
                if (on && p.weights != nullptr && p.items > 1) on = ld_f32(p.weights + (u64)(m + r) * p.items + (c + i) / p.item_width) != 0.0f;
                const float d = x[r].v[i] - t[r].v[i];
                sums[r] += !on ? 0.0f : p.kind() == mse ? d * d : abs_f(d);
                g.v[i] = !on ? 0.0f : p.kind() == mse ? d * two : d > 0.0f ? one : d < 0.0f ? -one : 0.0f;
            }
            if (p.grad != nullptr && r < rows) st_four(p.grad + (m + r) * p.grad_step + c, g);
        }
    }
    RC_UNROLL for (u32 r = 0; r < warp_rows; r++) sums[r] = lanes_sum(sums[r]);
}

// entropy makes the gradients of a row of a cross-entropy and returns its loss.
RC_FN float entropy(const loss_params &p, u32 m, float n) {
    const bool on = counts(p, m);
    const float *x = p.prediction + m * p.prediction_step;
    const u32 of = ld_u32(p.classes + m);
    if (!on && (i32)of >= (i32)p.n && lane() == 0) report(p, 0, m, 0);
    float most = -as_f32(0x7f800000u), sum = 0.0f;
    if (on) {
        for (u32 c = lane() * 4; c < p.n; c += row_step) {
            const four v = ld_four(x + c);
            RC_UNROLL for (u32 i = 0; i < 4; i++) most = c + i < p.n ? max_nan(most, v.v[i]) : most;
        }
        RC_UNROLL for (u32 d = warp_size / 2; d > 0; d /= 2) most = max_nan(most, as_f32(shuffle_xor(bits(most), d)));
        for (u32 c = lane() * 4; c < p.n; c += row_step) {
            const four v = ld_four(x + c);
            RC_UNROLL for (u32 i = 0; i < 4; i++) sum += c + i < p.n ? exp_exact(v.v[i] - most) : 0.0f;
        }
        sum = lanes_sum(sum);
    }
    const float one = div_rn(1.0f, n);
    if (p.grad != nullptr) {
        for (u32 c = lane() * 4; c < p.width; c += row_step) {
            four g = {};
            if (on && c < p.n) {
                const four v = ld_four(x + c);
                RC_UNROLL for (u32 i = 0; i < 4; i++) {
                    float q = div_rn(exp_exact(v.v[i] - most), sum);
                    q = c + i == of ? q - 1.0f : q;
                    g.v[i] = c + i < p.n ? q * one : 0.0f;
                }
            }
            st_four(p.grad + m * p.grad_step + c, g);
        }
    }
    return on ? log_exact(sum) - (ld_f32(x + of) - most) : 0.0f;
}

// finish adds up the partial sums, in a warp.
RC_FN void finish(const loss_params &p, float n) {
    const u32 partials = (p.m + loss_rows - 1) / loss_rows;
    float sum = 0.0f;
    for (u32 c = lane() * 4; c < partials; c += row_step) {
        RC_UNROLL for (u32 i = 0; i < 4; i++) sum += c + i < partials ? as_f32(ld_relaxed((const u32 *)p.partials + c + i)) : 0.0f;
    }
    sum = lanes_sum(sum);
    if (lane() > 0) return;
    const float loss = n > 0.0f ? div_rn(sum, n) : 0.0f;
    const u64 step = ld_relaxed(p.state + state_step);
    st_f32(p.losses + (step - 1) % p.ring, loss);
    if (!is_finite(loss) && ld_relaxed(p.state + state_bad) == 0) st_relaxed(p.state + state_bad, step);
    st_relaxed(p.state + state_ticket, 0);
}

} // namespace

RC_KERNEL(loss_threads) loss(const loss_params p) {
    __shared__ float sums[loss_rows];
    __shared__ u32 last;
    grid_dependency_wait();
    launch_dependents();
    const float n = counted(p);
    const u32 first = thread_x() / warp_size * warp_rows, m = block_x() * loss_rows + first;
    if (p.kind() == cross_entropy) {
        RC_NO_UNROLL for (u32 r = 0; r < warp_rows; r++) {
            const float sum = m + r < p.m ? entropy(p, m + r, n) : 0.0f;
            if (lane() == 0) sums[first + r] = sum;
        }
    } else {
        float own[warp_rows];
        distances(p, m, n, own);
        RC_UNROLL for (u32 r = 0; r < warp_rows; r++) {
            if (lane() == 0) sums[first + r] = own[r];
        }
    }
    barrier();
    if (thread_x() == 0) {
        float sum = 0.0f;
        RC_UNROLL for (u32 r = 0; r < loss_rows; r++) sum += sums[r];
        st_f32(p.partials + block_x(), sum);
        fence();
        last = atomic_add(p.state + state_ticket, 1) == blocks_x() - 1;
        fence();
    }
    barrier();
    if (last != 0 && thread_x() < warp_size) finish(p, n);
}
