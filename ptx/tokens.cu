// tokens.cu makes a network's input and targets of a batch of windows, and begins a step: backend.TokensJob says what is computed.
//
// A thread has Columns columns of one source and makes them for `deep` rows, whose masks it loads before their values, and all of those before it computes:
// so it waits for memory twice. Threads beside each other have columns beside each other. tokens takes 8 columns of 16 or 32 bytes a thread, tokens_any one.
// Blocks behind those of the input make the targets, a column a thread. Each block counts itself with its targets that count, in one addition, and the last
// one writes the state.
// Bytes moved: the values that are used once, a mask's byte for each tick and source, and the outputs.
#include "rows.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 tokens_threads = 256;
RC_HOST constexpr u32 tokens_deep = 4; // rows of a thread
RC_HOST constexpr u32 tokens_wide = 8; // columns of a thread of tokens

// token_source is a backend.TokenSource. Steps are elements.
RC_HOST struct token_source {
    const void *values;
    const u8 *valid, *pad; // null for none
    u64 batch, tick, valid_batch, valid_tick, pad_batch, pad_tick;
    u64 fault; // the class and the stream of its faults
    u32 ticks, d;
    i32 token;
    u32 column;
    u32 f32; // else bf16
    u32 unused;
};

// token_affine is what makes an output of values, and where it goes: so many columns beside each other that a block's threads have of a row, and rows that
// they have at once.
RC_HOST struct token_affine {
    const float *scale, *shift;
    const i32 *relative; // null for none
    u32 beside, rows;
    u32 blocks_a_row; // each of beside threads' columns
    u32 blocks;
};

RC_HOST struct tokens_params {
    const token_source *sources;
    token_source reference, target; // values null for none; token is the reference's tick
    token_affine in, out;
    u16 *input;
    u64 input_step;
    float *targets;
    u64 target_step;
    float *weights;
    u64 *state;
    u64 *fault;
    u32 *fault_flag;
    u32 b, t, source_count;
    u32 width; // of input
};

// Words of the state, as package ops/backend has them.
constexpr u32 state_step = 0, state_bad = 1, state_valid = 2, state_ticket = 3;

RC_FN u32 ld_u8(const u8 *p) {
    u32 v;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(v) : "l"(global(p)));
    return v;
}
RC_FN u32 ld_u16(const void *p) {
    u16 v;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(global(p)));
    return v;
}

// counts reports whether a tick of a row does.
RC_FN bool counts(const token_source &s, u32 b, u32 tick) {
    return (s.valid == nullptr || ld_u8(s.valid + b * s.valid_batch + tick * s.valid_tick) != 0) &&
           (s.pad == nullptr || ld_u8(s.pad + b * s.pad_batch + tick * s.pad_tick) == 0);
}

RC_FN float value_of(const token_source &s, u64 at) {
    return s.f32 ? ld_f32((const float *)s.values + at) : as_f32(ld_u16((const u16 *)s.values + at) << 16);
}

// values are those of a thread in a row, as they lie.
template <u32 Columns> struct values {
    v16 low, high;

    RC_FN_MEMBER void load(const token_source &s, u64 at) {
        if (s.f32) {
            low = ld_16((const float *)s.values + at), high = ld_16((const float *)s.values + at + 4);
        } else {
            low = ld_16((const u16 *)s.values + at);
        }
    }
    RC_FN_MEMBER float at(const token_source &s, u32 i) const {
        const u32 words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        return s.f32 ? as_f32(words[i]) : i % 2 == 0 ? bf16_lo(words[i / 2]) : bf16_hi(words[i / 2]);
    }
};
template <> struct values<1> {
    float x;

    RC_FN_MEMBER void load(const token_source &s, u64 at) { x = value_of(s, at); }
    RC_FN_MEMBER float at(const token_source &, u32) const { return x; }
};

RC_FN void store(u16 *to, const float (&v)[8]) {
    st_16(to, v16{f32_to_bf16x2(v[0], v[1]), f32_to_bf16x2(v[2], v[3]), f32_to_bf16x2(v[4], v[5]), f32_to_bf16x2(v[6], v[7])});
}
RC_FN void store(u16 *to, const float (&v)[1]) { st_u16(to, f32_to_bf16(v[0])); }
RC_FN void store(float *to, const float (&v)[1]) { st_f32(to, v[0]); }

// found notes the smallest fault of a thread.
RC_FN void found(const tokens_params &p, u64 fault, u32 &bad) {
    atomic_min_u64(p.fault, fault);
    *(volatile u32 *)p.fault_flag = 1;
    if (ld_relaxed(p.state + state_bad) == 0) st_relaxed(p.state + state_bad, ld_relaxed(p.state + state_step) + 1);
    bad = 1;
}

