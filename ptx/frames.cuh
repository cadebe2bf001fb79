// frames.cuh is a frame in its block, and the pixels of its picture: the source, the random choices, the colour rule, and jitter.
#pragma once
#include "kernel.cuh"
#include "warp.cuh"

namespace rc {

RC_HOST constexpr u32 frames_threads = 256;
RC_HOST constexpr u32 frames_group = 8; // pixels that a thread of frames makes at once
RC_HOST constexpr u32 frames_tile = 32; // rows and columns in a block of frames_resize
RC_HOST constexpr u32 frames_choices = 7;
constexpr u32 frames_lines = 80;
constexpr u32 warps = frames_threads / warp_size;
constexpr u32 rows_each = frames_tile / warps; // pixels in a thread of frames_resize
constexpr u32 weight_bits = 22, colour_bits = 20;
static_assert(frames_tile == warp_size, "a lane for each column");

RC_HOST enum frames_format : u32 { frames_format_rgb, frames_format_gray, frames_format_gray16, frames_format_nv12, frames_format_i420, frames_format_p016, frames_format_i010 };
RC_HOST enum frames_out : u32 { frames_out_u8, frames_out_f16, frames_out_bf16, frames_out_f32 };
RC_HOST enum frames_crop : u32 { frames_crop_none, frames_crop_centre, frames_crop_random };

// frames_source is a frame's picture, or with a selection the first picture of the stack. Addresses are in bytes. An axis is a place in the list
// of the tables: n first pixels, n counts, and the weights of all n pixels at a time.
RC_HOST struct frames_source {
    u64 plane[3];   // of the picture
    u64 picture[3]; // bytes from a picture of the stack to the next
    u64 begin, end; // of the first plane's tensor
    u32 pitch[3];   // bytes from a row to the next
    u32 count;      // pictures in the stack
    frames_format format;
    u32 x, y;          // the rectangle's first pixel
    u32 height, width; // of the rectangle after resizing
    u32 down, across;  // axes
    u32 shift, mask;   // a sample of 16 bits is (word >> shift) & mask
    i32 y0, c0, cy, rv, gu, gv, bu;
};

RC_HOST struct frames_params {
    u64 dst, frame; // the address, and the bytes from a frame to the next
    const i64 *select; // [n], or null
    u8 *valid;         // [n], or null: becomes 0 where select has no picture, which is then black
    u64 black, black_end; // the bytes of a row in a black picture
    const i64 *keys;   // [n / per_key, 2], or null
    const frames_source *sources;
    const u32 *levels; // [3, 256]: the output for each sample
    const u32 *axes;
    u64 *sums;         // [n, blocks]: of shades
    u64 *fault;
    u32 *fault_flag;
    u64 flip_x, flip_y; // a choice below is a flip
    u32 n, h, w;
    u32 per_key; // frames in a row of keys
    u32 blocks;  // per frame
    u32 share;   // items per block of frames, tiles beside each other in frames_resize
    u32 key;     // of the seed
    float low[3], span[3]; // of the factors of brightness, contrast and saturation
    float white, mean[3], deviation[3];
    u32 flags;

    RC_FLAG(flags, frames_out, out, 0, 2)
    RC_FLAG(flags, bool, gray, 2, 1)
    RC_FLAG(flags, bool, last, 3, 1) // channels last
    RC_FLAG(flags, bool, whole, 4, 1) // groups of pixels begin at whole chunks of the output
    RC_FLAG(flags, frames_crop, crop, 5, 2)
    RC_FLAG(flags, bool, per_frame, 7, 1)
    RC_FLAG(flags, bool, brightness, 8, 1)
    RC_FLAG(flags, bool, contrast, 9, 1)
    RC_FLAG(flags, bool, saturation, 10, 1)
    RC_FLAG(flags, bool, summing, 11, 1) // the launch that sums shades
    RC_FLAG(flags, bool, deep, 12, 1)    // samples of 16 bits
    RC_FLAG(flags, bool, floats, 13, 1)  // sums of resizing are not rounded
    RC_FLAG(flags, bool, early, 31, 1)   // see begin
    RC_FN_MEMBER u64 stream_bits() const { return 0; }
};

// waiting is the launch's place behind earlier work. What a kernel reads, it reads behind a barrier.
struct waiting {
    bool early;
    RC_FN_MEMBER bool ready() const { return early; }
    RC_FN_MEMBER void fence_after_wait() {}
};

// shared_frame is a frame in its block.
struct shared_frame {
    frames_source s;
    u32 choice[frames_choices];
    u32 y, x; // the window's first pixel in the resized picture
    bool flip_x, flip_y, known;
    float factor[3], mean;
};

RC_FN u32 ld_u8(u64 at) {
    u16 v;
    asm("ld.global.nc.u8 %0, [%1];" : "=h"(v) : "l"(global((const void *)at)));
    return v;
}
RC_FN u32 ld_word(u64 at) { return ld_u8(at) | ld_u8(at + 1) << 8; }

RC_FN u32 pick_bytes(u32 low, u32 high, u32 which) {
    u32 r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(which));
    return r;
}
// bytes_from returns four of eight bytes, from byte `skip` on, which is at most 3.
RC_FN u32 bytes_from(u32 low, u32 high, u32 skip) { return pick_bytes(low, high, 0x3210 + skip * 0x1111); }
RC_FN u32 byte_of(u32 v, u32 i) { return pick_bytes(v, 0, 0x4440 + i); }

