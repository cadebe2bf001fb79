// frames.cu turns decoded pictures into a batch of images: ops/backend/frames.go has the rules. All steps before the normalisation are of
// integers, or of floats in a written order.
//
// frames serves pictures that keep their size. A thread makes 8 pixels of a row at a time. It reads those of RGB and gray in chunks of 8
// aligned bytes, which it shifts into place, and writes whole chunks where the output allows. A sample becomes an output by a table in shared
// memory. Several blocks share a frame. make_rows is the loop for most jobs: RGB without jitter, to whole chunks.
//
// frames_resize serves all others. A block makes frames_tile x frames_tile pixels. Its threads first resize the source rows that these need
// horizontally, frames_lines at a time, from pixels that they convert as they read them, into shared memory. Then each adds these rows to four pixels of
// its column. So the shared memory does not depend on the sizes.
//
// With contrast, either kernel runs twice: the first launch sums the shades of each block's pixels, and the second begins with their mean.
// Bytes moved: the samples that are used once (more often by frames_resize, from the caches), and the output once.
#include "frames.cuh"

using namespace rc;

namespace {

// ---- Outputs ----

// place_of returns the address of a pixel's channel.
RC_FN u64 place_of(const frames_params &p, u32 n, u32 channels, u32 channel, u32 y, u32 x) {
    const u64 at = p.last() ? ((u64)y * p.w + x) * channels + channel : ((u64)channel * p.h + y) * p.w + x;
    const u32 size = p.out() == frames_out_u8 ? 0 : p.out() == frames_out_f32 ? 2 : 1;
    return p.dst + n * p.frame + (at << size);
}

RC_FN void put(const frames_params &p, u64 at, u32 b) {
    if (p.out() == frames_out_u8) return st_u8((void *)at, (u8)b);
    if (p.out() == frames_out_f32) return st_u32((void *)at, b);
    st_u16((void *)at, (u16)b);
}

// level_bits returns an output that is not in the table.
RC_FN u32 level_bits(const frames_params &p, u32 channel, float v) {
    v = div_rn(div_rn(v, p.white) - p.mean[channel], p.deviation[channel]);
    if (p.out() == frames_out_f32) return bits(v);
    return p.out() == frames_out_f16 ? f32_to_f16(v) : f32_to_bf16(v);
}

// put_chunks writes N outputs of Size bytes beside each other, which begin at a whole chunk.
template <u32 Size, u32 N> RC_FN void put_chunks(u64 at, const u32 (&e)[N]) {
    constexpr u32 words = N * Size / 4;
    u32 w[words];
    RC_UNROLL for (u32 i = 0; i < words; i++) {
        if constexpr (Size == 4) w[i] = e[i];
        if constexpr (Size == 2) w[i] = e[2 * i] | e[2 * i + 1] << 16;
        if constexpr (Size == 1) w[i] = e[4 * i] | e[4 * i + 1] << 8 | e[4 * i + 2] << 16 | e[4 * i + 3] << 24;
    }
    if constexpr (Size == 1) {
        RC_UNROLL for (u32 i = 0; i < words; i += 2) st_8((u32 *)at + i, {w[i], w[i + 1]});
    } else {
        RC_UNROLL for (u32 i = 0; i < words; i += 4) st_16((u32 *)at + i, {w[i], w[i + 1], w[i + 2], w[i + 3]});
    }
}

// put_group writes a group of pixels where groups begin at whole chunks.
template <u32 Size, u32 Channels> RC_FN void put_group(const frames_params &p, const u32 *levels, u32 n, u32 y, u32 x, const u32 (&v)[frames_group]) {
    u32 e[Channels][frames_group];
    RC_UNROLL for (u32 k = 0; k < frames_group; k++) {
        RC_UNROLL for (u32 c = 0; c < Channels; c++) {
            const u32 sample = byte_of(v[k], c);
            e[c][k] = Size == 1 ? sample : levels[256 * c + (u64)sample];
        }
    }
    if (Channels > 1 && p.last()) {
        u32 flat[Channels * frames_group];
        RC_UNROLL for (u32 i = 0; i < Channels * frames_group; i++) flat[i] = e[i % Channels][i / Channels];
        return put_chunks<Size>(place_of(p, n, Channels, 0, y, x), flat);
    }
    RC_UNROLL for (u32 c = 0; c < Channels; c++) put_chunks<Size>(place_of(p, n, Channels, c, y, x), e[c]);
}

// put_pixel writes one pixel of whole samples.
RC_FN void put_pixel(const frames_params &p, const u32 *levels, u32 n, u32 y, u32 x, u32 v) {
    if (p.deep()) return put(p, place_of(p, n, 1, 0, y, x), level_bits(p, 0, (float)v));
    const u32 channels = p.gray() ? 1 : 3;
    for (u32 c = 0; c < channels; c++) {
        const u32 sample = v >> 8 * c & 255;
        put(p, place_of(p, n, channels, c, y, x), p.out() == frames_out_u8 ? sample : levels[256 * c + (u64)sample]);
    }
}

RC_FN void load_levels(const frames_params &p, u32 *levels) {
    if (p.out() == frames_out_u8 || p.deep() || p.summing()) return;
    for (u32 i = thread_x(); i < 768; i += frames_threads) levels[i] = ld_nc_u32(p.levels + i);
}

template <u32 Size> RC_FN void put_sized(const frames_params &p, const u32 *levels, u32 n, u32 y, u32 x, const u32 (&v)[frames_group]) {
    if (RC_UNLIKELY(p.gray()))
        put_group<Size, 1>(p, levels, n, y, x, v);
    else
        put_group<Size, 3>(p, levels, n, y, x, v);
}

// make_group makes the pixels from column x of row y on, and returns the sum of their shades in the launch that sums them.
RC_FN u32 make_group(const frames_params &p, const shared_frame &f, const u32 *levels, group_memory &kept, u32 n, u32 y, u32 x) {
    const frames_source &s = f.s;
    const line l = line_of(s, s.y + f.y + (f.flip_y ? p.h - 1 - y : y));
    const u32 first = s.x + f.x;
    u32 sum = 0;
    if (p.w - x < frames_group || !p.whole() || p.deep()) {
        const u32 end = p.w - x < frames_group ? p.w : x + frames_group;
        for (; x < end; x++) {
            const u32 v = pixel(s, l, first + (f.flip_x ? p.w - 1 - x : x));
            if (p.summing())
                sum += shade(p.gray(), brightened(p, f, v));
            else
                put_pixel(p, levels, n, y, x, jittered(p, f, v));
        }
        return sum;
    }
    u32 v[frames_group];
    pixels(s, l, first + (f.flip_x ? p.w - frames_group - x : x), kept, v);
    if (p.summing() || p.brightness() || p.contrast() || p.saturation()) {
        RC_UNROLL for (u32 k = 0; k < frames_group; k++) kept[k][thread_x()] = v[k];
        RC_NO_UNROLL for (u32 k = 0; k < frames_group; k++) {
            u32 &at = kept[k][thread_x()];
            if (p.summing())
                sum += shade(p.gray(), brightened(p, f, at));
            else
                at = jittered(p, f, at);
        }
        RC_UNROLL for (u32 k = 0; k < frames_group; k++) v[k] = kept[k][thread_x()];
        if (p.summing()) return sum;
    }
    if (f.flip_x) {
        RC_UNROLL for (u32 k = 0; k < frames_group / 2; k++) {
            const u32 other = v[k];
            v[k] = v[frames_group - 1 - k], v[frames_group - 1 - k] = other;
        }
    }
    if (p.out() == frames_out_u8)
        put_sized<1>(p, levels, n, y, x, v);
    else if (p.out() == frames_out_f32)
        put_sized<4>(p, levels, n, y, x, v);
    else
        put_sized<2>(p, levels, n, y, x, v);
    return 0;
}

// make_rows makes the pixels from `from` to `to` - 1 of RGB without jitter, counted in groups, where the output has whole chunks. All is in registers
// but the table.
template <u32 Size, bool Last> RC_FN void make_rows(const frames_params &p, const shared_frame &f, const u32 *levels, u32 n, u32 from, u32 to) {
    const frames_source s = f.s;
    const u32 groups = p.w / frames_group, rows = frames_threads / groups, rest = frames_threads - rows * groups;
    const bool flip_x = f.flip_x;
    const i32 pitch = f.flip_y ? -(i32)s.pitch[0] : (i32)s.pitch[0];
    const i32 step = flip_x ? -(i32)frames_group * 3 : (i32)frames_group * 3;
    const u64 begin = s.plane[0] + (u64)(s.y + f.y + (f.flip_y ? p.h - 1 : 0)) * s.pitch[0] + 3ull * (s.x + f.x + (flip_x ? p.w - frames_group : 0));
    const u64 out = p.dst + n * p.frame, channel = (u64)p.h * p.w * Size;
    u32 y = (from + thread_x()) / groups, g = from + thread_x() - y * groups;
    for (u32 i = from + thread_x(); i < to; i += frames_threads) {
        u32 v[frames_group];
        const u64 at = begin + (u64)((i64)(i32)y * pitch) + (u64)((i64)(i32)g * step);
        if (RC_UNLIKELY(!rgb_pixels(s, at, v))) {
            RC_UNROLL for (u32 k = 0; k < frames_group; k++) v[k] = ld_u8(at + 3 * k) | ld_u8(at + 3 * k + 1) << 8 | ld_u8(at + 3 * k + 2) << 16;
        }
        if (flip_x) {
            RC_UNROLL for (u32 k = 0; k < frames_group / 2; k++) {
                const u32 other = v[k];
                v[k] = v[frames_group - 1 - k], v[frames_group - 1 - k] = other;
            }
        }
        const u64 place = out + (u64)i * (frames_group * Size * (Last ? 3 : 1)); // groups of a frame follow each other
        if constexpr (Last) {
            u32 e[3 * frames_group];
            RC_UNROLL for (u32 k = 0; k < 3 * frames_group; k++) {
                const u32 sample = byte_of(v[k / 3], k % 3);
                e[k] = Size == 1 ? sample : levels[256 * (k % 3) + (u64)sample];
            }
            put_chunks<Size>(place, e);
        } else {
            RC_UNROLL for (u32 c = 0; c < 3; c++) {
                u32 e[frames_group];
                RC_UNROLL for (u32 k = 0; k < frames_group; k++) {
                    const u32 sample = byte_of(v[k], c);
                    e[k] = Size == 1 ? sample : levels[256 * c + (u64)sample];
                }
                put_chunks<Size>(place + c * channel, e);
            }
        }
        y += rows, g += rest;
        if (g >= groups) g -= groups, y++;
    }
}

template <u32 Size> RC_FN void make_rows_by(const frames_params &p, const shared_frame &f, const u32 *levels, u32 n, u32 from, u32 to) {
    if (p.last())
        make_rows<Size, true>(p, f, levels, n, from, to);
    else
        make_rows<Size, false>(p, f, levels, n, from, to);
}

// ---- Resizing ----

// whole sums samples of 8 bits, deep ones of 16 bits; fractions sums floats. Whole samples of a pixel share a word of shared memory.
template <u32 C> struct whole {
    using sum = i32;
    static constexpr u32 channels = C;
    static constexpr bool rounds = true;
    static constexpr i32 top = 255;
};
struct deep {
    using sum = i64;
    static constexpr u32 channels = 1;
    static constexpr bool rounds = true;
    static constexpr i32 top = 65535;
};
template <u32 C> struct fractions {
    using sum = float;
    static constexpr u32 channels = C;
    static constexpr bool rounds = false;
    static constexpr i32 top = 0;
};

template <class K> RC_FN typename K::sum weight_of(u32 b) {
    if constexpr (K::rounds)
        return (typename K::sum)(i32)b;
    else
        return as_f32(b);
}

// channel_of returns a channel of a pixel; a pixel of one channel has up to 16 bits.
template <class K> RC_FN u32 channel_of(u32 v, u32 c) { return K::channels == 1 ? v : v >> 8 * c & 255; }

template <class K> RC_FN u32 rounded_sum(typename K::sum sum) {
    const auto v = (sum + (1 << (weight_bits - 1))) >> weight_bits;
    return (u32)(v > K::top ? K::top : v);
}

// packed_sums returns a pixel of whole samples.
template <class K> RC_FN u32 packed_sums(const typename K::sum (&sums)[K::channels]) {
    u32 v = 0;
    RC_UNROLL for (u32 c = 0; c < K::channels; c++) v |= rounded_sum<K>(sums[c]) << 8 * c;
    return v;
}

// taps are what one pixel reads along an axis.
struct taps {
    u32 first, end;
    const u32 *weights;
    u32 step;
};

RC_FN taps taps_of(const u32 *axis, u32 n, u32 i) {
    const u32 first = ld_nc_u32(axis + i);
    return {first, first + ld_nc_u32(axis + n + i), axis + 2 * n + i, n};
}

// make_tile makes a tile of pixels, and returns the sum of a thread's shades in the launch that sums them.
template <class K> RC_FN u32 make_tile(const frames_params &p, const shared_frame &f, u32 (&lines)[3][frames_lines][frames_tile], const u32 *levels, u32 n, u32 top, u32 left) {
    const frames_source &s = f.s;
    const u32 warp = thread_x() / warp_size, x = left + lane(), column = x < p.w ? x : p.w - 1;
    const u32 *across = p.axes + s.across, *down = p.axes + s.down;
    const taps tx = taps_of(across, s.width, f.x + (f.flip_x ? p.w - 1 - column : column));
    const auto row_of = [&](u32 y) RC_INLINE_LAMBDA { return f.y + (f.flip_y ? p.h - 1 - y : y); };
    const u32 bottom = top + frames_tile < p.h ? top + frames_tile - 1 : p.h - 1;
    const taps a = taps_of(down, s.height, row_of(top)), b = taps_of(down, s.height, row_of(bottom));
    const u32 lo = a.first < b.first ? a.first : b.first, hi = a.end > b.end ? a.end : b.end;
    taps ty[rows_each];
    typename K::sum sums[rows_each][K::channels];
    RC_UNROLL for (u32 j = 0; j < rows_each; j++) {
        const u32 y = top + warp + j * warps;
        ty[j] = taps_of(down, s.height, row_of(y < p.h ? y : p.h - 1));
        RC_UNROLL for (u32 c = 0; c < K::channels; c++) sums[j][c] = 0;
    }
    for (u32 begin = lo; begin < hi; begin += frames_lines) {
        const u32 end = begin + frames_lines < hi ? begin + frames_lines : hi;
        if (begin > lo) barrier();
        for (u32 row = begin + warp; row < end; row += warps) {
            const line l = line_of(s, s.y + row);
            typename K::sum sum[K::channels] = {};
            for (u32 i = tx.first, k = 0; i < tx.end; i++, k++) {
                const u32 v = pixel(s, l, s.x + i);
                const typename K::sum w = weight_of<K>(ld_nc_u32(tx.weights + (u64)k * tx.step));
                RC_UNROLL for (u32 c = 0; c < K::channels; c++) sum[c] += w * (typename K::sum)channel_of<K>(v, c);
            }
            if constexpr (K::rounds) {
                lines[0][row - begin][lane()] = packed_sums<K>(sum);
            } else {
                RC_UNROLL for (u32 c = 0; c < K::channels; c++) lines[c][row - begin][lane()] = bits(sum[c]);
            }
        }
        barrier();
        RC_UNROLL for (u32 j = 0; j < rows_each; j++) {
            const u32 from = ty[j].first > begin ? ty[j].first : begin, to = ty[j].end < end ? ty[j].end : end;
            for (u32 row = from; row < to; row++) {
                const typename K::sum w = weight_of<K>(ld_nc_u32(ty[j].weights + (u64)(row - ty[j].first) * ty[j].step));
                RC_UNROLL for (u32 c = 0; c < K::channels; c++) {
                    if constexpr (K::rounds)
                        sums[j][c] += w * (typename K::sum)channel_of<K>(lines[0][row - begin][lane()], c);
                    else
                        sums[j][c] += w * as_f32(lines[c][row - begin][lane()]);
                }
            }
        }
    }
    barrier();
    RC_UNROLL for (u32 j = 0; j < rows_each; j++) { // each thread reads what it wrote
        if constexpr (K::rounds) {
            lines[0][warp + j * warps][lane()] = packed_sums<K>(sums[j]);
        } else {
            RC_UNROLL for (u32 c = 0; c < K::channels; c++) lines[c][warp + j * warps][lane()] = bits(sums[j][c]);
        }
    }
    u32 shades = 0;
    RC_NO_UNROLL for (u32 i = warp; i < frames_tile; i += warps) {
        const u32 y = top + i;
        if (x >= p.w || y >= p.h) continue;
        if constexpr (K::rounds) {
            const u32 v = lines[0][i][lane()];
            if (p.summing())
                shades += shade(p.gray(), brightened(p, f, v));
            else
                put_pixel(p, levels, n, y, x, jittered(p, f, v));
        } else {
            RC_UNROLL for (u32 c = 0; c < K::channels; c++) put(p, place_of(p, n, K::channels, c, y, x), level_bits(p, c, as_f32(lines[c][i][lane()])));
        }
    }
    return shades;
}

} // namespace

