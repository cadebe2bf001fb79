// gradient.cu makes the gradients of weights of a batch, those of all layers in one launch: products of transposed activations, with the sums of
// their columns, and the sums of rows of other matrices. A block has a tile of a table that was made with the plan.
//
// A tile of a product is 128 rows of a weight by 128 columns, or 64 by 64 where that wastes less, of one split of the rows that are added. 64 of
// these at a time come of both activations by cp.async, several of such steps ahead, and lie in shared memory as they do in global memory, 16 bytes
// of a row at place (their number) xor (the row's number mod 8), so that the eight rows of a transposed matrix lie in different banks. Four warps
// share the tile, a quarter each. The sums of the columns of DY are a product with ones, in the tiles of a weight's first columns: of the two warps
// that have the same rows of the weight, each makes those of one half, which is why a warp's rows begin with that half. The sums of a tile's splits
// are added in pairs: the block that is done first leaves its sums in scratch memory, as its threads hold them, and the other one adds them and goes
// on.
//
// Bytes moved: each tile reads its columns of both activations, which mostly lie in the level-two cache; a weight's gradient is written, and written
// and read again in scratch memory for each split but one.
#include "mma.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 gradient_threads = 128;
RC_HOST constexpr u32 gradient_rows = 64; // rows in a step

// The kinds of tile: a large or a small tile of a product, or a sum over the rows of a matrix.
RC_HOST enum gradient_kind : u32 { gradient_kind_large, gradient_kind_small, gradient_kind_sum };

// Tile shapes: rows and columns in a weight, and the columns in a sum.
RC_HOST constexpr u32 gradient_large_n = 128, gradient_large_k = 128;
RC_HOST constexpr u32 gradient_small_n = 64, gradient_small_k = 64;
RC_HOST constexpr u32 gradient_sum_n = 4 * warp_size;

RC_HOST constexpr u32 gradient_tickets = 8; // the most tickets, and splits, per tile

// gradient_tile is the work for one block. Strides are in elements, between rows.
RC_HOST struct gradient_tile {
    const void *dy, *x; // at the split's first row and the tile's first columns; a sum reads x
    float *out;         // the address for the tile's first element
    float *bias;        // the address for the tile's first row, or null
    void *scratch;      // the tile's scratch memory, gradient_large_scratch or gradient_small_scratch bytes per split
    u32 *tickets;       // the tile's counters, one per pair of splits or sums: the number of results that were left; 0 between launches
    u32 dy_stride, x_stride, stride;
    u32 rows; // rows in the split
    u32 n, k; // rows and columns in the weight from the tile's first on; a sum has k columns
    u32 split, splits;
    gradient_kind kind;
    u32 spare;
};

RC_HOST struct gradient_params {
    const gradient_tile *tiles; // one per block
};

constexpr u32 ones = 0x3f803f80; // a pair of bfloat16

RC_FN void st_four(v16 *p, const float (&f)[4]) { st_16(p, {bits(f[0]), bits(f[1]), bits(f[2]), bits(f[3])}); }
// ld_four loads what another block has left, behind a barrier.
RC_FN void ld_four(float (&f)[4], const v16 *p) {
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3]) : "l"(global(p)));
}

