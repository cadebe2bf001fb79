// attention.cuh is what attention and its gradient share: the parameter, rows of a head in shared memory, scores.
//
// A head's rows of Width bfloat16 lie in shared memory without gaps. Of the 16-byte chunks of a row, chunk c is at c ^ x, where x changes from row to
// row: so eight rows of ldmatrix meet in no bank. x is the same for rows that are a multiple of 8 apart: a lane works out once where its row of a
// tile lies.
#pragma once
#include "fp32.cuh"
#include "mma.cuh"

namespace rc {

RC_HOST constexpr u32 attention_threads = 256;    // the most threads in a block
RC_HOST constexpr u32 attention_stage = 64;       // keys, or queries, that are copied to shared memory at once
RC_HOST constexpr u32 attention_stages = 4;       // stages for keys and values: 256 keys are in shared memory at once
RC_HOST constexpr u32 attention_batch = 256;      // queries with statistics in shared memory at once, for the gradient
RC_HOST constexpr u32 attention_tiles_32 = 2;     // tiles per warp, with 16 queries each (keys, for the gradient), if a head is 32 wide
RC_HOST constexpr u32 attention_tiles_64 = 1;     // tiles per warp if a head is 64 wide

// attention_params has the parameters for a backend.AttentionJob. Steps are elements from a row to the next.
RC_HOST struct attention_params {
    const u16 *q, *k, *v;
    u16 *o; // the gradient only reads it, like log_sum
    float *log_sum;
    const u8 *pad; // or null
    const i64 *state; // for dropout: its first word is the step
    u64 seed;
    u32 q_step, k_step, v_step, o_step, pad_step;
    u32 site, threshold;
    float a;      // scale * log2(e)
    float factor; // dropout's factor, or 1
    u32 tq, tk, heads;
    u32 causal;
    u32 unused;
};

// ---- Rows of a head ----

template <u32 Width> constexpr u32 row_bytes = 2 * Width;

// chunk_at is where chunk c of a row lies.
template <u32 Width> RC_FN u32 chunk_at(u32 row, u32 c) {
    return row * row_bytes<Width> + ((c ^ (Width == 32 ? row >> 1 & 3 : row & 7)) << 4);
}

// attention_head is a head of a row of the batch.
struct attention_head {
    u32 row, column, number; // of the batch, of the matrix; of all heads
    // pad is which keys from key on nobody sees, or null.
    RC_FN_MEMBER const u8 *pad(const attention_params &p, u32 key) const { return p.pad == nullptr ? nullptr : p.pad + (u64)row * p.pad_step + key; }
};

// head_rows are rows of a head in a matrix: from is element 0 of row 0.
struct head_rows {
    const u16 *from;
    u32 step;
};

// copy_rows begins to copy count rows of N matrices to shared memory, apart by so many bytes, from row first on, of which so many are there; others,
// and those where pad is not 0, become zeros. The block's threads copy a multiple of 8 rows at once, so that a thread's chunks are at the same place
// of their rows.
template <u32 Width, u32 N> RC_FN void copy_rows(u32 to, u32 apart, const head_rows (&m)[N], u32 first, u32 count, u32 there, const u8 *pad) {
    constexpr u32 chunks = Width / 8;
    const u32 thread = reload_thread_x(), c = thread % chunks, each = reload_threads_x() / chunks; // nothing stays in registers for the next stage
    u32 row = thread / chunks;
    to += chunk_at<Width>(row, c);
    RC_NO_UNROLL for (; row < count; row += each) {
        const bool copied = row < there && (pad == nullptr || pad[row] == 0);
        RC_UNROLL for (u32 i = 0; i < N; i++) cp_async_16(to + i * apart, m[i].from + (u64)(first + row) * m[i].step + 8 * c, copied);
        to += each * row_bytes<Width>;
        asm volatile("" : "+r"(row)); // one register, not an address beside it
    }
}

RC_FN u32 less(u32 a, u32 b) { return a < b ? a : b; }

// warp_number is that of the warp in its block, which all its lanes are known to have.
RC_FN u32 warp_number() { return shuffle_from(thread_x() / warp_size, 0); }

// ---- Tiles ----

// lane_places is where a lane's row of ldmatrix lies: of tiles of 16 rows and the 16 columns from 16 i on, and of tiles of 8 rows and 32 columns.
template <u32 Width> struct lane_places {
    u32 square[Width / 16], wide[Width / 32];
    RC_FN_MEMBER lane_places() {
        RC_UNROLL for (u32 i = 0; i < Width / 16; i++) square[i] = chunk_at<Width>(lane() % 16, 2 * i + lane() / 16);
        RC_UNROLL for (u32 i = 0; i < Width / 32; i++) wide[i] = chunk_at<Width>(lane() % 8, 4 * i + lane() / 8);
    }
    // load_a loads 16 rows as A.
    RC_FN_MEMBER void load_a(u32 (&a)[Width / 16][4], u32 rows) const {
        RC_UNROLL for (u32 i = 0; i < Width / 16; i++) ldmatrix_x4(a[i], rows + square[i]);
    }
    // load_b loads 8 rows as the transpose of B.
    RC_FN_MEMBER void load_b(u32 (&b)[Width / 8], u32 rows) const {
        RC_UNROLL for (u32 i = 0; i < Width / 32; i++) {
            u32 r[4];
            ldmatrix_x4(r, rows + wide[i]);
            RC_UNROLL for (u32 k = 0; k < 4; k++) b[4 * i + k] = r[k];
        }
    }
    // load_columns loads 16 rows of the 16 columns from 16 i on as B of two tiles.
    RC_FN_MEMBER void load_columns(u32 (&b)[4], u32 rows, u32 i) const { ldmatrix_x4_trans(b, rows + square[i]); }
};

// mma_from is mma_bf16 that begins with c.
RC_FN void mma_from(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1, float c0, float c1, float c2, float c3) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c0), "f"(c1), "f"(c2), "f"(c3));
}

// pack_a rounds two tiles of sums that lie beside each other, as A.
RC_FN void pack_a(u32 (&a)[4], const float (&left)[4], const float (&right)[4]) {
    a[0] = pack_bf16x2(left[0], left[1]);
    a[1] = pack_bf16x2(left[2], left[3]);
    a[2] = pack_bf16x2(right[0], right[1]);
    a[3] = pack_bf16x2(right[2], right[3]);
}

// ---- Scores ----

constexpr float unseen_score = -0x1p120f, first_reference = -0x1p100f, most_above = 8.0f;

// left_out has a bit for each of Count probabilities, from number first on, that dropout leaves out. Count is a multiple of 4.
template <u32 Count> RC_FN u32 left_out(const attention_params &p, u32 step, u64 first) {
    const u32 skip = (u32)first & 3, quads = Count / 4 + (skip > 0 ? 1 : 0);
    u32 out = 0;
    RC_NO_UNROLL for (u32 i = 0; i < quads; i++) {
        const v16 w = random_words(p.seed, step, p.site, first / 4 + i);
        out |= ((u32)(w.x < p.threshold) | (u32)(w.y < p.threshold) << 1 | (u32)(w.z < p.threshold) << 2 | (u32)(w.w < p.threshold) << 3) << (4 * i);
    }
    return out >> skip & ((1u << Count) - 1);
}

} // namespace rc
