// fuse_backward.cuh is the kernel behind fuse_backward and fuse_backward_f64: the gradients of a Fuse, or of a Resample, with respect
// to values.
//
// A block takes `tile` samples of one stream (of a packed stream those of as many rows as they belong to) and a part of their features.
// It finds the row's targets that contribute to these samples: targets are in ascending order, so they are consecutive. For 128 targets
// at a time, one thread per target finds the sample and the weight and keeps them in shared memory; warps without a target meanwhile
// check the block's part of timestamps and targets. After a barrier each thread takes 2^vector features of some consecutive samples,
// walks over the targets that contribute to them, with two rows of gradients loaded ahead, and accumulates for two samples at once, as a
// target contributes to two neighbours at most. When the targets reach the next sample, the first of the two sums is stored. So no sum
// depends on another thread, and each is in the targets' order.
//
// Bytes moved: the targets' gradients, once but for a row that two blocks share; the samples' gradients; timestamps and targets. Equal
// bits with the CPU.
#pragma once
#include "fuse_job.cuh"

namespace rc {

RC_HOST constexpr u32 backward_threads = 128; // threads in a block, and the targets that it keeps at a time

// Blocks per multiprocessor: more would leave too few registers.
RC_HOST constexpr u32 backward_blocks = 5;
#if __CUDA_ARCH__ >= 900
constexpr u32 resident_blocks = backward_blocks;
#else
constexpr u32 resident_blocks = 3;
#endif

// backward_stream is one stream in a backward_params.
RC_HOST struct backward_stream {
    void *src; // the gradient to write
    i64 src_batch, src_step;
    const void *times;
    i64 times_batch;
    const i64 *src_rows;
    const u32 *interpolations;   // one per chunk of features; null if all have the interpolation in flags
    const float *scale; // null for none
    u64 offset, max_gap, tolerance, snap; // as fuse_stream
    u64 timestamps, timestamps_per_block, s;
    u64 targets_per_block; // targets that a block checks
    float samples_per_target;
    u32 column; // the stream's first feature in dst
    u32 blocks; // the blocks in the grid for this stream
    u32 d;
    u32 number; // the stream's number in faults
    u32 tile;   // samples per block
    u32 tiles;  // tiles in a padded row, or for all samples in a packed stream
    u32 parts;  // blocks that share a tile's features
    u32 groups; // groups of threads in a block with the same features, each with a part of the samples
    u32 chunks, chunk_magic; // as resample_job
    u32 flags, more; // as resample_job: src is in, dst is out
};

// backward_params is the kernels' parameter.
RC_HOST struct backward_params {
    const void *targets;
    i64 targets_batch;
    const void *dst; // the gradient to read
    i64 dst_batch, dst_step;
    const i64 *dst_rows;
    u64 *fault;
    u32 *fault_flag;
    i64 start;
    double rate;
    u64 total, t;
    u32 t_magic, b;
    u32 single_stream; // the gradient of a Resample, in which rows with targets need samples
    u32 unused;
    u32 first_block[max_streams]; // as fuse_params
    backward_stream stream[max_streams];
};
static_assert(sizeof(backward_params) < 4096, "every driver takes 4096 bytes");

// backward_job is a stream as a job. Its src and dst are not those of resample_job, but out and grad.
struct backward_job : fuse_job {
    const char *grad;
    char *out_at;
    const u32 *interpolations;
    const float *scale;
    u64 targets_per_block;
    u32 tiles, parts, groups;
    bool whole; // see backward_params.alone

