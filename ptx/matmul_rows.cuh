// matmul_rows.cuh is what follows a product, read by rows from shared memory: elements for jobs without a norm, norms for the others.
#pragma once
#include "matmul.cuh"

namespace rc {

// matmul_rows are what a lane has of some rows: Rows of them, C::stride apart, and of each C::chunks fours of columns, 4 * C::lanes apart.
template <class C, u32 Rows> struct matmul_rows {
    static constexpr u32 rows = Rows, chunks = C::chunks;
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

    // each calls fn with every four that the matrix has, its place and its row; elements that are not there are 0 and stay so.
    template <class F> RC_FN_MEMBER void each(four (&v)[Rows][C::chunks], const F &fn) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) {
                if (has(r, c)) fn(v[r][c], r, c);
            }
        }
    }
    // by_column is each, with a four of a list for every column.
    template <class F> RC_FN_MEMBER void by_column(four (&v)[Rows][C::chunks], const float *list, const F &fn) const {
        RC_UNROLL for (u32 c = 0; c < C::chunks; c++) {
            const four x = column_of(c) < p.n ? ld_four(list + column_of(c)) : four{};
            RC_UNROLL for (u32 r = 0; r < Rows; r++) {
                if (has(r, c)) fn(v[r][c], x, r);
            }
        }
    }
    template <class T> RC_FN_MEMBER void load(four (&v)[Rows][C::chunks], const T *from, u64 step) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) v[r][c] = has(r, c) ? ld_four(from + row_of(r) * step + column_of(c)) : four{};
        }
    }
    template <class T> RC_FN_MEMBER void store(four (&v)[Rows][C::chunks], T *to, u64 step) const {
        each(v, [&](const four &x, u32 r, u32 c) { st_four(to + row_of(r) * step + column_of(c), x); });
    }
    RC_FN_MEMBER void load_shared(four (&v)[Rows][C::chunks], u32 memory) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) {
                const v16 w = ld_shared_16(at(memory, r, c));
                v[r][c] = {{as_f32(w.x), as_f32(w.y), as_f32(w.z), as_f32(w.w)}};
            }
        }
    }
    RC_FN_MEMBER void store_shared(const four (&v)[Rows][C::chunks], u32 memory) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) {
                const float *x = v[r][c].v;
                st_shared_16(at(memory, r, c), v16{bits(x[0]), bits(x[1]), bits(x[2]), bits(x[3])});
            }
        }
    }
    // load_list reads a number a row.
    RC_FN_MEMBER void load_list(float (&v)[Rows], const float *from) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) v[r] = row_of(r) < p.m ? ld_f32(from + row_of(r)) : 0.0f;
    }
    RC_FN_MEMBER void store_list(const float (&v)[Rows], float *to) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            if (lane() % C::lanes == 0 && row_of(r) < p.m) st_f32(to + row_of(r), v[r]);
        }
    }

    RC_FN_MEMBER void add(four (&v)[Rows][C::chunks], const four (&x)[Rows][C::chunks]) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) v[r][c].v[i] += x[r][c].v[i];
            }
        }
    }
    RC_FN_MEMBER void add_bias(four (&v)[Rows][C::chunks]) const {
        if (p.bias == nullptr) return;
        by_column(v, p.bias, [](four &x, const four &b, u32) {
            RC_UNROLL for (u32 i = 0; i < 4; i++) x.v[i] += b.v[i];
        });
    }

    // drop is dropout. Which elements are left out is found in a loop that is not unrolled: the code of it is long.
    RC_FN_MEMBER void drop(four (&v)[Rows][C::chunks], const matmul_dropout &d, u32 step) const {
        static_assert(Rows * C::chunks <= 8, "a bit for each element");
        if (d.state == nullptr) return;
        u32 left_out = 0;
        RC_NO_UNROLL for (u32 i = 0; i < Rows * C::chunks; i++) {
            const u64 number = (u64)row_of(i / C::chunks) * p.n + column_of(i % C::chunks);
            const v16 w = random_words(d.seed, step, d.site, number / 4);
            left_out |= ((w.x < d.threshold) | (w.y < d.threshold) << 1 | (w.z < d.threshold) << 2 | (w.w < d.threshold) << 3) << i * 4;
        }
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) {
                    float &x = v[r][c].v[i];
                    x = left_out >> ((r * C::chunks + c) * 4 + i) & 1 ? 0.0f : x * d.scale;
                }
            }
        }
    }

    // load_residual reads the residual.
    RC_FN_MEMBER void load_residual(four (&v)[Rows][C::chunks]) const {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) {
            const u32 of = p.residual_rows < p.m ? row_of(r) % p.residual_rows : row_of(r);
            RC_UNROLL for (u32 c = 0; c < C::chunks; c++)
                v[r][c] = has(r, c) ? ld_four(p.residual.z + of * p.residual.z_step + column_of(c)) : four{};
        }
    }
    // add_residual adds it, or its norm.
    RC_FN_MEMBER void add_residual(four (&v)[Rows][C::chunks], four (&z)[Rows][C::chunks]) const {
        if (p.residual.gamma != nullptr) {
            float mean[Rows], rstd[Rows];
            load_list(mean, p.residual.mean);
            load_list(rstd, p.residual.rstd);
            normalise(z, mean, rstd, p.residual);
        }
        add(v, z);
    }

    // normalise makes rows into their norm.
    RC_FN_MEMBER void normalise(four (&v)[Rows][C::chunks], const float (&mean)[Rows], const float (&rstd)[Rows], const matmul_norm &n) const {
        RC_UNROLL for (u32 c = 0; c < C::chunks; c++) {
            const bool there = column_of(c) < p.n;
            const four gamma = there ? ld_four(n.gamma + column_of(c)) : four{}, beta = there ? ld_four(n.beta + column_of(c)) : four{};
            RC_UNROLL for (u32 r = 0; r < Rows; r++) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) v[r][c].v[i] = (v[r][c].v[i] - mean[r]) * rstd[r] * gamma.v[i] + beta.v[i];
            }
        }
    }

    // finish adds After and writes Sum, unless that was written before, and Out.
    RC_FN_MEMBER void finish(four (&v)[Rows][C::chunks], bool sum, u32 step) const {
        if (p.after != nullptr) {
            four x[Rows][C::chunks];
            load(x, p.after, p.after_step);
            add(v, x);
        }
        if (sum && p.sum != nullptr) store(v, p.sum, p.sum_step);
        if (p.out == nullptr) return;
        drop(v, p.out_dropout, step);
        store(v, p.out, p.out_step);
    }
};