// ---- The frame ----

RC_FN u32 mix(u32 x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}
RC_FN u32 mix_in(u32 k, u64 x) { return mix(mix(k ^ (u32)x) ^ (u32)(x >> 32)); }

// choose returns a random choice of frame n.
RC_FN u32 choose(const frames_params &p, u32 n, u32 choice) {
    if (p.keys == nullptr) return 0;
    const u32 row = n / p.per_key, t = p.per_frame() ? n - row * p.per_key : 0;
    const u32 k = mix_in(mix_in(p.key, ld_nc_u64(p.keys + 2 * (u64)row)), 2ull << 32 | choice);
    return mix(mix_in(k, ld_nc_u64(p.keys + 2 * (u64)row + 1)) ^ t);
}

// offset_of returns where a window of n pixels begins.
RC_FN u32 offset_of(const frames_params &p, u32 choice, u32 n, u32 window) {
    const u32 left = n - window, half = left / 2;
    if (p.crop() == frames_crop_none) return 0;
    return p.crop() == frames_crop_random ? mul_hi(choice, left + 1) : half + (left & half & 1);
}

// blacken turns a source into a black picture of RGB or gray. All rows lie in one place.
RC_FN void blacken(const frames_params &p, frames_source &s) {
    if (s.format >= frames_format_nv12) s.format = frames_format_rgb;
    s.plane[0] = s.begin = p.black, s.end = p.black_end;
    s.pitch[0] = 0;
}

// open_frame fills in the block's frame. It returns false if its picture does not exist and this is a fault.
RC_FN bool open_frame(const frames_params &p, shared_frame &f, u32 n) {
    const u32 *from = (const u32 *)(p.sources + (p.select == nullptr ? n : 0));
    for (u32 i = thread_x(); i < sizeof(frames_source) / 4; i += frames_threads) ((u32 *)&f.s)[i] = ld_nc_u32(from + i);
    if (thread_x() >= frames_threads - frames_choices) {
        const u32 i = thread_x() - (frames_threads - frames_choices);
        f.choice[i] = choose(p, n, i);
    }
    u64 sum = 0;
    if (p.contrast() && !p.summing() && thread_x() < warp_size) {
        for (u32 i = thread_x(); i < p.blocks; i += warp_size) sum += ld_nc_u64(p.sums + (u64)n * p.blocks + i);
        RC_UNROLL for (u32 d = warp_size / 2; d > 0; d /= 2) sum += shuffle_down(sum, d);
    }
    barrier();
    if (thread_x() == 0) {
        u64 picture = 0;
        f.known = true;
        if (p.select != nullptr) {
            picture = ld_nc_u64(p.select + n);
            if (RC_UNLIKELY(picture >= f.s.count)) {
                picture = 0;
                if (p.valid == nullptr) {
                    report(p, 0, n, 0);
                    f.known = false;
                } else {
                    if (block_x() == n * p.blocks) st_u8(p.valid + n, 0);
                    blacken(p, f.s);
                }
            }
        }
        RC_UNROLL for (u32 i = 0; i < 3; i++) {
            f.s.plane[i] += picture * f.s.picture[i];
            f.factor[i] = p.low[i] + p.span[i] * ((float)(f.choice[4 + i] >> 8) * 0x1p-24f);
        }
        f.y = offset_of(p, f.choice[0], f.s.height, p.h), f.x = offset_of(p, f.choice[1], f.s.width, p.w);
        f.flip_x = f.choice[2] < p.flip_x, f.flip_y = f.choice[3] < p.flip_y;
        f.mean = 0;
        if (p.contrast()) f.mean = f64_to_f32(div_rn((double)sum, (double)((u64)p.h * p.w)));
    }
    barrier();
    return f.known;
}

