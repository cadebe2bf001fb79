// resample_plain.cu resamples plain jobs, see plain.cuh: resample_plain those of rows of whole 16 bytes, onto outputs without gaps,
// resample_direct small launches of such, see direct.cuh, and resample_odd those of any other width, place and distance between rows. resample.cu takes the rest.
#include "direct.cuh"
#include "plain_odd.cuh"

using namespace rc;

#define RC_RESAMPLE_WHOLE(name, blocks, room, ...)                                                                          \
    RC_KERNEL_OCC(128, blocks)                                                                                              \
    name(const void *src, const void *times, const void *targets, void *__restrict__ dst, u8 *__restrict__ valid,           \
         void *__restrict__ age, u64 *__restrict__ fault, u32 *__restrict__ fault_flag, i64 start, double rate, u32 src_batch, \
         u32 src_step, u32 times_batch, u32 targets_batch, u32 total, u32 stamps, u32 share, u32 s, u32 t, u32 t_magic,     \
         float pace, u32 tile, u32 chunks, u32 chunk_magic, u32 flags, u32 fill, u64 max_gap, u64 tolerance, float rows_a_stamp) { \
        __shared__ room;                                                                                                    \
        plain_task j = {src, times, targets, (char *)dst, valid, age, fault, fault_flag, start, rate, src_batch, src_step,  \
                        times_batch, targets_batch, total, stamps, share, s, t, t_magic, pace, tile, chunks, chunk_magic,   \
                        (flags & ~(7u << 11 | 7u << 21)) | 4u << 11 | 4u << 21, chunks * 16, 1, 1, block_x(), 0, 0, 0,      \
                        max_gap, tolerance, fill, rows_a_stamp};                                                            \
        __VA_ARGS__                                                                                                         \
    }

#define RC_RESAMPLE_PLAIN(name, dtype)                                                                                      \
    RC_RESAMPLE_WHOLE(name, resident, slot slots[most_tile], begin(j);                                                      \
                      const u32 count = survey_plain<1>(j, [&](u32 i, slot s) { slots[i] = row_slot(j, i, s); });           \
                      barrier();                                                                                            \
                      if (count > 0) move_each<dtype, v16, true>(j, slots, count);                                          \
                      end(j);)

RC_RESAMPLE_PLAIN(resample_plain_f32, dt_f32)
RC_RESAMPLE_PLAIN(resample_plain_f16, dt_f16)
RC_RESAMPLE_PLAIN(resample_plain_bf16, dt_bf16)

#define RC_RESAMPLE_DIRECT(name, dtype)                                                                                     \
    RC_RESAMPLE_WHOLE(name, direct_blocks, v16 rows[4 * direct_threads], j.as_direct(); begin(j);                           \
                      direct<dtype, v16, true>(j, rows); end(j);)

RC_RESAMPLE_DIRECT(resample_direct_f32, dt_f32)
RC_RESAMPLE_DIRECT(resample_direct_f16, dt_f16)
RC_RESAMPLE_DIRECT(resample_direct_bf16, dt_bf16)

// chunks is a row's elements, dst_step is in bytes, and src_batch and src_step in units.
#define RC_RESAMPLE_ODD(name, dtype)                                                                                        \
    RC_KERNEL_OCC(128, 8)                                                                                                   \
    name(const void *src, const void *times, const void *targets, void *__restrict__ dst, u8 *__restrict__ valid,           \
         void *__restrict__ age, u64 *__restrict__ fault, u32 *__restrict__ fault_flag, i64 start, double rate, u32 src_batch, \
         u32 src_step, u32 times_batch, u32 targets_batch, u32 total, u32 stamps, u32 share, u32 s, u32 t, u32 t_magic,     \
         float pace, u32 tile, u32 chunks, u32 chunk_magic, u32 flags, u32 dst_step, u32 fill,                              \
         u64 max_gap, u64 tolerance) {                                                                                      \
        __shared__ slot slots[most_tile];                                                                                   \
        plain_task j = {src, times, targets, (char *)dst, valid, age, fault, fault_flag, start, rate, src_batch, src_step,  \
                        times_batch, targets_batch, total, stamps, share, s, t, t_magic, pace, tile, chunks, chunk_magic,   \
                        flags, dst_step, 1, 1, block_x(), 0, 0, 0, max_gap, tolerance, fill, 0};                            \
        begin(j);                                                                                                           \
        const u32 count = survey_odd<dtype>(j, slots);                                                                      \
        barrier();                                                                                                          \
        if (count > 0) move_odd<dtype, true>(j, slots, count);                                                              \
        end(j);                                                                                                             \
    }

RC_RESAMPLE_ODD(resample_odd_f32, dt_f32)
RC_RESAMPLE_ODD(resample_odd_f16, dt_f16)
RC_RESAMPLE_ODD(resample_odd_bf16, dt_bf16)
