// tally.cu counts the values of columns by their bits and adds them up exactly: one pass of the statistics that package ops' Tally tells.
//
// All sums are of whole numbers, so their order does not matter. A block has tally_columns columns beside each other of rows in chunks, each thread a
// column of some rows that follow each other. It keeps a count while the first bits stay the same, and the sums while sign and exponent do, as those of
// recordings mostly do from row to row; then it adds them to the block's tables in shared memory: counts, and sums in pieces of 16 bits, which 65536
// additions do not fill. The tables are added to device memory before that many rows have been taken. Blocks that have other columns of the same rows
// stand beside each other, so that a row's bytes come from memory once.
//
// tally_next counts the values that begin with one of a column's prefixes by the bits that follow, in device memory: there are few such values, or they
// are the same over and over.
// Bytes moved: the values once.
#include "warp.cuh"

using namespace rc;

namespace {

RC_HOST constexpr u32 tally_threads = 512;
RC_HOST constexpr u32 tally_columns = 4;                             // columns in a block
RC_HOST constexpr u32 tally_segments = tally_threads / tally_columns; // runs of rows that a block reads at once
RC_HOST constexpr u32 tally_rows = 128;                              // the most rows in a thread at once
RC_HOST constexpr u32 tally_digits = 2048;                           // numbers with 11 bits
RC_HOST constexpr u32 tally_bins = 512;                              // signs and exponents
RC_HOST constexpr u32 tally_words = 3;                               // sums per bin: see add
RC_HOST constexpr u32 tally_prefixes = 16;                           // the most prefixes for a column

constexpr u32 pieces = 2 * tally_words;
constexpr u32 table = tally_digits + pieces * tally_bins;
constexpr u32 apart = table + 8; // from a column's table to the next, so that the same place is not in the same bank
RC_HOST constexpr u32 tally_shared = tally_columns * (tally_digits + 2 * tally_words * tally_bins + 8) * 4;
static_assert((u64)tally_rows * 0xffffff <= 0xffffffff, "a thread sums as many words of 24 bits in 32");
static_assert(tally_shared == tally_columns * apart * 4, "the host asks for the tables' bytes");

RC_HOST enum tally_dtype : u32 { tally_dtype_f32, tally_dtype_f16, tally_dtype_bf16 };

RC_HOST struct tally_params {
    const void *src;
    u64 step;    // elements from a row to the next
    u64 *counts; // [d, prefix_count, tally_digits]
    u64 *sums;   // [d, tally_bins, tally_words]
    const i64 *prefixes; // [d, prefix_count]
    u32 n, d;
    u32 rows;   // rows in a thread at once
    u32 groups; // groups of columns
    u32 blocks; // blocks per group
    tally_dtype dtype;
    u32 known;  // bits in a prefix
    u32 prefix_count;
};

// value is the bits of a value as a float.
RC_FN u32 value(const tally_params &p, u64 at) {
    if (p.dtype == tally_dtype_f32) return ld_nc_u32((const u32 *)p.src + at);
    const u16 half = ld_nc_u16((const u16 *)p.src + at);
    if (p.dtype == tally_dtype_bf16) return (u32)half << 16;
    if ((half & 0x7c00) == 0x7c00) return (half & 0x8000u) << 16 | 0x7f800000u | (half & 0x3ffu) << 13; // a NaN keeps its bits
    return bits(f16_to_f32(half));
}

constexpr u32 deep = 8; // values that a thread loads before it looks at the first

// each calls see with the bits of a thread's values in a chunk.
template <class F> RC_FN void each(const tally_params &p, u32 column, u64 first, const F &see) {
    const u64 end = first + p.rows < p.n ? first + p.rows : p.n;
    for (u64 row = first; row < end; row += deep) {
        u32 v[deep];
        RC_UNROLL for (u32 k = 0; k < deep; k++) v[k] = row + k < end ? value(p, (row + k) * p.step + column) : 0;
        RC_UNROLL for (u32 k = 0; k < deep; k++) {
            if (row + k < end) see(v[k]);
        }
    }
}

// summed is what a thread has not added to its column's table yet.
struct summed {
    u32 *to;
    u32 digit, count; // values whose first 11 bits are that
    u32 bin;          // values of that sign and exponent: the sum of the mantissas, and that of the squares' low 24 bits and of the 24 above
    u32 sum, low, high;

