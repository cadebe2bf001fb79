// draw.cu draws a batch of windows: positions of an epoch become windows by a permutation, and windows the episodes that have them. The
// cursor lies on the device and each launch advances it, so that a captured graph goes on by itself.
//
// One warp draws one window. All its lanes permute the position, but in an order of shards, see sharded, and of a mixture, see mixed. Then
// they search its episode together, 64 places per step, of which the first do not depend on the window and are loaded before the cursor is
// known: episodes of up to 4096 take two steps, of up to 262144 three. Two lanes per stream look up where the episode's samples begin and
// end. Meanwhile one more warp counts the block as having read the cursor, and that of the last block advances it. Blocks behind those
// check the tables, one table each, an episode per thread at a time.
//
// Bytes moved: 8 * (5 + 2 * streams) written per window, 8 * (2 + 2 * streams) and the search's places read; the tables, where they are
// checked.
#include "resample.cuh"
#include "streams.cuh"
#include "warp.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 draw_rows = 4; // windows per block, a warp each
RC_HOST constexpr u32 draw_threads = (draw_rows + 1) * warp_size;

// draw_lookup is a table lookup by one lane. A stream has two: the first writes the position where a drawn episode's samples begin, the
// second the number of samples.
RC_HOST struct draw_lookup {
    const i64 *from; // [e]: the positions where samples begin, or where they end
    i64 *to;         // [b]
};

RC_HOST enum draw_order : u32 { draw_order_windows, draw_order_shards, draw_order_mixture };

// draw_source is one dataset in a mixture.
RC_HOST struct draw_source {
    u64 begin, draws;   // its numbers in an epoch are begin to begin + draws - 1
    u64 first, windows; // its windows are first to first + windows - 1
};

RC_HOST struct draw_params {
    u64 *cursor; // epoch, positions taken
    u32 *ticket; // blocks that have read the cursor; 0 between launches
    i64 *episodes, *ticks; // [b], or null
    i64 *keys;             // [b, 2]: epochs and positions, or null
    i64 *anchors;          // [b]
    const i64 *windows;    // [e + 1]
    const i64 *begins;     // [e]
    u64 *fault;
    u32 *fault_flag;
    double rate;
    u64 count;  // windows in all episodes
    u64 length; // positions in an epoch
    u64 step;  // positions in one batch, for all ranks together
    u32 rank, ranks;
    u32 b, e;
    u32 blocks;      // blocks that draw; later blocks check the tables
    u32 streams;
    u32 key[4];      // the part of the permutation's round keys that is the same in every epoch
    u32 flags;
    u32 source_count;           // the number of sources in a mixture, else 0
    const draw_lookup *lookups; // two per stream
    const draw_source *sources;

    // Of an order of shards.
    u64 shard; // windows in a whole shard
    u64 whole; // the number of whole shards
    u64 mixed; // shards in a group
    u64 span;  // positions in a group

    RC_FLAG(flags, u32, half, 0, 5)      // bits in half a number, in the permutation over an epoch's positions
    RC_FLAG(flags, bool, shuffle, 5, 1)
    RC_FLAG(flags, bool, short_last, 6, 1) // an epoch ends with its last window, not with its last whole batch
    RC_FLAG(flags, draw_order, order, 7, 2)
    RC_FLAG(flags, bool, ready, 31, 1)   // see begin and wait_to_write
    RC_FN_MEMBER u64 stream_bits() const { return 0; }
};
static_assert(2 * max_streams <= warp_size, "a lane for each side of a stream");

// The classes of faults, as package ops has them.
constexpr u64 fault_cursor = 0, fault_windows = 1ull << 62, fault_begins = 2ull << 62, fault_offsets = 3ull << 62;

constexpr u32 places = 2 * warp_size; // that a step of a search reads
constexpr u32 key_step = 0x9e3779b9;
constexpr u64 few = 4096; // numbers at most whose permutation has eight rounds, not four
constexpr u64 lane_shards = 1, lane_groups = 2, lane_sources = 1ull << 32; // of an epoch's permutations, as package ops counts them

// tables are what a kernel of before may have written.
struct tables {
    const i64 *windows, *begins;
    bool early;

    RC_FN_MEMBER bool ready() const { return early; }
    RC_FN_MEMBER void fence_after_wait() { after_wait(windows), after_wait(begins); }
};

// cursor is a place in the order of draws: an epoch, and how many of its positions have been taken.
struct cursor {
    u64 epoch;
    i64 taken;
};

// read_cursor is where the batch begins: in the next epoch, if this one has no more. One thread of the grid checks it.
RC_FN cursor read_cursor(const draw_params &p) {
    cursor c = {ld_relaxed(p.cursor), (i64)ld_relaxed(p.cursor + 1)};
    if (RC_UNLIKELY(((i64)c.epoch | c.taken) < 0) && blocks_x() > p.blocks && block_x() == 0 && thread_x() == 0)
        report(p, fault_cursor, (i64)c.epoch < 0 ? 0 : 1, 0);
    if (c.taken >= (i64)p.length || (!p.short_last() && c.taken > (i64)(p.length - p.step))) c = {c.epoch + 1, 0};
    return c;
}

