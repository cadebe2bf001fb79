// voxel_bin.cu finds the cells of points.
//
// voxel_fill writes a value of 1 or 4 bytes over an output, clears the counters and checks the offsets. A thread writes 16 bytes at
// a time, every (blocks * threads)th piece.
//
// voxel_bin gives each point its key. Blocks take chunks, threads four points at a time where those are 48 aligned bytes. Grids of
// occupancy and count are written at once, the latter by atomics; else the keys are kept for sorting, with how many
// of the block's keys have each value of the first digit.
// Bytes moved: the points, and 8 a point for keys, or a sector of the grid for each point.
#include "voxel.cuh"

using namespace rc;

namespace {

constexpr u32 bin_threads = 256;
constexpr u32 digits = 256;

struct bin_shared {
    u32 bins[digits];
    u32 counters[3];
};

// keep takes a point's key.
RC_FN void keep(const voxel_job &j, bin_shared &s, u64 i, u64 key, u32 kind, u32 (&counters)[3]) {
    counters[0] += kind == in_range, counters[1] += kind == out_of_range, counters[2] += kind == not_finite;
    if (j.to == nullptr) {
        if (kind != in_range) return;
        if (j.reduce() == occupancy)
            st_u8((u8 *)j.out + key, 1);
        else
            reduce_add((u32 *)j.out + key, 1);
        return;
    }
    u64 sort = key;
    if (j.labels) {
        j.cell_keys[i] = key;
        sort = ld_nc_u32(j.labels + i) ^ 0x80000000u;
    }
    ((u64 *)j.to)[i] = sort;
    shared_add(&s.bins[sort % digits], 1);
}

template <class T> RC_FN void bin_one(const voxel_job &j, bin_shared &s, u64 i, position<T> at, u32 (&counters)[3]) {
    const u32 row = j.b > 1 ? row_of(j, i) : 0;
    u32 kind;
    const u64 key = key_of<T>(j, posed<T>(j, at, row), row, kind);
    keep(j, s, i, key, kind, counters);
}

template <class T> RC_FN void bin_each(const voxel_job &j, bin_shared &s, u64 i, u64 end, u64 step, u32 (&counters)[3]) {
    for (; i < end; i += step) {
        const T *p = (const T *)j.points + (i64)i * j.point_step;
        bin_one<T>(j, s, i, {ld_element(p), ld_element(p + 1), ld_element(p + 2)}, counters);
    }
}

} // namespace

RC_KERNEL(bin_threads) voxel_bin(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    __shared__ bin_shared s;
    s.bins[thread_x()] = 0;
    if (thread_x() < 3) s.counters[thread_x()] = 0;
    barrier();
    u32 counters[3] = {0, 0, 0};
    const u64 end = j.last();
    u64 i = j.first();
    if (j.wide()) {
        bin_each<double>(j, s, i + thread_x(), end, bin_threads, counters);
    } else {
        if (j.by_four()) {
            const u64 whole = i + (end - i) / 4 * 4; // chunks are multiples of four points
            for (u64 k = i + 4 * thread_x(); k < whole; k += 4 * bin_threads) {
                const v16 *q = (const v16 *)((const float *)j.points + 3 * k);
                const v16 a = ld_nc_16(q), b4 = ld_nc_16(q + 1), c = ld_nc_16(q + 2);
                bin_one<float>(j, s, k, {as_f32(a.x), as_f32(a.y), as_f32(a.z)}, counters);
                bin_one<float>(j, s, k + 1, {as_f32(a.w), as_f32(b4.x), as_f32(b4.y)}, counters);
                bin_one<float>(j, s, k + 2, {as_f32(b4.z), as_f32(b4.w), as_f32(c.x)}, counters);
                bin_one<float>(j, s, k + 3, {as_f32(c.y), as_f32(c.z), as_f32(c.w)}, counters);
            }
            i = whole;
        }
        bin_each<float>(j, s, i + thread_x(), end, bin_threads, counters);
    }
    RC_UNROLL for (u32 k = 0; k < 3; k++) {
        if (counters[k]) shared_add(&s.counters[k], counters[k]);
    }
    barrier();
    if (thread_x() < 3 && s.counters[thread_x()]) reduce_add(j.state + thread_x(), s.counters[thread_x()]);
    if (j.to) j.table[(u64)thread_x() * blocks_x() + block_x()] = s.bins[thread_x()];
}

// voxel_fill fills extra bytes at `to` with the four bytes in from_order.
RC_KERNEL(bin_threads) voxel_fill(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    const u64 thread = block_x() * (u64)bin_threads + thread_x(), threads = blocks_x() * (u64)bin_threads;
    if (thread < state_words) j.state[thread] = 0;
    for (u64 row = thread; j.offsets && row < j.b; row += threads) {
        const i64 lo = (i64)ld_nc_u64(j.offsets + row), hi = (i64)ld_nc_u64(j.offsets + row + 1);
        const bool fits = lo >= 0 && hi >= lo && hi <= (i64)j.n && (row > 0 || lo == 0) && (row + 1 < j.b || hi == (i64)j.n);
        if (fits) continue;
        atomic_min_u64(j.fault, row << 4); // ops.FaultRows, ops.FaultSrcRows
        *(volatile u32 *)j.fault_flag = 1;
    }
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