    RC_FN_MEMBER void add(u32 b) {
        const u32 next = b >> 21;
        if (next != digit) {
            put_count();
            if (next >> 2 != bin) {
                put_sums();
                bin = next >> 2;
            }
            digit = next;
        }
        count++;
        const u32 exponent = b >> 23 & 0xff;
        const u32 m = (b & 0x7fffff) | (exponent != 0 ? 0x800000u : 0u);
        const u32 square = m * m;
        sum += m;
        low += square & 0xffffff;
        high += mul_hi(m, m) << 8 | square >> 24;
    }
    RC_FN_MEMBER void put_count() {
        if (count != 0) shared_add(to + digit, count);
        count = 0;
    }
    RC_FN_MEMBER void put_sums() {
        if (sum != 0) {
            const u32 words[tally_words] = {sum, low, high};
            RC_UNROLL for (u32 i = 0; i < tally_words; i++) {
                u32 *at = to + tally_digits + 2 * i * tally_bins + bin;
                shared_add(at, words[i] & 0xffff);
                shared_add(at + tally_bins, words[i] >> 16);
            }
        }
        sum = low = high = 0;
    }
};

// empty adds the block's tables to device memory.
RC_FN void empty(const tally_params &p, u32 *tables, u32 first_column) {
    for (u32 i = thread_x(); i < tally_columns * apart; i += tally_threads) {
        const u32 v = tables[i], column = first_column + i / apart, at = i % apart;
        if (v == 0) continue;
        tables[i] = 0;
        if (at < tally_digits) {
            reduce_add(p.counts + (u64)column * tally_digits + at, (u64)v);
        } else {
            const u32 piece = (at - tally_digits) / tally_bins, bin = (at - tally_digits) % tally_bins;
            reduce_add(p.sums + ((u64)column * tally_bins + bin) * tally_words + piece / 2, (u64)v << piece % 2 * 16);
        }
    }
}

} // namespace

RC_KERNEL(tally_threads) tally(const tally_params p) {
    extern __shared__ v16 memory[];
    u32 *tables = (u32 *)memory;
    for (u32 i = thread_x(); i < tally_columns * apart; i += tally_threads) tables[i] = 0;
    grid_dependency_wait();
    launch_dependents();
    const u32 first_column = block_x() % p.groups * tally_columns, own = thread_x() % tally_columns, column = first_column + own;
    summed s = {tables + own * apart, 0, 0, 0, 0, 0, 0};
    barrier();
    const u64 chunk = (u64)p.rows * tally_segments;
    u64 taken = 0;
    for (u64 begin = block_x() / p.groups * chunk; begin < p.n; begin += p.blocks * chunk) {
        if (taken + chunk > 65536) { // a column's pieces have room for as many additions
            barrier();
            empty(p, tables, first_column);
            barrier();
            taken = 0;
        }
        taken += chunk;
        if (column >= p.d) continue;
        each(p, column, begin + (u64)(thread_x() / tally_columns) * p.rows, [&](u32 b) RC_INLINE_LAMBDA { s.add(b); });
        s.put_count();
        s.put_sums();
    }
    barrier();
    empty(p, tables, first_column);
}

RC_KERNEL(tally_threads) tally_next(const tally_params p) {
    __shared__ u32 prefixes[tally_columns][tally_prefixes];
    grid_dependency_wait();
    launch_dependents();
    const u32 first_column = block_x() % p.groups * tally_columns, own = thread_x() % tally_columns, column = first_column + own;
    for (u32 i = thread_x(); i < tally_columns * p.prefix_count; i += tally_threads) {
        const u32 c = i / p.prefix_count, k = i % p.prefix_count;
        const i64 prefix = first_column + c < p.d ? (i64)ld_nc_u64((const u64 *)p.prefixes + (u64)(first_column + c) * p.prefix_count + k) : -1;
        prefixes[c][k] = prefix >= 0 && prefix < (i64)1 << p.known ? (u32)prefix : ~0u; // which no value begins with
    }
    barrier();
    if (column >= p.d) return;
    const u32 shift = 32 - p.known, below = p.known == 11 ? 10 : 0, mask = p.known == 11 ? 2047 : 1023; // of the prefix and of the digit
    u64 *counts = p.counts + (u64)column * p.prefix_count * tally_digits;
    u32 last = 0, count = 0; // values that begin with these bits, which end with the digit
    u64 *to = nullptr;       // where they are counted, if they are
    const u64 chunk = (u64)p.rows * tally_segments;
    for (u64 begin = block_x() / p.groups * chunk; begin < p.n; begin += p.blocks * chunk) {
        each(p, column, begin + (u64)(thread_x() / tally_columns) * p.rows, [&](u32 b) RC_INLINE_LAMBDA {
            if (b >> below != last || count == 0) {
                if (to != nullptr) reduce_add(to, (u64)count);
                last = b >> below, count = 0, to = nullptr;
                for (u32 k = 0; k < p.prefix_count; k++) {
                    if (prefixes[own][k] == b >> shift) {
                        to = counts + (u64)k * tally_digits + (last & mask);
                        break;
                    }
                }
            }
            count++;
        });
    }
    if (to != nullptr) reduce_add(to, (u64)count);
}
