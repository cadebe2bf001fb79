// voxel_places.cuh counts the points of a bucket's cells, and finds their places, for the kernels that take what voxel_deal_points leaves.
#pragma once
#include "voxel_deal.cuh"
#include "voxel_values.cuh"

namespace rc {

constexpr u32 each = 8, dealt_bits = 4; // points a thread deals, 16 cells at once, so that what lies in few places goes to many buckets
constexpr u32 crowd = 4;                // lanes that have one cell, for one of them to ask for all

// row_at is the row of a cell, which only coordinates need.
RC_FN u32 row_at(const voxel_job &j, u32 key) { return j.b > 1 ? (u32)(key / j.cells) : 0; }

// places has for each entry of a piece its cell's counter among those from `begin` on, or a spare one that nothing is kept of. common_of is
// a counter that many lanes may have, as points that lie near each other come one after the other: that of the first piece's last entry,
// which seldom is not there.
constexpr u32 of_piece = piece_of<u32>;
struct places {
    u32 at[of_piece];

    template <class Entry, class There> RC_FN_MEMBER places(const Entry &entry, const There &there, u32 begin, u32 limit, u32 spare) {
        RC_UNROLL for (u32 e = 0; e < of_piece; e++) {
            const u32 cell = (entry[e] & 0xffff) - begin;
            at[e] = there[e] && cell < limit ? cell : spare;
        }
    }
    RC_FN_MEMBER u32 common() const { return shuffle_from(at[of_piece - 1], 0); }
    RC_FN_MEMBER bool crowded(u32 one) const { return count_bits(votes(at[of_piece - 1] == one)) > crowd; }
};

// count_them adds the entries to their counters, take_places adds them and says what was there before each. Of a cell that many lanes have one asks for all.
RC_FN void count_them(u32 *counters, const places &p) {
    const u32 one = p.common();
    if (!p.crowded(one)) {
        RC_UNROLL for (u32 e = 0; e < of_piece; e++) shared_add(&counters[p.at[e]], 1);
        return;
    }
    RC_UNROLL for (u32 e = 0; e < of_piece; e++) {
        const u32 same = votes(p.at[e] == one);
        if (p.at[e] != one)
            shared_add(&counters[p.at[e]], 1);
        else if (lane() == lowest_bit(same))
            shared_add(&counters[p.at[e]], count_bits(same));
    }
}
RC_FN void take_places(u32 *counters, const places &p, u32 (&got)[of_piece]) {
    const u32 one = p.common();
    if (!p.crowded(one)) {
        RC_UNROLL for (u32 e = 0; e < of_piece; e++) got[e] = shared_fetch_add(&counters[p.at[e]], 1);
        return;
    }
    RC_UNROLL for (u32 e = 0; e < of_piece; e++) {
        const u32 same = votes(p.at[e] == one), first = same ? lowest_bit(same) : 0;
        u32 old = 0;
        if (p.at[e] != one || lane() == first) old = shared_fetch_add(&counters[p.at[e]], p.at[e] == one ? count_bits(same) : 1);
        const u32 theirs = shuffle_from(old, first) + count_bits(same & below_mask());
        got[e] = p.at[e] == one ? theirs : old;
    }
}

} // namespace rc
