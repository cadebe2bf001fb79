// voxel_sort.cu brings the points of each cell together, in their own order, by a stable radix sort of keys and point numbers, eight
// bits at a time, and numbers the voxels.
//
// voxel_bin has counted the digits of all passes. A pass is one launch, voxel_pass: a block takes the next tile, finds how many of its
// keys have each digit, and tells the others; how many come before its own in all earlier tiles it learns by looking back, tile by
// tile, until one knows the sum of all before it. A tile is taken by number in the order in which blocks begin, so that a block
// waits only for blocks that run. Within a tile a warp takes neighbouring keys, 32 at a time, lanes with one digit find each
// other by votes, and counts of earlier ones lie in shared memory, where the tile is put in order before it is written, so that writes
// are of neighbours. Bytes moved: 24 a point and pass.
//
// voxel_number finds where voxels begin, and numbers them, in the same way: a block counts, looks back, and writes. Hard voxels
// go through it again, over the marks that their first points left. The looking back is that of Merrill and Garland, "Single-pass
// parallel prefix scan with decoupled look-back" (2016); the sort that of Adinets and Merrill, "Onesweep" (2022).
#include "voxel.cuh"

using namespace rc;

namespace {

constexpr u32 sort_threads = 512, warps = sort_threads / warp_size;
constexpr u32 most = 16; // keys a thread holds
constexpr u32 most_tile = sort_threads * most;
constexpr u32 most_heads = 8; // places a thread looks at

// sort_shared is the dynamic shared memory of voxel_pass.
struct sort_shared {
    u64 keys[most_tile];        // the tile in order; then its points
    u16 counts[warps][digits];  // then where in the tile each warp's keys of a digit begin
    u32 mine[digits];           // how many keys of the tile have each digit
    u32 away[digits];             // from a place in the tile to that in the output, for each digit
    u32 sums[warps];
    u32 taken;
};
constexpr u32 sort_bytes = 75848;
static_assert(sizeof(sort_shared) == sort_bytes, "ops/cuda asks for so much");

// ---- What tiles tell each other ----

// A word is 0 until its tile is counted; then the count, and at the end the sum of all tiles up to this one.
constexpr u64 counted = 1ull << 62, summed = 3ull << 62;

// tile_of takes the next tile.
RC_FN u32 tile_of(const voxel_job &j, u32 launch, u32 *shared) {
    if (thread_x() == 0) *shared = atomic_add(ticket(j, launch), 1);
    barrier();
    return *shared;
}

// seen is what some neighbouring words say: the sum of the first `words` of them; done if the last of those was a sum itself.
struct seen {
    u32 sum, words;
    bool done;
};

template <u32 N> RC_FN seen look(const u64 *words, u32 step, u32 behind, u32 tile) {
    const u64 *const nearest = words + ((i64)tile - 1 - behind) * step;
    const u32 there = tile <= behind ? 0 : tile - behind < N ? tile - behind : N;
    u64 w[N], all = ~0ull, any = 0;
    if (there == N) {
        RC_UNROLL for (u32 u = 0; u < N; u++) w[u] = ld_relaxed(nearest - u * step);
    } else {
        RC_UNROLL for (u32 u = 0; u < N; u++) w[u] = u < there ? ld_relaxed(nearest - u * step) : summed;
    }
    seen s = {0, N, false};
    RC_UNROLL for (u32 u = 0; u < N; u++) all &= w[u], any |= w[u], s.sum += (u32)w[u];
    if (all >> 62 & 1 && !(any >> 63)) return s; // all are counted
    s.sum = 0, s.words = 0;
    bool on = true;
    RC_UNROLL for (u32 u = 0; u < N; u++) {
        on = on && w[u] != 0 && !s.done;
        if (on) s.sum += (u32)w[u], s.words++, s.done = w[u] >> 63;
    }
    return s;
}

// before_tile adds up what the tiles before this one have of a digit. Two lanes that are neighbours take a digit, and look at
// half of the words each. Every thread comes along.
RC_FN u32 before_tile(const u64 *words, u32 tile) {
    constexpr u32 half = 16;
    const u32 digit = thread_x() / 2, second = thread_x() % 2;
    u32 sum = 0, behind = 0;
    bool done = tile == 0;
    while (votes(!done)) {
        seen s = {0, 0, false};
        if (!done) s = look<half>(words + digit, digits, behind + second * half, tile);
        const u32 told = s.words | (u32)s.done << 8, other = shuffle_xor(told, 1), other_sum = shuffle_xor(s.sum, 1);
        if (done) continue;
        const u32 near = second ? other : told, far = second ? told : other;
        const u32 near_sum = second ? other_sum : s.sum, far_sum = second ? s.sum : other_sum;
        sum += near_sum, behind += near & 255, done = near >> 8;
        if (near == half) sum += far_sum, behind += far & 255, done = far >> 8;
    }
    return sum;
}

// ---- Keys ----

// order_at returns the point at a place of the order that a pass reads; the first pass reads them in their own.
RC_FN u32 order_at(const voxel_job &j, u64 i) { return j.from_order ? j.from_order[i] : (u32)i; }

// sort_key reads a key: where labels have been sorted and keys not yet, through the order.
RC_FN u64 sort_key(const voxel_job &j, u64 i, bool through) { return through ? j.cell_keys[order_at(j, i)] : ((const u64 *)j.from)[i]; }

RC_FN u32 digit_of(u64 key, u32 shift) { return (u32)(key >> shift) % digits; }

} // namespace

