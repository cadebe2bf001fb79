// attention.cuh is what attention and its gradient share: the parameter, rows of a head in shared memory, scores.
//
// A head's rows of Width bfloat16 lie in shared memory without gaps. Of the 16-byte chunks of a row, chunk c is at c ^ x, where x changes from row to row: so
// eight rows of ldmatrix meet in no bank.
#pragma once
#include "fp32.cuh"
#include "mma.cuh"

namespace rc {

RC_HOST constexpr u32 attention_threads = 256;    // of a block, at most
RC_HOST constexpr u32 attention_stage = 64;       // keys, or queries, that come into shared memory at once
RC_HOST constexpr u32 attention_stages = 4;       // of keys and values: those of 256 are there at once
RC_HOST constexpr u32 attention_tiles_32 = 2;     // tiles of 16 rows of a warp, if a head is 32 wide
RC_HOST constexpr u32 attention_tiles_64 = 1;     // and if it is 64

// attention_params are a backend.AttentionJob's. Steps are elements from a row to the next.
RC_HOST struct attention_params {
    const u16 *q, *k, *v;
    u16 *o; // that of the gradient only reads it, as log_sum
    float *log_sum;
    const u8 *pad; // or null
    u64 q_step, k_step, v_step, o_step, pad_step;
    const i64 *state; // of dropout: its first word is the step
    u64 seed;
    u32 site, threshold;
    float a;      // scale * log2(e)
    float factor; // of dropout, or 1
    u32 tq, tk, heads;
    u32 blocks; // of a head
    u32 causal;
    u32 unused;
};

// ---- Rows of a head ----

template <u32 Width> constexpr u32 row_bytes = 2 * Width;

// chunk_at is where chunk c of a row lies.
template <u32 Width> RC_FN u32 chunk_at(u32 row, u32 c) {
    return row * row_bytes<Width> + ((c ^ (Width == 32 ? row >> 1 & 3 : row & 7)) << 4);
}

// attention_head is which head of which batch row a block is for.
struct attention_head {
    u32 row, column, number; // of the batch, of the matrix; of all heads
    template <u32 Width> static RC_FN_MEMBER attention_head of(const attention_params &p, u32 number) {
        return {number / p.heads, number % p.heads * Width, number};
    }
};

// sees_none is a predicate of keys that are not there or that nobody sees.
RC_FN bool hidden(const attention_params &p, u32 row, u32 key) {
    return key >= p.tk || (p.pad != nullptr && p.pad[row * p.pad_step + key] != 0);
}

// copy_rows begins to copy count rows of a head to shared memory, zeros where there is none. from is that of the batch row's first.
template <u32 Width, class Hidden> RC_FN void copy_rows(u32 to, const u16 *from, u64 step, u32 first, u32 count, Hidden hide) {
    constexpr u32 chunks = Width / 8;
    for (u32 i = thread_x(); i < count * chunks; i += threads_x()) {
        const u32 row = i / chunks, c = i % chunks;
        const bool there = !hide(first + row);
        cp_async_16(to + chunk_at<Width>(row, c), there ? from + (first + row) * step + c * 8 : from, there);
    }
}

// ---- Scores ----

constexpr float unseen_score = -0x1p120f, first_reference = -0x1p100f, most_above = 8.0f;

// mma_from is mma_bf16 that begins with c.
RC_FN void mma_from(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1, float c0, float c1, float c2, float c3) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c0), "f"(c1), "f"(c2), "f"(c3));
}

// load_a loads the tile of 16 rows from row on as A, of Width columns; load_b that of 8 rows as the transpose of B.
template <u32 Width> RC_FN void load_a(u32 (&a)[Width / 16][4], u32 rows, u32 row) {
    RC_UNROLL for (u32 s = 0; s < Width / 16; s++) ldmatrix_x4(a[s], rows + chunk_at<Width>(row + lane() % 16, 2 * s + lane() / 16));
}
template <u32 Width> RC_FN void load_b(u32 (&b)[Width / 8], u32 rows, u32 row) {
    RC_UNROLL for (u32 s = 0; s < Width / 32; s++) {
        u32 r[4];
        ldmatrix_x4(r, rows + chunk_at<Width>(row + lane() % 8, 4 * s + lane() / 8));
        RC_UNROLL for (u32 i = 0; i < 4; i++) b[4 * s + i] = r[i];
    }
}

// load_columns loads 16 rows from row on of 16 columns, the chunks c and c+1, as B of two tiles.
template <u32 Width> RC_FN void load_columns(u32 (&b)[4], u32 rows, u32 row, u32 c) {
    ldmatrix_x4_trans(b, rows + chunk_at<Width>(row + lane() % 16, c + lane() / 16));
}

// left_out reports whether dropout leaves out a probability.
RC_FN bool left_out(const attention_params &p, u32 step, u64 number) { return dropped(p.seed, step, p.site, number, p.threshold); }

} // namespace rc
