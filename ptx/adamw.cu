// adamw.cu adds up the gradients of all ranks and takes a step of AdamW: a thread has four neighbouring elements of the flat space of parameters at a
// time. The gradients that are read, and the copies of the parameters that are written, may lie in another GPU's memory.
//
// gradient_norm keeps the sums and adds up their squares, a block the elements of a chunk. adamw adds these up again in each of its blocks, so that
// all know the norm, and whether there is one, before the first element is touched; or it makes the sums itself, leaves out elements whose gradient
// is not finite, and the last of its blocks says so.
//
// Bytes moved for an element: 4 for the gradient of each rank, 24 for the parameter and its moments, 8 for its average, 2 or 4 for each copy.
// gradient_norm writes 4, and adamw then reads them instead of the ranks' gradients.
#include "warp.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 adamw_threads = 256;
RC_HOST constexpr u32 adamw_elements = 4 * adamw_threads; // elements per block at a time
RC_HOST constexpr u32 norm_chunk = 4096;                  // elements in one sum of squares

// rank_gradients has the gradients from all ranks.
RC_HOST struct rank_gradients {
    const u64 *ranks; // addresses
    u32 count;
    float scale;
};

RC_HOST struct gradient_norm_params {
    rank_gradients gradients;
    float *sum;
    const u64 *squares; // addresses, one copy per rank
    u64 from, to;
    u32 square_count; // copies
    u32 spare;
};

RC_HOST struct adamw_params {
    rank_gradients gradients;
    float *params, *m, *v;
    float *average; // or null
    const u64 *working, *copies; // addresses, one copy per rank
    const v16 *schedule; // one row per step: step size, root of v's correction, decay, share of the parameter in its average
    u64 *state;
    const float *squares; // or null
    float *norm;
    u64 from, to;
    u32 steps;        // rows in the schedule
    u32 square_count; // the number of chunks
    u32 working_count, copy_count;
    float take1, take2; // 1 - beta, rounded to float32
    float beta2, eps;
    float max_norm; // or 0
    u32 batches;    // batches in a step
};

// The words of the state of a step.
constexpr u32 train_state_step = 0, train_state_bad = 1, train_state_ticket = 3;

struct four {
    float x[4];
};

RC_FN four ld_nc_four(const float *p) {
    const v16 v = ld_nc_16(p);
    return {{as_f32(v.x), as_f32(v.y), as_f32(v.z), as_f32(v.w)}};
}
// ld_stream and st_stream are for what is not touched again before the next step: it is the first to leave the level-two cache.
RC_FN four ld_stream(const float *p) {
    four f;
    asm volatile("ld.global.cs.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(f.x[0]), "=f"(f.x[1]), "=f"(f.x[2]), "=f"(f.x[3]) : "l"(global(p)) : "memory");
    return f;
}
RC_FN void st_stream(float *p, const four &f) {
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(global(p)), "f"(f.x[0]), "f"(f.x[1]), "f"(f.x[2]), "f"(f.x[3]) : "memory");
}
RC_FN void st_four(float *p, const four &f) { st_16(p, {bits(f.x[0]), bits(f.x[1]), bits(f.x[2]), bits(f.x[3])}); }

// gradient_at adds the gradients of all ranks of four elements, in order, and scales the sum.
RC_FN four gradient_at(const rank_gradients &p, u64 at) {
    four sum = ld_nc_four((const float *)ld_nc_u64(p.ranks) + at);
    for (u32 r = 1; r < p.count; r++) {
        const four more = ld_nc_four((const float *)ld_nc_u64(p.ranks + r) + at);
        RC_UNROLL for (u32 c = 0; c < 4; c++) sum.x[c] += more.x[c];
    }
    RC_UNROLL for (u32 c = 0; c < 4; c++) sum.x[c] *= p.scale;
    return sum;
}

// folded adds the numbers of the block's threads in halves: that of thread t and of thread t + 128, then t and t + 64, and so on. Every thread has
// the sum.
RC_FN float folded(float v) {
    __shared__ float all[adamw_threads];
    all[thread_x()] = v;
    barrier();
    float part[adamw_threads / warp_size];
    RC_UNROLL for (u32 i = 0; i < adamw_threads / warp_size; i++) part[i] = all[lane() + i * warp_size];
    RC_UNROLL for (u32 half = adamw_threads / warp_size / 2; half > 0; half /= 2) {
        RC_UNROLL for (u32 i = 0; i < half; i++) part[i] += part[i + half];
    }
    RC_UNROLL for (u32 half = warp_size / 2; half > 0; half /= 2) part[0] += as_f32(shuffle_xor(bits(part[0]), half));
    return part[0];
}

// schedule_row is what a step takes from the schedule.
struct schedule_row {
    float step, root, decay, share;
};

