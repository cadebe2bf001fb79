// voxel_sort.cu brings the points of each cell together, in their own order, by a stable radix sort of keys and point numbers, eight
// bits per pass, and numbers the voxels.
//
// voxel_histogram gives each point its key, and counts the digits of all passes. Blocks take chunks, threads four points at a time, which
// are 48 aligned bytes where they can be. Bytes moved: the points, and 8 per point for keys.
//
// A pass is one launch, voxel_sort_pass: a block takes the next tile, counts its keys by digit, and publishes the counts; how many keys come
// before its own in all earlier tiles it learns by decoupled look-back, tile by tile, until one has published the sum of all before it.
// Tiles are numbered in the order in which blocks begin, so that a block waits only for blocks that run. Within a tile a warp takes
// neighbouring keys, 32 at a time, lanes with one digit find each other by votes, and counts of earlier ones lie in shared memory, where
// the tile is put in order before it is written, so that writes are coalesced. Bytes moved: 24 per point and pass.
//
// voxel_number finds where voxels begin, and numbers them, in the same way: a block counts, looks back, and writes. Hard voxels
// go through it a second time, over the marks that their first points left. Of sparse and hard voxels the block that is the last to end
// then writes where each row's voxels begin, among those found and among those that the caps leave. The look-back is that of Merrill and
// Garland, "Single-pass parallel prefix scan with decoupled look-back" (2016); the sort that of Adinets and Merrill, "Onesweep" (2022).
#include "voxel.cuh"

using namespace rc;

RC_HOST constexpr u32 histogram_threads = 256;
RC_HOST constexpr u32 sort_threads = 512;
RC_HOST constexpr u32 max_pass_keys = 16; // the most keys in a thread of voxel_sort_pass
RC_HOST constexpr u32 max_number_places = 8; // places that a thread in voxel_number handles
RC_HOST constexpr u32 sort_digits = 256, digit_bits = 8;
RC_HOST constexpr u32 max_passes = 12;
RC_HOST constexpr u32 label_passes = 4; // passes before the passes over keys, if there are labels
RC_HOST constexpr u32 sort_shared_bytes = 75848; // bytes of shared memory for a block in voxel_sort_pass

RC_HOST struct voxel_histogram_params {
    voxel_cloud cloud;
    voxel_grid grid;
    u64 *keys;         // [n] the keys for the first pass: cells, or labels
    u64 *cell_keys;    // [n] if there are labels
    const i32 *labels; // [n] or null
    u32 *totals;       // [passes][digits] the number of keys with each digit, passes over labels first
    u64 *state;
    u32 passes; // passes over cells
};

// voxel_sort_pass_params is a pass by one digit. The words of tiles are 0 when it begins; it clears the words for the next pass.
RC_HOST struct voxel_sort_pass_params {
    const u64 *keys;
    const u32 *order;      // the keys' points; null in the first pass, in which the keys are in the points' order
    const u64 *cell_keys;  // if not null, the keys, indexed through the order
    const u32 *totals;     // [digits]
    u32 *ticket;           // the number of tiles that blocks have started
    u64 *lookback, *next_lookback; // [tiles][digits]
    u64 *sorted_keys;
    u32 *sorted_order;
    u32 n, items_per_thread, shift; // items_per_thread: keys per thread; shift: the digit's shift
};

// voxel_rows has the positions where rows begin.
RC_HOST struct voxel_rows {
    u32 *rows;          // [2][b + 1], see voxel_list
    i64 *splits;        // [b + 1] or null
    const i64 *offsets; // [b + 1]
    u64 cells;          // cells in a row
    u32 *done;          // the number of blocks that are done; null if no count is needed
    u32 b, v, row_voxels;
};

