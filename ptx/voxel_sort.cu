// voxel_sort.cu brings the points of each cell together, in their own order, by a stable radix sort of keys and point numbers, eight
// bits at a time, and numbers the voxels.
//
// A pass is three launches. voxel_digits counts how many keys of each block's chunk have each digit (voxel_bin does that for
// the first pass). voxel_offsets, a block for each digit, turns the counts into offsets and adds up each digit. voxel_scatter
// moves: a warp takes 256 neighbouring keys, 32 at a time, lanes with one digit find each other by votes, and counts of earlier
// ones lie in shared memory, where each tile is put in order before it is written, so that writes are of neighbours. Bytes moved:
// 8 + 24 a point and pass.
//
// voxel_heads and voxel_number find where voxels begin, in the same way: counts of blocks, offsets, and then the numbers.
// Hard voxels go through them again, over the marks that their first points left.
#include "voxel.cuh"

using namespace rc;

namespace {

constexpr u32 sort_threads = 256, warps = sort_threads / warp_size;
constexpr u32 digits = 256, digit_bits = 8;
constexpr u32 each = 8; // keys a thread holds
constexpr u32 tile = sort_threads * each;

// order_at returns the point at a place of the order that a pass reads; the first pass reads them in their own.
RC_FN u32 order_at(const voxel_job &j, u64 i) { return j.from_order ? j.from_order[i] : (u32)i; }

// sort_key reads a key: where labels have been sorted and keys not yet, through the order.
RC_FN u64 sort_key(const voxel_job &j, u64 i, bool through) {
    return through ? j.cell_keys[order_at(j, i)] : ((const u64 *)j.from)[i];
}

RC_FN u32 digit_of(u64 key, u32 shift) { return (u32)(key >> shift) % digits; }

// flag_at says whether a voxel begins at a place: of the sorted keys, or of the marks.
RC_FN bool flag_at(const voxel_job &j, u64 i, bool in_marks) {
    if (in_marks) return j.marks[i] != 0;
    const u64 key = key_at(j, (u32)i);
    return key < j.keys && (i == 0 || key_at(j, (u32)i - 1) != key);
}

} // namespace

// extra: the shift of the digit, and at bit 8 whether keys are read through the order.
RC_KERNEL(sort_threads) voxel_digits(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ u32 bins[digits];
    bins[thread_x()] = 0;
    barrier();
    const u32 shift = (u32)j.extra & 63;
    const bool through = j.extra >> 8 & 1;
    for (u64 base = j.first() + thread_x(); base < j.last(); base += tile) {
        u64 key[each];
        RC_UNROLL for (u32 k = 0; k < each; k++) {
            const u64 i = base + k * sort_threads;
            key[k] = i < j.last() ? sort_key(j, i, through) : 0;
        }
        RC_UNROLL for (u32 k = 0; k < each; k++) {
            if (base + k * sort_threads < j.last()) shared_add(&bins[digit_of(key[k], shift)], 1);
        }
    }
    barrier();
    j.table[(u64)thread_x() * blocks_x() + block_x()] = bins[thread_x()];
}

// extra: the words of a row of the table, then at bit 32 the number of rows, each of which is a block's. The totals follow the last
// row, the 256th at least. A table of one row counts voxels, and leaves their number in the state.
RC_KERNEL(sort_threads) voxel_offsets(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ u32 sums[warps];
    const u32 words = (u32)j.extra, count = (u32)(j.extra >> 32);
    u32 *const row = j.table + (u64)block_x() * words;
    u32 before = 0;
    for (u32 base = 0; base < words; base += threads_x()) {
        const u32 i = base + thread_x();
        u32 total;
        const u32 v = i < words ? row[i] : 0, scanned = block_scan(v, sums, total);
        if (i < words) row[i] = before + scanned;
        before += total;
    }
    if (thread_x() == 0) {
        j.table[(u64)(blocks_x() < digits ? digits : blocks_x()) * words + block_x()] = before;
        if (count == 1) j.state[found] = before;
    }
}

