// attention.cu is the attention of all heads: backend.AttentionJob says what is computed, and in which order.
//
// A block has up to 8 warps, each 32 queries of a head (16, if it is 64 wide). Queries lie in shared memory; keys and values come there by cp.async,
// 64 of them a stage; stages form a ring of four, so that 256 keys are under way at once. A warp takes 32 keys at a time: their scores stay in
// registers and become the tiles of the product with the values. The sum of a query's probabilities is one more column of that product, whose values
// are 1.
//
// Bytes moved: 2 * Width a row of q and o, and of k and v for each block of a head.
#include "attention.cuh"

using namespace rc;

namespace {

constexpr u32 ones = 0x3f803f80; // a pair

template <u32 Width, u32 Tiles, bool Dropout> struct attention_block {
    static constexpr u32 steps = Width / 16, columns = Width / 8, stage_bytes = attention_stage * row_bytes<Width>;
    const attention_params &p;
    attention_head head;
    u32 first; // query of the warp
    u32 step;  // of dropout
    lane_places<Width> places;
    u32 queries; // where they lie
    float o[Tiles][columns][4], sums[Tiles][4], ref[Tiles][2];

    RC_FN_MEMBER attention_block(const attention_params &p, attention_head head, u32 first, u32 queries) : p(p), head(head), first(first), step(0), queries(queries) {
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
            RC_UNROLL for (u32 c = 0; c < columns; c++) RC_UNROLL for (u32 i = 0; i < 4; i++) o[m][c][i] = 0.0f;
            RC_UNROLL for (u32 i = 0; i < 4; i++) sums[m][i] = 0.0f;
            ref[m][0] = ref[m][1] = first_reference;
        }
    }

