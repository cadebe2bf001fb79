// copy.cu holds the two kernels that other kernels are measured against.
//
// rc_speed_of_light moves the bytes of an operation and does nothing else: it reads three sources and writes one
// destination. Every buffer is n 16-byte chunks; with G blocks each takes ceil(n/G) neighbouring chunks of each buffer,
// and its threads every blockDim-th chunk of those, four loads in flight. So it is launched with the grid of the operation
// that it stands for, and the chunks a thread moves follow from the grid: n / (G * blockDim).
// Four of them moved the most bytes a second on an H200, one about half.
// Bytes moved: a_bytes + b_bytes + c_bytes read, dst_bytes written, each once. Bytes after the last whole chunk are moved
// one by one by the last block. Sources and dst are 16-byte aligned; a count of 0 leaves its pointer unused. Sources must
// not overlap dst. What dst holds afterwards is the exclusive-or of what each thread read: it says nothing, but keeps
// every load alive.
//
// rc_null does nothing: its time is the time of a launch.
#include "common.cuh"

using namespace rc;

namespace {

struct range {
    u64 first, end;
};

// share returns this block's chunks of a buffer, none for a block past its end. The product stays below 2^64 for
// buffers below 2^32 chunks (64 GiB) and any grid.
RC_FN range share(u64 bytes) {
    const u64 n = bytes / 16, per = (n + blocks_x() - 1) / blocks_x();
    const u64 first = per * block_x(), end = first + per;
    return {first < n ? first : n, end < n ? end : n};
}

RC_FN v16 fold(v16 a, v16 b) { return {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w}; }

RC_FN v16 read_share(v16 acc, const unsigned char *p, u64 bytes) {
    const u64 step = threads_x();
    range r = share(bytes);
    u64 i = r.first + thread_x();
    for (; i + 3 * step < r.end; i += 4 * step) {
        v16 v0 = ld_nc_16(p + 16 * i), v1 = ld_nc_16(p + 16 * (i + step));
        v16 v2 = ld_nc_16(p + 16 * (i + 2 * step)), v3 = ld_nc_16(p + 16 * (i + 3 * step));
        acc = fold(fold(acc, fold(v0, v1)), fold(v2, v3));
    }
    for (; i < r.end; i += step) acc = fold(acc, ld_nc_16(p + 16 * i));
    if (block_x() == blocks_x() - 1)
        for (u64 t = bytes / 16 * 16 + thread_x(); t < bytes; t += step) acc.x ^= ld_nc_u8(p + t);
    return acc;
}

} // namespace

RC_KERNEL(1024)
rc_speed_of_light(const unsigned char *__restrict__ a, u64 a_bytes, const unsigned char *__restrict__ b, u64 b_bytes,
                  const unsigned char *__restrict__ c, u64 c_bytes, unsigned char *__restrict__ dst, u64 dst_bytes) {
    v16 acc = {0, 0, 0, 0};
    acc = read_share(acc, a, a_bytes);
    acc = read_share(acc, b, b_bytes);
    acc = read_share(acc, c, c_bytes);

    const u64 step = threads_x();
    range r = share(dst_bytes);
    u64 i = r.first + thread_x();
    // A thread with nothing to write would make its loads dead. This store keeps them, and all but never happens.
    if (i >= r.end && dst_bytes >= 16 && (acc.x & acc.y & acc.z & acc.w) == 0xffffffffu) st_16(dst, acc);
    for (; i < r.end; i += step) st_16(dst + 16 * i, acc);
    if (block_x() == blocks_x() - 1)
        for (u64 t = dst_bytes / 16 * 16 + thread_x(); t < dst_bytes; t += step) st_u8(dst + t, (u8)acc.x);
}

RC_KERNEL(1024) rc_null() {}