RC_KERNEL(frames_threads) frames(const frames_params p) {
    __shared__ shared_frame f;
    __shared__ u32 levels[768];
    __shared__ group_memory kept;
    waiting job = {p.early()};
    begin(job);
    const u32 n = block_x() / p.blocks, block = block_x() - n * p.blocks;
    load_levels(p, levels);
    if (open_frame(p, f, n)) {
        const u32 groups = (p.w + frames_group - 1) / frames_group, items = p.h * groups, from = block * p.share;
        const u32 to = items - from < p.share ? items : from + p.share;
        if (p.whole() && p.w % frames_group == 0 && f.s.format == frames_format_rgb && !p.summing() && !p.brightness() && !p.contrast() && !p.saturation()) {
            if (p.out() == frames_out_u8)
                make_rows_by<1>(p, f, levels, n, from, to);
            else if (p.out() == frames_out_f32)
                make_rows_by<4>(p, f, levels, n, from, to);
            else
                make_rows_by<2>(p, f, levels, n, from, to);
            end(job);
            return;
        }
        u32 sum = 0, y = (from + thread_x()) / groups, g = from + thread_x() - y * groups;
        const u32 rows = frames_threads / groups, rest = frames_threads - rows * groups;
        for (u32 i = from + thread_x(); i < to; i += frames_threads) {
            sum += make_group(p, f, levels, kept, n, y, g * frames_group);
            y += rows, g += rest;
            if (g >= groups) g -= groups, y++;
        }
        if (p.summing()) put_sum(p, n, block, sum);
    }
    end(job);
}

RC_KERNEL(frames_threads) frames_resize(const frames_params p) {
    __shared__ shared_frame f;
    __shared__ u32 levels[768];
    __shared__ u32 lines[3][frames_lines][frames_tile];
    waiting job = {p.early()};
    begin(job);
    const u32 n = block_x() / p.blocks, block = block_x() - n * p.blocks;
    load_levels(p, levels);
    if (open_frame(p, f, n)) {
        const u32 top = block / p.share * frames_tile, left = block % p.share * frames_tile;
        u32 sum = 0;
        if (p.floats() && p.gray())
            sum = make_tile<fractions<1>>(p, f, lines, levels, n, top, left);
        else if (p.floats())
            sum = make_tile<fractions<3>>(p, f, lines, levels, n, top, left);
        else if (p.deep())
            sum = make_tile<deep>(p, f, lines, levels, n, top, left);
        else if (p.gray())
            sum = make_tile<whole<1>>(p, f, lines, levels, n, top, left);
        else
            sum = make_tile<whole<3>>(p, f, lines, levels, n, top, left);
        if (p.summing()) put_sum(p, n, block, sum);
    }
    end(job);
}