    // scores are those of 32 keys from key on. Masked, some of them are not seen.
    template <bool Masked> RC_FN_MEMBER void scores(float (&s)[Tiles][4][4], u32 keys, u32 key) const {
        u32 hide[Tiles][2];
        if constexpr (Masked) unseen(hide, key);
        u32 q[Tiles][steps][4]; // anew each time: the registers are wanted for the exponentials
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) places.load_a(q[m], queries + 16 * m * row_bytes<Width>);
        RC_UNROLL for (u32 n = 0; n < 4; n++) {
            u32 b[Width / 8];
            places.load_b(b, keys + 8 * n * row_bytes<Width>);
            float c[Tiles][4];
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 i = 0; i < 4; i++) {
                c[m][i] = 0.0f;
                if constexpr (Masked) c[m][i] = hide[m][i / 2] >> (2 * n + i % 2) & 1 ? unseen_score : 0.0f;
            }
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
                mma_from(s[m][n], q[m][0], b[0], b[1], c[m][0], c[m][1], c[m][2], c[m][3]);
                RC_UNROLL for (u32 j = 1; j < steps; j++) mma_bf16(s[m][n], q[m][j], b[2 * j], b[2 * j + 1]);
            }
        }
    }

    // unseen has a bit for each of the lane's 8 keys of a row that the query does not see.
    RC_FN_MEMBER void unseen(u32 (&hide)[Tiles][2], u32 key) const {
        const u32 mine = key + lane() % 4 * 2;
        const u8 *pad = head.pad(p, mine);
        u32 all = 0;
        RC_UNROLL for (u32 i = 0; i < 8; i++) {
            const u32 k = i / 2 * 8 + i % 2;
            if (mine + k >= p.tk || (pad != nullptr && pad[k] != 0)) all |= 1u << i;
        }
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 r = 0; r < 2; r++) {
            hide[m][r] = all;
            if (p.causal) RC_UNROLL for (u32 i = 0; i < 8; i++)
                if (mine + i / 2 * 8 + i % 2 > first + 16 * m + 8 * r + lane() / 4) hide[m][r] |= 1u << i;
        }
    }

    // raise takes a new reference for the rows whose greatest score is far above the old one. most is the greatest of this lane's.
    RC_FN_MEMBER void raise(const float (&most)[Tiles][2], bool begun) {
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 r = 0; r < 2; r++) {
            float x = most[m][r];
            RC_UNROLL for (u32 d = 1; d < 4; d *= 2) x = max_nan(x, as_f32(shuffle_xor(bits(x), d)));
            const float y = x * p.a;
            const bool above = !(y <= ref[m][r] + most_above);
            const float old = ref[m][r];
            ref[m][r] = above ? y : old;
            if (!begun) continue; // all sums are 0
            const float f = exp2_down(old - ref[m][r]);
            RC_UNROLL for (u32 c = 0; c < columns; c++) RC_UNROLL for (u32 i = 0; i < 2; i++) o[m][c][2 * r + i] *= f;
            RC_UNROLL for (u32 i = 0; i < 2; i++) sums[m][2 * r + i] *= f;
        }
    }

    // add adds 32 keys from key on. Their values lie behind the keys of all stages.
    RC_FN_MEMBER void add(u32 keys, u32 key) {
        float s[Tiles][4][4];
        if (p.pad != nullptr || key + 32 > p.tk || (p.causal && key + 31 > first)) scores<true>(s, keys, key);
        else scores<false>(s, keys, key);
        float most[Tiles][2];
        u32 above = 0;
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 r = 0; r < 2; r++) {
            float x = max_nan(s[m][0][2 * r], s[m][0][2 * r + 1]);
            RC_UNROLL for (u32 n = 1; n < 4; n++) x = max_nan(x, max_nan(s[m][n][2 * r], s[m][n][2 * r + 1]));
            most[m][r] = x;
            above |= (u32)!(x * p.a <= ref[m][r] + most_above);
        }
        if (votes(above) != 0) raise(most, key > 0);
        RC_UNROLL for (u32 m = 0; m < Tiles; m++) RC_UNROLL for (u32 n = 0; n < 4; n++) RC_UNROLL for (u32 i = 0; i < 4; i++)
            s[m][n][i] = exp2_down(fma_rn(s[m][n][i], p.a, -ref[m][i / 2]));
        u32 out[Tiles][2]; // a bit for each key
        if constexpr (Dropout) RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
            const u64 query = (u64)head.number * p.tq + first + 16 * m + lane() / 2;
            const u32 half = left_out<16>(p, step, query * p.tk + key + lane() % 2 * 16); // of the keys, of one row
            RC_UNROLL for (u32 r = 0; r < 2; r++) out[m][r] = shuffle_from(half, lane() / 4 * 2 + 16 * r) | shuffle_from(half, lane() / 4 * 2 + 16 * r + 1) << 16;
        }
        RC_UNROLL for (u32 j = 0; j < 2; j++) {
            u32 a[Tiles][4];
            RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
                pack_a(a[m], s[m][2 * j], s[m][2 * j + 1]);
                mma_bf16(sums[m], a[m], ones, ones);
                if constexpr (Dropout) {
                    RC_UNROLL for (u32 e = 0; e < 8; e++) {
                        float &x = s[m][2 * j + e / 4][e % 4];
                        if (out[m][e % 4 / 2] >> (16 * j + e / 4 * 8 + lane() % 4 * 2 + e % 2) & 1) x = 0.0f;
                    }
                    pack_a(a[m], s[m][2 * j], s[m][2 * j + 1]);
                }
            }
            RC_UNROLL for (u32 c = 0; c < columns; c += 2) {
                u32 b[4];
                places.load_columns(b, keys + attention_stages * stage_bytes + 16 * j * row_bytes<Width>, c / 2);
                RC_UNROLL for (u32 m = 0; m < Tiles; m++) {
                    mma_bf16(o[m][c], a[m], b[0], b[1]);
                    mma_bf16(o[m][c + 1], a[m], b[2], b[3]);
                }
            }
        }
    }

    // write writes the warp's rows. A lane has its share of 2 * Tiles of them, and works out the factor and the logarithm of one.
    RC_FN_MEMBER void write() const {
        float l = 0.0f, reference = 0.0f;
        RC_UNROLL for (u32 i = 0; i < 2 * Tiles; i++) {
            if (lane() % 4 != i) continue;
            l = sums[i / 2][i % 2 * 2];
            reference = ref[i / 2][i % 2];
        }
        const u32 mine = first + lane() % 4 * 8 + lane() / 4;
        if (lane() % 4 < 2 * Tiles && mine < p.tq) st_f32(p.log_sum + (u64)head.number * p.tq + mine, l == 0.0f ? as_f32(0x7f800000u) : reference + log2_exact(l));
        const float factor = l == 0.0f ? 0.0f : div_rn(p.factor, l);
        const u32 begin = first + lane() / 4;
        u16 *to = p.o + (u64)(head.row * p.tq + begin) * p.o_step + head.column + lane() % 4 * 2;
        RC_UNROLL for (u32 i = 0; i < 2 * Tiles; i++) {
            const float f = as_f32(shuffle_from(bits(factor), lane() / 4 * 4 + i));
            if (begin + 8 * i < p.tq) {
                const float (&from)[columns][4] = o[i / 2];
                RC_UNROLL for (u32 c = 0; c < columns; c++) st_u32(to + 8 * c, pack_bf16x2(from[c][i % 2 * 2] * f, from[c][i % 2 * 2 + 1] * f));
            }
            to += 8 * p.o_step;
        }
    }
};

