// resample_plain.cu resamples what most jobs are: rows of one length, ends held, no limits, values of 16 or 32 bits that keep
// their dtype, rows of whole 16-byte chunks, outputs without gaps. resample.cu takes the rest.
//
// A block takes `tile` targets, whose chunks its threads share out, at most `Each` a thread. One thread a target finds its place
// among the row's stamps and leaves in shared memory, in 8 bytes, which chunk of the source its row begins with and the weight of
// the row after it; warps without a target check the block's share of the stamps meanwhile, 16 bytes at a time. After a barrier
// each thread loads all its chunks, with the rows after them where they are blended, and then stores what it made of them. A
// block past the last target only checks.
//
// Bytes moved: each source row that a target needs, once from DRAM if targets are in order; the targets' features; stamps,
// targets, valid and age. Promises equal bits with the CPU.
#include "resample.cuh"
#include "values.cuh"

using namespace rc;

namespace {

constexpr u32 threads = 128;
constexpr u32 most_each = 4;                  // chunks a thread
constexpr u32 most_tile = threads * most_each; // targets a block: one chunk each

// task is the job as the kernel is given it. What resample.cuh asks of a job and a plain one does not have is constant.
struct task {
    const v16 *src;      // rows begin at chunks, and so do all below
    const void *times;   // stamp i of all rows is at times[i]
    const void *targets; // null for a uniform clock
    v16 *dst;            // chunk i of all targets is at dst[i]
    u8 *valid;           // null if not wanted
    void *age;           // null if not wanted
    u64 *fault;
    u32 *fault_flag;
    i64 start;
    double rate;
    u32 src_batch, src_step;        // chunks from a row of the batch, and from a sample, to the next
    u32 times_batch, targets_batch; // elements; 0 where the batch shares them
    u32 total, stamps, share;       // targets; stamps to check; of those, each block's
    u32 s, t;                       // samples and targets a row
    u32 t_magic;                    // divides by t, see row_of
    float pace;
    u32 tile, chunks, chunk_magic, flags;

    static constexpr u64 max_gap = 0, tolerance = 0;
    RC_FN_MEMBER u32 edge() const { return edge_clamp; }
    RC_FN_MEMBER bool has_gap() const { return false; }
    RC_FN_MEMBER bool has_tolerance() const { return false; }
    RC_FN_MEMBER bool near_previous() const { return false; }
    RC_FN_MEMBER bool near_next() const { return false; }
    RC_FN_MEMBER bool near_nearest() const { return false; }
    RC_FN_MEMBER bool has_window() const { return false; }
    RC_FN_MEMBER u64 window() const { return 0; }
    RC_FN_MEMBER u64 stream_bits() const { return 0; }
    RC_FN_MEMBER bool plain() const { return true; }
    RC_FN_MEMBER bool has_window() const { return false; }
    RC_FN_MEMBER u64 window() const { return 0; }
    RC_FN_MEMBER u64 stream_bits() const { return 0; }

