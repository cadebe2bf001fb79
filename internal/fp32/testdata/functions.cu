// functions.cu applies the functions of fp32.cuh to numbers, a thread a number: result f of number i goes to out[f * n + i], words of philox behind them.
// It is compiled to functions.ptx, in this folder, by
//
//     clang++-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx74 -nocudainc -nocudalib --cuda-path=/nonexistent
//         -ffp-contract=off -O3 -std=c++17 -S -o functions.ptx functions.cu
#include "../../../ptx/fp32.cuh"

using namespace rc;

RC_KERNEL(256) functions(u32 *out, const float *in, u32 n) {
    const u32 i = block_x() * threads_x() + thread_x();
    if (i >= n) return;
    const float x = in[i], y = in[(i + 1) % n], z = in[(i + 7) % n];
    out[i] = bits(fma(x, y, z));
    out[n + i] = bits(exp2_exact(x));
    out[2 * n + i] = bits(exp2_down(x));
    out[3 * n + i] = bits(log2_exact(x));
    out[4 * n + i] = bits(log_exact(x));
    out[5 * n + i] = bits(exp_exact(x));
    out[6 * n + i] = bits(erf_exact(x));
    out[7 * n + i] = bits(gelu(x));
    out[8 * n + i] = bits(gelu_grad(x));
    out[9 * n + i] = bits(sqrt_rn(x));
    const v16 w = random_words((u64)bits(y) << 32 | bits(z), i, 7, (u64)bits(x) << 20);
    out[10 * n + i] = w.x, out[11 * n + i] = w.y, out[12 * n + i] = w.z, out[13 * n + i] = w.w;
    out[14 * n + i] = dropped(bits(y), bits(x), i, bits(z), 1u << 30);
    out[15 * n + i] = bits(normal_of(bits(x)));
}
