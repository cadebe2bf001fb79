// voxel_fill.cuh begins a call of Voxelize: it clears the counters and the tables of the sort, checks the offsets, and writes a value of
// 1 or 4 bytes over an output. A thread writes 16 bytes at a time, every (blocks * threads)th piece.
#pragma once
#include "voxel.cuh"

namespace rc {

RC_HOST constexpr u32 fill_threads = 256;

RC_HOST struct voxel_fill_params {
    u64 *state;
    void *out; // bytes to fill; null if there are none
    u64 out_bytes;
    void *table; // bytes to clear, a multiple of 16; null if there are none
    u64 table_bytes;
    u32 value; // four bytes of the written value
    u32 n, b;  // points and rows
    const i64 *offsets; // [b + 1], or null
    u64 *fault;
    u32 *fault_flag;
};

RC_FN void fill(const voxel_fill_params &p) {
    grid_dependency_wait();
    launch_dependents();
    const u64 thread = block_x() * (u64)fill_threads + thread_x(), threads = blocks_x() * (u64)fill_threads;
    if (thread < state_words) p.state[thread] = 0;
    const u64 rows = p.b > 0 ? p.b : 1; // of no rows there is one offset, which is as those of a row without points
    for (u64 row = thread; p.offsets && row < rows; row += threads) {
        const i64 lo = (i64)ld_nc_u64(p.offsets + row), hi = p.b > 0 ? (i64)ld_nc_u64(p.offsets + row + 1) : lo;
        const bool fits = lo >= 0 && hi >= lo && hi <= (i64)p.n && (row > 0 || lo == 0) && (row + 1 < rows || hi == (i64)p.n);
        if (fits) continue;
        atomic_min_u64(p.fault, row << 4); // ops.FaultRows, ops.FaultSrcRows
        *(volatile u32 *)p.fault_flag = 1;
    }
    for (u64 k = thread; k < p.table_bytes / 16; k += threads) st_16((v16 *)p.table + k, {0, 0, 0, 0});
    u8 *const begin = (u8 *)p.out, *const end = begin + p.out_bytes;
    u8 *const body = begin + ((16 - (u64)begin % 16) % 16 < p.out_bytes ? (16 - (u64)begin % 16) % 16 : p.out_bytes);
    const u64 pieces = (u64)(end - body) / 16;
    const u32 value = p.value, head = (u32)(body - begin), tail = (u32)((u64)(end - body) % 16);
    // Values of 4 bytes are aligned to 4, so a byte's place in them is its address modulo 4.
    if (thread < head) st_u8(begin + thread, (u8)(value >> 8 * ((u64)(begin + thread) % 4)));
    if (thread < tail) st_u8(end - tail + thread, (u8)(value >> 8 * ((u64)(end - tail + thread) % 4)));
    for (u64 k = thread; k < pieces; k += threads) st_16(body + 16 * k, {value, value, value, value});
}

} // namespace rc
