// matmul_rows.cuh is what follows a product, read by rows from shared memory: elements and narrow for jobs without a norm, norms for the others.
#pragma once
#include "matmul.cuh"

namespace rc {

// matmul_rows are what a lane has of some rows: Rows of them, C::stride apart, and of each C::chunks fours of columns, 4 * C::lanes apart. What the matrix
// does not have is computed too, with zeros for what would be loaded: branches would cost more.
template <class C, u32 Rows> struct matmul_rows {
    using fours = four[Rows][C::chunks];
    using list = four[C::chunks];
    u32 row, column, first; // of the matrix, the lane's first; and the first row in the tile
    const matmul_params &p;

    RC_FN_MEMBER matmul_rows(const matmul_params &p, u32 m0, u32 n0, u32 at)
        : row(m0 + at), column(n0 + lane() % C::lanes * 4), first(at), p(p) {}

    RC_FN_MEMBER u32 column_of(u32 c) const { return column + c * 4 * C::lanes; }
    RC_FN_MEMBER u32 row_of(u32 r) const { return row + r * C::stride; }
    RC_FN_MEMBER bool has(u32 r, u32 c) const { return row_of(r) < p.m && column_of(c) < p.n; }
    RC_FN_MEMBER u32 at(u32 memory, u32 r, u32 c) const {
        return memory + ((first + r * C::stride) * C::pitch + lane() % C::lanes * 4 + c * 4 * C::lanes) * 4;
    }

    // each calls fn with every element and its place.
    template <class F> RC_FN_MEMBER void each(fours &v, const F &fn) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) fn(v[r][c].v[i], r, c, i);
            }
        }
    }
    RC_FN_MEMBER void load(fours &v, const float *from, u32 step) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) v[r][c] = ld_four(row_at(from, row_of(r), step, column_of(c)), has(r, c));
        }
    }
    template <class T> RC_FN_MEMBER void store(const fours &v, T *to, u32 step) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) st_four(row_at(to, row_of(r), step, column_of(c)), v[r][c], has(r, c));
        }
    }
    // load_gate is load of bfloat16 that is not widened yet: what widens waits.
    RC_FN_MEMBER void load_gate(v8 (&v)[Rows][C::chunks]) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) v[r][c] = ld_8(row_at(p.gate, row_of(r), p.gate_step, column_of(c)), has(r, c));
        }
    }
    RC_FN_MEMBER void load_shared(fours &v, u32 memory) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) v[r][c] = four_of(ld_shared_16(at(memory, r, c)));
        }
    }
    // clear makes columns 0 that the matrix does not have: a product with nothing may be no number.
    RC_FN_MEMBER void clear(fours &v) const {
        if (p.n < C::bn) each(v, [&](float &x, u32, u32 c, u32) { x = column_of(c) < p.n ? x : 0.0f; });
    }
    RC_FN_MEMBER void store_shared(const fours &v, u32 memory) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) st_shared_16(at(memory, r, c), words_of(v[r][c]));
        }
    }
    // load_columns reads a number a column.
    RC_FN_MEMBER void load_columns(list &v, const float *from) const {
        RC_UNROLL for (u32 c = 0; c < C::chunks; c++) v[c] = ld_four(from + column_of(c), column_of(c) < p.n);
    }
    // load_rows reads a number a row.
    RC_FN_MEMBER void load_rows(float (&v)[Rows], const float *from) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) v[r] = ld_f32(from + row_of(r), row_of(r) < p.m);
    }
    RC_FN_MEMBER void store_rows(const float (&v)[Rows], float *to) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            if (lane() % C::lanes == 0 && row_of(r) < p.m) st_f32(to + row_of(r), v[r]);
        }
    }

    // drop is dropout. Which elements are left out is found in a loop that is not unrolled: the code of it is long.
    RC_FN_MEMBER void drop(fours &v, const nn_dropout &d) const {
        static_assert(Rows * C::chunks <= 8, "a bit for each element");
        if (RC_LIKELY(d.state == nullptr)) return;
        const u32 step = ld_u32(d.state);
        u32 left_out = 0;
        RC_NO_UNROLL for (u32 i = 0; i < Rows * C::chunks; i++) {
            const u64 number = (u64)row_of(i / C::chunks) * p.n + column_of(i % C::chunks);
            const v16 w = random_words(d.seed, step, d.site, number / 4);
            left_out |= ((w.x < d.threshold) | (w.y < d.threshold) << 1 | (w.z < d.threshold) << 2 | (w.w < d.threshold) << 3) << i * 4;
        }
        each(v, [&](float &x, u32 r, u32 c, u32 i) { x = left_out >> ((r * C::chunks + c) * 4 + i) & 1 ? 0.0f : x * d.scale; });
    }

    // ahead_at is where a four lies of a matrix that has come ahead.
    RC_FN_MEMBER u32 ahead_at(u32 memory, u32 r, u32 c) const {
        return memory + (((first / C::stride + r) * C::chunks + c) * C::threads + thread_x()) * 16;
    }
    RC_FN_MEMBER void store_ahead(const fours &v, u32 memory) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) st_shared_16(ahead_at(memory, r, c), words_of(v[r][c]));
        }
    }
    RC_FN_MEMBER void load_ahead(fours &v, u32 memory) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) v[r][c] = four_of(ld_shared_16(ahead_at(memory, r, c)));
        }
    }
    // copy_ahead begins to copy the rows of a matrix, if copies.
    RC_FN_MEMBER void copy_ahead(bool copies, u32 memory, const float *from, u32 step) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++)
                cp_async_16_if(copies, ahead_at(memory, r, c), row_at(from, row_of(r), step, column_of(c)), has(r, c));
        }
    }

    // load_residual reads the residual, add_residual adds it, or its norm.
    RC_FN_MEMBER void load_residual(fours &z) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            const u32 of = p.residual_rows < p.m ? row_of(r) % p.residual_rows : row_of(r);
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) z[r][c] = ld_four(row_at(p.residual.z, of, p.residual.z_step, column_of(c)), has(r, c));
        }
    }
    RC_FN_MEMBER void add_residual(fours &v, fours &z) const {
        if (p.residual.gamma != nullptr) {
            float mean[Rows], rstd[Rows];
            list gamma, beta;
            load_rows(mean, p.residual.mean);
            load_rows(rstd, p.residual.rstd);
            load_columns(gamma, p.residual.gamma);
            load_columns(beta, p.residual.beta);
            normalise(z, mean, rstd, gamma, beta);
        }
        each(v, [&](float &x, u32 r, u32 c, u32 i) { x += z[r][c].v[i]; });
    }

    // normalise makes rows into their norm.
    RC_FN_MEMBER void normalise(fours &v, const float (&mean)[Rows], const float (&rstd)[Rows], const list &gamma, const list &beta) const {
        each(v, [&](float &x, u32 r, u32 c, u32 i) { x = (x - mean[r]) * rstd[r] * gamma[c].v[i] + beta[c].v[i]; });
    }

    // finish adds After and writes Sum, unless that was written before, and Out.
    RC_FN_MEMBER void finish(fours &v, bool sum) const {
        if (RC_UNLIKELY(p.after != nullptr)) {
            fours x;
            load(x, p.after, p.after_step);
            each(v, [&](float &y, u32 r, u32 c, u32 i) { y += x[r][c].v[i]; });
        }
        if (sum && p.sum != nullptr) store(v, p.sum, p.sum_step);
        if (p.out == nullptr) return;
        drop(v, p.out_dropout);
        store(v, p.out, p.out_step);
    }
};