RC_FN schedule_row row_of(const adamw_params &p) {
    const u64 step = ld_nc_u64(p.state + train_state_step) / p.batches;
    const v16 row = ld_nc_16(p.schedule + (step < 1 ? 0 : (step < p.steps ? step : p.steps) - 1));
    return {as_f32(row.x), as_f32(row.y), as_f32(row.z), as_f32(row.w)};
}

// update is the step of an element; the job's comment in package backend has the order of operations.
RC_FN void update(const adamw_params &p, const schedule_row &row, float g, float &param, float &m, float &v) {
    param = param * row.decay;
    m = m + p.take1 * (g - m);
    v = v * p.beta2 + p.take2 * g * g;
    param = param - row.step * div_rn(m, div_rn(sqrt_rn(v), row.root) + p.eps);
}

// step_at takes the step of four elements, and reports whether one was left out.
RC_FN bool step_at(const adamw_params &p, const schedule_row &row, float clip, u64 at) {
    four param = ld_stream(p.params + at), m = ld_stream(p.m + at), v = ld_stream(p.v + at);
    const four gradient = gradient_at(p.gradients, at);
    bool bad = false;
    RC_UNROLL for (u32 c = 0; c < 4; c++) {
        const float g = gradient.x[c] * clip;
        if (RC_LIKELY(is_finite(g)))
            update(p, row, g, param.x[c], m.x[c], v.x[c]);
        else
            bad = true;
    }
    st_stream(p.params + at, param), st_stream(p.m + at, m), st_stream(p.v + at, v);
    if (p.average != nullptr) {
        four average = ld_stream(p.average + at);
        RC_UNROLL for (u32 c = 0; c < 4; c++) average.x[c] = average.x[c] + row.share * (param.x[c] - average.x[c]);
        st_stream(p.average + at, average);
    }
    const v8 rounded = {f32_to_bf16x2(param.x[0], param.x[1]), f32_to_bf16x2(param.x[2], param.x[3])};
    for (u32 r = 0; r < p.working_count; r++) st_8((u16 *)ld_nc_u64(p.working + r) + at, rounded);
    for (u32 r = 0; r < p.copy_count; r++) st_four((float *)ld_nc_u64(p.copies + r) + at, param);
    return bad;
}

// spoil says in the state that the step was bad.
RC_FN void spoil(const adamw_params &p) {
    const u64 step = ld_nc_u64(p.state + train_state_step);
    st_relaxed(p.state + train_state_bad, step < 1 ? 1 : step);
}

// finish_block counts a block that is done, and the last one says whether any left out an element.
RC_FN void finish_block(const adamw_params &p, bool bad) {
    u64 *const ticket = p.state + train_state_ticket;
    fence();
    const u64 one = bad ? 1 | 1ull << 32 : 1, all = atomic_add(ticket, one) + one;
    if ((u32)all != blocks_x()) return;
    fence();
    st_relaxed(ticket, 0);
    if (all >> 32 != 0) spoil(p);
}

} // namespace

RC_KERNEL(adamw_threads) gradient_norm(const gradient_norm_params p) {
    grid_dependency_wait();
    launch_dependents();
    const u64 chunk = p.from / norm_chunk + block_x();
    float squares = 0;
    RC_UNROLL for (u32 i = 0; i < norm_chunk; i += adamw_elements) {
        const u64 at = chunk * norm_chunk + i + thread_x() * 4;
        if (at >= p.to) break;
        const four g = gradient_at(p.gradients, at);
        st_four(p.sum + at, g);
        RC_UNROLL for (u32 c = 0; c < 4; c++) squares += g.x[c] * g.x[c];
    }
    squares = folded(squares);
    if (thread_x() < p.square_count) st_f32((float *)ld_nc_u64(p.squares + thread_x()) + chunk, squares);
}

RC_KERNEL(adamw_threads) adamw(const adamw_params p) {
    grid_dependency_wait();
    launch_dependents();
    if (barrier_count(ld_relaxed(p.state + train_state_bad) != 0) > 0) return; // a block that has seen a bad norm may have set it
    float clip = 1;
    if (p.squares != nullptr) {
        float squares = 0;
        for (u32 i = thread_x(); i < p.square_count; i += adamw_threads) squares += ld_nc_f32(p.squares + i);
        const float norm = sqrt_rn(folded(squares));
        if (block_x() == 0 && thread_x() == 0) {
            st_f32(p.norm, norm);
            if (!is_finite(norm)) spoil(p);
        }
        if (!is_finite(norm)) return;
        if (p.max_norm > 0) {
            clip = div_rn(p.max_norm, norm + 1e-6f);
            clip = clip < 1 ? clip : 1;
        }
    }
    const schedule_row row = row_of(p);
    bool bad = false;
    for (u64 at = p.from + (u64)block_x() * adamw_elements + thread_x() * 4; at < p.to; at += (u64)blocks_x() * adamw_elements)
        bad |= step_at(p, row, clip, at);
    if (p.squares != nullptr) return; // a finite norm is of finite sums
    bad = barrier_count(bad) > 0;
    if (thread_x() == 0) finish_block(p, bad);
}
