// fp32.cuh has functions of float32 made of IEEE operations alone, the steps of package internal/fp32 in their order: so the bits are those of the CPU.
// That package says how exact they are. Constants that are not named are coefficients of polynomials.
#pragma once

#include "common.cuh"

namespace rc {

RC_FN float fma(float a, float b, float c) { return fma_rn(a, b, c); }

constexpr float fp32_magic = 12582912.0f; // 3 * 2^22: added to a number, it rounds that to a whole one in the last bits

RC_FN float power_of_two(i32 n) { return as_f32((u32)(n + 127) << 23); } // n from -126 to 127

// max_nan is the greater of two, or NaN if one is.
RC_FN float max_nan(float a, float b) {
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

// exp2_exact is 2^x for all x.
RC_FN float exp2_exact(float x) {
    x = x > 129.0f ? 129.0f : x < -151.0f ? -151.0f : x;
    const float t = x + fp32_magic;
    const float f = x - (t - fp32_magic);
    float p = fma(f, 0x1.41fbbcp-13f, 0x1.5f3e54p-10f);
    p = fma(p, f, 0x1.3b2d4cp-7f);
    p = fma(p, f, 0x1.c6aee8p-5f);
    p = fma(p, f, 0x1.ebfbdcp-3f);
    p = fma(p, f, 0x1.62e430p-1f);
    p = fma(p, f, 1.0f);
    const i32 n = (i32)(bits(t) - bits(fp32_magic)), half = n >> 1;
    return p * power_of_two(half) * power_of_two(n - half);
}

// exp2_down is 2^x for x from minus infinity to 1, in ten instructions: 0 from -127 on; NaN gives the largest float.
RC_FN float exp2_down(float x) {
    x = max_nan(x, -127.0f);
    const float t = x + fp32_magic;
    const float f = x - (t - fp32_magic);
    float p = fma(f, 0x1.3a02ccp-7f, 0x1.c9fc46p-5f);
    p = fma(p, f, 0x1.ec0378p-3f);
    p = fma(p, f, 0x1.62e12cp-1f);
    p = fma(p, f, 1.0f);
    return as_f32(bits(p) + (bits(t) << 23));
}

// log2_exact is the logarithm, base 2.
RC_FN float log2_exact(float x) {
    const u32 infinite = 0x7f800000u;
    if (!(x > 0.0f && bits(x) < infinite))
        return x == 0.0f ? -as_f32(infinite) : x < 0.0f ? as_f32(0x7fffffffu) : x;
    i32 e = 0;
    if (x < 0x1p-126f) {
        x *= 0x1p23f;
        e = -23;
    }
    const i32 k = (i32)(bits(x) - 0x3f3504f3u) >> 23;
    const float f = as_f32(bits(x) - ((u32)k << 23)) - 1.0f;
    float p = fma(f, 0x1.01b6c6p-3f, -0x1.a87d02p-3f);
    p = fma(p, f, 0x1.b9c91cp-3f);
    p = fma(p, f, -0x1.e95be8p-3f);
    p = fma(p, f, 0x1.26d384p-2f);
    p = fma(p, f, -0x1.715c4ep-2f);
    p = fma(p, f, 0x1.ec73d6p-2f);
    p = fma(p, f, -0x1.715470p-1f);
    p = fma(p, f, 0x1.715476p0f);
    return fma(p, f, (float)(e + k));
}

RC_FN float log_exact(float x) { return log2_exact(x) * 0x1.62e430p-1f; }
RC_FN float exp_exact(float x) { return exp2_exact(x * 0x1.715476p0f); }

// erf_exact is the error function.
RC_FN float erf_exact(float x) {
    float a = abs_f(x);
    if (a < 1.0f) {
        const float t = x * x;
        float p = fma(t, -0x1.28c154p-11f, 0x1.42c042p-8f);
        p = fma(p, t, -0x1.b5be30p-6f);
        p = fma(p, t, 0x1.ce0bb0p-4f);
        p = fma(p, t, -0x1.812688p-2f);
        p = fma(p, t, 0x1.20dd74p0f);
        return p * x;
    }
    a = a > 4.0f ? 4.0f : a;
    float p = fma(a, 0x1.b314e2p-10f, -0x1.5d4fcap-6f);
    p = fma(p, a, 0x1.05e1c2p-3f);
    p = fma(p, a, 0x1.e371dcp-1f);
    p = fma(p, a, 0x1.9cb416p0f);
    p = fma(p, a, 0x1.f936b0p-9f);
    const float y = 1.0f - exp2_exact(-p);
    return x < 0.0f ? -y : y;
}

RC_FN float gelu(float x) { return 0.5f * x * (1.0f + erf_exact(x * 0x1.6a09e6p-1f)); }

// gelu_grad is the derivative of gelu.
RC_FN float gelu_grad(float x) {
    const float cdf = 0.5f * (1.0f + erf_exact(x * 0x1.6a09e6p-1f));
    const float pdf = exp2_exact(x * x * -0x1.715476p-1f) * 0x1.988454p-2f;
    return fma(x, pdf, cdf);
}

// philox is Philox4x32 with 10 rounds.
RC_FN v16 philox(v16 counter, u32 key0, u32 key1) {
    RC_UNROLL
    for (int i = 0; i < 10; i++) {
        const u32 hi0 = mul_hi(0xd2511f53u, counter.x), lo0 = 0xd2511f53u * counter.x;
        const u32 hi1 = mul_hi(0xcd9e8d57u, counter.z), lo1 = 0xcd9e8d57u * counter.z;
        counter = v16{hi1 ^ counter.y ^ key0, lo1, hi0 ^ counter.w ^ key1, lo0};
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return counter;
}

// random_words are the words of the elements 4*quad to 4*quad+3 of a site at a step: one is left out by dropout if its word is less than
// fp32.Threshold of the rate.
RC_FN v16 random_words(u64 seed, u32 step, u32 site, u64 quad) {
    return philox(v16{(u32)quad, (u32)(quad >> 32), step, site}, (u32)seed, (u32)(seed >> 32));
}
RC_FN u32 word_of(v16 words, u32 i) { return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w; }
RC_FN bool dropped(u64 seed, u32 step, u32 site, u64 number, u32 threshold) {
    return word_of(random_words(seed, step, site, number / 4), (u32)number & 3) < threshold;
}

// normal_of converts a random word to a normally distributed number.
RC_FN float normal_of(u32 word) {
    const float x = (float)((i32)(word >> 8) * 2 + 1 - (1 << 24)) * 0x1p-24f;
    float w = -log_exact((1.0f - x) * (1.0f + x));
    const bool middle = w < 5.0f;
    w = middle ? w - 2.5f : sqrt_rn(w) - 3.0f;
    float p = middle ? 2.81022636e-08f : -0.000200214257f;
    p = fma(p, w, middle ? 3.43273939e-07f : 0.000100950558f);
    p = fma(p, w, middle ? -3.5233877e-06f : 0.00134934322f);
    p = fma(p, w, middle ? -4.39150654e-06f : -0.00367342844f);
    p = fma(p, w, middle ? 0.00021858087f : 0.00573950773f);
    p = fma(p, w, middle ? -0.00125372503f : -0.0076224613f);
    p = fma(p, w, middle ? -0.00417768164f : 0.00943887047f);
    p = fma(p, w, middle ? 0.246640727f : 1.00167406f);
    p = fma(p, w, middle ? 1.50140941f : 2.83297682f);
    return p * x * 0x1.6a09e6p0f;
}

} // namespace rc