// elements is for jobs without a norm, Rows rows of a lane at once. GELU makes much code: only Smooth has it.
template <class C, u32 Rows, bool Smooth> RC_FN void elements(const float (&sums)[C::mt][C::nt][4], const matmul_params &p, u32 m0, u32 n0, u32 memory) {
    using lane_rows = matmul_rows<C, Rows>;
    const u32 from = thread_x() / C::lanes;
    typename lane_rows::list bias;
    v8 gate[Rows][C::chunks]; // of the next rows
    const lane_rows begin(p, m0, n0, from);
    if (p.bias != nullptr) begin.load_columns(bias, p.bias);
    if (p.gate != nullptr) begin.load_gate(gate);
    stage<C>(sums, memory);
    RC_NO_UNROLL for (u32 at = from; at < C::bm; at += Rows * C::stride) {
        const lane_rows w(p, m0, n0, at);
        typename lane_rows::fours v, z;
        if (RC_UNLIKELY(p.residual.z != nullptr)) w.load_residual(z);
        w.load_shared(v, memory);
        if (p.bias != nullptr) w.each(v, [&](float &x, u32, u32 c, u32 i) { x += bias[c].v[i]; });
        if (RC_UNLIKELY(p.pre != nullptr)) w.store(v, p.pre, p.pre_step);
        if (p.activation() == activation_relu)
            w.each(v, [](float &x, u32, u32, u32) { x = x <= 0.0f ? 0.0f : x; });
        else if (Smooth && p.activation() == activation_gelu)
            w.each(v, [](float &x, u32, u32, u32) { x = gelu(x); });
        if (p.gate_of() == activation_relu)
            w.each(v, [&](float &x, u32 r, u32 c, u32 i) { x = widened(gate[r][c], i) > 0.0f ? x : 0.0f; });
        else if (Smooth && p.gate_of() == activation_gelu)
            w.each(v, [&](float &x, u32 r, u32 c, u32 i) { x *= gelu_grad(widened(gate[r][c], i)); });
        if (p.gate != nullptr) lane_rows(p, m0, n0, at + Rows * C::stride).load_gate(gate);
        w.drop(v, p.dropout);
        if (RC_UNLIKELY(p.residual.z != nullptr)) w.add_residual(v, z);
        w.finish(v, true);
    }
}