// extra: the shift of the digit; at bit 8 whether keys are read through the order; at 16 the pass; at 24 the keys a thread takes.
RC_KERNEL_OCC(sort_threads, 1) voxel_pass(const voxel_job j) {
    wait_for_previous();
    let_next();
    extern __shared__ v16 memory[];
    sort_shared &s = *(sort_shared *)memory;
    u32 *const points_of = (u32 *)s.keys;
    const u32 shift = (u32)j.extra & 63, pass = (u32)(j.extra >> 16) & 255, each = (u32)(j.extra >> 24) & 31, warp = thread_x() / warp_size;
    const bool through = j.extra >> 8 & 1;
    const bool keeps = thread_x() < digits; // the first 256 threads keep the books of a digit each
    const u32 total = keeps ? totals(j, pass)[thread_x()] : 0;
    for (u32 k = thread_x(); k < warps * digits / 8; k += sort_threads) st_shared_16((v16 *)s.counts + k, {0, 0, 0, 0});
    const u32 tile = tile_of(j, pass, &s.taken);
    u64 *const words = looks(j, pass % 2), *const own = words + (u64)tile * digits;
    const u64 base = (u64)tile * (sort_threads * each) + warp * (warp_size * each) + lane();
    u64 key[most];
    u32 at[most];
    RC_UNROLL for (u32 k = 0; k < most; k++) {
        const u64 i = base + k * warp_size;
        key[k] = k < each && i < j.n ? sort_key(j, i, through) : 0;
    }
    RC_UNROLL for (u32 k = 0; k < most; k++) {
        const u64 i = base + k * warp_size;
        const bool there = i < j.n;
        if (k >= each || i - lane() >= j.n) continue; // none of the warp's is there
        const u32 digit = digit_of(key[k], shift);
        u32 peers = votes(there);
        RC_UNROLL for (u32 bit = 0; bit < digit_bits; bit++) {
            const bool on = digit >> bit & 1;
            const u32 same = votes(on);
            peers &= on ? same : ~same;
        }
        const u32 before = count_bits(peers & below_mask());
        const u32 earlier = there ? s.counts[warp][digit] : 0;
        warp_barrier();
        if (there && before == 0) s.counts[warp][digit] = (u16)(earlier + count_bits(peers));
        warp_barrier();
        at[k] = earlier + before;
    }
    barrier();
    u32 mine = 0;
    if (keeps) {
        RC_UNROLL for (u32 w = 0; w < warps; w++) mine += s.counts[w][thread_x()];
        st_relaxed(own + thread_x(), (tile == 0 ? summed : counted) | mine);
        looks(j, 1 - pass % 2)[(u64)tile * digits + thread_x()] = 0; // for the pass after this
        s.mine[thread_x()] = mine;
    }
    u32 here, all;
    const u32 place = block_scan(mine, s.sums, here), begins = block_scan(total, s.sums, all);
    if (keeps) {
        s.away[thread_x()] = begins - place;
        u32 next = place;
        RC_UNROLL for (u32 w = 0; w < warps; w++) {
            const u32 c = s.counts[w][thread_x()];
            s.counts[w][thread_x()] = (u16)next;
            next += c;
        }
    }
    barrier();
    RC_UNROLL for (u32 k = 0; k < most; k++) {
        if (k >= each || base + k * warp_size >= j.n) continue;
        at[k] += s.counts[warp][digit_of(key[k], shift)];
        s.keys[at[k]] = key[k];
    }
    u32 point[most]; // asked for before the wait
    RC_UNROLL for (u32 k = 0; k < most; k++) {
        const u64 i = base + k * warp_size;
        point[k] = k < each && i < j.n ? order_at(j, i) : 0;
    }
    const u32 before = before_tile(words, tile);
    if (thread_x() % 2 == 0) {
        const u32 digit = thread_x() / 2;
        if (tile > 0) st_relaxed(own + digit, summed | (before + s.mine[digit]));
        s.away[digit] += before;
    }
    barrier();
    // The tile lies in order now: neighbours go to neighbouring places.
    u32 goes[most];
    RC_UNROLL for (u32 k = 0; k < most; k++) {
        const u32 i = thread_x() + k * sort_threads;
        if (i >= here) continue;
        const u64 sorted = s.keys[i];
        goes[k] = s.away[digit_of(sorted, shift)] + i;
        ((u64 *)j.to)[goes[k]] = sorted;
    }
    barrier();
    RC_UNROLL for (u32 k = 0; k < most; k++) {
        if (k >= each || base + k * warp_size >= j.n) continue;
        points_of[at[k]] = point[k];
    }
    barrier();
    RC_UNROLL for (u32 k = 0; k < most; k++) {
        const u32 i = thread_x() + k * sort_threads;
        if (i >= here) continue;
        j.to_order[goes[k]] = points_of[i];
    }
}

