// voxel_write.cu computes a grid of occupancy or of counts point by point (voxel_count.cu counts large clouds).
//
// voxel_write_fill is voxel_fill under another name: the two kernels that are to run side by side ask for the same division of L1 and
// shared memory, see bench/history/voxelize.md.
//
// Blocks of voxel_write take chunks, threads four points at a time. While the launch in front still fills the grid a block finds its
// points' keys.
//
// Where many points lie near each other their atomics would contend. So a block in which some of a thread's first points share 32 bytes
// of the grid, or some of its and its neighbour's, collects its points in a hash table in shared memory, an entry for each 32 bytes, and
// adds that in the end, neighbouring lanes to neighbouring cells. Whether it does is decided when the grid is filled: before, a block would
// wait for its slowest points. What finds no entry is written at once, as is everything of other blocks, and of grids whose keys take more
// than 32 bits.
// Bytes moved: the points, and 32 of the grid for each of them, or for each entry.
#include "voxel_fill.cuh"
#include "voxel_keys.cuh"

using namespace rc;

RC_HOST constexpr u32 write_threads = 256;

RC_HOST struct voxel_write_params {
    voxel_cloud cloud;
    voxel_grid grid;
    void *out; // u8 for occupancy, i32 for counts
    u64 *state;
    u32 flags;

    RC_FLAG(flags, bool, counts, 0, 1)
    RC_FLAG(flags, bool, from_zero, 1, 1) // occupancy's empty cells are 0, and `out` is aligned to 8 bytes
};