RC_HOST struct voxel_number_params {
    const u64 *keys;  // [n] sorted
    const u32 *order; // [n]
    u64 all_keys;     // cells in all rows: the key of a point in a cell is below it
    u64 *heads;       // [tiles]
    u32 *ticket;
    u32 n, items_per_thread;   // items_per_thread: places per thread
    u32 *start;    // [voxels + 1]
    u32 *voxel_at; // [n] or null
    // for hard voxels: [n] 1 + the voxel for each point that is a voxel's first, else 0; then [n] the number of first points before it
    u32 *marks;
    u32 *numbers;  // [voxels] each hard voxel's place in the order of first points
    u64 *state;
    u32 second_pass; // 1 to number the marks
    voxel_rows rows;
};

namespace {

constexpr u32 warps = sort_threads / warp_size;
constexpr u32 digits = sort_digits;
constexpr u32 max_tile = sort_threads * max_pass_keys;

struct histogram_shared {
    u32 bins[max_passes * digits];
    u32 missed[2]; // points out of range, points not finite
};

// count_digits counts the digits of keys, one a lane, in `passes` rows of bins. Digits above the first are often the same in many lanes:
// those that have the first lane's are added up before they come to the same word.
RC_FN void count_digits(u32 *bins, u64 key, bool there, u32 passes) {
    if (there) shared_add(&bins[key % digits], 1);
    for (u32 pass = 1; pass < passes; pass++) {
        bins += digits, key >>= digit_bits;
        const u32 digit = (u32)key % digits, first = shuffle_from(digit, 0), same = votes(there && digit == first);
        const bool many = count_bits(same) > 4;
        if (many && lane() == 0) shared_add(&bins[first], count_bits(same));
        if (there && !(many && digit == first)) shared_add(&bins[digit], 1);
    }
}

// digit_rows is how many passes the sort has.
RC_FN u32 digit_rows(const voxel_histogram_params &p) { return p.passes + (p.labels ? label_passes : 0); }

// label_key is a label as the sort compares it.
RC_FN u32 label_key(const voxel_histogram_params &p, u64 i) { return ld_nc_u32(p.labels + i) ^ 0x80000000u; }

// keep_group writes a thread's keys.
template <u32 N> RC_FN void keep_group(const voxel_histogram_params &p, u64 i, u32 n, u64 (&key)[N]) {
    if (p.labels) {
        RC_UNROLL for (u32 u = 0; u < N; u++) {
            if (u >= n) continue;
            p.cell_keys[i + u] = key[u];
            key[u] = label_key(p, i + u);
        }
    }
    u64 *const to = p.keys + i;
    if constexpr (N == 4) {
        if (n == N) {
            st_16(to, {(u32)key[0], (u32)(key[0] >> 32), (u32)key[1], (u32)(key[1] >> 32)});
            return st_16(to + 2, {(u32)key[2], (u32)(key[2] >> 32), (u32)key[3], (u32)(key[3] >> 32)});
        }
    }
    RC_UNROLL for (u32 u = 0; u < N; u++) {
        if (u < n) to[u] = key[u];
    }
}

template <class T> RC_FN void histogram(const voxel_histogram_params &p, histogram_shared &s) {
    constexpr u32 group = group_of<T>;
    const u64 end = p.cloud.last();
    const u32 passes = p.passes, before = digit_rows(p) - passes;
    u32 missed[2] = {0, 0};
    for (u64 base = p.cloud.first(); base < end; base += histogram_threads * group) {
        const u64 i = base + thread_x() * group;
        const u32 n = i >= end ? 0 : end - i < group ? (u32)(end - i) : group;
        u64 key[group];
        keys_of<T>(p.cloud, p.grid, i, n, key, missed, [&](u32 u, u64 k) {
            if (before) count_digits(s.bins, u < n ? label_key(p, i + u) : 0, u < n, before);
            count_digits(s.bins + before * digits, k, u < n, passes);
            return k;
        });
        if (base == p.cloud.first()) {
            grid_dependency_wait();
            launch_dependents();
        }
        keep_group(p, i, n, key);
    }
    if (p.cloud.first() >= end) grid_dependency_wait();
    add_missed(p.cloud, p.state, s.missed, missed);
    for (u32 k = thread_x(); k < digit_rows(p) * digits; k += histogram_threads) {
        if (s.bins[k]) reduce_add(p.totals + k, s.bins[k]);
    }
}

// sort_shared is the dynamic shared memory of voxel_sort_pass.
struct sort_shared {
    u64 keys[max_tile];        // the tile in order; then its points
    u16 counts[warps][digits];  // then where in the tile each warp's keys of a digit begin
    u32 mine[digits];           // how many keys of the tile have each digit
    u32 away[digits];             // from a place in the tile to that in the output, for each digit
    u32 sums[warps];
    u32 taken;
};
static_assert(sizeof(sort_shared) == sort_shared_bytes, "the host gives a block so much");

// ---- Decoupled look-back: what tiles publish ----

// A word is 0 until its tile is counted; then the count, and at the end the sum of all tiles up to this one.
constexpr u64 counted = 1ull << 62, summed = 3ull << 62;

// tile_of takes the next tile.
RC_FN u32 tile_of(u32 *ticket, u32 *shared) {
    if (thread_x() == 0) *shared = atomic_add(ticket, 1);
    barrier();
    return *shared;
}

// lookback_result is what some neighbouring words say: the sum of the first `words` of them; done if the last of those was a sum itself.
struct lookback_result {
    u32 sum, words;
    bool done;
};

template <u32 N> RC_FN lookback_result look_back(const u64 *words, u32 step, u32 behind, u32 tile) {
    const u64 *const nearest = words + ((i64)tile - 1 - behind) * step;
    const u32 there = tile <= behind ? 0 : tile - behind < N ? tile - behind : N;
    u64 w[N], all = ~0ull, any = 0;
    if (there == N) {
        RC_UNROLL for (u32 u = 0; u < N; u++) w[u] = ld_relaxed(nearest - u * step);
    } else {
        RC_UNROLL for (u32 u = 0; u < N; u++) w[u] = u < there ? ld_relaxed(nearest - u * step) : summed;
    }
    lookback_result s = {0, N, false};
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
        lookback_result s = {0, 0, false};
        if (!done) s = look_back<half>(words + digit, digits, behind + second * half, tile);
        const u32 packed = s.words | (u32)s.done << 8, other = shuffle_xor(packed, 1), other_sum = shuffle_xor(s.sum, 1);
        if (done) continue;
        const u32 near = second ? other : packed, far = second ? packed : other;
        const u32 near_sum = second ? other_sum : s.sum, far_sum = second ? s.sum : other_sum;
        sum += near_sum, behind += near & 255, done = near >> 8;
        if (near == half) sum += far_sum, behind += far & 255, done = far >> 8;
    }
    return sum;
}

