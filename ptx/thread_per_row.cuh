// thread_per_row.cuh resamples short rows with one thread per row: rows without gaps, made of pieces that are linear, previous, next or
// nearest, quaternions or angles, in fast-path jobs (fast.cuh) whose ends are held and whose rows have at least four samples and two
// targets.
//
// A lane has a target. It loads the four timestamps around the place that the target's number suggests, while its warp copies the rows
// that evenly spaced timestamps would need to shared memory, as they lie, 16 bytes at once, and a part of the timestamps is loaded to be
// checked. If some lane needs other rows, those from the first lane's on are copied, and if that is not enough, each lane copies its own
// two. Then a lane computes its row in shared memory, piece by piece, and the rows are written to dst 16 bytes at a time.
//
// Each warp of a block has 32 targets of its own, or all warps have the same 32: then each finds them, and they take the pieces in turn.
//
// Bytes moved: as fast.cuh. Equal bits with the CPU.
#pragma once
#include "curves.cuh"
#include "fast.cuh"
#include "warp.cuh"

namespace rc {

RC_HOST constexpr u32 max_pieces = 16;

// piece is a run of features with one interpolation: at most four that are moved, a quaternion's four, or one, two or six angles.
RC_HOST struct piece {
    u64 period; // for angles: the period's bits
    u32 at;     // bytes from the row's beginning
    u16 interpolation, n;
};

// thread_per_row_params is the kernel's parameter.
RC_HOST struct thread_per_row_params {
    const void *src, *times, *targets; // as in fast_job; src is aligned to 16 bytes
    char *dst;
    u8 *valid;
    void *age;
    u64 *fault;
    u32 *fault_flag;
    i64 start;
    double rate;
    u32 times_batch, target_batch, total, timestamps, timestamps_per_block, s, t, t_magic;
    float samples_per_target, rows_per_timestamp;
    u32 flags;          // as in fast_job, except for these
    u32 tile;           // targets per block: 32, or the number of threads
    u32 row, copy_capacity;      // bytes in a row; the most rows that are copied for 32 targets
    u32 group_bytes;     // bytes in a warp's shared memory, or the block's: the copied rows, then the targets' rows
    u32 out_at;         // where the targets' rows begin
    u32 samples, safe_samples;  // samples in all rows; a copy that ends within the first safe_samples may be rounded up to 16 bytes
    u32 pieces, unused;
    piece piece_of[max_pieces];

    RC_FLAG(flags, bool, double_weights, 30, 1) // some piece needs its weights in double
};

// lane_target is a target: its sample in src, and the weights of the one after it if it is between them.
struct lane_target {
    u32 sample;
    bool between, later, nowhere; // later: the sample after is nearer
    float weight;
    double a;
};

RC_FN fast_job task_of(const thread_per_row_params &p) {
    return {p.src, p.times, p.targets, p.dst, p.valid, p.age, p.fault, p.fault_flag, p.start, p.rate, 0, 0, p.times_batch, p.target_batch,
            p.total, p.timestamps, p.timestamps_per_block, p.s, p.t, p.t_magic, p.samples_per_target, p.tile, 0, 0, p.flags & ~(1u << 30), 0, 1, 1, block_x(), 0, 0, 0, 0, 0, 0, 0, p.rows_per_timestamp};
}

// lane_group is the threads that have the same 32 targets: a warp, or all warps of a block.
struct lane_group {
    u32 first; // of the targets
    u32 thread, threads;
    char *in, *out; // the rows that it copied, and those that it makes
    RC_FN_MEMBER bool is_warp() const { return threads == warp_size; }
    RC_FN_MEMBER void sync() const {
        if (is_warp())
            warp_barrier();
        else
            barrier();
    }
};

RC_FN lane_group lane_group_of(const fast_job &j, const thread_per_row_params &p, char *memory) {
    const bool apart = p.tile > warp_size;
    const u32 warp = apart ? thread_x() / warp_size : 0;
    char *const in = memory + warp * p.group_bytes;
    return {j.block * p.tile + warp * warp_size, apart ? lane() : thread_x(), apart ? warp_size : threads_x(), in, in + p.out_at};
}

// ---- Source rows ----

// copied_rows is source rows that a group has copied.
struct copied_rows {
    u32 first, count;
    u32 skip; // bytes of the room before them
};

constexpr u32 copies_at_once = 4;
RC_FN copied_rows copy_rows(const fast_job &j, const thread_per_row_params &p, const lane_group &w, u32 first, u32 end) {
    end = end < p.samples ? end : p.samples;
    const u32 count = end - first < p.copy_capacity ? end - first : p.copy_capacity;
    const u64 begin = (u64)first * p.row;
    const copied_rows s = {first, count, (u32)begin & 15};
    const char *const from = (const char *)j.src + (begin - s.skip);
    const u32 all = s.skip + count * p.row;
    // At the end of src there may be less than 16 bytes.
    const bool ends = first + count > p.safe_samples;
    const u32 whole = ends ? all & ~15u : all, step = w.threads * 16;
    RC_NO_UNROLL for (u32 at = w.thread * 16; at < whole; at += copies_at_once * step) {
        RC_UNROLL for (u32 u = 0; u < copies_at_once; u++) {
            if (at + u * step < whole) copy_async((v16 *)(w.in + at + u * step), from + (at + u * step));
        }
    }
    const u32 at = whole + w.thread * 2;
    if (RC_UNLIKELY(ends && at < all)) *(u16 *)(w.in + at) = ld_nc_u16(from + at);
    return s;
}

// copy_own_rows copies a lane's rows to the room, one after the other: the sample's, and the one after it if the target is between them.
RC_FN void copy_own_rows(const fast_job &j, const thread_per_row_params &p, const lane_group &w, const lane_target &f) {
    constexpr u32 n = 4; // at once
    const u32 size = j.dtype() == dt_f32 ? 4 : 2;
    const char *const from = (const char *)j.src + (u64)f.sample * p.row;
    char *const to = w.in + lane() * 2 * p.row;
    const u32 all = f.between ? 2 * p.row : p.row;
    RC_NO_UNROLL for (u32 at = w.thread / warp_size * n * size; at < all; at += w.threads / warp_size * n * size) {
        u32 v[n];
        RC_UNROLL for (u32 i = 0; i < n; i++) {
            const u32 b = at + i * size < all ? at + i * size : at;
            v[i] = size == 4 ? ld_nc_u32(from + b) : ld_nc_u16(from + b);
        }
        RC_UNROLL for (u32 i = 0; i < n; i++) {
            if (i > 0 && at + i * size >= all) break;
            if (size == 4)
                *(u32 *)(to + at + i * size) = v[i];
            else
                *(u16 *)(to + at + i * size) = (u16)v[i];
        }
    }
}

// ---- Features ----

// piece_rows is a piece of a lane's target: of its sample's row, of that after it if the target is between them, and where it goes.
struct piece_rows {
    const char *lo, *hi;
    char *to;
    bool between;
};

template <u32 DT> RC_FN pack<DT, 1> feature(const char *row, u32 i) {
    if constexpr (element<DT>::size == 4) return {{((const u32 *)row)[i]}};
    return {{((const u16 *)row)[i]}};
}
template <u32 DT> RC_FN void put(char *row, u32 i, u32 b) {
    if constexpr (element<DT>::size == 4)
        ((u32 *)row)[i] = b;
    else
        ((u16 *)row)[i] = (u16)b;
}

// move makes N features: those of lo, blended with those of hi.
template <u32 DT, u32 N> RC_FN void move(const piece_rows &m, bool blended, float a) {
    pack<DT, 1> v0[N], v1[N];
    RC_UNROLL for (u32 i = 0; i < N; i++) v0[i] = feature<DT>(m.lo, i), v1[i] = feature<DT>(m.hi, i);
    bool finite = true;
    RC_UNROLL for (u32 i = 0; i < N; i++) {
        float x[1];
        finite &= lerps(x, v0[i], v1[i], a);
        put<DT>(m.to, i, blended ? (u32)rounded<DT>(x[0]) : v0[i].w[0]);
    }
    if (RC_LIKELY(finite | !blended)) return;
    RC_NO_UNROLL for (u32 i = 0; i < N; i++) put<DT>(m.to, i, (u32)rounded<DT>(lerp(get(feature<DT>(m.lo, i), 0), get(feature<DT>(m.hi, i), 0), a)));
}

template <u32 DT> RC_FN void move_piece(piece_rows m, const piece &q, const lane_target &f) {
    const bool blended = m.between && q.interpolation == linear;
    if (m.between && (q.interpolation == next || (q.interpolation == nearest && f.later))) m.lo = m.hi;
    switch (q.n) {
    case 1: return move<DT, 1>(m, blended, f.weight);
    case 2: return move<DT, 2>(m, blended, f.weight);
    case 3: return move<DT, 3>(m, blended, f.weight);
    default: return move<DT, 4>(m, blended, f.weight);
    }
}

template <u32 DT> RC_FN void slerp_piece(const piece_rows &m, double a) {
    pack<DT, 1> v0[4], v1[4];
    u32 b[4];
    RC_UNROLL for (u32 i = 0; i < 4; i++) v0[i] = feature<DT>(m.lo, i), v1[i] = feature<DT>(m.hi, i), b[i] = v0[i].w[0];
    if (m.between) {
        double q0[4], q1[4], q[4];
        RC_UNROLL for (u32 i = 0; i < 4; i++) q0[i] = (double)get(v0[i], 0), q1[i] = (double)get(v1[i], 0);
        slerp4(q, q0, q1, a);
        RC_UNROLL for (u32 i = 0; i < 4; i++) b[i] = (u32)rounded<DT>(q[i]);
    }
    RC_UNROLL for (u32 i = 0; i < 4; i++) put<DT>(m.to, i, b[i]);
}

// interpolate_angles makes N angles at once, or one by one where one winds.
template <u32 DT, u32 N> RC_FN void interpolate_angles(const piece_rows &m, double a, double period) {
    pack<DT, 1> v0[N];
    double x0[N], x1[N], x[N];
    RC_UNROLL for (u32 i = 0; i < N; i++) v0[i] = feature<DT>(m.lo, i), x0[i] = (double)get(v0[i], 0), x1[i] = (double)get(feature<DT>(m.hi, i), 0);
    const bool near = angles_near(x, x0, x1, a, period);
    RC_UNROLL for (u32 i = 0; i < N; i++) put<DT>(m.to, i, m.between ? (u32)rounded<DT>(x[i]) : v0[i].w[0]);
    if (RC_LIKELY(near || !m.between)) return;
    RC_NO_UNROLL for (u32 i = 0; i < N; i++) {
        const double y0 = (double)get(feature<DT>(m.lo, i), 0), y1 = (double)get(feature<DT>(m.hi, i), 0);
        put<DT>(m.to, i, (u32)rounded<DT>(angle_between(y0, y1, a, period)));
    }
}

constexpr u32 angles_at_once = 6;
template <u32 DT> RC_FN void angle_piece(const piece_rows &m, const piece &q, double a) {
    const double period = as_f64(q.period);
    switch (q.n) {
    case 1: return interpolate_angles<DT, 1>(m, a, period);
    case 2: return interpolate_angles<DT, 2>(m, a, period);
    default: return interpolate_angles<DT, angles_at_once>(m, a, period);
    }
}

// ---- The targets ----

// put_rows writes `bytes` bytes, an even number, from shared memory, 16 bytes aligned.
RC_FN void put_rows(char *to, const lane_group &w, u32 bytes) {
    u32 done = 0;
    if (RC_LIKELY(((u32)(u64)to & 15) == 0)) {
        done = bytes & ~15u;
        RC_NO_UNROLL for (u32 at = w.thread * 16; at < done; at += w.threads * 16) st_16(to + at, *(const v16 *)(w.out + at));
        if (done == bytes) return;
    }
    RC_NO_UNROLL for (u32 at = done + w.thread * 2; at < bytes; at += w.threads * 2) st_u16(to + at, *(const u16 *)(w.out + at));
}

// locate_lane_target copies the rows of the group's targets, checks the block's part of the timestamps, and locates this lane's target. Where the group
// has none it only checks.
template <class C> RC_FN lane_target locate_lane_target(const fast_job &j, const thread_per_row_params &p, const lane_group &w, copied_rows &rows) {
    // A target past the last is the last once more. A group without targets loads all the same: a branch would delay the loads.
    const u32 own = w.first + lane(), i = own < j.total ? own : j.total - 1;
    const u32 row = mul_hi(i, j.t_magic) >> j.t_shift(), pos = i - row * j.t;
    u32 g = (u32)((float)pos * j.samples_per_target); // the second of the four
    g = g > 1 ? g : 1;
    g = g < j.s - 3 ? g : j.s - 3;
    const C *const t = (const C *)j.times + row * j.times_batch, *const near = t + (g - 1);
    const C t0 = ld_time(near), t1 = ld_time(near + 1), t2 = ld_time(near + 2), t3 = ld_time(near + 3);
    C given = ld_time(j.targets != nullptr ? (const C *)j.targets + (row * j.targets_batch + pos) : near);
    const C first = ld_time(t), last = ld_time(t + j.s - 1); // for the slow path
    timestamp_cursor<C> check = thread_timestamps<C>(j, threads_x(), 0);
    check.load(j);
    const u32 guess = row * j.s + g;
    rows = copy_rows(j, p, w, shuffle_from(guess, 0) - 1, shuffle_from(guess, warp_size - 1) + 3);

    if (RC_UNLIKELY(j.targets == nullptr)) given = tick<C>(j, pos); // while the memory answers
    const C x = given;
    if (RC_UNLIKELY(j.check() && beyond_range(x))) report(j, fault_targets, i, time_range);
    const bool left = x < t1, right = t2 <= x, at_end = (g == j.s - 3) & (x == t3);
    C begin = at_end ? t3 : left ? t0 : right ? t2 : t1;
    const C end = left ? t1 : right ? t3 : t2;
    auto h = span(begin, end), along = span(begin, x);
    u32 k = at_end ? j.s - 1 : left ? g - 1 : right ? g + 1 : g;
    bool inside_one = x != begin, in = true, later = along > span(x, end), nowhere_at_all = false;
    if (RC_UNLIKELY(!(((begin <= x) & (x < end)) | at_end))) {
        const located<C> at = locate(j, t, j.s, {first, last, {g, t0, t1, t2, t3}}, x);
        inside_one = at.where == inside, in = inside_one || at.where == exact, nowhere_at_all = at.where == nowhere;
        k = at.k, h = at.h, along = at.x, later = at.later;
        if (j.age != nullptr) begin = ld_time(t + k);
    }
    if (w.thread < warp_size && own < j.total) {
        if (RC_UNLIKELY(j.valid != nullptr)) st_u8(j.valid + i, in);
        if (RC_UNLIKELY(j.age != nullptr)) st_time((C *)j.age + i, minus(x, begin));
    }
    check_rest<C, true>(j, check);
    lane_target f = {row * j.s + k, inside_one, later, nowhere_at_all, 0, 0};
    h = inside_one ? h : 1; // no division by 0, nor one of it, which is slow
    along = inside_one ? along : 1;
    if (p.double_weights()) {
        f.a = ratio<double>(along, h);
        f.weight = f64_to_f32(f.a);
    } else {
        f.weight = ratio<float>(along, h);
    }
    return f;
}

RC_FN lane_target locate_targets_on_clock(const fast_job &j, const thread_per_row_params &p, const lane_group &w, copied_rows &rows) {
    switch (j.clock()) {
    case clock_i64: return locate_lane_target<i64>(j, p, w, rows);
    case clock_f64: return locate_lane_target<double>(j, p, w, rows);
    default: return locate_lane_target<float>(j, p, w, rows);
    }
}

RC_FN void resample_thread_per_row(const fast_job &j, const thread_per_row_params &p, char *memory) {
    const lane_group w = lane_group_of(j, p, memory);
    copied_rows rows;
    const lane_target f = locate_targets_on_clock(j, p, w, rows);
    copies_landed();
    if (w.first >= j.total) return;
    w.sync();
    const auto elsewhere = [&] { return votes(f.sample - rows.first >= rows.count || f.sample + f.between - rows.first >= rows.count); };
    bool own = false;
    if (RC_UNLIKELY(elsewhere())) {
        const u32 begin = shuffle_from(f.sample, 0), last = shuffle_from(f.sample, warp_size - 1);
        if (last - begin < p.copy_capacity) {
            rows = copy_rows(j, p, w, begin, last + 2);
            copies_landed();
            w.sync();
        }
        own = elsewhere();
        if (own) {
            copy_own_rows(j, p, w, f);
            w.sync();
        }
    }
    const u32 at = own ? lane() * 2 * p.row : rows.skip + (f.sample - rows.first) * p.row;
    const char *const lo = w.in + at, *const hi = f.between ? lo + p.row : lo;
    char *const to = w.out + lane() * p.row;
    dispatch_dtype(j.dtype(), [&](auto known) RC_INLINE_LAMBDA {
        constexpr u32 DT = decltype(known)::dtype;
        RC_NO_UNROLL for (u32 n = w.thread / warp_size; n < p.pieces; n += w.threads / warp_size) {
            const piece &q = p.piece_of[n];
            const piece_rows m = {lo + q.at, hi + q.at, to + q.at, f.between};
            if (q.interpolation == slerp)
                slerp_piece<DT>(m, f.a);
            else if (q.interpolation == angle)
                angle_piece<DT>(m, q, f.a);
            else
                move_piece<DT>(m, q, f);
        }
    });
    w.sync();
    if (RC_UNLIKELY(votes(f.nowhere))) {
        for (u32 i = 0; w.thread < warp_size && f.nowhere && i < p.row / 2; i++) ((u16 *)to)[i] = (u16)(fallback_word(j, 0) >> i % 2 * 16);
        w.sync();
    }
    const u32 left = j.total - w.first;
    put_rows(j.dst + (u64)w.first * p.row, w, (left < warp_size ? left : warp_size) * p.row);
}

} // namespace rc