// step_of is the step of a dropout.
RC_FN u32 step_of(const matmul_dropout &d) { return d.state != nullptr ? ld_u32(d.state) : 0; }

// elements is for jobs without a norm, Rows rows of a lane at once. GELU makes much code: only Smooth has it.
template <class C, u32 Rows, bool Smooth> RC_FN void elements(const matmul_params &p, u32 m0, u32 n0, u32 memory) {
    const u32 step = step_of(p.dropout), out_step = step_of(p.out_dropout);
    RC_NO_UNROLL for (u32 at = thread_x() / C::lanes; at < C::bm; at += Rows * C::stride) {
        const matmul_rows<C, Rows> w(p, m0, n0, at);
        four v[Rows][C::chunks], gate[Rows][C::chunks], z[Rows][C::chunks];
        if (p.gate != nullptr) w.load(gate, p.gate, p.gate_step);
        if (p.residual.z != nullptr) w.load_residual(z);
        w.load_shared(v, memory);
        w.add_bias(v);
        if (p.pre != nullptr) w.store(v, p.pre, p.pre_step);
        if (p.activation() == activation_relu)
            w.each(v, [](four &x, u32, u32) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) x.v[i] = x.v[i] <= 0.0f ? 0.0f : x.v[i];
            });
        else if (Smooth && p.activation() == activation_gelu)
            w.each(v, [](four &x, u32, u32) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) x.v[i] = gelu(x.v[i]);
            });
        if (p.gate_of() == activation_relu)
            w.each(v, [&](four &x, u32 r, u32 c) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) x.v[i] = gate[r][c].v[i] > 0.0f ? x.v[i] : 0.0f;
            });
        else if (Smooth && p.gate_of() == activation_gelu)
            w.each(v, [&](four &x, u32 r, u32 c) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) x.v[i] *= gelu_grad(gate[r][c].v[i]);
            });
        w.drop(v, p.dropout, step);
        if (p.residual.z != nullptr) w.add_residual(v, z);
        w.finish(v, true, out_step);
    }
}

