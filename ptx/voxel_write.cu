// voxel_write makes a grid of occupancy or of counts point by point (voxel_count.cu counts what is large). extra: 1 for counts.
//
// Blocks take chunks, threads four points at a time, which are 48 aligned bytes where they can be. While the grid is still being
// filled by the launch in front a block finds its points' keys.
//
// Where many points lie near each other their atomics would wait for each other. So a block in which some lanes' first points share 32
// bytes of the grid gathers what it has in a table in shared memory, a place for each 32 bytes, and adds that in the end, neighbouring
// lanes to neighbouring cells; that too is begun before the grid is filled. What finds no place is written at once, as is everything of
// other blocks.
// Bytes moved: the points, and 32 of the grid for each of them, or for each place.
#include "voxel.cuh"

using namespace rc;

namespace {

constexpr u32 write_threads = 256;
constexpr u32 places = 1024, place_bits = 10, tries = 2;
constexpr u32 nothing = ~0u;
constexpr u32 crowd = 3; // lanes of a block that meet another, for it to gather

// Of counts a place has eight cells of 16 bits, of occupancy 32 of one.
struct write_shared {
    u32 sectors[places]; // which 32 bytes of the grid; nothing at a place that is free
    u32 words[places][4];
    u32 missed[2]; // points out of range, points not finite
    u32 meet;      // lanes that share 32 bytes with another of their warp
};

template <bool Counts> constexpr u32 cells_of = Counts ? 8 : 32; // in 32 bytes

// A byte of occupancy is set by an atomic on the eight that it is one of, if they are all the grid's own and empty ones are 0.
RC_FN bool by_eight(const voxel_job &j, u64 key) { return (key | 7) < j.keys && j.from_zero(); }

// write takes a point in a cell to the grid.
template <bool Counts> RC_FN void write(const voxel_job &j, u64 key) {
    if constexpr (Counts)
        reduce_add((u32 *)j.out + key, 1);
    else if (by_eight(j, key))
        reduce_or((u64 *)j.out + key / 8, 1ull << 8 * (key % 8));
    else
        st_u8((u8 *)j.out + key, 1);
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
template <bool Counts> RC_FN void scatter(const voxel_job &j, write_shared &s) {
    constexpr u32 lanes = Counts ? 8 : 4;
    for (u32 k = thread_x(); k < places * lanes; k += write_threads) {
        const u32 place = k / lanes, part = k % lanes, what = s.sectors[place];
        if (what == nothing) continue;
        if constexpr (Counts) {
            const u32 n = s.words[place][part / 2] >> 16 * (part % 2) & 0xffff;
            if (n) reduce_add((u32 *)j.out + (u64)what * 8 + part, n);
        } else {
            const u32 eight = s.words[place][0] >> 8 * part & 0xff;
            if (eight) reduce_or((u64 *)j.out + (u64)what * 4 + part, spread(eight));
        }
    }
}

// gathers decides, by the block's first points, whether it gathers, and then clears the table.
template <bool Counts> RC_FN bool gathers(const voxel_job &j, write_shared &s, u64 key) {
    // A thread without a point in a cell has a number that no other has. A place's counts have 16 bits.
    const u32 mine = key < j.keys ? (u32)(key / cells_of<Counts>) : nothing - thread_x();
    const u32 together = votes(count_bits(match(mine)) > 1);
    if (together && lane() == 0) shared_add(&s.meet, count_bits(together));
    barrier();
    if (s.meet < crowd || j.keys / cells_of<Counts> >= nothing - write_threads || j.chunk >= 1u << 16 || !(Counts || j.from_zero())) return false;
    RC_UNROLL for (u32 k = 0; k < places; k += write_threads) {
        s.sectors[k + thread_x()] = nothing;
        st_shared_16(&s.words[k + thread_x()], {0, 0, 0, 0});
    }
    barrier();
    return true;
}

template <class T, bool Counts> RC_FN void write_points(const voxel_job &j, write_shared &s) {
    constexpr u32 group = group_of<T>;
    const u64 end = j.last();
    u32 missed[2] = {0, 0};
    bool table = false;
    for (u64 base = j.first(); base < end; base += write_threads * group) {
        const u64 i = base + thread_x() * group;
        const u32 n = i >= end ? 0 : end - i < group ? (u32)(end - i) : group;
        u64 key[group];
        keys_of<T>(j, i, n, key, missed, [&](u32 u, u64 k) {
            if (base == j.first() && u == 0) table = gathers<Counts>(j, s, k);
            return table && k < j.keys && (Counts || by_eight(j, k)) && gather<Counts>(s, k) ? j.keys : k;
        });
        if (base == j.first()) {
            wait_for_previous();
            let_next();
        }
        RC_UNROLL for (u32 u = 0; u < group; u++) {
            if (key[u] < j.keys) write<Counts>(j, key[u]);
        }
    }
    if (j.first() >= end) wait_for_previous();
    add_missed(j, s.missed, missed);
    if (table) scatter<Counts>(j, s);
}

template <bool Counts> RC_FN void write_any(const voxel_job &j, write_shared &s) {
    if (j.wide())
        write_points<double, Counts>(j, s);
    else
        write_points<float, Counts>(j, s);
}

} // namespace

RC_KERNEL_OCC(write_threads, 4) voxel_write(RC_VOXEL_PARAMS) {
    const voxel_job j = {RC_VOXEL_ARGS};
    __shared__ write_shared s;
    if (thread_x() < 2) s.missed[thread_x()] = 0;
    if (thread_x() == 0) s.meet = 0;
    barrier();
    if (j.extra)
        write_any<true>(j, s);
    else
        write_any<false>(j, s);
}