// where_positive is the halves of w where those of gate, as bfloat16, are greater than 0, else 0.
RC_FN u32 where_positive(u32 gate, u32 w) { return (bf16_lo(gate) > 0.0f ? w & 0xffffu : 0u) | (bf16_hi(gate) > 0.0f ? w & 0xffff0000u : 0u); }

// narrow is elements for jobs that need float32 no longer once they have left the tensor cores: sums go through shared memory rounded, which halves the way,
// and a lane writes 16 bytes. Rounding may come before a gate, which takes a number or leaves it.
template <class C> RC_FN void narrow(float (&sums)[C::mt][C::nt][4], const matmul_params &p, u32 m0, u32 n0, u32 memory) {
    constexpr u32 pitch = C::bn * 2 + 16, lanes = C::bn / 8, stride = C::threads / lanes; // bytes; lanes of a row
    constexpr u32 rows = C::bm / stride < 8 ? C::bm / stride : 8;                         // at once, of a lane
    const matmul_place<C> part;
    const u32 l = lane(), from = thread_x() / lanes, column = n0 + thread_x() % lanes * 8;
    const auto load = [&](v16(&gate)[rows], u32 at) RC_INLINE_LAMBDA {
        RC_UNROLL for (u32 r = 0; r < rows; r++) {
            const u32 row = m0 + at + r * stride;
            gate[r] = ld_16(row_at(p.gate, row, p.gate_step, column), row < p.m && column < p.n);
        }
    };
    const auto each = [&](const auto &fn) RC_INLINE_LAMBDA {
        RC_UNROLL for (u32 i = 0; i < C::mt; i++) {
            RC_UNROLL for (u32 n = 0; n < C::nt; n++) fn(sums[i][n], i, n);
        }
    };
    v16 gate[rows] = {}; // of the next rows
    if (p.gate != nullptr) load(gate, from);
    if (p.bias != nullptr) {
        v8 bias[C::nt];
        RC_UNROLL for (u32 n = 0; n < C::nt; n++) {
            const u32 at = n0 + part.column + n * 8 + l % 4 * 2;
            bias[n] = ld_8(p.bias + at, at < p.n);
        }
        each([&](float(&v)[4], u32, u32 n) {
            RC_UNROLL for (u32 k = 0; k < 4; k++) v[k] += as_f32(k % 2 == 0 ? bias[n].x : bias[n].y);
        });
    }
    if (p.activation() != 0)
        each([](float(&v)[4], u32, u32) {
            RC_UNROLL for (u32 k = 0; k < 4; k++) v[k] = v[k] <= 0.0f ? 0.0f : v[k];
        });
    after_product();
    each([&](const float(&v)[4], u32 i, u32 n) {
        const u32 to = memory + (part.row + i * 16 + l / 4) * pitch + (part.column + n * 8 + l % 4 * 2) * 2;
        st_shared_4(to, pack_bf16x2(v[0], v[1]));
        st_shared_4(to + 8 * pitch, pack_bf16x2(v[2], v[3]));
    });
    barrier();
    RC_NO_UNROLL for (u32 at = from; at < C::bm; at += rows * stride) {
        v16 v[rows];
        RC_UNROLL for (u32 r = 0; r < rows; r++) v[r] = ld_shared_16(memory + (at + r * stride) * pitch + thread_x() % lanes * 16);
        if (p.gate != nullptr) {
            RC_UNROLL for (u32 r = 0; r < rows; r++) {
                const v16 g = gate[r], w = v[r];
                v[r] = {where_positive(g.x, w.x), where_positive(g.y, w.y), where_positive(g.z, w.z), where_positive(g.w, w.w)};
            }
            load(gate, at + rows * stride);
        }
        RC_UNROLL for (u32 r = 0; r < rows; r++) {
            const u32 row = m0 + at + r * stride;
            st_16(row_at(p.out, row, p.out_step, column), v[r], row < p.m && column < p.n);
        }
    }
}

