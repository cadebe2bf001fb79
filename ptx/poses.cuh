// poses.cuh resamples rows of poses: short rows without gaps, of runs of features that are moved, of quaternions and of angles, in plain
// jobs (plain.cuh) whose ends are held.
//
// A block takes 32 targets, one a lane. While the stamps are on their way, it has the rows that even stamps would need copied to shared
// memory as they lie, 16 bytes at once; if some lane needs others, the rows from the first lane's on are copied instead, and a lane whose
// rows are not among them reads its own. Then a lane makes its row in shared memory, piece by piece, and the rows are written to
// dst by 16 bytes. If a block has several warps, each finds all targets, and they take the pieces in turn.
//
// Bytes moved: as plain.cuh. Promises equal bits with the CPU.
#pragma once
#include "curves.cuh"
#include "plain.cuh"
#include "warp.cuh"

namespace rc {

constexpr u32 most_runs = 16;
constexpr u32 most_pose = 64;    // bytes of a row
constexpr u32 room_bytes = 6144; // of the rows that a block copies

// run is features of one kind, from lo to hi.
struct run {
    u64 period; // of angles: its bits
    u16 lo, hi;
    u32 kind;
};

// poses is the kernel's parameter.
struct poses {
    const void *src, *times, *targets; // as plain_task; src begins at 16 bytes
    char *dst;
    u8 *valid;
    void *age;
    u64 *fault;
    u32 *fault_flag;
    i64 start;
    double rate;
    u64 bytes; // of src
    u32 times_batch, targets_batch, total, stamps, share, s, t, t_magic;
    float pace;
    u32 flags;          // as plain_task
    u32 row, room;      // bytes of a row; rows that a block copies at most
    u32 samples, runs;  // of all rows of the batch; of a row
    run run_of[most_runs];
};
static_assert(sizeof(poses) == 144 + 16 * most_runs, "ops/cuda/poses.go packs it");

// found is a target: its sample in src, and the weight of the one after it if it is between them.
struct found {
    double a;
    u32 sample;
    bool between, later, nowhere; // later: the sample after is nearer
};

// pose_room is a block's shared memory: its source rows, from 16 bytes on, and its targets'.
struct alignas(16) pose_room {
    char in[room_bytes + 32];
    char out[warp_size * most_pose];
};

RC_FN plain_task task_of(const poses &p) {
    return {p.src, p.times, p.targets, p.dst, p.valid, p.age, p.fault, p.fault_flag, p.start, p.rate, 0, 0, p.times_batch, p.targets_batch,
            p.total, p.stamps, p.share, p.s, p.t, p.t_magic, p.pace, 0, 0, 0, p.flags & 0x801f0183u, 0, 1, 1, block_x(), 0, 0, 0, 0, 0, 0, 0};
}

// ---- The check ----

// checks is where a thread's share of the stamps stands: 16 bytes of stamps are on their way, if that many are left from i on.
template <class C> struct checks {
    static constexpr u32 n = 16 / sizeof(C);
    struct piece {
        C v[n];
    };
    u32 i, end;
    piece now;
    C before;

    RC_FN_MEMBER bool whole(const plain_task &j) const { return i < end && j.dense() && end - i >= n; }
    RC_FN_MEMBER void load(const plain_task &j) {
        if (!whole(j)) return;
        const C *const t = (const C *)j.times;
        now = __builtin_bit_cast(piece, ld_nc_16(t + i));
        before = ld_time(t + (i > 0 ? i - 1 : 0));
    }
    // right reports whether the stamps are in range and follow the one before.
    RC_FN_MEMBER bool right() const {
        bool good = before <= now.v[0] && bad_time(now.v[0]) == 0;
        RC_UNROLL for (u32 u = 1; u < n; u++) good = good && now.v[u - 1] <= now.v[u] && bad_time(now.v[u]) == 0;
        return good;
    }
};

template <class C> RC_FN checks<C> checks_of(const plain_task &j) {
    checks<C> w;
    const u32 begin = j.share * j.block;
    w.i = begin + thread_x() * checks<C>::n;
    w.end = !j.check() || begin >= j.stamps ? 0 : j.stamps - begin > j.share ? begin + j.share : j.stamps;
    w.load(j);
    return w;
}

template <class C> RC_FN void check_all(const plain_task &j, checks<C> &w) {
    RC_ROLLED for (; w.i < w.end; w.i += threads_x() * checks<C>::n, w.load(j)) {
        if (w.whole(j) && w.right()) continue;
        // Where a row begins, most often.
        RC_ROLLED for (u32 u = w.i; u < w.end && u < w.i + checks<C>::n; u++) tell<C>(j, u);
    }
}

// ---- Source rows ----

// stretch is source rows that the block has copied.
struct stretch {
    u32 first, count;
    u32 skip; // bytes of the room before them
};

constexpr u32 copies_at_once = 2;
RC_FN stretch fetch(const plain_task &j, const poses &p, pose_room &mem, u32 first, u32 end) {
    end = end < p.samples ? end : p.samples;
    const u32 count = end - first < p.room ? end - first : p.room;
    const u64 begin = (u64)first * p.row;
    const stretch s = {first, count, (u32)begin & 15};
    const char *const from = (const char *)j.src + (begin - s.skip);
    const u64 there = (p.bytes - (begin - s.skip)) & ~15ull; // whole 16 bytes to the end of src
    const u32 all = s.skip + count * p.row, whole = all < there ? all : (u32)there;
    const u32 step = threads_x() * 16;
    RC_ROLLED for (u32 at = thread_x() * 16; at < whole; at += copies_at_once * step) {
        RC_UNROLL for (u32 u = 0; u < copies_at_once; u++) {
            if (at + u * step < whole) copy_async((v16 *)(mem.in + at + u * step), from + at + u * step);
        }
    }
    // The end of src, if that is less than 16 bytes.
    RC_ROLLED for (u32 at = whole + thread_x() * 2; at < all; at += threads_x() * 2) *(u16 *)(mem.in + at) = ld_nc_u16(from + at);
    return s;
}

// ---- Features ----

// turns tells which pieces are this warp's.
struct turns {
    u32 left, warps; // pieces of others before the next
    RC_FN_MEMBER bool mine() {
        const bool is = left == 0;
        left = is ? warps - 1 : left - 1;
        return is;
    }
};

// pose is a lane's target: its sample's row and the one after it if the target is between them, in any memory.
struct pose {
    const char *lo, *hi;
    bool between, later; // later: hi is nearer
    double a;
    char *to;