// product is a tile of N x K of a weight, for WarpsN x WarpsK warps, with so many Stages of steps in shared memory.
template <u32 N, u32 K, u32 WarpsN, u32 WarpsK, u32 Stages> struct product {
    static constexpr u32 threads = warp_size * WarpsN * WarpsK;
    static constexpr u32 warp_n = N / WarpsN, warp_k = K / WarpsK;     // of a warp
    static constexpr u32 n_tiles = warp_n / 16, k_tiles = warp_k / 16; // the latter are pairs of eight columns
    static constexpr u32 biases = (n_tiles + WarpsK - 1) / WarpsK;     // tiles whose columns of DY a warp adds
    static constexpr u32 slices = gradient_rows / 16;
    static constexpr u32 x_at = gradient_rows * N * 2, stage_bytes = gradient_rows * (N + K) * 2;
    static constexpr u32 shared_bytes = Stages * stage_bytes;
    static constexpr u32 scratch_pieces = n_tiles * 2 * k_tiles + biases; // of 16 bytes a thread
    static constexpr u32 scratch_bytes = scratch_pieces * threads * 16;
    static_assert(warp_n % 32 == 0 && warp_k % 16 == 0 && n_tiles % biases == 0, "");

    // fragments are what the tensor cores take of 16 rows.
    struct fragments {
        u32 a[n_tiles][4], b[k_tiles][4];
    };

    const gradient_tile *const tile; // read anew where it is needed: registers are few
    const u32 shared;
    u32 a_at[n_tiles], b_at[k_tiles]; // of a lane in a stage's 16 rows
    float sums[n_tiles][2 * k_tiles][4];
    float bias_sums[biases][4];
    bool bias;

    // n_of is the first row in the block's tile of a warp's tile.
    RC_FN_MEMBER static u32 n_of(u32 i) { return warp_of_n() * warp_n + (i + warp_of_k() * biases) % n_tiles * 16; }
    RC_FN_MEMBER static u32 k_of(u32 j) { return warp_of_k() * warp_k + j * 16; }
    RC_FN_MEMBER static u32 warp_of_n() { return thread_x() / warp_size / WarpsK; }
    RC_FN_MEMBER static u32 warp_of_k() { return thread_x() / warp_size % WarpsK; }

    // place is of the 16 bytes from a column on in a row of Columns.
    template <u32 Columns> RC_FN_MEMBER static u32 place(u32 row, u32 column) { return row * Columns * 2 + (column / 8 ^ row % 8) * 16; }

    // copy begins to copy a matrix's next rows, of which so many are there.
    template <u32 Columns> RC_FN_MEMBER void copy(u32 to, const u16 *from, u32 stride, u32 columns, u32 rows) const {
        constexpr u32 chunks = Columns / 8, rows_at_once = threads / chunks;
        static_assert(threads % chunks == 0 && gradient_rows % rows_at_once == 0 && rows_at_once % 8 == 0, "");
        const u32 row = thread_x() / chunks, column = thread_x() % chunks * 8;
        from += (u64)row * stride + column;
        to += place<Columns>(row, column);
        RC_UNROLL for (u32 i = 0; i < gradient_rows; i += rows_at_once) {
            cp_async_16(to + i * Columns * 2, from, column < columns && row + i < rows);
            from += (u64)rows_at_once * stride;
        }
    }

    // copy_step begins to copy a step into its stage.
    RC_FN_MEMBER void copy_step(const gradient_tile &t, u32 step) const {
        const u32 first = step * gradient_rows;
        if (first < t.rows) {
            const u32 stage = shared + step % Stages * stage_bytes;
            copy<N>(stage, (const u16 *)t.dy + (u64)first * t.dy_stride, t.dy_stride, t.n, t.rows - first);
            copy<K>(stage + x_at, (const u16 *)t.x + (u64)first * t.x_stride, t.x_stride, t.k, t.rows - first);
        }
        cp_async_commit();
    }

    RC_FN_MEMBER void load(fragments &f, u32 stage, u32 first) const {
        RC_UNROLL for (u32 i = 0; i < n_tiles; i++) ldmatrix_x4_trans(f.a[i], stage + a_at[i] + first * N * 2);
        RC_UNROLL for (u32 j = 0; j < k_tiles; j++) ldmatrix_x4_trans(f.b[j], stage + b_at[j] + first * K * 2);
    }

    RC_FN_MEMBER void multiply(const fragments &f) {
        RC_UNROLL for (u32 i = 0; i < n_tiles; i++) {
            RC_UNROLL for (u32 j = 0; j < k_tiles; j++) {
                mma_bf16(sums[i][2 * j], f.a[i], f.b[j][0], f.b[j][1]);
                mma_bf16(sums[i][2 * j + 1], f.a[i], f.b[j][2], f.b[j][3]);
            }
        }
        if (bias) {
            RC_UNROLL for (u32 i = 0; i < biases; i++) mma_bf16(bias_sums[i], f.a[i], ones, ones);
        }
    }

    RC_FN_MEMBER product(const gradient_tile *of, u32 memory) : tile(of), shared(memory) {
        const u32 row = lane() % 8, upper = lane() / 16, right = lane() / 8 % 2; // of a lane's row of four matrices
        RC_UNROLL for (u32 i = 0; i < n_tiles; i++) a_at[i] = place<N>(upper * 8 + row, n_of(i) + right * 8);
        RC_UNROLL for (u32 j = 0; j < k_tiles; j++) b_at[j] = x_at + place<K>(right * 8 + row, k_of(j) + upper * 8);
        RC_UNROLL for (u32 i = 0; i < n_tiles; i++) {
            RC_UNROLL for (u32 j = 0; j < 2 * k_tiles; j++) {
                RC_UNROLL for (u32 c = 0; c < 4; c++) sums[i][j][c] = 0;
            }
        }
        RC_UNROLL for (u32 i = 0; i < biases; i++) {
            RC_UNROLL for (u32 c = 0; c < 4; c++) bias_sums[i][c] = 0;
        }
        bias = tile->bias != nullptr && warp_of_k() * biases < n_tiles;
    }

    RC_FN_MEMBER void run() {
        const gradient_tile t = *tile;
        const u32 steps = (t.rows + gradient_rows - 1) / gradient_rows;
        RC_UNROLL for (u32 i = 0; i + 1 < Stages; i++) copy_step(t, i);
        fragments f[2];
        cp_async_wait<Stages - 2>();
        barrier();
        if (steps > 0) load(f[0], shared, 0);
        u32 stage = shared;
        RC_NO_UNROLL for (u32 step = 0; step < steps; step++) {
            RC_UNROLL for (u32 i = 0; i < slices; i++) { // the next 16 rows come from shared memory while these are multiplied
                if (i + 1 < slices) {
                    load(f[(i + 1) % 2], stage, (i + 1) * 16);
                } else {
                    stage = stage + stage_bytes < shared + shared_bytes ? stage + stage_bytes : shared;
                    cp_async_wait<Stages - 2>();
                    barrier();
                    if (step + 1 < steps) load(f[0], stage, 0);
                }
                if (i == 0) copy_step(t, step + Stages - 1);
                multiply(f[i % 2]);
            }
        }
        finish();
    }

    // piece is where a thread leaves the first of its sums of a split, 16 bytes; the others follow, threads apart.
    RC_FN_MEMBER v16 *piece(u32 split) const { return (v16 *)tile->scratch + (u64)split * scratch_pieces * threads + thread_x(); }

    // finish adds the sums of splits in pairs, of each of which the block that comes second goes on, and writes those of all.
    RC_FN_MEMBER void finish() {
        const u32 splits = tile->splits;
        for (u32 step = 1; step < splits; step *= 2) {
            const u32 own = tile->split / step * step, other = own ^ step;
            if (other < splits && !join(tile->tickets + (gradient_tickets - gradient_tickets / step + own / 2 / step), own, other)) return;
        }
        RC_UNROLL for (u32 i = 0; i < n_tiles; i++) store(i);
        if (bias) store_bias();
    }

    // join adds the sums that the other block has left. If it has left none yet, this one leaves its own, and reports false.
    RC_FN_MEMBER bool join(u32 *ticket, u32 own, u32 other) {
        u32 came = 0; // blocks that have left sums
        if (thread_x() == 0) came = ld_relaxed(ticket);
        if (barrier_count(came > 0) == 0) {
            leave(own);
            barrier();
            if (thread_x() == 0) {
                fence(); // of all that the block has left
                came = atomic_add(ticket, 1) > 0 ? 2 : 0;
            }
            if (barrier_count(came > 0) == 0) return false;
        }
        if (thread_x() == 0) {
            fence();
            reduce_add(ticket, 0u - came);
        }
        barrier();
        add(other);
        return true;
    }

    RC_FN_MEMBER void leave(u32 split) const {
        v16 *const to = piece(split);
        RC_UNROLL for (u32 i = 0; i < n_tiles; i++) {
            RC_UNROLL for (u32 j = 0; j < 2 * k_tiles; j++) st_four(to + (i * 2 * k_tiles + j) * threads, sums[i][j]);
        }
        RC_UNROLL for (u32 i = 0; i < biases; i++) {
            if (bias) st_four(to + (n_tiles * 2 * k_tiles + i) * threads, bias_sums[i]);
        }
    }

    RC_FN_MEMBER void add(u32 split) {
        const v16 *const from = piece(split);
        RC_UNROLL for (u32 i = 0; i < n_tiles; i++) {
            float more[2 * k_tiles][4];
            RC_UNROLL for (u32 j = 0; j < 2 * k_tiles; j++) ld_four(more[j], from + (i * 2 * k_tiles + j) * threads);
            RC_UNROLL for (u32 j = 0; j < 2 * k_tiles; j++) {
                RC_UNROLL for (u32 c = 0; c < 4; c++) sums[i][j][c] += more[j][c];
            }
        }
        RC_UNROLL for (u32 i = 0; i < biases; i++) {
            float more[4] = {};
            if (bias) ld_four(more, from + (n_tiles * 2 * k_tiles + i) * threads);
            RC_UNROLL for (u32 c = 0; c < 4; c++) bias_sums[i][c] += more[c];
        }
    }

    // store writes the sums of 16 rows.
    RC_FN_MEMBER void store(u32 i) const {
        const u32 n = n_of(i), row = lane() / 4, column = lane() % 4 * 2, columns = tile->k;
        if (n >= tile->n) return;
        const u64 stride = tile->stride;
        float *const to = tile->out + (n + row) * stride + column;
        RC_UNROLL for (u32 j = 0; j < 2 * k_tiles; j++) {
            const u32 k = k_of(j / 2) + j % 2 * 8;
            if (k >= columns) continue;
            st_8(to + k, {bits(sums[i][j][0]), bits(sums[i][j][1])});
            st_8(to + 8 * stride + k, {bits(sums[i][j][2]), bits(sums[i][j][3])});
        }
    }

    RC_FN_MEMBER void store_bias() const {
        RC_UNROLL for (u32 i = 0; i < biases; i++) {
            const u32 n = n_of(i);
            if (n >= tile->n || lane() % 4 > 0) continue;
            st_f32(tile->bias + n + lane() / 4, bias_sums[i][0]);
            st_f32(tile->bias + n + lane() / 4 + 8, bias_sums[i][2]);
        }
    }
};

