// attention_backward.cu is the gradient of attention: backend.AttentionBackwardJob says what is computed, and in which order.
//
// A block has a head. It goes over the head's keys in blocks of 256 (128, if it is 64 wide), of which a warp has 32 (16), and for each over all queries, 64 a
// stage. A warp makes the probabilities of its keys and of 16 queries and the gradients of their scores in registers, keys by queries: so they are the tiles of
// the products that make dV and dK, whose sums stay in registers. The gradients of the scores go to shared memory too, and when all warps have written
// theirs, the block makes the stage's rows of dQ of them. If there are several blocks of keys, the sums of dQ are kept in between as float32.
//
// Bytes moved: 2 * Width a row of q, k, v, o, d_o, dq, dk, dv; q and d_o once for each block of keys.
#include "attention.cuh"

using namespace rc;

namespace {

RC_HOST struct attention_backward_params {
    attention_params job;
    const u16 *d_o;
    u16 *dq, *dk, *dv;
    u64 d_o_step, dq_step, dk_step, dv_step;
    float *delta;  // [heads of all rows, tq]
    float *dq_sum; // [heads of all rows, tq, width], or null if there is one block of keys
    float scale;
    u32 unused;
};

// cp_async_4 begins to copy 4 bytes from global to shared memory; 0 where there is nothing.
RC_FN void cp_async_4(u32 to, const void *from, bool there) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(global(from)), "r"(there ? 4u : 0u) : "memory");
}
RC_FN void ld_shared_pair(float (&r)[2], u32 at) {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(r[0]), "=f"(r[1]) : "r"(at) : "memory");
}
RC_FN void st_shared_u32(u32 at, u32 v) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory"); }

constexpr u32 stage = attention_stage, gradient_bytes = 2 * stage; // of a key, in the gradients of the scores

// gradient_at is where the gradients of a key's scores lie of 8 queries.
RC_FN u32 gradient_at(u32 key, u32 chunk) { return key * gradient_bytes + ((chunk ^ (key & 7)) << 4); }

