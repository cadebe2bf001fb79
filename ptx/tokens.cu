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
RC_HOST constexpr u32 tokens_deep = 4; // rows per thread
RC_HOST constexpr u32 tokens_wide = 8; // columns per thread in tokens

// token_source is a backend.TokenSource. Steps are elements.
RC_HOST struct token_source {
    const void *values;
    const u8 *valid, *pad; // null for none
    u64 batch, tick, valid_batch, valid_tick, pad_batch, pad_tick;
    u64 fault; // the class and the stream in its faults
    u32 ticks, d;
    i32 token;
    u32 column;
    u32 f32; // else bf16
    u32 unused;
};

// token_affine has the scale and shift for one output, and the division of its columns and rows among threads: beside threads share a row,
// and a block has several rows at once.
RC_HOST struct token_affine {
    const float *scale, *shift;
    const i32 *relative; // null for none
    u32 beside, rows;
    u32 blocks_a_row; // blocks per row, each with the columns for beside threads
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
    u32 width; // columns in input
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

template <class T> RC_FN void load_columns(T (&to)[1], const T *from) { to[0] = __builtin_bit_cast(T, ld_u32(from)); }
template <class T> RC_FN void load_columns(T (&to)[8], const T *from) {
    const v16 a = ld_16(from), b = ld_16(from + 4);
    const u32 words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    RC_UNROLL for (u32 i = 0; i < 8; i++) to[i] = __builtin_bit_cast(T, words[i]);
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
        RC_UNROLL for (u32 i = 0; i < Columns; i++) scale[i] = shift[i] = 0.0f, relative[i] = -1;
        if (!on) return;
        load_columns(scale, a.scale + column);
        load_columns(shift, a.shift + column);
        if (a.relative != nullptr) load_columns(relative, a.relative + column);
    }
    // load_reference reads what the columns of row b are relative to.
    RC_FN_MEMBER void load_reference(float (&r)[Columns], u32 b) const {
        const u64 at = b * p.reference.batch + (u32)p.reference.token * p.reference.tick;
        RC_UNROLL for (u32 i = 0; i < Columns; i++) {
            if (relative[i] >= 0) r[i] = value_of(p.reference, at + (u32)relative[i]);
        }
    }

    // make makes the rows below n, of `ticks` a batch row, of a source whose first tick is the token `shifted`; from is the thread's first column there.
    // Those that do not count are 0, and if it is strict those without a reference. It calls seen with each row and whether it counts.
    template <class T, class F>
    RC_FN_MEMBER void make(const token_source &s, bool there, u32 n, u32 ticks, i32 shifted, u32 from, bool strict, T *out, u64 step, u32 &bad, const F &seen) const {
        bool on[tokens_deep], known[tokens_deep];
        u32 items[tokens_deep];
        i32 at[tokens_deep];
        values<Columns> v[tokens_deep];
        float r[tokens_deep][Columns];
        RC_UNROLL for (u32 k = 0; k < tokens_deep; k++) {
            const u32 row = first + k * apart, b = row / ticks;
            const i32 tick = (i32)(row - b * ticks) - shifted;
            items[k] = b, at[k] = tick;
            known[k] = row < n && (p.reference.valid == nullptr || ld_u8(p.reference.valid + b * p.reference.valid_batch + (u32)p.reference.token * p.reference.valid_tick) != 0);
            on[k] = there && row < n && tick >= 0 && tick < (i32)s.ticks && counts(s, b, (u32)tick) && (known[k] || !strict);
        }
        RC_UNROLL for (u32 k = 0; k < tokens_deep; k++) {
            RC_UNROLL for (u32 i = 0; i < Columns; i++) r[k][i] = 0.0f;
            if (on[k]) v[k].load(s, items[k] * s.batch + (u32)at[k] * s.tick + from);
            if (a.relative != nullptr && on[k] && known[k]) load_reference(r[k], items[k]);
        }
        u64 fault = ~0ull;
        RC_UNROLL for (u32 k = 0; k < tokens_deep; k++) {
            const u32 row = first + k * apart;
            if (row >= n) break;
            float y[Columns], probe = 0.0f; // not a number once a value is not finite
            RC_UNROLL for (u32 i = 0; i < Columns; i++) {
                const float x = on[k] ? v[k].at(s, i) : 0.0f;
                probe = fma(x, 0.0f, fma(r[k][i], 0.0f, probe));
                y[i] = on[k] ? (x - r[k][i] - shift[i]) * scale[i] : 0.0f;
            }
            if (RC_UNLIKELY(is_nan(probe))) {
                const u64 f = fault_of(s, v[k], r[k], items[k], (u32)at[k], from);
                fault = f < fault ? f : fault;
            }
            store(out + row * step + column, y);
            seen(row, on[k]);
        }
        if (RC_UNLIKELY(fault != ~0ull)) found(p, fault, bad);
    }

    // fault_of is the smallest fault of a row of which some value is not finite.
    RC_FN_MEMBER u64 fault_of(const token_source &s, const values<Columns> &v, const float (&r)[Columns], u32 b, u32 tick, u32 from) const {
        u64 fault = ~0ull;
        RC_UNROLL for (u32 i = 0; i < Columns; i++) {
            const u64 own = s.fault | (((u64)b * s.ticks + tick) * s.d + from + i) << 4;
            const u64 of_reference = p.reference.fault | (((u64)b * p.reference.ticks + (u32)p.reference.token) * p.reference.d + (u32)relative[i]) << 4;
            if (!is_finite(v.at(s, i)) && own < fault) fault = own;
            if (!is_finite(r[i]) && of_reference < fault) fault = of_reference;
        }
        return fault;
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

RC_KERNEL_OCC(tokens_threads, 1) tokens(const tokens_params p) { all<tokens_wide>(p); }
RC_KERNEL(tokens_threads) tokens_any(const tokens_params p) { all<1>(p); }
