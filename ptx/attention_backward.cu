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
    float *dq_sum; // [heads of all rows, tq, width], or null if there is one block of keys
    float scale;
    u32 unused;
};

RC_FN void ld_shared_pair(float (&r)[2], u32 at) {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(r[0]), "=f"(r[1]) : "r"(at) : "memory");
}
RC_FN void st_shared_f32(u32 at, float v) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(v) : "memory"); }
RC_FN void st_shared_u32(u32 at, u32 v) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory"); }

// backward_block is a block's work. Keep says that a warp keeps the tiles of its keys and values in registers.
template <u32 Width, u32 Tiles, bool Keep, bool Dropout> struct backward_block {
    static constexpr u32 steps = Width / 16, columns = Width / 8, stage = attention_stage, stage_bytes = stage * row_bytes<Width>;
    static constexpr u32 key_bytes = 2 * stage; // of a key, in the gradients of the scores
    const attention_backward_params &p;
    const attention_params &j;
    attention_head head;
    u32 step;         // of dropout
    u32 warp, warps;
    u32 first, begin; // key of the warp, and of the block
    // In shared memory: LogSum and delta of a batch of stages, the queries and rows of d_o of two stages; keys, values; gradients of the scores of two stages.
    u32 logs, queries, keys, values, gradients;
    lane_places<Width> places;
    u32 k[Keep ? Tiles : 1][steps][4], v[Keep ? Tiles : 1][steps][4];
    float hide[Tiles][2];
    float dk[Tiles][columns][4], dv[Tiles][columns][4];
    static constexpr u32 batch = attention_batch, deltas = 4 * batch, outs = 2 * stage_bytes; // deltas lie behind logs, outs behind queries

    RC_FN_MEMBER backward_block(const attention_backward_params &p, attention_head head) : p(p), j(p.job), head(head), step(0) {
        extern __shared__ v16 memory[];
        warp = warp_number(), warps = threads_x() / warp_size;
        logs = shared_at(memory);
        queries = logs + 2 * deltas;
        keys = queries + 2 * outs;
        values = keys + rows() * row_bytes<Width>;
        gradients = values + rows() * row_bytes<Width>;
        if constexpr (Dropout) step = (u32)*j.state;
    }

    RC_FN_MEMBER u32 rows() const { return warps * 16 * Tiles; }
    RC_FN_MEMBER u64 query_row() const { return (u64)head.row * j.tq; }

    // statistics takes LogSum and makes the sums of d_o * o of a batch of queries, 8 columns a lane. All loads are under way at once.
    RC_FN_MEMBER void statistics(u32 from) const {
        constexpr u32 most = batch * columns / attention_threads;
        const u32 c = thread_x() % columns, each = threads_x() / columns, mine = from + thread_x() / columns;
        RC_NO_UNROLL for (u32 i = thread_x(); i < batch; i += threads_x())
            st_shared_f32(logs + 4 * i, from + i < j.tq ? j.log_sum[(u64)head.number * j.tq + from + i] : 0.0f);
        const u16 *x = p.d_o + (query_row() + mine) * p.d_o_step + head.column + 8 * c, *y = j.o + (query_row() + mine) * j.o_step + head.column + 8 * c;
        RC_NO_UNROLL for (u32 first = 0; first < batch; first += most * each) {
            v16 a[most], b[most];
            RC_UNROLL for (u32 i = 0; i < most; i++) {
                a[i] = b[i] = v16{0, 0, 0, 0};
                if (mine + first + i * each >= j.tq) continue;
                a[i] = ld_nc_16_volatile(x + (u64)(first + i * each) * p.d_o_step);
                b[i] = ld_nc_16_volatile(y + (u64)(first + i * each) * j.o_step);
            }
            RC_UNROLL for (u32 i = 0; i < most; i++) {
                float sum = bf16_lo(a[i].x) * bf16_lo(b[i].x);
                sum += bf16_hi(a[i].x) * bf16_hi(b[i].x);
                sum += bf16_lo(a[i].y) * bf16_lo(b[i].y);
                sum += bf16_hi(a[i].y) * bf16_hi(b[i].y);
                sum += bf16_lo(a[i].z) * bf16_lo(b[i].z);
                sum += bf16_hi(a[i].z) * bf16_hi(b[i].z);
                sum += bf16_lo(a[i].w) * bf16_lo(b[i].w);
                sum += bf16_hi(a[i].w) * bf16_hi(b[i].w);
                RC_UNROLL for (u32 d = 1; d < columns; d *= 2) sum += as_f32(shuffle_xor(bits(sum), d));
                const u32 query = first + i * each + thread_x() / columns;
                if (c == 0 && query < batch) st_shared_f32(logs + deltas + 4 * query, sum);
            }
        }
    }

    // load begins to copy a stage of queries.
    RC_FN_MEMBER void load(u32 i) const {
        const u32 slot = i % 2 * stage_bytes, from = i * stage;
        if (from < j.tq) {
            copy_rows<Width>(queries + slot, j.q + (query_row() + from) * j.q_step + head.column, j.q_step, stage, j.tq - from, nullptr);
            copy_rows<Width>(queries + outs + slot, p.d_o + (query_row() + from) * p.d_o_step + head.column, p.d_o_step, stage, j.tq - from, nullptr);
        }
        cp_async_commit();
    }

    RC_FN_MEMBER void load_keys() const {
        const u64 row = (u64)head.row * j.tk + begin;
        const u8 *pad = head.pad(j, begin);
        copy_rows<Width>(keys, j.k + row * j.k_step + head.column, j.k_step, rows(), j.tk - begin, pad);
        copy_rows<Width>(values, j.v + row * j.v_step + head.column, j.v_step, rows(), j.tk - begin, pad);
    }

    // start takes the warp's keys of the block of keys.
    RC_FN_MEMBER void start() {
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
            if constexpr (Keep) {
                places.load_a(k[m], mine(keys, m));
                places.load_a(v[m], mine(values, m));
            }
            RC_UNROLL for (u32 r = 0; r < 2; r++) {
                const u32 key = first + 16 * m + 8 * r + lane() / 4;
                hide[m][r] = key >= j.tk || (j.pad != nullptr && *head.pad(j, key) != 0) ? unseen_score : 0.0f;
            }
            RC_UNROLL for (u32 c = 0; c < columns; c++) RC_UNROLL for (u32 i = 0; i < 4; i++) dk[m][c][i] = dv[m][c][i] = 0.0f;
        }
    }
    // mine is where the warp's tile m of keys, or of values, lies.
    RC_FN_MEMBER u32 mine(u32 rows, u32 m) const { return rows + (warp * 16 * Tiles + 16 * m) * row_bytes<Width>; }

    // product makes the product of the warp's keys, or values, and 8 rows of a stage.
    RC_FN_MEMBER void product(float (&s)[4], const u32 (&a)[steps][4], const u32 (&b)[Width / 8], float c0, float c1) const {
        mma_from(s, a[0], b[0], b[1], c0, c0, c1, c1);
        RC_UNROLL for (u32 i = 1; i < steps; i++) mma_bf16(s, a[i], b[2 * i], b[2 * i + 1]);
    }

    // add adds 16 queries from query on, which lie from rows on, with their LogSum from logs on. The lane's gradients go to chunks 0 and 16 bytes on, of
    // its keys from to on.
    RC_FN_MEMBER void add(u32 query, u32 rows, u32 logs, u32 to) {
        if (query >= j.tq || first >= j.tk || (j.causal && first > query + 15)) {
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 e = 0; e < 4; e++) st_shared_u32(gradient(to, m, e), 0);
            return;
        }
        float s[Tiles][2][4], g[Tiles][2][4];
        const u32 pair = lane() % 4 * 2;
        {
            u32 b[2][Width / 8];
            RC_UNROLL for (u32 n = 0; n < 2; n++) places.load_b(b[n], rows + 8 * n * row_bytes<Width>);
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
                if constexpr (!Keep) places.load_a(k[0], mine(keys, m));
                RC_UNROLL for (u32 n = 0; n < 2; n++) product(s[m][n], k[Keep ? m : 0], b[n], hide[m][0], hide[m][1]);
            }
        }
        {
            u32 b[2][Width / 8];
            RC_UNROLL for (u32 n = 0; n < 2; n++) places.load_b(b[n], rows + outs + 8 * n * row_bytes<Width>);
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
                if constexpr (!Keep) places.load_a(v[0], mine(values, m));
                RC_UNROLL for (u32 n = 0; n < 2; n++) product(g[m][n], v[Keep ? m : 0], b[n], 0.0f, 0.0f);
            }
        }
        if (j.causal && first + 16 * Tiles - 1 > query) {
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 n = 0; n < 2; n++) RC_UNROLL for (u32 e = 0; e < 4; e++)
                if (first + 16 * m + e / 2 * 8 + lane() / 4 > query + 8 * n + pair + e % 2) s[m][n][e] = unseen_score;
        }
        u32 a[Tiles][4];
        RC_UNROLL for (u32 n = 0; n < 2; n++) {
            float log[2], delta[2];
            ld_shared_pair(log, logs + 32 * n);
            ld_shared_pair(delta, logs + deltas + 32 * n);
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
                float x[4];
                RC_UNROLL for (u32 e = 0; e < 4; e++) {
                    const float y = exp2_down(fma_rn(s[m][n][e], j.a, -log[e % 2]));
                    x[e] = y;
                    if constexpr (Dropout) {
                        const u64 row = (u64)head.number * j.tq + query + 8 * n + pair + e % 2;
                        const bool out = left_out(j, step, row * j.tk + first + 16 * m + e / 2 * 8 + lane() / 4);
                        x[e] = out ? 0.0f : y;
                        g[m][n][e] = out ? 0.0f : g[m][n][e] * j.factor;
                    }
                    g[m][n][e] = y * (g[m][n][e] - delta[e % 2]);
                }
                a[m][2 * n] = pack_bf16x2(x[0], x[1]);
                a[m][2 * n + 1] = pack_bf16x2(x[2], x[3]);
            }
        }
        sum(dv, a, rows + outs);
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
            pack_a(a[m], g[m][0], g[m][1]);
            RC_UNROLL for (u32 e = 0; e < 4; e++) st_shared_u32(gradient(to, m, e), a[m][e]);
        }
        sum(dk, a, rows);
    }

    // gradient is where word e of a tile of gradients goes.
    static RC_FN_MEMBER u32 gradient(u32 to, u32 m, u32 e) { return (e < 2 ? to : to ^ 16) + (16 * m + e % 2 * 8) * key_bytes; }

    // sum adds the products of a and 16 rows.
    RC_FN_MEMBER void sum(float (&d)[Tiles][columns][4], const u32 (&a)[Tiles][4], u32 rows) const {
        RC_UNROLL for (u32 c = 0; c < columns; c += 2) {
            u32 b[4];
            places.load_columns(b, rows, c / 2);
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
                mma_bf16(d[m][c], a[m], b[0], b[1]);
                mma_bf16(d[m][c + 1], a[m], b[2], b[3]);
            }
        }
    }

    // queries_of makes the stage's rows of dQ: 16 rows of 8 columns at a time, over 32 keys.
    RC_FN_MEMBER void queries_of(u32 i) const {
        const bool last = begin + rows() >= j.tk;
        for (u32 n = warp; n < stage / 16 * columns; n += warps) {
            const u32 tile = n % (stage / 16), column = n / (stage / 16), query = i * stage + 16 * tile, mine = query + lane() / 4;
            if (query >= j.tq) continue;
            u32 end = less(j.tk - begin, rows());
            if (j.causal) end = query + 16 <= begin ? 0 : less(query + 16 - begin, end);
            float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            const u32 to = 8 * column + lane() % 4 * 2;
            float *kept = p.dq_sum + ((u64)head.number * j.tq + mine) * Width + to;
            if (begin > 0) RC_UNROLL for (u32 r = 0; r < 2; r++)
                if (mine + 8 * r < j.tq) RC_UNROLL for (u32 e = 0; e < 2; e++) sum[2 * r + e] = kept[8 * r * Width + e];
            u32 from = gradients + (i % 2 * rows() + lane() % 8 + lane() / 16 * 8) * key_bytes + (((2 * tile + lane() / 8 % 2) ^ lane() % 8) << 4);
            u32 key = keys + chunk_at<Width>(lane(), column);
            RC_NO_UNROLL for (u32 k = 0; k < end; k += 32) {
                u32 a[2][4], b[4];
                ldmatrix_x4_trans(b, key);
                ldmatrix_x4_trans(a[0], from);
                ldmatrix_x4_trans(a[1], from + 16 * key_bytes);
                from += 32 * key_bytes;
                key += 32 * row_bytes<Width>;
                mma_bf16(sum, a[0], b[0], b[1]);
                mma_bf16(sum, a[1], b[2], b[3]);
            }
            u16 *dq = p.dq + (query_row() + mine) * p.dq_step + head.column + to;
            RC_UNROLL for (u32 r = 0; r < 2; r++) {
                if (mine + 8 * r >= j.tq) continue;
                if (last) st_u32(dq + 8 * r * p.dq_step, pack_bf16x2(sum[2 * r] * p.scale, sum[2 * r + 1] * p.scale));
                else st_8(kept + 8 * r * Width, v8{bits(sum[2 * r]), bits(sum[2 * r + 1])});
            }
        }
    }

    // write writes the warp's rows of dK and dV.
    RC_FN_MEMBER void write() const {
        const u32 key = first + lane() / 4, column = head.column + lane() % 4 * 2;
        const u64 row = (u64)head.row * j.tk + key;
        u16 *k = p.dk + row * p.dk_step + column, *v = p.dv + row * p.dv_step + column;
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 r = 0; r < 2; r++) {
            if (key + 16 * m + 8 * r < j.tk) RC_UNROLL for (u32 c = 0; c < columns; c++) {
                st_u32(k + 8 * c, pack_bf16x2(dk[m][c][2 * r] * p.scale, dk[m][c][2 * r + 1] * p.scale));
                if constexpr (Dropout) st_u32(v + 8 * c, pack_bf16x2(dv[m][c][2 * r] * j.factor, dv[m][c][2 * r + 1] * j.factor));
                else st_u32(v + 8 * c, pack_bf16x2(dv[m][c][2 * r], dv[m][c][2 * r + 1]));
            }
            k += 8 * p.dk_step;
            v += 8 * p.dv_step;
        }
    }

    RC_FN_MEMBER void run() {
        const u32 stages = (j.tq + stage - 1) / stage;
        for (begin = 0; begin < j.tk; begin += rows()) {
            first = begin + warp * 16 * Tiles;
            load_keys();
            load(0);
            load(1);
            statistics(0);
            cp_async_wait<1>();
            barrier();
            start();
            for (u32 i = 0; i < stages; i++) {
                const u32 slot = i % 2, key = lane() / 4, at_once = batch / stage;
                if (i > 0 && i % at_once == 0) { // the one before is done with
                    statistics(i * stage);
                    barrier();
                }
                const u32 to = gradients + (slot * rows() + first - begin + key) * key_bytes + lane() % 4 * 4;
                u32 rows = queries + slot * stage_bytes, log = logs + 4 * (i % at_once * stage + lane() % 4 * 2);
                RC_NO_UNROLL for (u32 at = 0; at < stage; at += 16) {
                    add(i * stage + at, rows, log, to + ((at / 8 ^ key) << 4));
                    rows += 16 * row_bytes<Width>;
                    log += 4 * 16;
                }
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
    backward_block<Width, Tiles, Keep, Dropout>(p, attention_head::of<Width>(p.job)).run();
}

} // namespace

RC_KERNEL_OCC(attention_threads, 2) attention_backward_32(const attention_backward_params p) { backward<32, attention_tiles_32, false, false>(p); }
RC_KERNEL_OCC(attention_threads, 1) attention_backward_32_dropout(const attention_backward_params p) { backward<32, attention_tiles_32, false, true>(p); }
RC_KERNEL_OCC(attention_threads, 2) attention_backward_64(const attention_backward_params p) { backward<64, attention_tiles_64, false, false>(p); }
RC_KERNEL_OCC(attention_threads, 2) attention_backward_64_dropout(const attention_backward_params p) { backward<64, attention_tiles_64, false, true>(p); }