// ---- Keys ----

// order_at returns the point at a place of the order that a pass reads; the first pass reads them in their own.
RC_FN u32 order_at(const voxel_sort_pass_params &p, u64 i) { return p.order ? p.order[i] : (u32)i; }

RC_FN u64 sort_key(const voxel_sort_pass_params &p, u64 i) { return p.cell_keys ? p.cell_keys[order_at(p, i)] : p.keys[i]; }

RC_FN u32 digit_of(u64 key, u32 shift) { return (u32)(key >> shift) % digits; }

} // namespace

RC_KERNEL_OCC(histogram_threads, 4) voxel_histogram(const voxel_histogram_params p) {
    __shared__ histogram_shared s;
    for (u32 k = thread_x(); k < digit_rows(p) * digits; k += histogram_threads) s.bins[k] = 0;
    if (thread_x() < 2) s.missed[thread_x()] = 0;
    barrier();
    if (p.cloud.wide())
        histogram<double>(p, s);
    else
        histogram<float>(p, s);
}

RC_KERNEL_OCC(sort_threads, 1) voxel_sort_pass(const voxel_sort_pass_params p) {
    grid_dependency_wait();
    launch_dependents();
    extern __shared__ v16 memory[];
    sort_shared &s = *(sort_shared *)memory;
    u32 *const points_of = (u32 *)s.keys;
    const u32 shift = p.shift, items_per_thread = p.items_per_thread, warp = thread_x() / warp_size;
    const bool keeps = thread_x() < digits; // the first 256 threads have a digit each
    const u32 total = keeps ? p.totals[thread_x()] : 0;
    for (u32 k = thread_x(); k < warps * digits / 8; k += sort_threads) st_shared_16((v16 *)s.counts + k, {0, 0, 0, 0});
    const u32 tile = tile_of(p.ticket, &s.taken);
    u64 *const words = p.lookback, *const own = words + (u64)tile * digits;
    const u64 base = (u64)tile * (sort_threads * items_per_thread) + warp * (warp_size * items_per_thread) + lane();
    u64 key[max_pass_keys];
    u32 at[max_pass_keys];
    RC_UNROLL for (u32 k = 0; k < max_pass_keys; k++) {
        const u64 i = base + k * warp_size;
        key[k] = k < items_per_thread && i < p.n ? sort_key(p, i) : 0;
    }
    RC_UNROLL for (u32 k = 0; k < max_pass_keys; k++) {
        const u64 i = base + k * warp_size;
        const bool there = i < p.n;
        if (k >= items_per_thread || i - lane() >= p.n) continue; // none of the warp's is there
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
        p.next_lookback[(u64)tile * digits + thread_x()] = 0; // for the pass after this
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
    RC_UNROLL for (u32 k = 0; k < max_pass_keys; k++) {
        if (k >= items_per_thread || base + k * warp_size >= p.n) continue;
        at[k] += s.counts[warp][digit_of(key[k], shift)];
        s.keys[at[k]] = key[k];
    }
    u32 point[max_pass_keys]; // loaded before the wait
    RC_UNROLL for (u32 k = 0; k < max_pass_keys; k++) {
        const u64 i = base + k * warp_size;
        point[k] = k < items_per_thread && i < p.n ? order_at(p, i) : 0;
    }
    const u32 before = before_tile(words, tile);
    if (thread_x() % 2 == 0) {
        const u32 digit = thread_x() / 2;
        if (tile > 0) st_relaxed(own + digit, summed | (before + s.mine[digit]));
        s.away[digit] += before;
    }
    barrier();
    // The tile lies in order now: neighbours go to neighbouring places.
    u32 goes[max_pass_keys];
    RC_UNROLL for (u32 k = 0; k < max_pass_keys; k++) {
        const u32 i = thread_x() + k * sort_threads;
        if (i >= here) continue;
        const u64 sorted = s.keys[i];
        goes[k] = s.away[digit_of(sorted, shift)] + i;
        p.sorted_keys[goes[k]] = sorted;
    }
    barrier();
    RC_UNROLL for (u32 k = 0; k < max_pass_keys; k++) {
        if (k >= items_per_thread || base + k * warp_size >= p.n) continue;
        points_of[at[k]] = point[k];
    }
    barrier();
    RC_UNROLL for (u32 k = 0; k < max_pass_keys; k++) {
        const u32 i = thread_x() + k * sort_threads;
        if (i >= here) continue;
        p.sorted_order[goes[k]] = points_of[i];
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
RC_FN bool begins_at(const voxel_number_params &p, u64 i) {
    if (p.second_pass) return p.marks[i] != 0;
    const u64 key = p.keys[i];
    return key < p.all_keys && (i == 0 || p.keys[i - 1] != key);
}

// write_row_starts writes where each row's voxels begin, among those found and among those that the caps leave. One block does.
RC_FN void write_row_starts(const voxel_number_params &p, u32 *sums) {
    const voxel_rows &r = p.rows;
    const u32 voxels = (u32)p.state[found];
    u32 *const first = r.rows, *const place = r.rows + r.b + 1;
    for (u32 row = thread_x(); row <= r.b; row += sort_threads) {
        u32 at = row == 0 ? 0 : voxels;
        if (row > 0 && row < r.b) {
            if (p.second_pass) {
                const i64 begins = (i64)ld_nc_u64(r.offsets + row);
                if (begins >= 0 && begins < (i64)p.n) at = p.marks[p.n + begins];
            } else {
                u32 lo = 0; // voxels before lo are of earlier rows, those from `at` on are not
                while (lo < at) {
                    const u32 mid = lo + (at - lo) / 2;
                    if (p.keys[p.start[mid]] < row * r.cells)
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
    for (u32 base = 0; base <= r.b; base += sort_threads) {
        const u32 row = base + thread_x();
        u32 all = row < r.b ? first[row + 1] - first[row] : 0, total;
        if (all > r.row_voxels) all = r.row_voxels;
        const u32 at = before + block_scan(all, sums, total);
        before += total;
        if (row > r.b) continue;
        place[row] = at;
        if (r.splits) r.splits[row] = at < r.v ? at : r.v;
    }
    if (thread_x() == 0) {
        p.state[written] = before < r.v ? before : r.v;
        p.state[dropped] = voxels - p.state[written];
    }
}

} // namespace

// A warp takes neighbouring places, 32 at a time, and numbers them by votes; the block then adds up its warps, and the tiles before
// it.
RC_KERNEL_OCC(sort_threads, 2) voxel_number(const voxel_number_params p) {
    grid_dependency_wait();
    launch_dependents();
    __shared__ u32 sums[warps];
    __shared__ u32 taken, earlier;
    const u32 items_per_thread = p.items_per_thread, warp = thread_x() / warp_size;
    const u32 tile = tile_of(p.ticket, &taken);
    u64 *const words = p.heads;
    const u64 base = (u64)tile * (sort_threads * items_per_thread) + warp * (warp_size * items_per_thread) + lane();
    u32 begins[max_number_places], mine = 0;
    RC_UNROLL for (u32 k = 0; k < max_number_places; k++) {
        const u64 i = base + k * warp_size;
        begins[k] = k < items_per_thread && i < p.n && begins_at(p, i);
    }
    RC_UNROLL for (u32 k = 0; k < max_number_places; k++) {
        if (k < items_per_thread) begins[k] = votes(begins[k]), mine += count_bits(begins[k]);
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
            if (tile + 1 == blocks_x() && !p.second_pass) p.state[found] = before + here;
            earlier = before;
        }
    }
    barrier();
    rank += earlier;
    RC_UNROLL for (u32 k = 0; k < max_number_places; k++) {
        const u64 i = base + k * warp_size;
        if (k >= items_per_thread || i - lane() >= p.n) continue;
        const bool there = i < p.n;
        const u32 at = rank + count_bits(begins[k] & below_mask()), head = begins[k] >> lane() & 1;
        rank += count_bits(begins[k]);
        if (p.second_pass) {
            if (head) p.numbers[p.marks[i] - 1] = at;
            if (there) p.marks[p.n + i] = at;
            continue;
        }
        const u64 key = there ? p.keys[i] : 0, previous = there && i > 0 ? p.keys[i - 1] : 0;
        const bool in_cell = key < p.all_keys;
        if (!there) continue;
        if (head || (!in_cell && (i == 0 || previous < p.all_keys))) p.start[at] = (u32)i;
        if (i + 1 == p.n && in_cell) p.start[at + head] = (u32)i + 1;
        if (p.voxel_at && in_cell) p.voxel_at[i] = at + head - 1;
        if (p.marks) p.marks[p.order[i]] = head ? at + 1 : 0;
    }
    if (p.rows.done == nullptr) return;
    barrier(); // the block's writes are ordered before what its first thread does
    if (thread_x() == 0) {
        fence();
        taken = atomic_add(p.rows.done, 1);
        fence();
    }
    barrier();
    if (taken + 1 == blocks_x()) write_row_starts(p, sums);
}
