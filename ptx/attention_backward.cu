// attention_backward.cu is the gradient of attention: backend.AttentionBackwardJob says what is computed, and in which order.
//
// There are as many blocks as the device has at once, and each goes from head to head. It goes over a head's keys in blocks of 256 (128, if the head
// is 64 wide), of which a warp has 32 (16), and for each over all queries, 64 a stage. A warp makes the probabilities of its keys and of 16 queries,
// and the gradients of their scores, in registers, keys by queries: so they are the tiles of the products that make dV and dK, whose sums stay in
// registers. The gradients of the scores go to shared memory too, and when all warps have written theirs, the block makes the stage's rows of dQ of
// them. If there are several blocks of keys, the sums of dQ are kept in between as float32. What the next head needs is on its way before dK and dV
// are written.
//
// Bytes moved: 2 * Width a row of q, k, v, o, d_o, dq, dk, dv; q and d_o once for each block of keys.
#include "attention.cuh"

using namespace rc;

namespace {

RC_HOST struct attention_backward_params {
    attention_params job;
    u32 count; // heads in all rows
    u32 unused;
    const u16 *d_o;
    u16 *dq, *dk, *dv;
    u32 d_o_step, dq_step, dk_step, dv_step;
    float *dq_sum; // [heads in all rows, tq, width], or null if there is one block of keys
    float scale;
    u32 padding;
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
    // In shared memory: LogSum and delta of a batch of stages, the queries and rows of d_o of two stages; keys, values; the gradients of the scores
    // of two stages.
    u32 logs, queries, keys, values, gradients;
    lane_places<Width> places;
    u32 k[Keep ? Tiles : 1][steps][4], v[Keep ? Tiles : 1][steps][4];
    float hide[Tiles][2];
    float dk[Tiles][columns][4], dv[Tiles][columns][4];
    static constexpr u32 batch = attention_batch, deltas = 4 * batch, outs = 2 * stage_bytes; // deltas lie behind logs, outs behind queries

    RC_FN_MEMBER explicit backward_block(const attention_backward_params &p) : p(p), j(p.job), head{0, 0, 0}, step(0) {
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
    RC_FN_MEMBER u32 query_row() const { return head.row * j.tq; } // of the matrix

    // A lane has 8 columns of d_o and o of some queries of a batch. fetch begins to load some of them; statistics takes LogSum and makes the sums of
    // d_o * o.
    static constexpr u32 most = 4; // loads of each under way
    struct outs_of {
        v16 a[most], b[most];
    };
    RC_FN_MEMBER void fetch(outs_of &f, u32 from) const {
        const u32 each = threads_x() / columns, mine = from + thread_x() / columns, c = head.column + thread_x() % columns * 8;
        const u16 *x = p.d_o + (u64)(query_row() + mine) * p.d_o_step + c, *y = j.o + (u64)(query_row() + mine) * j.o_step + c;
        RC_UNROLL for (u32 i = 0; i < most; i++) {
            f.a[i] = f.b[i] = v16{0, 0, 0, 0};
            if (mine + i * each < j.tq) {
                f.a[i] = ld_nc_16_volatile(x);
                f.b[i] = ld_nc_16_volatile(y);
            }
            x += (u64)each * p.d_o_step;
            y += (u64)each * j.o_step;
        }
    }
    RC_FN_MEMBER void statistics(outs_of &f, u32 from) const {
        RC_NO_UNROLL for (u32 i = thread_x(); i < batch; i += threads_x())
            st_shared_f32(logs + 4 * i, from + i < j.tq ? j.log_sum[(u64)head.number * j.tq + from + i] : 0.0f);
        const u32 each = threads_x() / columns;
        u32 query = thread_x() / columns;
        RC_NO_UNROLL for (u32 i = 0;; i++) {
            RC_UNROLL for (u32 k = 0; k < most; k++) {
                float sum = pair_sum(pair_sum(pair_sum(pair_sum(0.0f, f.a[k].x, f.b[k].x), f.a[k].y, f.b[k].y), f.a[k].z, f.b[k].z), f.a[k].w, f.b[k].w);
                RC_UNROLL for (u32 d = 1; d < columns; d *= 2) sum += as_f32(shuffle_xor(bits(sum), d));
                if (thread_x() % columns == 0 && query < batch) st_shared_f32(logs + deltas + 4 * query, sum);
                query += each;
            }
            if ((i + 1) * most * each >= batch) break;
            fetch(f, from + (i + 1) * most * each);
        }
    }
    static RC_FN_MEMBER float pair_sum(float sum, u32 a, u32 b) {
        sum += bf16_lo(a) * bf16_lo(b);
        return sum + bf16_hi(a) * bf16_hi(b);
    }

    // load begins to copy a stage of queries.
    RC_FN_MEMBER void load(u32 i) const {
        const u32 slot = i % 2 * stage_bytes, from = i * stage;
        if (from < j.tq) {
            const head_rows rows[2] = {{j.q + head.column, j.q_step}, {p.d_o + head.column, p.d_o_step}};
            copy_rows<Width>(queries + slot, outs, rows, query_row() + from, stage, j.tq - from, nullptr);
        }
        cp_async_commit();
    }

    RC_FN_MEMBER void load_keys() const {
        const head_rows from[2] = {{j.k + head.column, j.k_step}, {j.v + head.column, j.v_step}};
        copy_rows<Width>(keys, values - keys, from, head.row * j.tk + begin, rows(), j.tk - begin, head.pad(j, begin));
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

    // add adds 16 queries from query on, which lie from rows on, with their LogSum from logs on. The lane's gradients go to the chunk at to, and the
    // other one of its pair.
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
        u32 a[Tiles][4], half[Tiles]; // half: of the 16 keys, of query lane / 2, those that dropout leaves out
        if constexpr (Dropout) RC_UNROLL for (u32 m = 0; m < Tiles; m++)
            half[m] = left_out<8>(j, step, ((u64)head.number * j.tq + query + lane() / 2) * j.tk + first + 16 * m + lane() % 2 * 8);
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
                        const bool out = shuffle_from(half[m], 16 * n + 2 * (pair + e % 2) + e / 2) >> lane() / 4 & 1;
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
            RC_NO_UNROLL for (u32 k = 0; k < end; k += 64) {
                const u32 more = k + 32 < end ? 1 : 0; // of a single 32 the other products are not added
                u32 a[4][4], b[2][4];
                RC_UNROLL for (u32 h = 0; h < 2; h++) {
                    ldmatrix_x4_trans(b[h], key + more * h * 32 * row_bytes<Width>);
                    ldmatrix_x4_trans(a[2 * h], from + more * h * 32 * key_bytes);
                    ldmatrix_x4_trans(a[2 * h + 1], from + (more * h * 32 + 16) * key_bytes);
                }
                from += 64 * key_bytes;
                key += 64 * row_bytes<Width>;
                mma_bf16(sum, a[0], b[0][0], b[0][1]);
                mma_bf16(sum, a[1], b[0][2], b[0][3]);
                if (more == 0) break;
                mma_bf16(sum, a[2], b[1][0], b[1][1]);
                mma_bf16(sum, a[3], b[1][2], b[1][3]);
            }
            u16 *dq = p.dq + (u64)(query_row() + mine) * p.dq_step + head.column + to;
            RC_UNROLL for (u32 r = 0; r < 2; r++) {
                if (mine + 8 * r >= j.tq) continue;
                if (last) st_u32(dq + (u64)(8 * r) * p.dq_step, pack_bf16x2(sum[2 * r] * p.scale, sum[2 * r + 1] * p.scale));
                else st_8(kept + 8 * r * Width, v8{bits(sum[2 * r]), bits(sum[2 * r + 1])});
            }
        }
    }

    // write writes the warp's rows of a gradient, by way of its own place among the gradients of the scores: 16 bytes a lane.
    RC_FN_MEMBER void write(u16 *to, u32 step, const float (&from)[Tiles][columns][4], float factor, u32 key, attention_head of) const {
        const u32 place = gradients + warp * 16 * Tiles * key_bytes;
        warp_barrier();
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 r = 0; r < 2; r++) RC_UNROLL for (u32 c = 0; c < columns; c++)
            st_shared_u32(place + chunk_at<Width>(16 * m + 8 * r + lane() / 4, c) + lane() % 4 * 4, pack_bf16x2(from[m][c][2 * r] * factor, from[m][c][2 * r + 1] * factor));
        warp_barrier();
        to += (u64)(of.row * j.tk + key + lane() / columns) * step + of.column + lane() % columns * 8;
        RC_UNROLL for (u32 i = 0; i < 16 * Tiles; i += warp_size / columns) {
            const u32 row = i + lane() / columns;
            if (key + row < j.tk) st_16(to, ld_shared_16(place + chunk_at<Width>(row, lane() % columns)));
            to += (u64)(warp_size / columns) * step;
        }
    }

