// resample_channels.cu resamples rows whose ranges of features have kinds of their own, and the kinds that look at values or at
// more than two samples.
//
// A block takes `tile` targets. One thread a target finds its place among the row's stamps and keeps it in shared memory; warps
// without a target check the block's share of the stamps meanwhile. After a barrier each thread makes one item of one target
// at a time: a feature, or the few features of a rotation, so that what they share is computed once. Neighbouring threads take
// neighbouring items.
//
// Bytes moved: as resample.cu, with a cubic through samples two rows more a target, with a window all its rows. Promises equal bits
// with the CPU.
#include "channels.cuh"

using namespace rc;

namespace {

constexpr u32 max_tile = 128; // targets a block

template <u32 In>
RC_FN void resample(const windows_job &j, const plain_job &plain, spots<max_tile> &s, const item *items, const channel *channels) {
    const auto keep = [&](u32 i, const auto &m) { keep_spot(j, s, i, m); };
    const u32 count = j.plain() ? survey_clock(plain, keep) : survey_clock(j, keep);
    barrier();
    const u32 item_count = j.chunks;
    const u32 skip = chunk_of(j, threads_x()), over = threads_x() - skip * item_count;
    u32 target = chunk_of(j, thread_x()), n = thread_x() - target * item_count;
    while (target < count) {
        const item it = ld_item(items + n);
        const channel c = ld_channel(channels + it.channel);
        make_item<In>(j, s, target, c, it.feature, dst_sink{j, s.dst[target] + it.feature});
        target += skip, n += over;
        if (n >= item_count) n -= item_count, target++;
    }
}

} // namespace

#define RC_RESAMPLE_CHANNELS(name, dtype)                                                                                  \
    RC_KERNEL_OCC(128, 5)                                                                                                  \
    name(RC_RESAMPLE_PARAMS, u64 shortest, const item *__restrict__ items, const channel *__restrict__ channels) {         \
        __shared__ spots<max_tile> mem;                                                                                    \
        plain_job plain = {RC_RESAMPLE_ARGS};                                                                              \
        begin(plain);                                                                                                      \
        const windows_job j = {plain, shortest};                                                                           \
        resample<dtype>(j, plain, mem, items, channels);                                                                   \
        end(j);                                                                                                            \
    }

RC_RESAMPLE_CHANNELS(resample_channels_f32, dt_f32)
RC_RESAMPLE_CHANNELS(resample_channels_f64, dt_f64)
RC_RESAMPLE_CHANNELS(resample_channels_f16, dt_f16)
RC_RESAMPLE_CHANNELS(resample_channels_bf16, dt_bf16)