// side is where a thread's rows and columns are: of the input, or of the targets.
template <u32 Columns> struct side {
    const tokens_params &p;
    const token_affine &a;
    u32 column, first, apart; // of the output: the thread's first column, its first row, and rows from one to the next
    float scale[Columns], shift[Columns];
    i32 relative[Columns];

    RC_FN_MEMBER side(const tokens_params &p, const token_affine &a, u32 block) : p(p), a(a) {
        const u32 row = thread_x() / a.beside;
        column = (block % a.blocks_a_row * a.beside + thread_x() % a.beside) * Columns;
        first = row < a.rows ? block / a.blocks_a_row * a.rows * tokens_deep + row : ~0u / 2;
        apart = a.rows;
    }
    RC_FN_MEMBER void load_affine(bool on) {
        RC_UNROLL for (u32 i = 0; i < Columns; i++) {
            scale[i] = on ? ld_f32(a.scale + column + i) : 0.0f, shift[i] = on ? ld_f32(a.shift + column + i) : 0.0f;
            relative[i] = on && a.relative != nullptr ? (i32)ld_u32(a.relative + column + i) : -1;
        }
    }
    // reference_of is what column i of row b is relative to.
    RC_FN_MEMBER float reference_of(u32 i, u32 b, bool known) const {
        return relative[i] < 0 || !known ? 0.0f : value_of(p.reference, b * p.reference.batch + (u32)p.reference.token * p.reference.tick + (u32)relative[i]);
    }

    // make makes the rows below n, of `ticks` a batch row, of a source whose first tick is the token `shifted`; from is the thread's first column there.
    // Those that do not count are 0. It calls seen with each row and whether it counts.
    template <class T, class F>
    RC_FN_MEMBER void make(const token_source &s, bool there, u32 n, u32 ticks, i32 shifted, u32 from, bool strict, T *out, u64 step, u32 &bad, const F &seen) const {
        bool on[tokens_deep], known[tokens_deep];
        values<Columns> v[tokens_deep];
        float r[tokens_deep][Columns];
        RC_UNROLL for (u32 k = 0; k < tokens_deep; k++) {
            const u32 row = first + k * apart, b = row / ticks;
            const i32 tick = (i32)(row - b * ticks) - shifted;
            on[k] = there && row < n && tick >= 0 && tick < (i32)s.ticks;
            known[k] = row < n && (p.reference.valid == nullptr || ld_u8(p.reference.valid + b * p.reference.valid_batch + (u32)p.reference.token * p.reference.valid_tick) != 0);
            on[k] = on[k] && counts(s, b, (u32)tick) && (known[k] || !strict);
        }
        RC_UNROLL for (u32 k = 0; k < tokens_deep; k++) {
            const u32 row = first + k * apart, b = row / ticks;
            const i32 tick = (i32)(row - b * ticks) - shifted;
            if (on[k]) v[k].load(s, b * s.batch + (u32)tick * s.tick + from);
            RC_UNROLL for (u32 i = 0; i < Columns; i++) r[k][i] = on[k] ? reference_of(i, b, known[k]) : 0.0f;
        }
        u64 fault = ~0ull;
        RC_UNROLL for (u32 k = 0; k < tokens_deep; k++) {
            const u32 row = first + k * apart;
            if (row >= n) break;
            float y[Columns];
            u32 not_finite = 0, of_reference = ~0u; // a bit for each column, and the first of the reference's
            RC_UNROLL for (u32 i = 0; i < Columns; i++) {
                const float x = on[k] ? v[k].at(s, i) : 0.0f;
                not_finite |= (u32)!is_finite(x) << i;
                if (!is_finite(r[k][i]) && (u32)relative[i] < of_reference) of_reference = (u32)relative[i];
                y[i] = on[k] ? (x - r[k][i]) * scale[i] + shift[i] : 0.0f;
            }
            if (RC_UNLIKELY(not_finite != 0 || of_reference != ~0u)) {
                const u32 b = row / ticks, tick = row - b * ticks - (u32)shifted;
                const u64 f = not_finite != 0 ? s.fault | (((u64)b * s.ticks + tick) * s.d + from + lowest_bit(not_finite)) << 4
                                              : p.reference.fault | (((u64)b * p.reference.ticks + (u32)p.reference.token) * p.reference.d + of_reference) << 4;
                fault = f < fault ? f : fault;
            }
            store(out + row * step + column, y);
            seen(row, on[k]);
        }
        if (RC_UNLIKELY(fault != ~0ull)) found(p, fault, bad);
    }
};

template <u32 Columns> RC_FN void make_inputs(const tokens_params &p, u32 block, u32 &bad) {
    side<Columns> s(p, p.in, block);
    if (s.column >= p.width) return;
    token_source source = {};
    bool there = false;
    for (u32 i = 0; i < p.source_count && !there; i++) {
        source = p.sources[i];
        there = s.column - source.column < source.d;
    }
    s.load_affine(there);
    s.make(source, there, p.b * p.t, p.t, source.token, s.column - source.column, false, p.input, p.input_step, bad, [](u32, bool) {});
}

RC_FN void make_targets(const tokens_params &p, u32 block, u32 &bad, u32 &counted) {
    side<1> s(p, p.out, block);
    if (s.column >= p.target.d) return;
    s.load_affine(true);
    s.make(p.target, true, p.b * p.target.ticks, p.target.ticks, 0, s.column, true, p.targets, p.target_step, bad, [&](u32 row, bool on) {
        if (s.column > 0) return;
        st_f32(p.weights + row, on ? 1.0f : 0.0f);
        if (on) shared_add(&counted, 1);
    });
}

template <u32 Columns> RC_FN void all(const tokens_params &p) {
    __shared__ u32 bad, counted;
    grid_dependency_wait();
    launch_dependents();
    if (thread_x() == 0) bad = counted = 0;
    barrier();
    if (block_x() < p.in.blocks)
        make_inputs<Columns>(p, block_x(), bad);
    else
        make_targets(p, block_x() - p.in.blocks, bad, counted);
    barrier();
    if (thread_x() > 0) return;
    if (RC_UNLIKELY(bad != 0)) fence(); // behind what found wrote
    const u64 own = (u64)counted << 32, before = atomic_add(p.state + state_ticket, own | 1);
    if ((u32)before != blocks_x() - 1) return;
    fence();
    st_relaxed(p.state + state_valid, ((before + own) >> 32) * p.target.d);
    st_relaxed(p.state + state_step, ld_relaxed(p.state + state_step) + 1);
    st_relaxed(p.state + state_ticket, 0);
}

} // namespace

RC_KERNEL(tokens_threads) tokens(const tokens_params p) { all<tokens_wide>(p); }
RC_KERNEL(tokens_threads) tokens_any(const tokens_params p) { all<1>(p); }