// row_sums adds up rows over the lanes of each.
template <class C, u32 Rows> RC_FN void row_sums(float (&s)[Rows]) {
    RC_UNROLL for (u32 d = C::lanes / 2; d > 0; d /= 2) {
        RC_UNROLL for (u32 r = 0; r < Rows; r++) s[r] += as_f32(shuffle_xor(bits(s[r]), d));
    }
}

// mean_of is the mean of what fn gives for each element of a row.
template <class C, u32 Rows, class F> RC_FN void mean_of(float (&mean)[Rows], const matmul_rows<C, Rows> &w, float n, const F &fn) {
    RC_UNROLL for (u32 r = 0; r < Rows; r++) {
        mean[r] = 0.0f;
        RC_UNROLL for (u32 c = 0; c < C::chunks; c++) {
            RC_UNROLL for (u32 i = 0; i < 4; i++) mean[r] += w.column_of(c) < w.p.n ? fn(r, c, i) : 0.0f;
        }
    }
    row_sums<C>(mean);
    RC_UNROLL for (u32 r = 0; r < Rows; r++) mean[r] = div_rn(mean[r], n);
}

// norms is for jobs with a norm, Back for the gradient of one. The block has whole rows.
template <class C, bool Back> RC_FN void norms(const matmul_params &p, u32 m0, u32 memory) {
    constexpr u32 rows = 8 / C::chunks;
    const u32 step = step_of(p.dropout), out_step = step_of(p.out_dropout);
    const float n = (float)p.n;
    RC_NO_UNROLL for (u32 at = thread_x() / C::lanes; at < C::bm; at += rows * C::stride) {
        const matmul_rows<C, rows> w(p, m0, 0, at);
        four v[rows][C::chunks], z[rows][C::chunks];
        float mean[rows], rstd[rows];
        if (p.residual.z != nullptr) w.load_residual(z);
        w.load_shared(v, memory);
        w.add_bias(v);
        w.drop(v, p.dropout, step);
        if (p.residual.z != nullptr) w.add_residual(v, z);
        if (!Back) {
            if (p.sum != nullptr) w.store(v, p.sum, p.sum_step);
            mean_of(mean, w, n, [&](u32 r, u32 c, u32 i) { return v[r][c].v[i]; });
            mean_of(rstd, w, n, [&](u32 r, u32 c, u32 i) { return (v[r][c].v[i] - mean[r]) * (v[r][c].v[i] - mean[r]); });
            RC_UNROLL for (u32 r = 0; r < rows; r++) rstd[r] = div_rn(1.0f, sqrt_rn(rstd[r] + p.eps));
            w.store_list(mean, p.norm.mean);
            w.store_list(rstd, p.norm.rstd);
            w.normalise(v, mean, rstd, p.norm);
        } else {
            w.load(z, p.norm.z, p.norm.z_step);
            w.load_list(mean, p.norm.mean);
            w.load_list(rstd, p.norm.rstd);
            w.store_shared(v, memory); // for column_sums
            w.by_column(v, p.norm.gamma, [&](four &h, const four &gamma, u32) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) h.v[i] *= gamma.v[i];
            });
            w.each(z, [&](four &x, u32 r, u32) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) x.v[i] = (x.v[i] - mean[r]) * rstd[r];
            });
            float mean_h[rows], mean_hx[rows];
            mean_of(mean_h, w, n, [&](u32 r, u32 c, u32 i) { return v[r][c].v[i]; });
            mean_of(mean_hx, w, n, [&](u32 r, u32 c, u32 i) { return v[r][c].v[i] * z[r][c].v[i]; });
            w.each(v, [&](four &x, u32 r, u32 c) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) x.v[i] = rstd[r] * (x.v[i] - mean_h[r] - z[r][c].v[i] * mean_hx[r]);
            });
        }
        w.finish(v, Back, out_step);
    }
}