    // The fields of flags.
    RC_FN_MEMBER u32 clock() const { return flags & 3; }
    RC_FN_MEMBER u32 kind() const { return flags >> 2 & 3; }
    RC_FN_MEMBER u32 each() const { return flags >> 4 & 7; } // chunks a thread
    RC_FN_MEMBER bool check() const { return flags >> 7 & 1; }
    RC_FN_MEMBER bool dense() const { return flags >> 8 & 1; } // the block's share of the stamps begins at 16 bytes
    RC_FN_MEMBER u32 t_shift() const { return flags >> 16 & 31; }
};

// slot is where a target's row begins in the source, and the weight of the row after it. A weight of -1 takes the row as it is;
// a NaN makes NaN.
struct alignas(8) slot {
    u32 chunk;
    float weight;
};

// ---- The check ----

template <class C> struct stamps {
    static constexpr u32 n = 16 / sizeof(C);
    C v[n];
};

// tell reports what is wrong with stamp i.
template <class C> RC_FN void tell(const task &j, u32 i) {
    const C *t = (const C *)j.times;
    const C v = ld_time(t + i);
    u64 reason = bad_time(v);
    if (reason == 0 && i % j.s != 0) {
        const C before = ld_time(t + i - 1);
        if (!(before <= v) && before == before) reason = unsorted;
    }
    if (reason != 0) report(j, fault_times, i, reason);
}

// check_share looks at the block's share of the stamps with the threads from first_thread on.
template <class C> RC_FN void check_share(const task &j, u32 first_thread) {
    const C *t = (const C *)j.times;
    const u32 begin = j.share * block_x();
    if (begin >= j.stamps) return;
    const u32 end = j.stamps - begin > j.share ? begin + j.share : j.stamps;
    constexpr u32 n = stamps<C>::n;
    u32 i = begin + (thread_x() - first_thread) * n;
    const u32 step = (threads_x() - first_thread) * n;
    for (; i < end; i += step) {
        if (!j.dense() || end - i < n) {
            for (u32 u = i; u < end && u < i + n; u++) tell<C>(j, u);
            continue;
        }
        const stamps<C> c = __builtin_bit_cast(stamps<C>, ld_nc_16(t + i));
        C before = i > 0 ? ld_time(t + i - 1) : c.v[0];
        bool good = true;
        RC_UNROLL for (u32 u = 0; u < n; u++) {
            good = good && before <= c.v[u] && bad_time(c.v[u]) == 0;
            before = c.v[u];
        }
        if (good) continue;
        for (u32 u = i; u < i + n; u++) tell<C>(j, u); // where a row begins, most often
    }
}

// ---- The search ----

template <class C> RC_FN slot place_target(const task &j, u32 i) {
    const u32 row = row_of(j, i), pos = i - row * j.t;
    const C *t = (const C *)j.times + (u64)row * j.times_batch;
    const C x = j.targets == nullptr ? tick<C>(j, pos) : ld_time((const C *)j.targets + (u64)row * j.targets_batch + pos);
    if (j.check() && beyond_range(x)) report(j, fault_targets, i, time_range);
    const located<C> at = locate(j, t, j.s, pos, x);
    if (j.valid) st_u8(j.valid + i, at.where == exact || at.where == inside);
    if (j.age) st_time((C *)j.age + i, minus(x, ld_time(t + at.k)));
    slot out = {0, -1.0f};
    u32 k = at.k;
    if (at.where == nowhere) {
        out.weight = as_f32(0x7fc00000u);
    } else if (at.where == inside) {
        if (j.kind() == linear)
            out.weight = at.template weight<float>();
        else
            k += j.kind() == next || (j.kind() == nearest && at.later);
    }
    out.chunk = row * j.src_batch + k * j.src_step;
    return out;
}

template <class C> RC_FN u32 survey_block(const task &j, slot *slots) {
    const u32 first = block_x() * j.tile;
    const u32 left = first < j.total ? j.total - first : 0;
    const u32 count = left < j.tile ? left : j.tile;
    const u32 busy = (count + warp_size - 1) & ~(warp_size - 1);
    const u32 checkers = busy < threads_x() ? busy : 0;
    if (j.check() && thread_x() >= checkers) check_share<C>(j, checkers);
    for (u32 i = thread_x(); i < count; i += threads_x()) slots[i] = place_target<C>(j, first + i);
    return count;
}

// ---- The features ----

template <u32 DT> RC_FN v16 blend_chunk(v16 lo, v16 hi, float a) {
    constexpr u32 n = 16 / element<DT>::size;
    const pack<DT, n> v0 = __builtin_bit_cast(pack<DT, n>, lo), v1 = __builtin_bit_cast(pack<DT, n>, hi);
    float x[n];
    RC_UNROLL for (u32 i = 0; i < n; i++) x[i] = lerp(get(v0, i), get(v1, i), a);
    return __builtin_bit_cast(v16, round_pack<DT, n>(x));
}

template <u32 DT, u32 Each> RC_FN void move_chunks(const task &j, const slot *slots, u32 count) {
    v16 lo[Each], hi[Each];
    float a[Each];
    const u32 all = count * j.chunks;
    RC_UNROLL for (u32 u = 0; u < Each; u++) {
        // A chunk past the last is the last one once more, and is not stored.
        const u32 n = thread_x() + u * threads, at = n < all ? n : all - 1;
        const u32 target = (at * j.chunk_magic) >> 20;
        const slot s = slots[target];
        const v16 *p = j.src + s.chunk + (at - target * j.chunks);
        a[u] = s.weight;
        lo[u] = ld_nc_16(p);
        hi[u] = ld_nc_16(s.weight >= 0 ? p + j.src_step : p);
    }
    v16 *dst = j.dst + (u64)block_x() * j.tile * j.chunks;
    RC_UNROLL for (u32 u = 0; u < Each; u++) {
        v16 out = lo[u];
        if (a[u] >= 0) out = blend_chunk<DT>(lo[u], hi[u], a[u]);
        if (is_nan(a[u])) out = __builtin_bit_cast(v16, repeat<DT, 16 / element<DT>::size>(nan_of<DT>()));
        if (thread_x() + u * threads < all) st_16(dst + thread_x() + u * threads, out);
    }
}

template <u32 DT> RC_FN void resample(const task &j, slot *slots) {
    u32 count;
    switch (j.clock()) {
    case clock_i64: count = survey_block<i64>(j, slots); break;
    case clock_f64: count = survey_block<double>(j, slots); break;
    default: count = survey_block<float>(j, slots);
    }
    barrier();
    if (count == 0) return;
    switch (j.each()) {
    case 1: return move_chunks<DT, 1>(j, slots, count);
    case 2: return move_chunks<DT, 2>(j, slots, count);
    default: return move_chunks<DT, most_each>(j, slots, count);
    }
}

} // namespace

#define RC_RESAMPLE_PLAIN(name, dtype)                                                                                      \
    RC_KERNEL_OCC(128, 8)                                                                                                   \
    name(const v16 *__restrict__ src, const void *__restrict__ times, const void *__restrict__ targets, v16 *__restrict__ dst, \
         u8 *__restrict__ valid, void *__restrict__ age, u64 *__restrict__ fault, u32 *__restrict__ fault_flag, i64 start,   \
         double rate, u32 src_batch, u32 src_step, u32 times_batch, u32 targets_batch, u32 total, u32 stamps, u32 share,     \
         u32 s, u32 t, u32 t_magic, float pace, u32 tile, u32 chunks, u32 chunk_magic, u32 flags) {                          \
        __shared__ slot slots[most_tile];                                                                                    \
        const task j = {src, times, targets, dst, valid, age, fault, fault_flag, start, rate, src_batch, src_step,           \
                        times_batch, targets_batch, total, stamps, share, s, t, t_magic, pace, tile, chunks, chunk_magic, flags}; \
        resample<dtype>(j, slots);                                                                                           \
    }

RC_RESAMPLE_PLAIN(resample_plain_f32, dt_f32)
RC_RESAMPLE_PLAIN(resample_plain_f16, dt_f16)
RC_RESAMPLE_PLAIN(resample_plain_bf16, dt_bf16)
