// voxel_bin.cu finds the cells of points.
//
// voxel_fill writes a value of 1 or 4 bytes over an output; the launch that opens a call clears the counters and the table of the sort, and
// checks the offsets.
// A thread writes 16 bytes at a time, every (blocks * threads)th piece.
//
// voxel_bin gives each point its key. Blocks take chunks, threads four points at a time, which are 48 aligned bytes where they can
// be. It ends in one of three ways, told by extra: a grid of occupancy or of counts is written at once, the latter by
// atomics (voxel_count.cu counts what is large without); or keys are kept for sorting, and the digits of all passes counted, whose
// number extra has at bit 8.
//
// Where many points share a cell their writes would wait for each other: a warp whose lanes' first points meet turns on a
// table in shared memory, in which the block gathers what it has for a cell, or for eight neighbouring ones of occupancy, as many
// as find a place.
//
// The points of a group are taken one after the other: the code for four at once runs no faster once it has to be fetched.
// Bytes moved: the points, and 8 a point for keys, or a sector of the grid for each point.
#include "voxel.cuh"

using namespace rc;

namespace {

constexpr u32 bin_threads = 256;
constexpr u32 gathered = 1024; // places of the table
constexpr u32 nothing = ~0u;

template <class T> constexpr u32 group_of = sizeof(T) == 4 ? 4 : 1; // points a thread takes at once

enum endings : u32 { to_cells, to_counts, to_keys };

struct bin_shared {
    u64 words[gathered]; // a byte for each of eight cells, or how many points a cell has
    u32 cells[gathered]; // which; nothing at a place that is free
    u32 bins[most_passes * digits];
    u32 missed[2]; // points out of range, points not finite
    u32 meet;      // some points of a warp share a cell
};

// write takes a point in a cell to the grid. A byte of occupancy is set by an atomic on the eight that it is one of, if they are all
// the grid's own and empty ones are 0.
template <u32 Ending> RC_FN void write(const voxel_job &j, bin_shared &s, u64 key, bool gather) {
    constexpr bool cells = Ending == to_cells;
    if constexpr (cells) {
        if ((key | 7) >= j.keys || !j.from_zero()) return st_u8((u8 *)j.out + key, 1);
    }
    const u64 byte = 1ull << 8 * (key % 8);
    if (gather) {
        const u32 what = (u32)(cells ? key / 8 : key), place = (what * 2654435761u) >> 22;
        const u32 there = shared_compare_swap(&s.cells[place], nothing, what);
        if (there == nothing || there == what) {
            if constexpr (cells)
                shared_or(&s.words[place], byte);
            else
                shared_add((u32 *)&s.words[place], 1);
            return;
        }
    }
    if constexpr (cells)
        reduce_or((u64 *)j.out + key / 8, byte);
    else
        reduce_add((u32 *)j.out + key, 1);
}

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

// keep_group takes a thread's keys; those of points in no cell are j.keys.
template <u32 Ending, u32 N> RC_FN void keep_group(const voxel_job &j, bin_shared &s, u64 i, u32 n, u64 (&key)[N], bool gather) {
    if constexpr (Ending == to_cells || Ending == to_counts) {
        RC_UNROLL for (u32 u = 0; u < N; u++) {
            if (u < n && key[u] < j.keys) write<Ending>(j, s, key[u], gather);
        }
    } else {
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
}

template <class T, u32 Ending> RC_FN void bin(const voxel_job &j, bin_shared &s) {
    constexpr bool writes = Ending == to_cells || Ending == to_counts;
    constexpr u32 group = group_of<T>;
    const u64 end = j.last();
    u32 missed[2] = {0, 0};
    bool gather = false;
    for (u64 base = j.first(); base < end; base += bin_threads * group) {
        const u64 i = base + thread_x() * group;
        const u32 n = i >= end ? 0 : end - i < group ? (u32)(end - i) : group;
        position<T> at[group];
        load_group<T>(j, i, n, at);
        u64 key[group];
        RC_UNROLL for (u32 u = 0; u < group; u++) key[u] = j.keys;
        RC_ROLLED for (u32 u = 0; u < group; u++) {
            const u32 row = j.b > 1 && u < n ? row_of(j, i + u) : 0;
            u32 kind;
            const u64 k = key_of<T>(j, posed<T>(j, at[0], row), row, kind);
            if constexpr (Ending == to_keys) {
                const u32 passes = (u32)j.extra >> 8, before = digit_rows(j) - passes;
                if (before) count_digits(s.bins, u < n ? label_key(j, i + u) : 0, u < n, before);
                count_digits(s.bins + before * digits, k, u < n, passes);
            }
            if (u < n) missed[0] += kind == out_of_range, missed[1] += kind == not_finite;
            RC_UNROLL for (u32 v = 0; v + 1 < group; v++) at[v] = at[v + 1], key[v] = key[v + 1]; // the next comes to the front
            key[group - 1] = k;
        }
        if (base == j.first()) {
            if constexpr (writes) {
                // A thread without a point in a cell has a number that no other has.
                const u32 mine = n > 0 && key[0] < j.keys ? (u32)key[0] : nothing - thread_x();
                if (count_bits(match(mine)) > 1 && j.keys < nothing - bin_threads) s.meet = 1;
                barrier();
                gather = s.meet;
                if (gather) {
                    RC_UNROLL for (u32 k = 0; k < gathered; k += bin_threads) s.cells[k + thread_x()] = nothing, s.words[k + thread_x()] = 0;
                    barrier();
                }
            }
            wait_for_previous();
            let_next();
        }
        keep_group<Ending>(j, s, i, n, key, gather);
    }
    RC_UNROLL for (u32 k = 0; k < 2; k++) {
        if (missed[k]) shared_add(&s.missed[k], missed[k]);
    }
    barrier();
    if (j.first() >= end) wait_for_previous();
    if (thread_x() < 3) {
        const u32 out = s.missed[0], bad = s.missed[1];
        const u32 count = thread_x() == in_range ? (u32)(end - j.first()) - out - bad : thread_x() == out_of_range ? out : bad;
        if (count) reduce_add(j.state + thread_x(), count);
    }
    if constexpr (writes) {
        for (u32 place = thread_x(); gather && place < gathered; place += bin_threads) {
            if (s.cells[place] == nothing) continue;
            if constexpr (Ending == to_cells)
                reduce_or((u64 *)j.out + s.cells[place], s.words[place]);
            else
                reduce_add((u32 *)j.out + s.cells[place], (u32)s.words[place]);
        }
    } else {
        for (u32 k = thread_x(); k < digit_rows(j) * digits; k += bin_threads) {
            if (s.bins[k]) reduce_add(totals(j, 0) + k, s.bins[k]);
        }
    }
}

template <u32 Ending> RC_FN void bin_any(const voxel_job &j, bin_shared &s) {
    if (j.wide())
        bin<double, Ending>(j, s);
    else
        bin<float, Ending>(j, s);
}

} // namespace

RC_KERNEL_OCC(bin_threads, 4) voxel_bin(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    __shared__ bin_shared s;
    for (u32 k = thread_x(); k < digit_rows(j) * digits; k += bin_threads) s.bins[k] = 0;
    if (thread_x() < 2) s.missed[thread_x()] = 0;
    if (thread_x() == 0) s.meet = 0;
    barrier();
    switch ((u32)j.extra % 256) {
    case to_cells: return bin_any<to_cells>(j, s);
    case to_counts: return bin_any<to_counts>(j, s);
    default: return bin_any<to_keys>(j, s);
    }
}

// voxel_fill fills extra bytes at `to` with the four bytes in from_order, and clears the table, which ends at `from`.
RC_KERNEL(bin_threads) voxel_fill(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    wait_for_previous();
    let_next();
    const u64 thread = block_x() * (u64)bin_threads + thread_x(), threads = blocks_x() * (u64)bin_threads;
    if (j.opens()) {
        if (thread < state_words) j.state[thread] = 0;
        for (u64 row = thread; j.offsets && row < j.b; row += threads) {
            const i64 lo = (i64)ld_nc_u64(j.offsets + row), hi = (i64)ld_nc_u64(j.offsets + row + 1);
            const bool fits = lo >= 0 && hi >= lo && hi <= (i64)j.n && (row > 0 || lo == 0) && (row + 1 < j.b || hi == (i64)j.n);
            if (fits) continue;
            atomic_min_u64(j.fault, row << 4); // ops.FaultRows, ops.FaultSrcRows
            *(volatile u32 *)j.fault_flag = 1;
        }
    }
    for (u64 k = 2 * thread; k < (u64)((u64 *)j.from - (u64 *)j.table) && j.from; k += 2 * threads) st_16((u64 *)j.table + k, {0, 0, 0, 0});
    const u32 value = (u32)(u64)j.from_order;
    u8 *const begin = (u8 *)j.to, *const end = begin + j.extra;
    u8 *const body = begin + ((16 - (u64)begin % 16) % 16 < j.extra ? (16 - (u64)begin % 16) % 16 : j.extra);
    const u64 pieces = (u64)(end - body) / 16;
    const u32 head = (u32)(body - begin), tail = (u32)((u64)(end - body) % 16);
    // Values of 4 bytes are aligned to 4, so a byte's place in them is its address modulo 4.
    if (thread < head) st_u8(begin + thread, (u8)(value >> 8 * ((u64)(begin + thread) % 4)));
    if (thread < tail) st_u8(end - tail + thread, (u8)(value >> 8 * ((u64)(end - tail + thread) % 4)));
    for (u64 k = thread; k < pieces; k += threads) st_16(body + 16 * k, {value, value, value, value});
}