// column_sums writes the gradients of gamma and beta, of the gradients of the norm that norms left in shared memory: eight lanes beside each other have
// 32 columns of a quarter of the rows.
template <class C> RC_FN void column_sums(const matmul_params &p, u32 m0, u32 memory) {
    constexpr u32 rows = C::bm / 4;
    const u32 quarter = lane() / 8;
    RC_NO_UNROLL for (u32 columns = thread_x() / warp_size * 32; columns < C::bn; columns += C::warps * 32) {
        const u32 column = columns + lane() % 8 * 4;
        four dgamma = {}, dbeta = {};
        if (column < p.n) {
            _Pragma("unroll 8") for (u32 r = quarter * rows; r < quarter * rows + rows; r++) {
                const u32 row = m0 + r;
                if (row >= p.m) break;
                const v16 w = ld_shared_16(memory + (r * C::pitch + column) * 4);
                const float g[4] = {as_f32(w.x), as_f32(w.y), as_f32(w.z), as_f32(w.w)};
                const four z = ld_four(p.norm.z + row * p.norm.z_step + column);
                const float mean = ld_f32(p.norm.mean + row), rstd = ld_f32(p.norm.rstd + row);
                RC_UNROLL for (u32 i = 0; i < 4; i++) {
                    dgamma.v[i] += g[i] * ((z.v[i] - mean) * rstd);
                    dbeta.v[i] += g[i];
                }
            }
        }
        RC_UNROLL for (u32 i = 0; i < 4; i++) {
            const u32 x = bits(dgamma.v[i]), y = bits(dbeta.v[i]);
            RC_UNROLL for (u32 q = 1; q < 4; q++) {
                dgamma.v[i] += as_f32(shuffle_from(x, lane() % 8 + q * 8));
                dbeta.v[i] += as_f32(shuffle_from(y, lane() % 8 + q * 8));
            }
        }
        if (quarter == 0 && column < p.n) {
            st_four(p.dgamma + m0 / C::bm * p.dgamma_step + column, dgamma);
            st_four(p.dbeta + m0 / C::bm * p.dbeta_step + column, dbeta);
        }
    }
}

// line is what shared memory is aligned to.
struct alignas(128) line {
    v16 v[8];
};

// matmul is the kernel of jobs without a norm, matmul_normed of those with one.
template <class C> RC_FN void matmul(const matmul_params &p) {
    extern __shared__ line memory[];
    grid_dependency_wait();
    launch_dependents();
    const u32 m0 = block_x() / p.columns * C::bm, n0 = block_x() % p.columns * C::bn, at = shared_at(memory);
    product<C>(p, m0, n0, at);
    if (p.activation() == activation_gelu || p.gate_of() == activation_gelu)
        elements<C, 1, true>(p, m0, n0, at);
    else
        elements<C, 4, false>(p, m0, n0, at);
}
template <class C, bool Back> RC_FN void matmul_normed(const matmul_params &p) {
    extern __shared__ line memory[];
    grid_dependency_wait();
    launch_dependents();
    const u32 m0 = block_x() * C::bm, at = shared_at(memory);
    product<C>(p, m0, 0, at);
    norms<C, Back>(p, m0, at);
    if (Back) {
        barrier();
        column_sums<C>(p, m0, at);
    }
}

} // namespace rc
