// voxel_bin.cu finds the cells of points.
//
// voxel_fill opens a call: it clears the counters and the table of the sort, checks the offsets, and writes a value of 1 or 4 bytes over an output.
// A thread writes 16 bytes at a time, every (blocks * threads)th piece.
//
// voxel_bin gives each point its key, and counts the digits of all passes of the sort, whose number extra has at bit 8. Blocks take
// chunks, threads four points at a time, which are 48 aligned bytes where they can be.
// Bytes moved: the points, and 8 a point for keys.
#include "voxel.cuh"

using namespace rc;

namespace {

constexpr u32 bin_threads = 256;

struct bin_shared {
    u32 bins[most_passes * digits];
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
RC_FN u32 digit_rows(const voxel_job &j) { return ((u32)j.extra >> 8) + (j.labels && j.extra >> 8 ? label_passes : 0); }

// label_key is a label as the sort compares it.
RC_FN u32 label_key(const voxel_job &j, u64 i) { return ld_nc_u32(j.labels + i) ^ 0x80000000u; }

// keep_group writes a thread's keys; those of points in no cell are j.keys.
template <u32 N> RC_FN void keep_group(const voxel_job &j, u64 i, u32 n, u64 (&key)[N]) {
    if (j.labels) {
        RC_UNROLL for (u32 u = 0; u < N; u++) {
            if (u >= n) continue;
            j.cell_keys[i + u] = key[u];
            key[u] = label_key(j, i + u);
        }
    }
    u64 *const to = (u64 *)j.to + i;
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

template <class T> RC_FN void bin(const voxel_job &j, bin_shared &s) {
    constexpr u32 group = group_of<T>;
    const u64 end = j.last();
    const u32 passes = (u32)j.extra >> 8, before = digit_rows(j) - passes;
    u32 missed[2] = {0, 0};
    for (u64 base = j.first(); base < end; base += bin_threads * group) {
        const u64 i = base + thread_x() * group;
        const u32 n = i >= end ? 0 : end - i < group ? (u32)(end - i) : group;
        u64 key[group];
        keys_of<T>(j, i, n, key, missed, [&](u32 u, u64 k) {
            if (before) count_digits(s.bins, u < n ? label_key(j, i + u) : 0, u < n, before);
            count_digits(s.bins + before * digits, k, u < n, passes);
            return k;
        });
        if (base == j.first()) {
            wait_for_previous();
            let_next();
        }
        keep_group(j, i, n, key);
    }
    if (j.first() >= end) wait_for_previous();
    add_missed(j, s.missed, missed);
    for (u32 k = thread_x(); k < digit_rows(j) * digits; k += bin_threads) {
        if (s.bins[k]) reduce_add(totals(j, 0) + k, s.bins[k]);
    }
}

} // namespace

RC_KERNEL_OCC(bin_threads, 4) voxel_bin(const voxel_job j) {
    __shared__ bin_shared s;
    for (u32 k = thread_x(); k < digit_rows(j) * digits; k += bin_threads) s.bins[k] = 0;
    if (thread_x() < 2) s.missed[thread_x()] = 0;
    barrier();
    if (j.wide())
        bin<double>(j, s);
    else
        bin<float>(j, s);
}

// tell_crowd tells the host whether points crowd, by what the run before has left in the state: then it launches voxel_add.cu's kernels, and else those
// that bring points together, see ops/cuda/voxelize.go. points is how many each cell that has any must have, or must no longer have if they are added.
RC_FN void tell_crowd(const voxel_job &j, u64 points, bool added) {
    const u64 in = j.state[in_range], cells = j.state[found] + (j.state[kept] >> 32); // voxel_group.cu counts singles by themselves
    if (cells > 0 && (in >= cells * points) != added) *(volatile u32 *)(j.fault_flag + 1) = !added;
}

// voxel_fill fills `bytes` bytes at `to` with the four bytes in from_order, and clears the table, which ends at `from`. extra: bytes; at bit 48 the
// points of tell_crowd, if that matters; at 63 whether they are added.
RC_KERNEL(bin_threads) voxel_fill(const voxel_job j) {
    wait_for_previous();
    let_next();
    const u64 thread = block_x() * (u64)bin_threads + thread_x(), threads = blocks_x() * (u64)bin_threads;
    const u64 bytes = j.extra & ((1ull << 48) - 1), crowd = j.extra >> 48 & 0x7fff;
    if (crowd > 0 && thread < warp_size) {
        if (thread == 0) tell_crowd(j, crowd, j.extra >> 63);
        warp_barrier(); // the state has been read
    }
    if (thread < state_words) j.state[thread] = 0;
    for (u64 row = thread; j.ragged() && row < j.b; row += threads) {
        const i64 lo = (i64)ld_nc_u64(j.offsets + row), hi = (i64)ld_nc_u64(j.offsets + row + 1);
        const bool fits = lo >= 0 && hi >= lo && hi <= (i64)j.n && (row > 0 || lo == 0) && (row + 1 < j.b || hi == (i64)j.n);
        if (fits) continue;
        atomic_min_u64(j.fault, row << 4); // ops.FaultRows, ops.FaultSrcRows
        *(volatile u32 *)j.fault_flag = 1;
    }
    for (u64 k = 2 * thread; k < (u64)((u64 *)j.from - (u64 *)j.table) && j.from; k += 2 * threads) st_16((u64 *)j.table + k, {0, 0, 0, 0});
    const u32 value = (u32)(u64)j.from_order;
    u8 *const begin = (u8 *)j.to, *const end = begin + bytes;
    u8 *const body = begin + ((16 - (u64)begin % 16) % 16 < bytes ? (16 - (u64)begin % 16) % 16 : bytes);
    const u64 pieces = (u64)(end - body) / 16;
    const u32 head = (u32)(body - begin), tail = (u32)((u64)(end - body) % 16);
    // Values of 4 bytes are aligned to 4, so a byte's place in them is its address modulo 4.
    if (thread < head) st_u8(begin + thread, (u8)(value >> 8 * ((u64)(begin + thread) % 4)));
    if (thread < tail) st_u8(end - tail + thread, (u8)(value >> 8 * ((u64)(end - tail + thread) % 4)));
    for (u64 k = thread; k < pieces; k += threads) st_16(body + 16 * k, {value, value, value, value});
}
