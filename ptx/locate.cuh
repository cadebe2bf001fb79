// locate.cuh is the first half of the general kernels: it locates the targets of a block among the timestamps.
#pragma once
#include "resample.cuh"

namespace rc {

// ---- One target ----

// located_target is a target's rows: where its source row begins, where it writes, and what it found.
template <class C> struct located_target {
    located<C> at;
    C x;            // its time
    const C *times; // the row's timestamps
    u32 n;          // how many
    u32 end;        // the last sample of its windows
    i64 src, dst;   // elements to the row's first sample and to the target's first feature
    bool filled;    // there is nothing to resample: fill
};

// time_parts is what a target's time is made of: the time, or what it is counted from and how far it lies from there.
template <class C> struct time_parts {
    C time;
    i64 anchor, delta;
    bool anchored;
};

// load_time_parts reads it for a target that is number pos of its row, and where a tensor has it.
template <class C, class J> RC_FN time_parts<C> load_time_parts(const J &j, u32 pos, u32 out_row, i64 out_pos) {
    time_parts<C> a = {0, 0, 0, false};
    if (j.targets == nullptr) {
        a.time = tick<C>(j, pos);
        return a;
    }
    const i64 *const anchors = j.anchors_of();
    a.anchored = anchors != nullptr;
    if (a.anchored)
        a.anchor = ld_time(anchors + out_row), a.delta = ld_time((const i64 *)j.targets + pos);
    else
        a.time = ld_time((const C *)j.targets + (i64)out_row * j.targets_batch + out_pos);
    return a;
}

// time_of is a target's time. far: what it is made of is out of range.
template <class C> RC_FN C time_of(const time_parts<C> &a, bool &far) {
    far = false;
    if (!a.anchored) return a.time;
    const i64 sum = (i64)((u64)a.anchor + (u64)a.delta);
    far = beyond_range(a.anchor) || beyond_range(a.delta) || beyond_range(sum);
    C x;
    from_ns(sum, x);
    return x;
}

// has_fast_path says of a type of jobs whether locate_target_fast may find their targets.
template <class J> constexpr bool has_fast_path() { return false; }

// locate_target_fast is locate_target for the common cases: targets between two samples that the guess finds, those on a sample, and clamped ones. It
// returns false, and has written nothing, where a target is something else or may be.
template <bool Anchored, class C, class J> RC_FN bool locate_target_fast(const J &j, u64 number, located_target<C> &m) {
    const u32 row = mul_hi((u32)number, j.t_magic) >> j.t_shift(), pos = (u32)number - row * (u32)j.t;
    time_parts<C> parts = {0, 0, 0, Anchored};
    if constexpr (Anchored)
        parts.anchor = (i64)ld_nc_u64_volatile(j.anchors_of() + row), parts.delta = (i64)ld_nc_u64_volatile((const i64 *)j.targets + pos);
    else
        parts = load_time_parts<C>(j, pos, row, pos);
    u64 first = 0, n = j.s;
    if (j.src_extents() != nullptr) {
        n = ld_nc_u64_volatile(j.src_extents() + row);
        if (j.src_begins() != nullptr) first = ld_nc_u64_volatile(j.src_begins() + row);
    }
    if (RC_UNLIKELY(n < 2 || n > max_row || first > j.s || n > j.s - first)) return false;
    bool far;
    const C given = time_of(parts, far), x = j.to_stream_clock(given);
    if (RC_UNLIKELY(j.check() && (far || beyond_range(given) || beyond_range(x)))) return false;
    const C *const t = (const C *)j.times + ((i64)row * j.times_batch + (i64)first);
    const search_start<C> o = Anchored ? search_start_for(t, (u32)n, x) : search_start_at(j, t, (u32)n, pos);
    C snap, on; // on: the time of the sample that it takes
    from_bits(j.snap, snap);
    m.at = {exact, 0, false, false, false, 0, 0, 0};
    if (RC_UNLIKELY(!((o.first <= x) & (x < o.last)))) {
        const bool left = x < o.first;
        if (x != x || j.edge() != edge_clamp || (left && !span_exceeds(x, o.first, snap))) return false;
        m.at.k = left ? 0 : (u32)n - 1;
        on = left ? o.first : o.last;
        if (left || span_exceeds(o.last, x, snap)) m.at.where = left ? below : above;
    } else {
        C at, after;
        if (RC_UNLIKELY(!bracket_holds(o.w, x, m.at.k, at, after))) return false;
        m.at.x = span(at, x), m.at.h = span(at, after), m.at.later = m.at.x > span(x, after);
        on = at;
        if (span_exceeds(m.at.later ? x : at, m.at.later ? after : x, snap)) {
            m.at.where = inside;
        } else if (m.at.later) { // on the sample after it, if that is the last of its time
            if (m.at.k > o.w.g || !(after < (m.at.k == o.w.g ? o.w.beyond : o.w.after))) return false;
            m.at.k++, on = after;
        }
    }
    const bool past = m.at.where == below || m.at.where == above;
    m.x = x, m.times = t, m.n = (u32)n, m.end = m.at.k, m.filled = false;
    m.src = (i64)row * j.src_batch + (i64)first * j.src_step, m.dst = (i64)row * j.dst_batch + (i64)pos * j.dst_step;
    if (j.valid) st_u8(j.valid + (i64)row * j.valid_batch + (i64)pos * j.valid_step(), (u8)!past);
    if (j.age) st_time((C *)j.age + (i64)row * j.age_batch + (i64)pos * j.age_step(), minus(x, on));
    if (j.pad) st_u8(j.pad + (i64)row * j.pad_batch + (i64)pos * j.pad_step(), (u8)past);
    return true;
}

// locate_target finds target number `number` of all rows, and writes its valid, age and pad.
template <class C, class J> RC_FN located_target<C> locate_target(const J &j, u64 number) {
    located_target<C> m;
    u32 row = 0, pos = 0, out_row = 0;
    i64 out_pos;
    bool wanted = true; // a row holds it
    if (j.dst_offsets()) {
        out_pos = (i64)number;
        wanted = place_in(j.dst_extents(), j.t, j.b, number, row, pos);
    } else {
        row = row_of(j, number), pos = (u32)number - row * (u32)j.t;
        out_row = row, out_pos = pos;
        wanted = !j.dst_lengths() || pos < dst_row(j, row).n;
    }
    m.dst = (i64)out_row * j.dst_batch + out_pos * j.dst_step;
    time_parts<C> parts = {0, 0, 0, false};
    extent e = {0, 0};
    if (wanted) parts = load_time_parts<C>(j, pos, out_row, out_pos), e = src_row(j, row);
    m.n = e.n;
    m.src = (i64)row * j.src_batch + e.first * j.src_step;
    m.times = (const C *)j.times + (i64)row * j.times_batch + e.first;
    m.filled = m.n == 0;
    C age = 0;
    u32 ok = 0, past = 1; // past: it lies before the row's samples or after them, or there are none
    if (!m.filled) {
        bool far;
        const C given = time_of(parts, far);
        const C x = j.to_stream_clock(given);
        m.x = x;
        if (RC_UNLIKELY(j.check() && (far || j.beyond(beyond_range(given), beyond_range(x))))) report(j, fault_targets, number, time_range);
        m.at = locate(j, m.times, m.n, parts.anchored ? search_start_for(m.times, m.n, x) : search_start_at(j, m.times, m.n, pos), x);
        m.end = m.at.k;
        if (j.has_snap() && j.has_window() && m.at.where == exact) { // its windows may end after that sample, and hold nothing
            C snap, from;
            from_bits(j.snap, snap), from_bits(j.window(), from);
            m.end = last_within(m.times, m.n, x, snap);
            m.at.gap = !in_window(ld_time(m.times + m.end), x, from);
        }
        past = m.at.where == below || m.at.where == above;
        const bool outside = m.at.where == below || (m.at.where == above && j.edge() != edge_hold);
        if (outside && j.edge() == edge_error) report(j, fault_targets, number, out_of_range);
        ok = !(m.at.gap || outside || m.at.where == nowhere);
        if (j.age) age = minus(x, ld_time(m.times + m.at.k));
        m.filled = (j.edge() == edge_fill && (outside || m.at.where == nowhere)) || (j.edge() == edge_hold && outside) || (m.at.gap && j.fill_gaps());
    } else {
        m.at = {exact, 0, false, false, false, 0, 0, 0};
        m.src = 0, m.x = 0, m.end = 0;
    }
    if (j.valid) st_u8(j.valid + (i64)out_row * j.valid_batch + out_pos * j.valid_step(), (u8)ok);
    if (j.age) st_time((C *)j.age + (i64)out_row * j.age_batch + out_pos * j.age_step(), age);
    if (j.pad) st_u8(j.pad + (i64)out_row * j.pad_batch + out_pos * j.pad_step(), (u8)past);
    return m;
}

// ---- All targets of a block ----

// locate_targets is the first half of every general kernel: it locates the block's targets, giving each to keep(index, target), and checks
// the block's part of the timestamps, on the warps that have no target if there are any. It returns the number of targets.
template <class C, class J, class Keep> RC_FN u32 locate_targets(const J &j, Keep keep) {
    const u64 block_first = (u64)j.block() * j.tile;
    const u64 left = block_first < j.total ? j.total - block_first : 0;
    const u32 count = left < j.tile ? (u32)left : j.tile;
    const u32 busy = (count + warp_size - 1) & ~(warp_size - 1);
    const u32 checkers = busy < j.threads() ? busy : 0;
    if (j.check() && thread_x() >= checkers) check_timestamps<C>(j, checkers);
    if (j.check()) check_rows(j);
    u32 missed = ~0u; // a bit for each of the thread's targets
    if constexpr (has_fast_path<J>()) {
        if (j.try_fast_path()) {
            missed = 0;
            for (u32 i = reload_thread_x(), bit = 1; i < count; i += j.threads(), bit *= 2) {
                located_target<C> m;
                if (j.anchors ? locate_target_fast<true>(j, block_first + i, m) : locate_target_fast<false>(j, block_first + i, m))
                    keep(i, m);
                else
                    missed |= bit;
            }
            if (RC_LIKELY(missed == 0)) return count;
        }
    }
    for (u32 i = reload_thread_x(), bit = 1; i < count; i += j.threads(), bit *= 2) {
        if (!has_fast_path<J>() || (missed & bit) != 0) keep(i, locate_target<C>(j, block_first + i));
    }
    return count;
}

// locate_targets_on_clock is locate_targets for the job's clock; keep is given targets of each type of clock.
template <class J, class Keep> RC_FN u32 locate_targets_on_clock(const J &j, Keep keep) {
    switch (j.clock()) {
    case clock_i64: return locate_targets<i64>(j, keep);
    case clock_f64: return locate_targets<double>(j, keep);
    default: return locate_targets<float>(j, keep);
    }
}

} // namespace rc
