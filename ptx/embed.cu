// embed.cu looks rows up in tables, and makes the gradient of a table: backend.EmbedJob says what is computed.
//
// embed: a warp makes a row. 4 bytes read an element of each table, and 4 written.
//
// embed_backward: a block has 32 columns of a row of the table, and looks at all rows of the gradient, as many at once as it has warps, embed_rows each. It
// reads those of its own ID, once.
#include "kernel.cuh"
#include "rows.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 embed_threads = 256;
RC_HOST constexpr u32 embed_backward_threads = 1024;
RC_HOST constexpr u32 embed_rows = 32; // rows in one partial sum

RC_HOST struct embed_params {
    const float *position, *table; // null for none
    u64 position_step, table_step;
    const i32 *id;
    float *out;
    u64 out_step;
    u64 *fault;
    u32 *fault_flag;
    u32 m, n, t, v;

    RC_FN_MEMBER u64 stream_bits() const { return 0; }
};
RC_HOST struct embed_backward_params {
    const i32 *id;
    const float *g;
    u64 g_step;
    float *dtable;
    u64 dtable_step;
    u32 m, n, t;
    u32 columns; // blocks with 32 columns
};

} // namespace

RC_KERNEL(embed_threads) embed(const embed_params p) {
    grid_dependency_wait();
    launch_dependents();
    const u32 m = block_x() * (embed_threads / warp_size) + thread_x() / warp_size;
    if (m >= p.m) return;
    const u32 item = m / p.t;
    u32 id = 0;
    if (p.table != nullptr) {
        id = ld_u32(p.id + item);
        if (id >= p.v && lane() == 0) report(p, 0, item, 0);
    }
    for (u32 c = lane() * 4; c < p.n; c += row_step) {
        four v = {}, position = {};
        if (p.table != nullptr && id < p.v) v = ld_four(p.table + id * p.table_step + c);
        if (p.position != nullptr) position = ld_four(p.position + (m - item * p.t) * p.position_step + c);
        RC_UNROLL for (u32 i = 0; i < 4; i++) v.v[i] = p.table == nullptr ? position.v[i] : p.position == nullptr ? v.v[i] : v.v[i] + position.v[i];
        st_four(p.out + m * p.out_step + c, v);
    }
}

RC_KERNEL(embed_backward_threads) embed_backward(const embed_backward_params p) {
    constexpr u32 warps = embed_backward_threads / warp_size;
    __shared__ float sums[warps][warp_size];
    grid_dependency_wait();
    launch_dependents();
    const u32 id = block_x() / p.columns, c = block_x() % p.columns * warp_size + lane(), warp = thread_x() / warp_size;
    float all = 0.0f;
    for (u32 first = 0; first < p.m; first += warps * embed_rows) {
        const u32 m = first + warp * embed_rows + lane();
        const u32 mine = votes(m < p.m && ld_u32(p.id + m / p.t) == id);
        float sum = 0.0f;
        if (mine != 0 && c < p.n) {
            const float *g = p.g + (first + warp * embed_rows) * p.g_step + c;
            _Pragma("unroll 8") for (u32 r = 0; r < embed_rows; r++) sum += mine >> r & 1 ? ld_f32(g + r * p.g_step) : 0.0f;
        }
        sums[warp][lane()] = sum;
        barrier();
        if (warp == 0) {
            RC_UNROLL for (u32 w = 0; w < warps; w++) all += sums[w][lane()];
        }
        barrier();
    }
    if (warp == 0 && c < p.n) st_f32(p.dtable + id * p.dtable_step + c, all);
}