template <u32 Width, u32 Tiles, bool Dropout> RC_FN void attention(const attention_params &p) {
    using block = attention_block<Width, Tiles, Dropout>;
    grid_dependency_wait();
    launch_dependents();
    extern __shared__ v16 memory[];
    const u32 rows = threads_x() / warp_size * Tiles * 16, begin = block_z() * rows;
    const u32 column = block_y() * Width, row = block_x();
    const u32 queries = shared_at(memory), keys = queries + rows * row_bytes<Width>;
    const u32 mine = warp_number() * Tiles * 16; // first query of the warp
    block b(p, {row, column, row * p.heads + block_y()}, begin + mine, queries + mine * row_bytes<Width>);
    if constexpr (Dropout) b.step = (u32)*p.state;
    const u32 seen = p.causal ? less(begin + rows, p.tk) : p.tk, stages = (seen + attention_stage - 1) / attention_stage;
    u32 next = 0; // stage to copy
    const auto load = [&]() RC_INLINE_LAMBDA {
        if (next < stages) {
            const u32 slot = keys + next % attention_stages * block::stage_bytes, key = next * attention_stage;
            const head_rows from[2] = {{p.k + column, p.k_step}, {p.v + column, p.v_step}};
            copy_rows<Width>(slot, attention_stages * block::stage_bytes, from, row * p.tk + key, attention_stage, p.tk - key, b.head.pad(p, key));
        }
        next++;
        cp_async_commit();
    };
    const head_rows q[1] = {{p.q + column, p.q_step}};
    copy_rows<Width>(queries, 0, q, row * p.tq + begin, rows, p.tq - begin, nullptr);
    RC_NO_UNROLL for (u32 i = 0; i + 1 < attention_stages; i++) load();
    for (u32 i = 0; i < stages; i++) {
        cp_async_wait<attention_stages - 2>();
        barrier(); // this stage is there, and nobody reads the one before it any more
        load();
        if (b.first >= p.tq) continue;
        u32 at = keys + i % attention_stages * block::stage_bytes;
        RC_NO_UNROLL for (u32 key = i * attention_stage; key < (i + 1) * attention_stage; key += 32) {
            if (key >= p.tk || (p.causal && key >= b.first + 16 * Tiles)) break;
            b.add(at, key);
            at += 32 * row_bytes<Width>;
        }
    }
    b.write();
}

} // namespace

RC_KERNEL_OCC(attention_threads, 2) attention_32(const attention_params p) { attention<32, attention_tiles_32, false>(p); }
RC_KERNEL_OCC(attention_threads, 1) attention_32_dropout(const attention_params p) { attention<32, attention_tiles_32, true>(p); }
RC_KERNEL_OCC(attention_threads, 2) attention_64(const attention_params p) { attention<64, attention_tiles_64, false>(p); }
RC_KERNEL_OCC(attention_threads, 1) attention_64_dropout(const attention_params p) { attention<64, attention_tiles_64, true>(p); }