template <u32 Width, u32 Tiles, bool Keep, bool Dropout> struct backward_block {
    static constexpr u32 steps = Width / 16, columns = Width / 8, stage_bytes = stage * row_bytes<Width>;
    const attention_backward_params &p;
    const attention_params &j;
    attention_head head;
    u32 step;         // of dropout
    u32 warp, warps;
    u32 first, begin; // key of the warp, and of the block
    u32 keys, values, queries, outs, logs, deltas, gradients; // in shared memory; from queries on there are two of each, for two stages
    u32 k[Keep ? Tiles : 1][steps][4], v[Keep ? Tiles : 1][steps][4];
    float hide[Tiles][2];
    float dk[Tiles][columns][4], dv[Tiles][columns][4];

    RC_FN_MEMBER backward_block(const attention_backward_params &p, attention_head head) : p(p), j(p.job), head(head), step(0) {
        extern __shared__ v16 memory[];
        warp = thread_x() / warp_size, warps = threads_x() / warp_size;
        const u32 rows = warps * 16 * Tiles;
        keys = shared_at(memory);
        values = keys + rows * row_bytes<Width>;
        queries = values + rows * row_bytes<Width>;
        outs = queries + 2 * stage_bytes;
        gradients = outs + 2 * stage_bytes;
        logs = gradients + 2 * rows * gradient_bytes;
        deltas = logs + 2 * 4 * stage;
        if constexpr (Dropout) step = (u32)*j.state;
    }

    RC_FN_MEMBER u32 rows() const { return warps * 16 * Tiles; }
    RC_FN_MEMBER u64 query_row() const { return (u64)head.row * j.tq; }

    // delta writes the sums of d_o * o of all queries, 8 columns a lane.
    RC_FN_MEMBER void delta() const {
        const u32 c = thread_x() % columns, each = threads_x() / columns;
        for (u32 from = 0; from < j.tq; from += each) {
            const u32 query = from + thread_x() / columns;
            float sum = 0.0f;
            if (query < j.tq) {
                const v16 a = ld_nc_16(p.d_o + (query_row() + query) * p.d_o_step + head.column + 8 * c);
                const v16 b = ld_nc_16(j.o + (query_row() + query) * j.o_step + head.column + 8 * c);
                const u32 x[4] = {a.x, a.y, a.z, a.w}, y[4] = {b.x, b.y, b.z, b.w};
                RC_UNROLL for (u32 i = 0; i < 4; i++) {
                    sum += bf16_lo(x[i]) * bf16_lo(y[i]);
                    sum += bf16_hi(x[i]) * bf16_hi(y[i]);
                }
            }
            RC_UNROLL for (u32 d = 1; d < columns; d *= 2) sum += as_f32(shuffle_xor(bits(sum), d));
            if (query < j.tq && c == 0) st_f32(p.delta + (u64)head.number * j.tq + query, sum);
        }
    }

    // load begins to copy a stage of queries.
    RC_FN_MEMBER void load(u32 i) const {
        const u32 slot = i % 2, from = i * stage;
        if (from < j.tq) {
            const auto none = [&](u32 query) { return query >= j.tq; };
            copy_rows<Width>(queries + slot * stage_bytes, j.q + query_row() * j.q_step + head.column, j.q_step, from, stage, none);
            copy_rows<Width>(outs + slot * stage_bytes, p.d_o + query_row() * p.d_o_step + head.column, p.d_o_step, from, stage, none);
            const u64 at = (u64)head.number * j.tq + from;
            for (u32 n = thread_x(); n < stage; n += threads_x()) {
                const bool there = from + n < j.tq;
                cp_async_4(logs + 4 * (slot * stage + n), there ? j.log_sum + at + n : j.log_sum, there);
                cp_async_4(deltas + 4 * (slot * stage + n), there ? p.delta + at + n : p.delta, there);
            }
        }
        cp_async_commit();
    }

    // start takes the warp's keys of the block of keys.
    RC_FN_MEMBER void start() {
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
            if constexpr (Keep) {
                load_a<Width>(k[m], keys, first - begin + 16 * m);
                load_a<Width>(v[m], values, first - begin + 16 * m);
            }
            RC_UNROLL for (u32 r = 0; r < 2; r++) hide[m][r] = hidden(j, head.row, first + 16 * m + 8 * r + lane() / 4) ? unseen_score : 0.0f;
            RC_UNROLL for (u32 c = 0; c < columns; c++) RC_UNROLL for (u32 i = 0; i < 4; i++) dk[m][c][i] = dv[m][c][i] = 0.0f;
        }
    }

    // product makes the product of the warp's keys, or values, and 8 rows of a stage.
    RC_FN_MEMBER void product(float (&s)[4], const u32 (&a)[steps][4], const u32 (&b)[Width / 8], float c0, float c1, float c2, float c3) const {
        mma_from(s, a[0], b[0], b[1], c0, c1, c2, c3);
        RC_UNROLL for (u32 i = 1; i < steps; i++) mma_bf16(s, a[i], b[2 * i], b[2 * i + 1]);
    }

    // add adds the 16 queries from row at of stage i on.
    RC_FN_MEMBER void add(u32 i, u32 at) {
        const u32 slot = i % 2, query = i * stage + at, gradient = gradients + slot * rows() * gradient_bytes;
        const u32 q_rows = queries + slot * stage_bytes, o_rows = outs + slot * stage_bytes;
        const u32 mine = first - begin + lane() / 4, pair = lane() % 4 * 2;
        if (query >= j.tq || first >= j.tk || (j.causal && first > query + 15)) {
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 r = 0; r < 2; r++) RC_UNROLL for (u32 n = 0; n < 2; n++)
                st_shared_u32(gradient + gradient_at(mine + 16 * m + 8 * r, at / 8 + n) + 2 * pair, 0);
            return;
        }
        float s[Tiles][2][4];
        u32 kept[Tiles]; // a bit for each of them
        {
            u32 b[2][Width / 8];
            RC_UNROLL for (u32 n = 0; n < 2; n++) load_b<Width>(b[n], q_rows, at + 8 * n);
            const bool masked = j.causal && first + 16 * Tiles - 1 > query;
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
                if constexpr (!Keep) load_a<Width>(k[0], keys, first - begin + 16 * m);
                RC_UNROLL for (u32 n = 0; n < 2; n++) {
                    product(s[m][n], k[Keep ? m : 0], b[n], hide[m][0], hide[m][0], hide[m][1], hide[m][1]);
                    if (masked) RC_UNROLL for (u32 e = 0; e < 4; e++)
                        if (first + 16 * m + e / 2 * 8 + lane() / 4 > query + 8 * n + pair + e % 2) s[m][n][e] = unseen_score;
                }
            }
        }
        u32 a[Tiles][4];
        RC_UNROLL for (u32 n = 0; n < 2; n++) {
            float log[2];
            ld_shared_pair(log, logs + 4 * (slot * stage + at + 8 * n + pair));
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 e = 0; e < 4; e++) s[m][n][e] = exp2_down(fma(s[m][n][e], j.a, -log[e % 2]));
        }
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
            if constexpr (Dropout) {
                kept[m] = 0;
                float x[2][4];
                RC_UNROLL for (u32 n = 0; n < 2; n++) RC_UNROLL for (u32 e = 0; e < 4; e++) {
                    const u64 row = (u64)head.number * j.tq + query + 8 * n + pair + e % 2;
                    const bool keep = !left_out(j, step, row * j.tk + first + 16 * m + e / 2 * 8 + lane() / 4);
                    kept[m] |= (u32)keep << (4 * n + e);
                    x[n][e] = keep ? s[m][n][e] : 0.0f;
                }
                pack(a[m], x[0], x[1]);
            } else {
                pack(a[m], s[m][0], s[m][1]);
            }
        }
        RC_UNROLL for (u32 c = 0; c < columns; c += 2) {
            u32 b[4];
            load_columns<Width>(b, o_rows, at, c);
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
                mma_bf16(dv[m][c], a[m], b[0], b[1]);
                mma_bf16(dv[m][c + 1], a[m], b[2], b[3]);
            }
        }
        u32 b[2][Width / 8];
        RC_UNROLL for (u32 n = 0; n < 2; n++) load_b<Width>(b[n], o_rows, at + 8 * n);
        float delta[2][2];
        RC_UNROLL for (u32 n = 0; n < 2; n++) ld_shared_pair(delta[n], deltas + 4 * (slot * stage + at + 8 * n + pair));
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
            if constexpr (!Keep) load_a<Width>(v[0], values, first - begin + 16 * m);
            RC_UNROLL for (u32 n = 0; n < 2; n++) {
                float g[4];
                product(g, v[Keep ? m : 0], b[n], 0.0f, 0.0f, 0.0f, 0.0f);
                RC_UNROLL for (u32 e = 0; e < 4; e++) {
                    if constexpr (Dropout) g[e] = kept[m] >> (4 * n + e) & 1 ? g[e] * j.factor : 0.0f;
                    s[m][n][e] *= g[e] - delta[n][e % 2];
                }
            }
            pack(a[m], s[m][0], s[m][1]);
            RC_UNROLL for (u32 e = 0; e < 4; e++) st_shared_u32(gradient + gradient_at(mine + 16 * m + e % 2 * 8, at / 8 + e / 2) + 2 * pair, a[m][e]);
        }
        RC_UNROLL for (u32 c = 0; c < columns; c += 2) {
            u32 x[4];
            load_columns<Width>(x, q_rows, at, c);
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
                mma_bf16(dk[m][c], a[m], x[0], x[1]);
                mma_bf16(dk[m][c + 1], a[m], x[2], x[3]);
            }
        }
    }

    static RC_FN_MEMBER void pack(u32 (&a)[4], const float (&left)[4], const float (&right)[4]) {
        a[0] = pack_bf16x2(left[0], left[1]);
        a[1] = pack_bf16x2(left[2], left[3]);
        a[2] = pack_bf16x2(right[0], right[1]);
        a[3] = pack_bf16x2(right[2], right[3]);
    }

    // queries_of makes the stage's rows of dQ: 16 rows of 16 columns at a time.
    RC_FN_MEMBER void queries_of(u32 i) const {
        const u32 gradient = gradients + i % 2 * rows() * gradient_bytes;
        const bool last = begin + rows() >= j.tk;
        for (u32 n = warp; n < 4 * Width / 16; n += warps) {
            const u32 tile = n % 4, column = n / 4 * 2, query = i * stage + 16 * tile;
            if (query >= j.tq) continue;
            u32 end = j.tk - begin < rows() ? j.tk - begin : rows();
            if (j.causal) end = query + 16 <= begin ? 0 : query + 16 - begin < end ? query + 16 - begin : end;
            float sum[2][4];
            u64 at[2];
            RC_UNROLL for (u32 r = 0; r < 2; r++) at[r] = query + 8 * r + lane() / 4;
            RC_UNROLL for (u32 c = 0; c < 2; c++) RC_UNROLL for (u32 e = 0; e < 4; e++) sum[c][e] = 0.0f;
            float *kept = p.dq_sum + (u64)head.number * j.tq * Width + 8 * column + lane() % 4 * 2;
            if (begin > 0) RC_UNROLL for (u32 c = 0; c < 2; c++) RC_UNROLL for (u32 r = 0; r < 2; r++)
                if (at[r] < j.tq) RC_UNROLL for (u32 e = 0; e < 2; e++) sum[c][2 * r + e] = kept[at[r] * Width + 8 * c + e];
            RC_NO_UNROLL for (u32 key = 0; key < end; key += 16) {
                u32 a[4], b[4];
                ldmatrix_x4_trans(a, gradient + gradient_at(key + lane() % 8 + lane() / 16 * 8, 2 * tile + lane() / 8 % 2));
                load_columns<Width>(b, keys, key, column);
                mma_bf16(sum[0], a, b[0], b[1]);
                mma_bf16(sum[1], a, b[2], b[3]);
            }
            RC_UNROLL for (u32 r = 0; r < 2; r++) {
                if (at[r] >= j.tq) continue;
                u16 *to = p.dq + (query_row() + at[r]) * p.dq_step + head.column + 8 * column + lane() % 4 * 2;
                RC_UNROLL for (u32 c = 0; c < 2; c++) {
                    if (last) st_u32(to + 8 * c, pack_bf16x2(sum[c][2 * r] * p.scale, sum[c][2 * r + 1] * p.scale));
                    else st_8(kept + at[r] * Width + 8 * c, v8{bits(sum[c][2 * r]), bits(sum[c][2 * r + 1])});
                }
            }
        }
    }

    // write writes the warp's rows of dK and dV.
    RC_FN_MEMBER void write() const {
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 r = 0; r < 2; r++) {
            const u32 key = first + 16 * m + 8 * r + lane() / 4;
            if (key >= j.tk) continue;
            const u64 row = (u64)head.row * j.tk + key, column = head.column + lane() % 4 * 2;
            RC_UNROLL for (u32 c = 0; c < columns; c++) {
                st_u32(p.dk + row * p.dk_step + column + 8 * c, pack_bf16x2(dk[m][c][2 * r] * p.scale, dk[m][c][2 * r + 1] * p.scale));
                st_u32(p.dv + row * p.dv_step + column + 8 * c, pack_bf16x2(dv[m][c][2 * r] * j.factor, dv[m][c][2 * r + 1] * j.factor));
            }
        }
    }

    RC_FN_MEMBER void run() {
        const u32 stages = (j.tq + stage - 1) / stage;
        for (begin = 0; begin < j.tk; begin += rows()) {
            first = begin + warp * 16 * Tiles;
            const auto none = [&](u32 key) { return hidden(j, head.row, key); };
            const u64 row = (u64)head.row * j.tk;
            copy_rows<Width>(keys, j.k + row * j.k_step + head.column, j.k_step, begin, rows(), none);
            copy_rows<Width>(values, j.v + row * j.v_step + head.column, j.v_step, begin, rows(), none);
            if (begin == 0) {
                delta();
                barrier();
            }
            load(0);
            load(1);
            cp_async_wait<1>();
            barrier();
            start();
            for (u32 i = 0; i < stages; i++) {
                RC_NO_UNROLL for (u32 at = 0; at < stage; at += 16) add(i, at);
                cp_async_wait<0>();
                barrier(); // the stage's gradients are there, and the next stage; nobody reads this one any more
                load(i + 2);
                queries_of(i);
            }
            write();
            barrier(); // nobody reads the keys any more
        }
    }
};

template <u32 Width, u32 Tiles, bool Keep, bool Dropout> RC_FN void backward(const attention_backward_params &p) {
    backward_block<Width, Tiles, Keep, Dropout>(p, attention_head::of<Width>(p.job, block_x())).run();
}

} // namespace

RC_KERNEL_OCC(attention_threads, 2) attention_backward_32(const attention_backward_params p) { backward<32, attention_tiles_32, false, false>(p); }
RC_KERNEL_OCC(attention_threads, 1) attention_backward_32_dropout(const attention_backward_params p) { backward<32, attention_tiles_32, false, true>(p); }
RC_KERNEL_OCC(attention_threads, 2) attention_backward_64(const attention_backward_params p) { backward<64, attention_tiles_64, false, false>(p); }
RC_KERNEL_OCC(attention_threads, 2) attention_backward_64_dropout(const attention_backward_params p) { backward<64, attention_tiles_64, false, true>(p); }