// choose is a if first, else b. It is one instruction, for a compiler that would else make it an address in a list, and put the list into memory.
RC_FN float choose(bool first, float a, float b) {
    float r;
    asm("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\tselp.f32 %0, %1, %2, p;\n\t}" : "=f"(r) : "f"(a), "f"(b), "r"((u32)first));
    return r;
}

// halve adds up Left rows over lanes: each step halves the rows that a lane has, then the lanes that have one row's, Distance apart, add theirs.
template <u32 Left, u32 Distance, u32 Rows> RC_FN float halve(float (&s)[Rows]) {
    if constexpr (Left > 1) {
        const bool upper = (lane() & Distance) != 0;
        RC_UNROLL for (u32 r = 0; r < Left / 2; r++)
            s[r] = choose(upper, s[r + Left / 2], s[r]) + as_f32(shuffle_xor(bits(choose(upper, s[r], s[r + Left / 2])), Distance));
        return halve<Left / 2, Distance / 2>(s);
    } else {
        float x = s[0];
        RC_UNROLL for (u32 d = Distance; d > 0; d /= 2) x += as_f32(shuffle_xor(bits(x), d));
        return x;
    }
}

// row_sums adds up rows over their lanes, and makes of each sum what fn makes of it, which each lane computes once.
template <class C, u32 Rows, class F> RC_FN void row_sums(float (&s)[Rows], const F &fn) {
    const u32 mine = bits(fn(halve<Rows, C::lanes / 2>(s)));
    RC_UNROLL for (u32 r = 0; r < Rows; r++) s[r] = as_f32(shuffle_from(mine, (lane() & ~(C::lanes - 1)) + r * (C::lanes / Rows)));
}

// sum_of begins the sums of what fn gives for each element of a row: those of a lane.
template <class C, u32 Rows, class F> RC_FN void sum_of(float (&s)[Rows], const F &fn) {
    RC_UNROLL for (u32 r = 0; r < Rows; r++) {
        s[r] = 0.0f;
        RC_UNROLL for (u32 c = 0; c < C::chunks; c++) {
            RC_UNROLL for (u32 i = 0; i < 4; i++) s[r] += fn(r, c, i);
        }
    }
}