// move_cursor writes where the next batch begins.
RC_FN void move_cursor(const draw_params &p, const cursor &c) {
    const u64 left = p.length - (u64)c.taken;
    st_relaxed(p.cursor, c.epoch);
    st_relaxed(p.cursor + 1, (u64)c.taken + (left < p.step ? left : p.step));
}

RC_FN u32 mix(u32 x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

// feistel is a permutation of n numbers: DrawOptions.Window of package ops has the rule.
struct feistel {
    u32 key[4];
    u32 half; // bits of half a number
    u64 n;

    // take takes 64 bits more into the keys.
    RC_FN_MEMBER void take(const u32 (&from)[4], u64 x) {
        RC_UNROLL for (u32 i = 0; i < 4; i++) key[i] = mix(mix(from[i] ^ (u32)x) ^ (u32)(x >> 32));
    }
    RC_FN_MEMBER u64 at(u64 x) const {
        const u32 mask = (1u << half) - 1;
        do {
            u32 l = (u32)(x >> half), r = (u32)x & mask, more = 0;
            for (;;) {
                RC_UNROLL for (u32 i = 0; i < 4; i++) {
                    const u32 next = l ^ (mix(r ^ (key[i] + more)) & mask);
                    l = r, r = next;
                }
                if (n > few || more != 0) break;
                more = key_step;
            }
            x = (u64)l << half | r;
        } while (x >= n);
        return x;
    }
};

// of_positions permutes all positions of an epoch.
RC_FN feistel of_positions(const draw_params &p, u64 epoch) {
    feistel f = {{}, p.half(), p.length};
    f.take(p.key, epoch);
    return f;
}

// of_lane permutes n other numbers of the epoch.
RC_FN feistel of_lane(const feistel &all, u64 lane_number, u64 n) {
    const u32 bits_of = n > 4 ? 64 - (u32)__builtin_clzll(n - 1) : 2;
    feistel f = {{}, (bits_of + 1) / 2, n};
    f.take(all.key, lane_number);
    return f;
}

// sharded is the window at a position of an epoch that takes its shards some at a time. Half the lanes find the window that shards are
// counted from while the others permute the group.
RC_FN u64 sharded(const draw_params &p, u64 epoch, u64 position) {
    const feistel all = of_positions(p, epoch);
    const bool of_group = lane() < warp_size / 2;
    const u64 group = position / p.span, begin = group * p.span, left = p.count - begin;
    feistel f = of_lane(all, lane_groups + group, left < p.span ? left : p.span);
    if (!of_group) f = all;
    const u64 x = f.at(of_group ? position - begin : 0);
    const u64 in = shuffle_from(x, 0), first = shuffle_from(x, warp_size / 2), place = in / p.shard;
    u64 number = group * p.mixed + place;
    if (number < p.whole) number = of_lane(all, lane_shards, p.whole).at(number);
    number = number * p.shard + (in - place * p.shard);
    return number < p.count - first ? number + first : number + first - p.count;
}

// mixed is the window at a position of an epoch of a mixture. A lane looks at two of its sources.
RC_FN u64 mixed(const draw_params &p, u64 epoch, u64 position) {
    const u64 number = p.shuffle() ? of_positions(p, epoch).at(position) : position;
    u64 low = ~0ull, high = ~0ull;
    if (lane() < p.source_count) low = ld_nc_u64(&p.sources[lane()].begin);
    if (lane() + warp_size < p.source_count) high = ld_nc_u64(&p.sources[lane() + warp_size].begin);
    const u32 at = count_bits(votes(low <= number)) + count_bits(votes(high <= number)) - 1;
    const draw_source *s = p.sources + at;
    const u64 n = ld_nc_u64(&s->windows), place = epoch * ld_nc_u64(&s->draws) + (number - ld_nc_u64(&s->begin)), own = place / n;
    u64 window = place - own * n;
    if (p.shuffle()) window = of_lane(of_positions(p, own), lane_sources + at, n).at(window);
    return ld_nc_u64(&s->first) + window;
}

// window_at is the window at a position of an epoch.
RC_FN u64 window_at(const draw_params &p, u64 epoch, u64 position) {
    if (RC_UNLIKELY(p.order() != draw_order_windows)) return p.order() == draw_order_shards ? sharded(p, epoch, position) : mixed(p, epoch, position);
    return p.shuffle() ? of_positions(p, epoch).at(position) : position;
}

// seek is a step of looking for the last episode from lo to hi - 1 that begins at or before a window; that at lo does. A lane has two
// of the places, apart by so many episodes.
struct seek {
    u32 lo, hi, apart;
    i64 low, high;
};

RC_FN void load_step(const tables &t, seek &s) {
    s.apart = (s.hi - s.lo + places - 1) / places;
    const u64 at = s.lo + (u64)lane() * s.apart, above = at + (u64)warp_size * s.apart;
    s.low = s.high = 0x7fffffffffffffff;
    if (at < s.hi) s.low = (i64)ld_nc_u64(t.windows + at);
    if (above < s.hi) s.high = (i64)ld_nc_u64(t.windows + above);
    if (lane() == 0) s.low = 0;
}

// episode_of ends a search whose first step has been loaded.
RC_FN u32 episode_of(const tables &t, seek &s, i64 window) {
    for (;;) {
        s.lo += (count_bits(votes(s.low <= window)) + count_bits(votes(s.high <= window)) - 1) * s.apart;
        if (s.apart == 1) return s.lo;
        if (s.hi - s.lo > s.apart) s.hi = s.lo + s.apart;
        load_step(t, s);
    }
}

// ticked is an episode's clock.
struct ticked {
    double rate;
    i64 start;
};

// wait_to_write waits for the work ahead of a draw that has not waited for it yet: it may still read what the last draw wrote.
RC_FN void wait_to_write(const draw_params &p) {
    if (p.ready()) grid_dependency_wait();
}

// draw_row draws row b, in a warp.
RC_FN void draw_row(const draw_params &p, const tables &t, seek &s, const draw_lookup &lookup, const cursor &c, u32 b) {
    const u64 position = (u64)c.taken + p.rank + (u64)p.ranks * b;
    i64 episode = -1, tick_number = -1, anchor = 0, mine = 0;
    if (position < p.length) {
        const i64 window = (i64)window_at(p, c.epoch, position);
        const u32 e = episode_of(t, s, window);
        if (lane() < 2 * p.streams) mine = (i64)ld_nc_u64(lookup.from + e);
        const i64 first = (i64)ld_nc_u64(t.windows + e);
        const ticked clock = {p.rate, (i64)ld_nc_u64(t.begins + e)};
        episode = e, tick_number = window - first, anchor = tick<i64>(clock, (u32)tick_number);
        const i64 start = (i64)shuffle_from((u64)mine, lane() & ~1u);
        if (lane() % 2) mine -= start;
    }
    wait_to_write(p);
    if (lane() == 0) st_u64(p.anchors + b, (u64)anchor);
    if (lane() == 1 && p.episodes != nullptr) st_u64(p.episodes + b, (u64)episode);
    if (lane() == 2 && p.ticks != nullptr) st_u64(p.ticks + b, (u64)tick_number);
    if (lane() < 2 && p.keys != nullptr) st_u64(p.keys + 2 * (u64)b + lane(), lane() == 0 ? c.epoch : position);
    if (lane() < 2 * p.streams) st_u64(lookup.to + b, (u64)mine);
}

// check_tables checks a table, each of its blocks a part of the episodes.
RC_FN void check_tables(const draw_params &p, const tables &t) {
    const u32 table_count = p.streams + 1, block = block_x() - p.blocks, table_index = block % table_count;
    const u32 first = block / table_count * draw_threads + thread_x(), all = (blocks_x() - p.blocks) / table_count * draw_threads;
    const i64 *offsets = table_index > 0 ? p.lookups[2 * (table_index - 1)].from : nullptr;
    after_wait(offsets);
    for (u64 e = first; e < p.e; e += all) {
        if (table_index > 0) {
            if (!row_fits(offsets, nullptr, true, ld_nc_u64(offsets + p.e), (u32)e, p.e)) report(p, fault_offsets | (u64)(table_index - 1) << 58, e, 0);
            continue;
        }
        const ticked clock = {p.rate, (i64)ld_nc_u64(t.begins + e)};
        const u64 n = ld_nc_u64(t.windows + e + 1) - ld_nc_u64(t.windows + e);
        if (!row_fits(t.windows, nullptr, true, p.count, (u32)e, p.e))
            report(p, fault_windows, e, 0);
        else if (bad_time(clock.start) || (n > 0 && bad_time(tick<i64>(clock, (u32)(n - 1)))))
            report(p, fault_begins, e, 0);
    }
}

// finish_block is the further warp's first thread: it moves the cursor on once every block has read it.
RC_FN void finish_block(const draw_params &p, const cursor &c) {
    if (p.blocks > 1) {
        fence(); // behind all loads of the cursor by the block
        if (atomic_add(p.ticket, 1) != p.blocks - 1) return;
        reduce_add(p.ticket, 0u - p.blocks);
        fence();
    }
    wait_to_write(p);
    move_cursor(p, c);
}

} // namespace

RC_KERNEL(draw_threads) draw(const draw_params p) {
    tables t = {p.windows, p.begins, p.ready()};
    begin(t);
    if (block_x() >= p.blocks) {
        check_tables(p, t);
        end(t);
        return;
    }
    seek s = {0, p.e, 0, 0, 0};
    load_step(t, s);
    draw_lookup lookup = {};
    if (lane() < 2 * p.streams) lookup = p.lookups[lane()];
    const cursor c = read_cursor(p);
    barrier();
    const u32 warp = thread_x() / warp_size, b = block_x() * draw_rows + warp;
    if (warp < draw_rows) {
        if (b < p.b) draw_row(p, t, s, lookup, c, b);
    } else if (lane() == 0) {
        finish_block(p, c);
    }
    end(t);
}