RC_KERNEL_OCC(sort_threads, 3) voxel_scatter(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ u32 counts_of[warps][digits]; // then where in the tile each warp's keys of a digit begin
    __shared__ u32 away[digits];             // from a place in the tile to that in the output, for each digit
    __shared__ u32 sums[warps];
    __shared__ u64 keys_of[tile];
    __shared__ u32 points_of[tile];
    const u32 shift = (u32)j.extra & 63, warp = thread_x() / warp_size;
    const bool through = j.extra >> 8 & 1;
    const u32 *const totals = j.table + (u64)digits * blocks_x();
    u32 all;
    u32 next = block_scan(totals[thread_x()], sums, all) + j.table[(u64)thread_x() * blocks_x() + block_x()]; // where this thread's digit goes
    for (u64 base = j.first(); base < j.last(); base += tile) {
        RC_UNROLL for (u32 w = 0; w < warps; w++) counts_of[w][thread_x()] = 0;
        barrier();
        u64 key[each];
        u32 point[each], rank[each];
        RC_UNROLL for (u32 k = 0; k < each; k++) {
            const u64 i = base + warp * (warp_size * each) + k * warp_size + lane();
            const bool there = i < j.last();
            key[k] = there ? sort_key(j, i, through) : 0;
            point[k] = there ? order_at(j, i) : 0;
        }
        RC_UNROLL for (u32 k = 0; k < each; k++) {
            const u64 i = base + warp * (warp_size * each) + k * warp_size + lane();
            const bool there = i < j.last();
            if (i - lane() >= j.last()) continue; // none of the warp's is there
            const u32 digit = digit_of(key[k], shift);
            u32 peers = votes(there);
            RC_UNROLL for (u32 bit = 0; bit < digit_bits; bit++) {
                const bool on = digit >> bit & 1;
                const u32 same = votes(on);
                peers &= on ? same : ~same;
            }
            const u32 before = count_bits(peers & below_mask());
            const u32 earlier = there ? counts_of[warp][digit] : 0;
            warp_barrier();
            if (there && before == 0) counts_of[warp][digit] = earlier + count_bits(peers);
            warp_barrier();
            rank[k] = earlier + before;
        }
        barrier();
        u32 mine = 0, here;
        RC_UNROLL for (u32 w = 0; w < warps; w++) mine += counts_of[w][thread_x()];
        u32 place = block_scan(mine, sums, here);
        away[thread_x()] = next - place;
        next += mine;
        RC_UNROLL for (u32 w = 0; w < warps; w++) {
            const u32 c = counts_of[w][thread_x()];
            counts_of[w][thread_x()] = place;
            place += c;
        }
        barrier();
        RC_UNROLL for (u32 k = 0; k < each; k++) {
            const u64 i = base + warp * (warp_size * each) + k * warp_size + lane();
            if (i >= j.last()) continue;
            const u32 at = counts_of[warp][digit_of(key[k], shift)] + rank[k];
            keys_of[at] = key[k];
            points_of[at] = point[k];
        }
        barrier();
        // The tile lies in order now: neighbours go to neighbouring places.
        for (u32 at = thread_x(); at < here; at += sort_threads) {
            const u64 sorted = keys_of[at];
            const u32 to = away[digit_of(sorted, shift)] + at;
            ((u64 *)j.to)[to] = sorted;
            j.to_order[to] = points_of[at];
        }
        barrier();
    }
}

// extra: 1 to look at the marks.
RC_KERNEL(sort_threads) voxel_heads(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ u32 total;
    if (thread_x() == 0) total = 0;
    barrier();
    u32 heads = 0;
    for (u64 base = j.first() + thread_x(); base < j.last(); base += tile) {
        bool head[each];
        RC_UNROLL for (u32 k = 0; k < each; k++) head[k] = base + k * sort_threads < j.last() && flag_at(j, base + k * sort_threads, j.extra & 1);
        RC_UNROLL for (u32 k = 0; k < each; k++) heads += head[k];
    }
    if (heads) shared_add(&total, heads);
    barrier();
    if (thread_x() == 0) j.table[block_x()] = total;
}