// norms is for jobs with a norm, Back for the gradient of one. The block has whole rows.
template <class C, bool Back> RC_FN void norms(const float (&sums)[C::mt][C::nt][4], const matmul_params &p, u32 m0, u32 memory) {
    constexpr u32 rows = 8 / C::chunks;
    using lane_rows = matmul_rows<C, rows>;
    const u32 from = thread_x() / C::lanes;
    const float n = (float)p.n;
    typename lane_rows::list bias, gamma, beta;
    const lane_rows begin(p, m0, 0, from);
    if (p.bias != nullptr) begin.load_columns(bias, p.bias);
    begin.load_columns(gamma, p.norm.gamma);
    if (!Back) begin.load_columns(beta, p.norm.beta);
    constexpr bool early = C::chunks < 4; // there are registers for z of the next rows
    typename lane_rows::fours next;
    if (Back && early) begin.load(next, p.norm.z, p.norm.z_step);
    stage<C>(sums, memory);
    RC_NO_UNROLL for (u32 at = from; at < C::bm; at += rows * C::stride) {
        const lane_rows w(p, m0, 0, at);
        typename lane_rows::fours v, z, x = {};
        float mean[rows], rstd[rows];
        if (p.ahead())
            w.load_ahead(z, memory + C::shared);
        else if (p.residual.z != nullptr)
            w.load_residual(z);
        if (Back) {
            if (early)
                w.each(x, [&](float &y, u32 r, u32 c, u32 i) { y = next[r][c].v[i]; });
            else
                w.load(x, p.norm.z, p.norm.z_step);
            w.load_rows(mean, p.norm.mean);
            w.load_rows(rstd, p.norm.rstd);
        }
        w.load_shared(v, memory);
        w.clear(v);
        if (p.bias != nullptr) w.each(v, [&](float &y, u32, u32 c, u32 i) { y += bias[c].v[i]; });
        w.drop(v, p.dropout);
        if (p.residual.z != nullptr) w.add_residual(v, z);
        if (!Back) {
            if (p.sum != nullptr) w.store(v, p.sum, p.sum_step);
            sum_of<C>(mean, [&](u32 r, u32 c, u32 i) { return v[r][c].v[i]; });
            row_sums<C>(mean, [&](float s) { return div_rn(s, n); });
            sum_of<C>(rstd, [&](u32 r, u32 c, u32 i) {
                const float d = v[r][c].v[i] - (w.column_of(c) < p.n ? mean[r] : 0.0f);
                return d * d;
            });
            row_sums<C>(rstd, [&](float s) { return div_rn(1.0f, sqrt_rn(div_rn(s, n) + p.eps)); });
            w.store_rows(mean, p.norm.mean);
            w.store_rows(rstd, p.norm.rstd);
            w.normalise(v, mean, rstd, gamma, beta);
        } else {
            w.store_shared(v, memory); // for column_sums
            w.each(v, [&](float &h, u32, u32 c, u32 i) { h *= gamma[c].v[i]; });
            w.each(x, [&](float &y, u32 r, u32, u32) { y = (y - mean[r]) * rstd[r]; });
            if (p.room()) w.store_ahead(x, memory + C::shared);
            float mean_h[rows], mean_hx[rows];
            sum_of<C>(mean_h, [&](u32 r, u32 c, u32 i) { return v[r][c].v[i]; });
            sum_of<C>(mean_hx, [&](u32 r, u32 c, u32 i) { return v[r][c].v[i] * x[r][c].v[i]; });
            row_sums<C>(mean_h, [&](float s) { return div_rn(s, n); });
            row_sums<C>(mean_hx, [&](float s) { return div_rn(s, n); });
            w.each(v, [&](float &h, u32 r, u32 c, u32 i) { h = rstd[r] * (h - mean_h[r] - x[r][c].v[i] * mean_hx[r]); });
            if (early) lane_rows(p, m0, 0, at + rows * C::stride).load(next, p.norm.z, p.norm.z_step);
        }
        w.finish(v, Back);
    }
}