// ---- Pixels: red, green and blue from the lowest byte on, or the sample of a gray picture ----

// line is a row of a picture: where its samples are, and the bytes from a chroma sample to the next.
struct line {
    u64 first, second, third;
    u32 step;
};

RC_FN line line_of(const frames_source &s, u32 y) {
    line l = {s.plane[0] + (u64)y * s.pitch[0], 0, 0, 0};
    if (s.format >= frames_format_nv12) {
        const bool pairs = s.format == frames_format_nv12 || s.format == frames_format_p016;
        const u32 bytes = s.format >= frames_format_p016 ? 2 : 1;
        l.second = s.plane[1] + (u64)(y / 2) * s.pitch[1];
        l.third = pairs ? l.second + bytes : s.plane[2] + (u64)(y / 2) * s.pitch[2];
        l.step = pairs ? 2 * bytes : bytes;
    }
    return l;
}

RC_FN u32 clip(i32 sum) {
    const i32 v = sum >> colour_bits;
    return v < 0 ? 0 : v > 255 ? 255 : (u32)v;
}

RC_FN u32 pixel(const frames_source &s, const line &l, u32 x) {
    if (s.format == frames_format_rgb) {
        const u64 at = l.first + 3ull * x;
        return ld_u8(at) | ld_u8(at + 1) << 8 | ld_u8(at + 2) << 16;
    }
    if (s.format == frames_format_gray) return ld_u8(l.first + x);
    if (s.format == frames_format_gray16) return ld_word(l.first + 2ull * x);
    const u64 chroma = (u64)(x / 2) * l.step;
    i32 y, u, v;
    if (s.format >= frames_format_p016) {
        y = (i32)(ld_word(l.first + 2ull * x) >> s.shift & s.mask);
        u = (i32)(ld_word(l.second + chroma) >> s.shift & s.mask);
        v = (i32)(ld_word(l.third + chroma) >> s.shift & s.mask);
    } else {
        y = (i32)ld_u8(l.first + x), u = (i32)ld_u8(l.second + chroma), v = (i32)ld_u8(l.third + chroma);
    }
    y = s.cy * (y - s.y0) + (1 << (colour_bits - 1)), u -= s.c0, v -= s.c0;
    return clip(y + s.rv * v) | clip(y - s.gu * u - s.gv * v) << 8 | clip(y + s.bu * u) << 16;
}

// rgb_pixels reads frames_group pixels, unless their chunks reach beyond the plane. The highest byte of a pixel is any.
RC_FN bool rgb_pixels(const frames_source &s, u64 at, u32 (&out)[frames_group]) {
    const u64 chunk = at & ~7ull;
    if (RC_UNLIKELY(chunk < s.begin || chunk + 32 > s.end)) return false;
    u32 w[8];
    RC_UNROLL for (u32 i = 0; i < 4; i++) {
        const v8 v = ld_nc_8((const v8 *)chunk + i);
        w[2 * i] = v.x, w[2 * i + 1] = v.y;
    }
    const bool high = at & 4;
    RC_UNROLL for (u32 i = 0; i < 7; i++) {
        const u32 low = w[i], next = w[i + 1]; // a choice between places would lie in local memory
        w[i] = high ? next : low;
    }
    const u32 which = 0x3210 + ((u32)at & 3) * 0x1111;
    RC_UNROLL for (u32 i = 0; i < 6; i++) w[i] = pick_bytes(w[i], w[i + 1], which);
    RC_UNROLL for (u32 k = 0; k < frames_group; k++) out[k] = bytes_from(w[3 * k / 4], w[3 * k / 4 + (3 * k % 4 > 1)], 3 * k % 4);
    return true;
}