// A warp takes 256 neighbouring places, 32 at a time, and numbers them by votes; the block then adds up its warps. extra: 1 to
// number the marks.
RC_KERNEL_OCC(sort_threads, 4) voxel_number(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ u32 sums[warps];
    const bool in_marks = j.extra & 1;
    const u32 warp = thread_x() / warp_size;
    u32 before = j.table[block_x()];
    for (u64 base = j.first(); base < j.last(); base += tile) {
        const u64 from = base + warp * (warp_size * each) + lane();
        u32 heads[each], mine = 0;
        RC_UNROLL for (u32 k = 0; k < each; k++) {
            const u64 i = from + k * warp_size;
            heads[k] = votes(i < j.last() && flag_at(j, i, in_marks));
            mine += count_bits(heads[k]);
        }
        if (lane() == 0) sums[warp] = mine;
        barrier();
        u32 rank = before;
        RC_UNROLL for (u32 w = 0; w < warps; w++) {
            if (w < warp) rank += sums[w];
            before += sums[w];
        }
        barrier();
        RC_UNROLL for (u32 k = 0; k < each; k++) {
            const u64 i = from + k * warp_size;
            const u32 at = rank + count_bits(heads[k] & below_mask()), head = heads[k] >> lane() & 1;
            rank += count_bits(heads[k]);
            if (i >= j.last()) continue;
            if (in_marks) {
                if (head) j.numbers[j.marks[i] - 1] = at;
                j.marks[j.n + i] = at;
                continue;
            }
            const bool in_cell = key_at(j, (u32)i) < j.keys;
            if (head) j.start[at] = (u32)i;
            if (in_cell && (i + 1 == j.n || key_at(j, (u32)i + 1) >= j.keys)) j.start[at + head] = (u32)i + 1;
            if (j.voxel_at && in_cell) j.voxel_at[i] = at + head - 1;
            if (j.marks) j.marks[j.from_order[i]] = head ? at + 1 : 0;
        }
    }
}

// voxel_rows says where each row's voxels begin, among those found and among those that the caps leave. One block.
RC_KERNEL(512) voxel_rows(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    __shared__ u32 sums[warp_size];
    const u32 voxels = (u32)j.state[found];
    u32 *const first = j.rows, *const place = j.rows + j.b + 1;
    for (u32 row = thread_x(); row <= j.b; row += threads_x()) {
        u32 at = row == 0 ? 0 : voxels;
        if (row > 0 && row < j.b) {
            if (j.mode() == hard) {
                const i64 begins = (i64)ld_nc_u64(j.offsets + row);
                if (begins >= 0 && begins < (i64)j.n) at = j.marks[j.n + begins];
            } else {
                u32 lo = 0; // voxels before lo are of earlier rows, those from `at` on are not
                while (lo < at) {
                    const u32 mid = lo + (at - lo) / 2;
                    if (key_at(j, j.start[mid]) < row * j.cells)
                        lo = mid + 1;
                    else
                        at = mid;
                }
            }
        }
        first[row] = at;
    }
    barrier();
    u32 before = 0;
    for (u32 base = 0; base <= j.b; base += threads_x()) {
        const u32 row = base + thread_x();
        u32 all = row < j.b ? first[row + 1] - first[row] : 0, total;
        if (all > j.row_voxels) all = j.row_voxels;
        const u32 at = before + block_scan(all, sums, total);
        before += total;
        if (row > j.b) continue;
        place[row] = at;
        if (j.splits) j.splits[row] = at < j.v ? at : j.v;
    }
    if (thread_x() == 0) {
        j.state[written] = before < j.v ? before : j.v;
        j.state[dropped] = voxels - j.state[written];
    }
}