    RC_FN_MEMBER bool may_lack_samples() const { return !whole; }
    RC_FN_MEMBER bool lines() const { return edge() == edge_extrapolate; }
    RC_FN_MEMBER void fence_after_wait() const {} // it lies in shared memory, and is read behind the wait
};

RC_FN backward_job job_of(const backward_params &p, u32 m) {
    const backward_stream &f = p.stream[m];
    backward_job j = {};
    j.src_batch = f.src_batch, j.src_step = f.src_step, j.times = f.times, j.times_batch = f.times_batch, j.src_rows = f.src_rows;
    j.targets = p.targets, j.targets_batch = p.targets_batch, j.dst_batch = p.dst_batch, j.dst_step = p.dst_step, j.dst_rows = p.dst_rows;
    j.fault = p.fault, j.fault_flag = p.fault_flag, j.start = p.start, j.rate = p.rate, j.max_gap = f.max_gap, j.tolerance = f.tolerance, j.snap = f.snap;
    j.total = p.total, j.timestamps = f.timestamps, j.timestamps_per_block = f.timestamps_per_block, j.s = f.s, j.t = p.t, j.t_magic = p.t_magic, j.samples_per_target = f.samples_per_target, j.b = p.b, j.d = f.d;
    j.tile = f.tile, j.chunks = f.chunks, j.chunk_magic = f.chunk_magic, j.flags = f.flags, j.more = f.more;
    j.offset = f.offset, j.stream = f.number, j.first_block = p.first_block[m], j.block_count = f.blocks;
    j.grad = (const char *)p.dst + (u64)f.column * size_of(j.out()), j.out_at = (char *)f.src;
    j.interpolations = f.interpolations, j.scale = f.scale, j.targets_per_block = f.targets_per_block, j.tiles = f.tiles, j.parts = f.parts, j.groups = f.groups, j.whole = p.single_stream;
    return j;
}

// load_shared_job keeps the block's job in shared memory: the registers would not hold it beside the sums.
RC_FN void load_shared_job(backward_job &j, const backward_params &p) {
    if (thread_x() == 0) j = job_of(p, stream_of(p));
    barrier();
}

// dispatch_clock calls f with a time of the job's clock.
template <class F> RC_FN void dispatch_clock(u32 clock, F f) {
    switch (clock) {
    case clock_i64: return f(i64(0));
    case clock_f64: return f(double(0));
    default: return f(float(0));
    }
}

// ---- Rows ----

// sample_range is neighbouring samples of a row, and the row's targets.
struct sample_range {
    u32 row, lo, hi;     // the samples: some may lie beyond the row's length
    u32 n, count;        // samples and targets of the row
    i64 timestamps, targets; // elements to those of the row
    i64 grad, out;       // elements to the gradients of the row's first target and sample
};

RC_FN sample_range sample_range_of(const backward_job &j, u32 row, u32 lo, u32 hi) {
    const extent e = src_row(j, row), f = dst_row(j, row);
    const i64 packed = j.dst_offsets() ? f.first : 0, r = j.dst_offsets() ? 0 : (i64)row;
    return {row, lo, hi, e.n, e.n > 0 ? f.n : 0, (i64)row * j.times_batch + e.first, r * j.targets_batch + packed,
            r * j.dst_batch + packed * j.dst_step, (i64)row * j.src_batch + e.first * j.src_step};
}

// packed_range_at is the samples from number `at` of a packed stream on, up to the end of their row. One that is in no row has no targets.
RC_FN sample_range packed_range_at(const backward_job &j, u64 at, u64 end) {
    u32 row, k;
    if (!place_in(j.src_extents(), j.s, j.b, at, row, k)) return {0, 0, 1, 0, 0, 0, 0, 0, (i64)at * j.src_step};
    const u32 n = src_row(j, row).n;
    return sample_range_of(j, row, k, n - k < end - at ? n : k + (u32)(end - at));
}

// given is target i of a range's row, on the common clock.
template <class C> RC_FN C given(const backward_job &j, const sample_range &r, u32 i) {
    return j.targets == nullptr ? tick<C>(j, i) : ld_time((const C *)j.targets + r.targets + i);
}

// ---- The targets of a range of samples ----

// rank is how many of the row's targets are at x or before it, if they are in order. It looks at four around the guess, then at four further away on the side where it lies until
// it is passed, and then divides by five. Whatever the targets are, it ends and stays within them. A NaN counts as after x.
template <class C> RC_FN u32 rank(const backward_job &j, const sample_range &r, C x, u32 guess) {
    u32 lo = 0, hi = r.count, step = 1, from = guess > 1 ? guess - 2 : 0;
    bool passed[2] = {};
    RC_NO_UNROLL while (lo < hi) {
        u32 at[4];
        C v[4];
        RC_UNROLL for (u32 i = 0; i < 4; i++) {
            at[i] = from + i * step;
            at[i] = at[i] < lo ? lo : at[i] < hi ? at[i] : hi - 1;
            v[i] = j.to_stream_clock(given<C>(j, r, at[i]));
        }
        bool before = true;
        RC_UNROLL for (u32 i = 0; i < 4; i++) {
            if (before && v[i] <= x)
                lo = at[i] + 1, passed[0] = true;
            else if (before)
                hi = at[i], before = false, passed[1] = true;
        }
        const u32 fifth = (hi - lo) / 5 + 1;
        step = passed[0] && passed[1] ? fifth : 8 * step < fifth ? 8 * step : fifth;
        from = passed[0] || hi - lo <= 4 * step ? lo + step - 1 : hi - 4 * step;
    }
    return lo;
}

struct target_range {
    u32 from, to;
};

// contributing is targets among which are all that contribute to a range's samples: those from the bracket that ends at the first to the one that begins at the last. Lines
// beyond the ends contribute to the two samples of the first bracket and the last. Even lanes look for where it begins, odd ones for where it ends.
template <class C> RC_FN target_range contributing(const backward_job &j, const sample_range &r) {
    if (r.lo >= r.n || r.count == 0) return {0, 0};
    const C *const t = (const C *)j.times + r.timestamps;
    const u32 hi = r.hi < r.n ? r.hi : r.n;
    const C first = ld_time(t), last = ld_time(t + r.n - 1), begin = ld_time(t + r.lo), end = ld_time(t + (hi < r.n ? hi : r.n - 1));
    C before = ld_time(t + (r.lo > 0 ? r.lo - 1 : 0));
    bool from_start = r.lo == 0;
    if (RC_UNLIKELY(!from_start && !(before < begin))) {
        const u32 k = first_at_or_above(t, r.n, begin);
        from_start = k == 0;
        before = ld_time(t + (k > 0 ? k - 1 : 0));
    }
    from_start = from_start || (j.lines() && before == first);
    const bool to_end = hi == r.n || (j.lines() && end == last), right = lane() & 1;
    u32 found = right ? r.count : 0;
    if (!(right ? to_end : from_start)) found = rank<C>(j, r, right ? end : before, (u32)((float)(right ? hi : r.lo - 1) * div_fast((float)r.count, (float)r.n)));
    return {shuffle_from(found, 0), shuffle_from(found, 1)};
}

// out_of_order says that a row's targets beyond an end give to samples that others come between: there are lines, and samples of one time at an end.
template <class C> RC_FN bool out_of_order(const backward_job &j, const sample_range &r) {
    if (!j.lines() || r.n < 2) return false;
    const C *const t = (const C *)j.times + r.timestamps;
    return ld_time(t + 1) == ld_time(t) || ld_time(t + r.n - 2) == ld_time(t + r.n - 1);
}

enum target_flags : u32 { contributes = 1, pair = 2, between = 4, is_later = 8 };

// target_batch is what a block keeps of targets.
template <class W> struct target_batch {
    W a[backward_threads];      // of a pair: the second sample's weight
    u32 k[backward_threads];    // the last sample at or before the target, 0 if there is none: it never falls, if targets are in order
    u32 base[backward_threads]; // of a pair: the first sample
    u32 act[backward_threads];
};

// cache_gradient_target finds target i of the row, one of `all`.
template <class C, class W> RC_FN void cache_gradient_target(const backward_job &j, const sample_range &r, const target_range &all, u32 i, target_batch<W> &s, u32 slot) {
    const C *const t = (const C *)j.times + r.timestamps;
    const C x = j.to_stream_clock(given<C>(j, r, i));
    const u32 guess = r.lo + (u32)((float)(i - all.from) * div_fast((float)(r.hi - r.lo), (float)(all.to - all.from)));
    const located<C> m = locate(j, t, r.n, {ld_time(t), ld_time(t + r.n - 1), load_window(t, r.n, guess)}, x);
    const bool outside = m.where == below || (m.where == above && j.edge() != edge_hold), off = m.where == nowhere;
    const bool filled = off || (outside && (j.edge() == edge_fill || j.edge() == edge_hold)) || (m.gap && j.fill_gaps());
    const bool two = m.where == inside || m.line;
    s.k[slot] = off ? r.n - 1 : m.k;
    s.base[slot] = m.line ? m.base : m.k;
    s.a[slot] = two ? m.template weight<W>() : W(0);
    s.act[slot] = (filled ? 0 : (u32)contributes) | (two ? (u32)pair : 0) | (m.where != inside ? 0 : m.later ? (u32)(between | is_later) : (u32)between);
}

// ---- The check ----

// check_targets checks this block's part of the targets of rows that have samples, with the threads from `first_thread` on. Those of a uniform clock are in order.
template <class C> RC_FN void check_targets(const backward_job &j, u32 first_thread) {
    const u64 begin = j.targets_per_block * j.block();
    u64 end = begin + j.targets_per_block;
    end = end < j.total ? end : j.total;
    RC_NO_UNROLL for (u64 i = begin + (thread_x() - first_thread); i < end; i += j.threads() - first_thread) {
        u32 row, pos;
        if (j.dst_offsets()) {
            if (!place_in(j.dst_extents(), j.t, j.b, i, row, pos)) continue;
        } else {
            row = row_of(j, i), pos = (u32)(i - row * j.t);
        }
        const sample_range r = sample_range_of(j, row, 0, 0);
        if (pos >= r.count) continue;
        const C x = given<C>(j, r, pos), before = given<C>(j, r, pos > 0 ? pos - 1 : 0), own = j.to_stream_clock(x);
        if (j.check() && x == x && !(before <= x)) report(j, fault_targets, i, unsorted);
        if (j.check() && j.beyond(beyond_range(x), beyond_range(own))) report(j, fault_targets, i, time_range);
        if (j.edge() != edge_error) continue;
        const C *const t = (const C *)j.times + r.timestamps;
        const C first = ld_time(t), last = ld_time(t + r.n - 1);
        C snap;
        from_bits(j.snap, snap);
        const bool left = own < first;
        if ((left || last < own) && !(j.has_snap() && !(left ? span_exceeds(own, first, snap) : span_exceeds(last, own, snap)))) report(j, fault_targets, i, out_of_range);
    }
}

RC_FN void check_all(const backward_job &j, u32 first_thread) {
    if (j.check()) check_rows(j);
    if (thread_x() < first_thread) return;
    dispatch_clock(j.clock(), [&](auto time) RC_INLINE_LAMBDA {
        using C = decltype(time);
        if (j.check()) check_timestamps<C>(j, first_thread);
        if (j.check() || j.edge() == edge_error) check_targets<C>(j, first_thread);
    });
}

// ---- The sums ----

template <class W> constexpr u32 max_features = sizeof(W) == 4 ? 8 : 2; // that a thread takes at once

// sums is a thread's: of sample `at`, whose gradient goes to `to`, and of the one after it.
template <class W> struct sums {
    W x[2][max_features<W>];
    u32 at;
    char *to;
};

// thread_work is a thread's samples and features.
struct thread_work {
    u32 lo, hi;        // samples
    u32 chunk, interpolation;   // of the features
    bool on;           // there are such
    bool all;          // every target of the block is to be looked at
};

template <u32 N, class W> RC_FN void clear(W (&x)[max_features<W>]) {
    RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = 0;
}

// store_first writes the first of the two sums, and goes on to the next sample.
template <u32 N, class W> RC_FN void store_first(const backward_job &j, sums<W> &s) {
    W x[N];
    RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = s.x[0][i];
    if constexpr (sizeof(W) == 8)
        st_pack(s.to, round_pack<dt_f64, N>(x));
    else
        dispatch_dtype(j.in(), [&](auto known) RC_INLINE_LAMBDA { st_pack(s.to, round_pack<decltype(known)::dtype, N>(x)); });
    RC_UNROLL for (u32 i = 0; i < N; i++) s.x[0][i] = s.x[1][i];
    clear<N>(s.x[1]);
    s.at++, s.to += j.src_step * (i64)size_of(j.in());
}

// numbers are a target's gradients as they are summed: scaled in float, if at all.
template <u32 DT, u32 N, class W> RC_FN void numbers(W (&x)[N], const pack<DT, N> &v, const float *scale) {
    const auto narrow = [&](u32 i) {
        if constexpr (DT == dt_f64)
            return f64_to_f32(get(v, i));
        else
            return get(v, i);
    };
    if (RC_UNLIKELY(scale != nullptr)) {
        RC_UNROLL for (u32 i = 0; i < N; i++) x[i] = (W)(narrow(i) * ld_nc_f32(scale + i));
        return;
    }
    RC_UNROLL for (u32 i = 0; i < N; i++) {
        if constexpr (sizeof(W) == 8)
            x[i] = (W)get(v, i);
        else
            x[i] = narrow(i);
    }
}

template <u32 N, class W> RC_FN void add(W (&sum)[max_features<W>], W a, const W (&x)[N]) {
    RC_UNROLL for (u32 i = 0; i < N; i++) sum[i] = sum[i] + a * x[i];
}

// first_slot_at is the first of count slots whose k is `least` or more.
template <class W> RC_FN u32 first_slot_at(const target_batch<W> &s, u32 count, u32 least) {
    u32 lo = 0, hi = count;
    RC_NO_UNROLL while (lo < hi) {
        const u32 mid = (lo + hi) / 2;
        if (s.k[mid] < least)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

// accumulate adds what the block's targets, the first of which is number `first` of the row, give to the thread's samples.
template <u32 DT, u32 N, class W> RC_FN void accumulate(const backward_job &j, const target_batch<W> &m, const sample_range &r, const thread_work &w, u32 first, u32 count, sums<W> &s) {
    u32 i = 0, end = count;
    if (!w.all) {
        i = first_slot_at(m, count, w.lo > 0 ? w.lo - 1 : 0);
        if (!(j.lines() && w.hi + 1 >= r.n)) end = first_slot_at(m, count, w.hi);
    }
    if (i >= end) return;
    const i64 step = j.dst_step * (i64)element<DT>::size;
    const char *from = j.grad + (r.grad + (i64)(first + i) * j.dst_step + w.chunk * N) * (i64)element<DT>::size;
    const char *const last = from + (i64)(end - 1 - i) * step;
    const auto next = [&] {
        const pack<DT, N> v = ld_pack<DT, N>(from);
        from = from == last ? last : from + step;
        return v;
    };
    pack<DT, N> v0 = next(), v1 = next();
    const float *const scale = j.scale != nullptr ? j.scale + w.chunk * N : nullptr;
    RC_NO_UNROLL for (; i < end; i++) {
        const pack<DT, N> v2 = next();
        const u32 act = m.act[i];
        const bool two = (act & pair) && w.interpolation == linear;
        u32 u = m.base[i];
        if (!two) u = m.k[i] + (((act & between) && w.interpolation == rc::next) || ((act & is_later) && w.interpolation == nearest));
        if ((act & contributes) && u < w.hi && u + two >= w.lo) {
            const u32 reach = u + (two && u + 1 < w.hi);
            RC_NO_UNROLL while (s.at + 1 < reach) store_first<N>(j, s);
            const W a = m.a[i], first_weight = two ? 1 - a : 1;
            const bool on0 = u == s.at || (two && u + 1 == s.at), on1 = u == s.at + 1 || (two && u == s.at);
            const W a0 = u == s.at ? first_weight : a, a1 = u == s.at + 1 ? first_weight : a;
            W x[N];
            numbers(x, v0, scale);
            if (RC_LIKELY(on0 && on1)) {
                add(s.x[0], a0, x), add(s.x[1], a1, x);
            } else if (on0) {
                add(s.x[0], a0, x);
            } else if (on1) {
                add(s.x[1], a1, x);
            }
        }
        v0 = v1, v1 = v2;
    }
}

// dispatch_vector calls f with a number of elements that is known when the kernel is compiled: 2^vector, at most Most.
template <u32 N> struct static_count {
    static constexpr u32 value = N;
};
template <u32 Most, class F> RC_FN void dispatch_vector(u32 vector, F f) {
    switch (vector) {
    case 3:
        if constexpr (Most >= 8) return f(static_count<8>());
    case 2:
        if constexpr (Most >= 4) return f(static_count<4>());
    case 1:
        if constexpr (Most >= 2) return f(static_count<2>());
    default: return f(static_count<1>());
    }
}

template <u32 DT, class W> RC_FN void accumulate_from(const backward_job &j, const target_batch<W> &m, const sample_range &r, const thread_work &w, u32 first, u32 count, sums<W> &s) {
    constexpr u32 most = 16 / element<DT>::size < max_features<W> ? 16 / element<DT>::size : max_features<W>;
    dispatch_vector<most>(j.vector(), [&](auto n) RC_INLINE_LAMBDA { accumulate<DT, decltype(n)::value>(j, m, r, w, first, count, s); });
}

// work_of gives this thread its samples of the range, and its features.
RC_FN thread_work work_of(const backward_job &j, const sample_range &r, u32 part, bool all) {
    const bool wide = j.groups == 1;
    const u32 group = wide ? 0 : chunk_of(j, thread_x()), chunk = wide ? part * j.threads() + thread_x() : thread_x() - group * j.chunks;
    const u32 each = (r.hi - r.lo + j.groups - 1) / j.groups, lo = r.lo + group * each, hi = r.hi - lo < each ? r.hi : lo + each;
    const bool on = chunk < j.chunks && group < j.groups && lo < r.hi;
    return {lo, hi, chunk, on && j.interpolations != nullptr ? ld_nc_u32(j.interpolations + chunk) : j.interpolation(), on, wide || all};
}

// make_range computes the gradients of a range's samples.
template <class W> RC_FN void make_range(const backward_job &j, target_batch<W> &m, const sample_range &r, u32 part, bool all, bool &checked) {
    target_range near = {0, 0};
    dispatch_clock(j.clock(), [&](auto time) RC_INLINE_LAMBDA { near = contributing<decltype(time)>(j, r); });
    const thread_work w = work_of(j, r, part, all);
    sums<W> s;
    clear<max_features<W>>(s.x[0]), clear<max_features<W>>(s.x[1]);
    s.at = w.lo;
    s.to = j.out_at + (r.out + (i64)w.lo * j.src_step + (i64)(w.chunk << j.vector())) * (i64)size_of(j.in());
    RC_NO_UNROLL for (u32 first = near.from; first < near.to; first += backward_threads) {
        const u32 left = near.to - first, count = left < backward_threads ? left : backward_threads;
        barrier(); // the marks before have been read
        dispatch_clock(j.clock(), [&](auto time) RC_INLINE_LAMBDA {
            if (thread_x() < count) cache_gradient_target<decltype(time)>(j, r, near, first + thread_x(), m, thread_x());
        });
        const u32 busy = (count + warp_size - 1) & ~(warp_size - 1);
        if (!checked) check_all(j, busy < j.threads() ? busy : 0);
        checked = true;
        barrier();
        if (!w.on) continue;
        switch (j.out()) {
        case dt_f32: accumulate_from<dt_f32>(j, m, r, w, first, count, s); break;
        case dt_f64: accumulate_from<dt_f64>(j, m, r, w, first, count, s); break;
        case dt_f16: accumulate_from<dt_f16>(j, m, r, w, first, count, s); break;
        default: accumulate_from<dt_bf16>(j, m, r, w, first, count, s); break;
        }
    }
    if (!w.on) return;
    dispatch_vector<max_features<W>>(j.vector(), [&](auto n) RC_INLINE_LAMBDA {
        RC_NO_UNROLL while (s.at < w.hi) store_first<decltype(n)::value>(j, s);
    });
}

template <class W> RC_FN void make_gradients(backward_job &j, target_batch<W> &m) {
    begin(j);
    bool checked = !j.check() && j.edge() != edge_error;
    const u32 number = j.block() / j.parts, part = j.block() - number * j.parts, row = number / j.tiles;
    u64 at = (u64)(number - row * j.tiles) * j.tile;
    const u64 end = at + j.tile < j.s ? at + j.tile : j.s;
    const bool packed = j.src_offsets();
    RC_NO_UNROLL while (at < end && row < (packed ? 1 : j.b)) { // beyond it the block only checks
        const sample_range r = packed ? packed_range_at(j, at, end) : sample_range_of(j, row, (u32)at, (u32)end);
        bool apart = false;
        dispatch_clock(j.clock(), [&](auto time) RC_INLINE_LAMBDA { apart = out_of_order<decltype(time)>(j, r); });
        // Where the order of targets is not that of samples, a sample is made by itself.
        RC_NO_UNROLL for (u32 lo = r.lo; lo < r.hi;) {
            sample_range one = r;
            one.lo = lo;
            if (RC_UNLIKELY(apart)) one.hi = lo + 1;
            make_range(j, m, one, part, apart, checked);
            lo = one.hi;
        }
        at += r.hi - r.lo;
    }
    if (!checked) check_all(j, 0);
    rc::end(j);
}

} // namespace rc