// ---- Voxels ----

namespace {

// before_block adds up what the tiles before this one have counted, by one warp, all of which comes along.
RC_FN u32 before_block(const u64 *words, u32 tile) {
    u32 sum = 0, behind = 0;
    bool done = tile == 0;
    while (!done) {
        const u32 at = behind + lane();
        const u64 w = at < tile ? ld_relaxed(words + (tile - 1 - at)) : summed;
        const u32 missing = votes(w == 0), last = votes(w >> 63);
        // Words count up to the first that is missing, or the first that is a sum, which is the last.
        const u32 known = missing ? lowest_bit(missing) : warp_size;
        done = last && lowest_bit(last) < known;
        const u32 words_here = done ? lowest_bit(last) + 1 : known;
        u32 v = lane() < words_here ? (u32)w : 0;
        RC_UNROLL for (u32 d = 1; d < warp_size; d *= 2) v += shuffle_xor(v, d);
        sum += v, behind += words_here;
    }
    return sum;
}

// begins_at says whether a voxel begins at a place: of the sorted keys, or of the marks.
RC_FN bool begins_at(const voxel_job &j, u64 i, bool in_marks) {
    if (in_marks) return j.marks[i] != 0;
    const u64 key = key_at(j, (u32)i);
    return key < j.keys && (i == 0 || key_at(j, (u32)i - 1) != key);
}

} // namespace

// A warp takes neighbouring places, 32 at a time, and numbers them by votes; the block then adds up its warps, and the tiles before
// it. Of a dense grid it notes each voxel's key at `to`, and its first point. extra: 1 to number the marks; at bit 16 the number of the launch, at 24 the places a thread takes.
RC_KERNEL_OCC(sort_threads, 2) voxel_number(const voxel_job j) {
    wait_for_previous();
    let_next();
    __shared__ u32 sums[warps];
    __shared__ u32 taken, earlier;
    const bool in_marks = j.extra & 1;
    const u32 each = (u32)(j.extra >> 24) & 31, warp = thread_x() / warp_size;
    const u32 tile = tile_of(j, (u32)(j.extra >> 16) & 255, &taken);
    u64 *const words = heads(j, in_marks);
    const u64 base = (u64)tile * (sort_threads * each) + warp * (warp_size * each) + lane();
    u32 begun[most_heads], mine = 0;
    RC_UNROLL for (u32 k = 0; k < most_heads; k++) {
        const u64 i = base + k * warp_size;
        begun[k] = k < each && i < j.n && begins_at(j, i, in_marks);
    }
    RC_UNROLL for (u32 k = 0; k < most_heads; k++) {
        if (k < each) begun[k] = votes(begun[k]), mine += count_bits(begun[k]);
    }
    if (lane() == 0) sums[warp] = mine;
    barrier();
    u32 rank = 0, here = 0;
    RC_UNROLL for (u32 w = 0; w < warps; w++) {
        if (w == warp) rank = here;
        here += sums[w];
    }
    if (warp == 0) {
        if (lane() == 0) st_relaxed(words + tile, (tile == 0 ? summed : counted) | here);
        const u32 before = before_block(words, tile);
        if (lane() == 0) {
            if (tile > 0) st_relaxed(words + tile, summed | (before + here));
            if (tile + 1 == blocks_x() && !in_marks) j.state[found] = before + here;
            earlier = before;
        }
    }
    barrier();
    rank += earlier;
    RC_UNROLL for (u32 k = 0; k < most_heads; k++) {
        const u64 i = base + k * warp_size;
        if (k >= each || i - lane() >= j.n) continue;
        const bool there = i < j.n;
        const u32 at = rank + count_bits(begun[k] & below_mask()), head = begun[k] >> lane() & 1;
        rank += count_bits(begun[k]);
        if (in_marks) {
            if (head) j.numbers[j.marks[i] - 1] = at;
            if (there) j.marks[j.n + i] = at;
            continue;
        }
        const u64 key = there ? key_at(j, (u32)i) : 0, previous = there && i > 0 ? key_at(j, (u32)i - 1) : 0;
        const bool in_cell = key < j.keys;
        if (!there) continue;
        if (head || (!in_cell && (i == 0 || previous < j.keys))) j.start[at] = (u32)i;
        if (head && j.mode() == dense) ((u64 *)j.to)[at] = key, j.to_order[at] = j.from_order[i];
        if (i + 1 == j.n && in_cell) j.start[at + head] = (u32)i + 1;
        if (j.voxel_at && in_cell) j.voxel_at[i] = at + head - 1;
        if (j.marks) j.marks[j.from_order[i]] = head ? at + 1 : 0;
    }
}

// voxel_rows says where each row's voxels begin, among those found and among those that the caps leave. One block.
RC_KERNEL(512) voxel_rows(const voxel_job j) {
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