// column_sums writes the gradients of gamma and beta, of the gradients of the norm that norms left in shared memory, and the norm, which it left there if
// there was Room: eight lanes beside each other have 32 columns of a quarter of the rows.
template <class C, bool Room> RC_FN void column_sums(const matmul_params &p, u32 m0, u32 memory) {
    constexpr u32 rows = C::bm / 4;
    const u32 first = lane() / 8 * rows;
    RC_NO_UNROLL for (u32 columns = thread_x() / warp_size * 32; columns < C::bn; columns += C::warps * 32) {
        const u32 column = columns + lane() % 8 * 4;
        four dgamma = {}, dbeta = {};
        _Pragma("unroll 8") for (u32 r = first; r < first + rows; r++) {
            const u32 row = m0 + r;
            const bool there = row < p.m && column < p.n;
            const four g = four_of(ld_shared_16(memory + (r * C::pitch + column) * 4));
            four x;
            if (Room) { // as ahead_at
                const u32 thread = r % C::stride * C::lanes + column % (4 * C::lanes) / 4;
                x = four_of(ld_shared_16(memory + C::shared + ((r / C::stride * C::chunks + column / (4 * C::lanes)) * C::threads + thread) * 16));
            } else {
                x = ld_four(row_at(p.norm.z, row, p.norm.z_step, column), there);
                const float mean = ld_f32(p.norm.mean + row, there), rstd = ld_f32(p.norm.rstd + row, there);
                RC_UNROLL for (u32 i = 0; i < 4; i++) x.v[i] = (x.v[i] - mean) * rstd;
            }
            RC_UNROLL for (u32 i = 0; i < 4; i++) {
                const float y = there ? g.v[i] : 0.0f;
                dgamma.v[i] += y * x.v[i];
                dbeta.v[i] += y;
            }
        }
        RC_UNROLL for (u32 i = 0; i < 4; i++) {
            const u32 x = bits(dgamma.v[i]), y = bits(dbeta.v[i]);
            RC_UNROLL for (u32 q = 1; q < 4; q++) {
                dgamma.v[i] += as_f32(shuffle_from(x, lane() % 8 + q * 8));
                dbeta.v[i] += as_f32(shuffle_from(y, lane() % 8 + q * 8));
            }
        }
        const bool writes = lane() < 8 && column < p.n;
        st_four(row_at(p.dgamma, m0 / C::bm, p.dgamma_step, column), dgamma, writes);
        st_four(row_at(p.dbeta, m0 / C::bm, p.dbeta_step, column), dbeta, writes);
    }
}

// line is what shared memory is aligned to.
struct alignas(128) line {
    v16 v[8];
};

// matmul is the kernel of jobs without a norm, matmul_normed of those with one.
template <class C> RC_FN void matmul(const matmul_params &p) {
    extern __shared__ line memory[];
    const u32 m0 = block_x() / p.columns * C::bm, n0 = block_x() % p.columns * C::bn, at = shared_at(memory);
    float sums[C::mt][C::nt][4] = {};
    product<C>(sums, p, m0, n0, at, 0, [](u32) {});
    if (p.narrow())
        narrow<C>(sums, p, m0, n0, at);
    else if (p.activation() == activation_gelu || p.gate_of() == activation_gelu)
        elements<C, 1, true>(sums, p, m0, n0, at);
    else
        elements<C, C::lane_rows < 8 / C::chunks ? C::lane_rows : 8 / C::chunks, false>(sums, p, m0, n0, at);
}
template <class C, bool Back> RC_FN void matmul_normed(const matmul_params &p) {
    extern __shared__ line memory[];
    const u32 m0 = block_x() * C::bm, at = shared_at(memory);
    float sums[C::mt][C::nt][4] = {};
    // Of each step two rows of a lane come ahead.
    product<C>(sums, p, m0, 0, at, C::lane_rows / 2, [&](u32 step) {
        const bool more = step < C::lane_rows / 2;
        const matmul_rows<C, 2> w(p, m0, 0, thread_x() / C::lanes + step * 2 * C::stride);
        w.copy_ahead(more && p.ahead(), at + C::shared, p.residual.z, p.residual.z_step);
    });
    norms<C, Back>(sums, p, m0, at);
    if (Back) {
        barrier();
        if (p.room())
            column_sums<C, true>(p, m0, at);
        else
            column_sums<C, false>(p, m0, at);
    }
}

} // namespace rc