// group_memory has a group of pixels for each thread of a block, for steps that take one pixel after the other.
using group_memory = u32[frames_group][frames_threads];

// pixels reads frames_group pixels of a row.
RC_FN void pixels(const frames_source &s, const line &l, u32 x, group_memory &kept, u32 (&out)[frames_group]) {
    if (s.format == frames_format_rgb && rgb_pixels(s, l.first + 3ull * x, out)) return;
    if (s.format == frames_format_gray) {
        const u64 at = l.first + x, chunk = at & ~7ull;
        if (RC_LIKELY(chunk >= s.begin && chunk + 16 <= s.end)) {
            const v8 a = ld_nc_8((const v8 *)chunk), b = ld_nc_8((const v8 *)chunk + 1);
            const bool high = at & 4;
            const u32 w[3] = {high ? a.y : a.x, high ? b.x : a.y, high ? b.y : b.x}, skip = (u32)at & 3;
            const u32 low = bytes_from(w[0], w[1], skip), up = bytes_from(w[1], w[2], skip);
            RC_UNROLL for (u32 k = 0; k < frames_group; k++) out[k] = (k < 4 ? low : up) >> 8 * (k % 4) & 0xff;
            return;
        }
    }
    RC_NO_UNROLL for (u32 k = 0; k < frames_group; k++) kept[k][thread_x()] = pixel(s, l, x + k);
    RC_UNROLL for (u32 k = 0; k < frames_group; k++) out[k] = kept[k][thread_x()];
}

// ---- Jitter ----

// blend returns factor*v + (1-factor)*other, limited to a sample and rounded down.
RC_FN u32 blend(float factor, u32 v, float other) {
    u32 r;
    asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(factor * (float)v + (1.0f - factor) * other)); // 0 for what is less
    return r < 255 ? r : 255;
}
RC_FN u32 blend_all(float factor, u32 v, float other) {
    return blend(factor, v & 255, other) | blend(factor, v >> 8 & 255, other) << 8 | blend(factor, v >> 16 & 255, other) << 16;
}
RC_FN u32 shade(bool gray, u32 v) {
    if (gray) return v;
    return (u32)(0.2989f * (float)(v & 255) + 0.587f * (float)(v >> 8 & 255) + 0.114f * (float)(v >> 16 & 255));
}
RC_FN u32 brightened(const frames_params &p, const shared_frame &f, u32 v) {
    if (!p.brightness()) return v;
    return p.gray() ? blend(f.factor[0], v, 0) : blend_all(f.factor[0], v, 0);
}
RC_FN u32 jittered(const frames_params &p, const shared_frame &f, u32 v) {
    v = brightened(p, f, v);
    if (p.contrast()) v = p.gray() ? blend(f.factor[1], v, f.mean) : blend_all(f.factor[1], v, f.mean);
    if (p.saturation() && !p.gray()) v = blend_all(f.factor[2], v, (float)shade(false, v));
    return v;
}

// put_sum writes the sum of the block's shades.
RC_FN void put_sum(const frames_params &p, u32 n, u32 block, u32 sum) {
    __shared__ u32 sums[warps];
    RC_UNROLL for (u32 d = warp_size / 2; d > 0; d /= 2) sum += shuffle_xor(sum, d);
    if (lane() == 0) sums[thread_x() / warp_size] = sum;
    barrier();
    if (thread_x() > 0) return;
    u64 total = 0;
    RC_UNROLL for (u32 i = 0; i < warps; i++) total += sums[i];
    st_u64(p.sums + (u64)n * p.blocks + block, total);
}

} // namespace rc