namespace {

constexpr u32 places = 512, place_bits = 9, tries = 2;
constexpr u32 contention_threads = 2; // threads of a block whose points share 32 bytes, from which on it gathers

// Of counts a place has eight cells of 16 bits, of occupancy 32 of one.
struct write_shared {
    u32 sectors[places]; // which 32 bytes of the grid; nothing at a place that is free
    u32 words[places][4];
    u32 missed[2]; // points out of range, points not finite
};

template <bool Counts> constexpr u32 cells_of = Counts ? 8 : 32; // in 32 bytes

// A byte of occupancy is set by an atomic on the eight that it is one of, if they are all the grid's own and empty ones are 0.
RC_FN bool by_eight(const voxel_write_params &p, u64 key) { return (key | 7) < p.grid.keys && p.from_zero(); }

// write takes a point in a cell to the grid.
template <bool Counts> RC_FN void write(const voxel_write_params &p, u64 key) {
    if constexpr (Counts)
        reduce_add((u32 *)p.out + key, 1);
    else if (by_eight(p, key))
        reduce_or((u64 *)p.out + key / 8, 1ull << 8 * (key % 8));
    else
        st_u8((u8 *)p.out + key, 1);
}

// gather takes a point to the table, if it finds a place.
template <bool Counts> RC_FN bool gather(write_shared &s, u64 key) {
    const u32 what = (u32)(key / cells_of<Counts>), cell = (u32)key % cells_of<Counts>;
    u32 place = (what * 2654435761u) >> (32 - place_bits);
    RC_UNROLL for (u32 k = 0; k < tries; k++) {
        const u32 there = shared_compare_swap(&s.sectors[place], nothing, what);
        if (there == nothing || there == what) {
            if constexpr (Counts)
                shared_add(&s.words[place][cell / 2], 1u << 16 * (cell % 2));
            else
                shared_or(&s.words[place][0], 1u << cell);
            return true;
        }
        place ^= 1;
    }
    return false;
}

// spread gives each of eight bits a byte.
RC_FN u64 spread(u32 eight) { return ((eight & 0x7fu) * 0x0002040810204081ull & 0x0101010101010101ull) | (u64)(eight >> 7) << 56; }

// scatter adds the table to the grid.
template <bool Counts> RC_FN void scatter(const voxel_write_params &p, write_shared &s) {
    constexpr u32 lanes = Counts ? 8 : 4;
    for (u32 k = thread_x(); k < places * lanes; k += write_threads) {
        const u32 place = k / lanes, part = k % lanes, what = s.sectors[place];
        if (what == nothing) continue;
        if constexpr (Counts) {
            const u32 n = s.words[place][part / 2] >> 16 * (part % 2) & 0xffff;
            if (n) reduce_add((u32 *)p.out + (u64)what * 8 + part, n);
        } else {
            const u32 eight = s.words[place][0] >> 8 * part & 0xff;
            if (eight) reduce_or((u64 *)p.out + (u64)what * 4 + part, spread(eight));
        }
    }
}

// has_contention reports whether some of a thread's points share 32 bytes of the grid, or some of its and its neighbour's.
template <bool Counts> RC_FN bool has_contention(const u32 (&key)[4]) {
    bool meet = false;
    u32 mine[4]; // a point in no cell has a number that no other of those compared has
    RC_UNROLL for (u32 u = 0; u < 4; u++) {
        mine[u] = key[u] == nothing ? nothing - 4 * (lane() & 1) - u : key[u] / cells_of<Counts>;
        RC_UNROLL for (u32 v = 0; v < u; v++) meet |= mine[u] == mine[v];
    }
    RC_UNROLL for (u32 u = 0; u < 4; u++) {
        const u32 beside = shuffle_xor(mine[u], 1);
        RC_UNROLL for (u32 v = 0; v < 4; v++) meet |= mine[v] == beside;
    }
    return meet;
}

// write_points takes a block's points; Quick: a chunk of whole groups that fast_keys takes.
template <class T, bool Counts, bool Fast> RC_FN void write_points(const voxel_write_params &p, write_shared &s) {
    const u32 first = (u32)p.cloud.first(), end = (u32)p.cloud.last();
    const bool may = p.cloud.chunk < 1u << 16 && (Counts || p.from_zero()); // gather: a place's counts have 16 bits
    u32 missed[2] = {0, 0};
    bool table = false;
    for (u32 base = first; base < end; base += write_threads * point_group) {
        const u32 i = base + thread_x() * point_group;
        u32 key[4] = {nothing, nothing, nothing, nothing}, bad = 0;
        if (!Fast)
            any_keys<T>(p.cloud, p.grid, i, end, key, bad);
        else if (i < end)
            fast_keys(p.cloud, p.grid, i, key, bad);
        u32 out = 0;
        RC_UNROLL for (u32 u = 0; u < 4; u++) out += i + u < end && key[u] == nothing;
        missed[0] += out - bad, missed[1] += bad;
        if (base == first) {
            const bool meet = has_contention<Counts>(key);
            grid_dependency_wait();
            launch_dependents();
            table = barrier_count(meet) >= contention_threads && may;
        }
        if (table) {
            RC_UNROLL for (u32 u = 0; u < 4; u++) {
                if ((Counts ? key[u] != nothing : by_eight(p, key[u])) && gather<Counts>(s, key[u])) key[u] = nothing;
            }
        }
        RC_UNROLL for (u32 u = 0; u < 4; u++) {
            if (key[u] != nothing) write<Counts>(p, key[u]);
        }
    }
    if (first >= end) grid_dependency_wait();
    add_missed(p.cloud, p.state, s.missed, missed);
    if (table) scatter<Counts>(p, s);
}

// write_far takes grids whose keys take more than 32 bits.
template <class T, bool Counts> RC_FN void write_far(const voxel_write_params &p, write_shared &s) {
    u32 missed[2] = {0, 0};
    barrier();
    grid_dependency_wait();
    launch_dependents();
    for (u64 i = p.cloud.first() + thread_x(); i < p.cloud.last(); i += write_threads) {
        u64 key[1];
        keys_of<T>(p.cloud, p.grid, i, 1, key, missed, [](u32, u64 k) { return k; });
        if (key[0] < p.grid.keys) write<Counts>(p, key[0]);
    }
    add_missed(p.cloud, p.state, s.missed, missed);
}

template <class T, bool Counts> RC_FN void write_any(const voxel_write_params &p, write_shared &s) {
    if (RC_UNLIKELY(p.grid.keys >= nothing))
        write_far<T, Counts>(p, s);
    else if (RC_LIKELY(sizeof(T) == 4 && can_use_fast_keys(p.cloud) && (u32)(p.cloud.last() - p.cloud.first()) % 4 == 0))
        write_points<float, Counts, true>(p, s);
    else
        write_points<T, Counts, false>(p, s);
}

template <class T> RC_FN void write_grid(const voxel_write_params &p, write_shared &s) {
    if (thread_x() < 2) s.missed[thread_x()] = 0;
    RC_UNROLL for (u32 k = 0; k < places; k += write_threads) {
        s.sectors[k + thread_x()] = nothing;
        st_shared_16(&s.words[k + thread_x()], {0, 0, 0, 0});
    }
    if (p.counts())
        write_any<T, true>(p, s);
    else
        write_any<T, false>(p, s);
}

} // namespace

RC_KERNEL(fill_threads) voxel_write_fill(const voxel_fill_params p) { fill(p); }

// As many blocks as there may be run at once beside those of the fill. Points of f64 need more registers.
RC_KERNEL_OCC(write_threads, 5) voxel_write(const voxel_write_params p) {
    __shared__ write_shared s;
    write_grid<float>(p, s);
}

RC_KERNEL_OCC(write_threads, 4) voxel_write_f64(const voxel_write_params p) {
    __shared__ write_shared s;
    write_grid<double>(p, s);
}