    // from is the pose from feature f on.
    template <u32 DT> RC_FN_MEMBER pose from(u32 f) const {
        const u32 at = f * element<DT>::size;
        return {lo + at, hi + at, between, later, a, to + at};
    }
};

template <u32 DT> RC_FN pack<DT, 1> feature(const char *row, u32 i) {
    if constexpr (element<DT>::size == 4) return {{((const u32 *)row)[i]}};
    return {{((const u16 *)row)[i]}};
}
template <u32 DT> RC_FN void put(const pose &m, u32 i, u32 b) {
    if constexpr (element<DT>::size == 4)
        ((u32 *)m.to)[i] = b;
    else
        ((u16 *)m.to)[i] = (u16)b;
}

// move_piece makes N features: those of lo, blended with those of hi.
template <u32 DT, u32 N> RC_FN void move_piece(const pose &m, bool blended, float a) {
    pack<DT, 1> v0[N], v1[N];
    RC_UNROLL for (u32 i = 0; i < N; i++) v0[i] = feature<DT>(m.lo, i), v1[i] = feature<DT>(m.hi, i);
    RC_UNROLL for (u32 i = 0; i < N; i++)
        put<DT>(m, i, blended ? (u32)rounded<DT>(lerp(get(v0[i], 0), get(v1[i], 0), a)) : v0[i].w[0]);
}

template <u32 DT> RC_FN void move_run(pose m, const run &r, turns &t) {
    const bool blended = m.between && r.kind == linear;
    if (m.between && (r.kind == next || (r.kind == nearest && m.later))) m.lo = m.hi;
    const float a = f64_to_f32(m.a);
    RC_ROLLED for (u32 f = r.lo; f < r.hi; f += 4) {
        if (!t.mine()) continue;
        const pose at = m.template from<DT>(f);
        switch (r.hi - f) {
        case 1: move_piece<DT, 1>(at, blended, a); break;
        case 2: move_piece<DT, 2>(at, blended, a); break;
        case 3: move_piece<DT, 3>(at, blended, a); break;
        default: move_piece<DT, 4>(at, blended, a); break;
        }
    }
}

template <u32 DT> RC_FN void turn_run(const pose &m, const run &r, turns &t) {
    RC_ROLLED for (u32 f = r.lo; f < r.hi; f += 4) {
        if (!t.mine()) continue;
        const pose at = m.template from<DT>(f);
        pack<DT, 1> v0[4], v1[4];
        u32 b[4];
        RC_UNROLL for (u32 i = 0; i < 4; i++) v0[i] = feature<DT>(at.lo, i), v1[i] = feature<DT>(at.hi, i), b[i] = v0[i].w[0];
        if (m.between) {
            double q0[4], q1[4], q[4];
            RC_UNROLL for (u32 i = 0; i < 4; i++) q0[i] = (double)get(v0[i], 0), q1[i] = (double)get(v1[i], 0);
            slerp4(q, q0, q1, m.a);
            RC_UNROLL for (u32 i = 0; i < 4; i++) b[i] = (u32)rounded<DT>(q[i]);
        }
        RC_UNROLL for (u32 i = 0; i < 4; i++) put<DT>(at, i, b[i]);
    }
}

// wind_piece makes N angles at once, or one by one where one winds.
template <u32 DT, u32 N> RC_FN void wind_piece(const pose &m, double period) {
    pack<DT, 1> v0[N];
    double x0[N], x1[N], x[N];
    RC_UNROLL for (u32 i = 0; i < N; i++) v0[i] = feature<DT>(m.lo, i), x0[i] = (double)get(v0[i], 0), x1[i] = (double)get(feature<DT>(m.hi, i), 0);
    const bool near = angles_near(x, x0, x1, m.a, period);
    RC_UNROLL for (u32 i = 0; i < N; i++) put<DT>(m, i, m.between ? (u32)rounded<DT>(x[i]) : v0[i].w[0]);
    if (near || !m.between) return;
    RC_ROLLED for (u32 i = 0; i < N; i++) {
        const double y0 = (double)get(feature<DT>(m.lo, i), 0), y1 = (double)get(feature<DT>(m.hi, i), 0);
        put<DT>(m, i, (u32)rounded<DT>(angle_between(y0, y1, m.a, period)));
    }
}

constexpr u32 angles_at_once = 6;
template <u32 DT> RC_FN void wind_run(const pose &m, const run &r, turns &t) {
    const double period = as_f64(r.period);
    RC_ROLLED for (u32 f = r.lo; f < r.hi;) {
        const u32 n = r.hi - f >= angles_at_once ? angles_at_once : r.hi - f >= 2 ? 2 : 1;
        if (t.mine()) {
            const pose at = m.template from<DT>(f);
            if (n == angles_at_once)
                wind_piece<DT, angles_at_once>(at, period);
            else if (n == 2)
                wind_piece<DT, 2>(at, period);
            else
                wind_piece<DT, 1>(at, period);
        }
        f += n;
    }
}

// ---- A block's targets ----

// put_block writes `bytes` bytes, an even number, from shared memory, 16 bytes aligned.
RC_FN void put_block(char *to, const char *from, u32 bytes) {
    u32 done = 0;
    if (((u32)(u64)to & 15) == 0) {
        done = bytes & ~15u;
        RC_ROLLED for (u32 at = thread_x() * 16; at < done; at += threads_x() * 16) st_16(to + at, *(const v16 *)(from + at));
    }
    RC_ROLLED for (u32 at = done + thread_x() * 2; at < bytes; at += threads_x() * 2) st_u16(to + at, *(const u16 *)(from + at));
}

// survey_poses has the rows of the block's targets fetched, checks its share of the stamps, and finds this lane's target. Where the block
// has none it only checks.
template <class C> RC_FN found survey_poses(const plain_task &j, const poses &p, pose_room &mem, stretch &rows) {
    const u32 first = j.block * warp_size;
    // A target past the last is the last once more. A block that has none asks all the same: a branch would have the loads wait.
    const u32 i = first + lane() < j.total ? first + lane() : j.total - 1;
    const asked<C> ahead = ask<C>(j, i);
    checks<C> share = checks_of<C>(j);
    const u32 guess = ahead.row * j.s + ahead.out.w.g, begin = shuffle_from(guess, 0);
    rows = fetch(j, p, mem, begin > 0 ? begin - 1 : 0, shuffle_from(guess, warp_size - 1) + 3);
    const C x = j.on_own_clock(ahead.given);
    if (j.check() && beyond_range(x)) report(j, fault_targets, i, time_range);
    const located<C> at = locate(j, ahead.t, j.s, ahead.out, x);
    check_all(j, share);
    const bool between = at.where == inside, lead = thread_x() < warp_size && first < j.total;
    if (lead && j.valid) st_u8(j.valid + i, between || at.where == exact);
    if (lead && j.age) st_time((C *)j.age + i, minus(x, ld_time(ahead.t + at.k)));
    return {between ? at.template weight<double>() : 0, ahead.row * j.s + at.k, between, at.later, at.where == nowhere};
}

template <u32 DT, class C> RC_FN void make_poses(const plain_task &j, const poses &p, pose_room &mem) {
    stretch rows;
    const found at = survey_poses<C>(j, p, mem, rows);
    const u32 first = j.block * warp_size;
    if (first >= j.total) return;
    const auto among = [&] { return at.sample - rows.first < rows.count && at.sample + at.between - rows.first < rows.count; };
    copies_landed();
    barrier();
    if (votes(!among())) {
        const u32 from = shuffle_from(at.sample, 0), end = shuffle_from(at.sample, warp_size - 1) + 2;
        rows = fetch(j, p, mem, from, end > from ? end : from + 2);
        copies_landed();
        barrier();
    }
    pose m;
    m.between = at.between, m.later = at.later, m.a = at.a;
    m.to = mem.out + lane() * p.row;
    m.lo = among() ? mem.in + rows.skip + (at.sample - rows.first) * p.row : (const char *)j.src + (u64)at.sample * p.row;
    m.hi = m.between ? m.lo + p.row : m.lo;
    turns t = {thread_x() / warp_size, threads_x() / warp_size};
    RC_ROLLED for (u32 n = 0; n < p.runs; n++) {
        const run &r = p.run_of[n];
        if (r.kind == slerp)
            turn_run<DT>(m, r, t);
        else if (r.kind == angle)
            wind_run<DT>(m, r, t);
        else
            move_run<DT>(m, r, t);
    }
    barrier();
    if (votes(at.nowhere)) {
        for (u32 f = 0; thread_x() < warp_size && at.nowhere && f < p.row / element<DT>::size; f++) put<DT>(m, f, (u32)nan_of<DT>());
        barrier();
    }
    const u32 left = j.total - first;
    put_block(j.dst + (u64)first * p.row, mem.out, (left < warp_size ? left : warp_size) * p.row);
}

template <u32 DT> RC_FN void resample_poses(const plain_task &j, const poses &p, pose_room &mem) {
    switch (j.clock()) {
    case clock_i64: return make_poses<DT, i64>(j, p, mem);
    case clock_f64: return make_poses<DT, double>(j, p, mem);
    default: return make_poses<DT, float>(j, p, mem);
    }
}

} // namespace rc