using large = product<gradient_large_n, gradient_large_k, 2, 2, 3>;
using small = product<gradient_small_n, gradient_small_k, 2, 2, 3>;
// Shared memory in bytes for each kind of tile.
RC_HOST constexpr u32 gradient_large_shared = 3 * gradient_rows * (gradient_large_n + gradient_large_k) * 2;
RC_HOST constexpr u32 gradient_small_shared = 3 * gradient_rows * (gradient_small_n + gradient_small_k) * 2;
RC_HOST constexpr u32 gradient_sum_shared = 16 * gradient_threads;
static_assert(gradient_large_shared == large::shared_bytes && gradient_small_shared == small::shared_bytes, "");

// Scratch memory in bytes for a tile's split: 16 per thread for each of its tensor core tiles, and for each tile that adds columns in DY.
RC_HOST constexpr u32 gradient_large_scratch = 16 * gradient_threads * (32 + 2), gradient_small_scratch = 16 * gradient_threads * (8 + 1);
static_assert(gradient_large_scratch == large::scratch_bytes && gradient_small_scratch == small::scratch_bytes, "");

// sum_rows adds the rows of a matrix, a lane four columns: each warp adds every fourth row, in order, and the first one the warps' sums.
RC_FN void sum_rows(const gradient_tile &t, v16 *memory) {
    constexpr u32 at_once = 8; // rows that are loaded before they are added
    constexpr u32 warps = gradient_threads / warp_size;
    static_assert(gradient_sum_n == 4 * warp_size && gradient_sum_shared == gradient_threads * sizeof(v16), "16 bytes a lane");
    const u32 column = lane() * 4, warp = thread_x() / warp_size;
    const float *from = (const float *)t.x + column;
    float sums[4] = {};
    for (u32 row = warp; row < t.rows && column < t.k; row += at_once * warps) {
        v16 v[at_once];
        RC_UNROLL for (u32 i = 0; i < at_once; i++) {
            v[i] = {};
            if (row + i * warps < t.rows) v[i] = ld_nc_16(from + (u64)(row + i * warps) * t.x_stride);
        }
        RC_UNROLL for (u32 i = 0; i < at_once; i++) {
            if (row + i * warps >= t.rows) break;
            sums[0] += as_f32(v[i].x), sums[1] += as_f32(v[i].y), sums[2] += as_f32(v[i].z), sums[3] += as_f32(v[i].w);
        }
    }
    memory[thread_x()] = {bits(sums[0]), bits(sums[1]), bits(sums[2]), bits(sums[3])};
    barrier();
    if (warp > 0 || column >= t.k) return;
    RC_UNROLL for (u32 i = 1; i < warps; i++) {
        const v16 v = memory[i * warp_size + lane()];
        sums[0] += as_f32(v.x), sums[1] += as_f32(v.y), sums[2] += as_f32(v.z), sums[3] += as_f32(v.w);
    }
    st_16(t.out + column, {bits(sums[0]), bits(sums[1]), bits(sums[2]), bits(sums[3])});
}

} // namespace

RC_KERNEL_OCC(gradient_threads, 2) gradient(const gradient_params p) {
    extern __shared__ v16 memory[];
    const gradient_tile *const tile = p.tiles + block_x();
    const gradient_kind kind = tile->kind;
    grid_dependency_wait();
    launch_dependents();
    switch (kind) {
    case gradient_kind_large: large(tile, shared_at(memory)).run(); break;
    case gradient_kind_small: small(tile, shared_at(memory)).run(); break;
    default: sum_rows(*tile, memory);
    }
}