    // take begins to copy a block of keys of a head and two stages of its queries, and to load what the statistics are made of.
    RC_FN_MEMBER void take(u32 number, outs_of &f) {
        head = {number / j.heads, number % j.heads * Width, number};
        first = begin + warp * 16 * Tiles;
        fetch(f, 0);
        load_keys();
        load(0);
        load(1);
    }

    RC_FN_MEMBER void run() {
        const u32 stages = (j.tq + stage - 1) / stage, key = lane() / 4;
        constexpr u32 at_once = batch / stage;
        outs_of f;
        begin = 0;
        take(block_x(), f);
        for (;;) {
            statistics(f, 0);
            cp_async_wait<1>();
            barrier();
            start();
            for (u32 i = 0; i < stages; i++) {
                const u32 slot = i % 2;
                if (i > 0 && i % at_once == 0) { // the batch before is done with
                    fetch(f, i * stage);
                    statistics(f, i * stage);
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
            barrier(); // nobody reads keys or gradients any more
            const attention_head done = head;
            const u32 mine = first;
            u32 next = head.number;
            begin += rows();
            if (begin >= j.tk) begin = 0, next += blocks_x();
            if (next < p.count) take(next, f);
            else launch_dependents();
            write(p.dk, p.dk_step, dk, p.scale, mine, done);
            write(p.dv, p.dv_step, dv, j.factor, mine, done);
            if (next >= p.count) break;
        }
    }
};

template <u32 Width, u32 Tiles, bool Keep, bool Dropout> RC_FN void backward(const attention_backward_params &p) {
    grid_dependency_wait();
    backward_block<Width, Tiles, Keep, Dropout>(p).run();
}

} // namespace

RC_KERNEL_OCC(attention_threads, 1) attention_backward_32(const attention_backward_params p) { backward<32, attention_tiles_32, true, false>(p); }
RC_KERNEL_OCC(attention_threads, 1) attention_backward_32_dropout(const attention_backward_params p) { backward<32, attention_tiles_32, false, true>(p); }
RC_KERNEL_OCC(attention_threads, 1) attention_backward_64(const attention_backward_params p) { backward<64, attention_tiles_64, false, false>(p); }
RC_KERNEL_OCC(attention_threads, 1) attention_backward_64_dropout(const attention_backward_params p) { backward<64, attention_tiles_64, false, true>(p); }
