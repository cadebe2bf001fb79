#include "matmul_rows.cuh"

using namespace rc;

#define KERNEL(name, bm, bn, wm, wn, stages, plain) RC_KERNEL(wm * wn * 32) name(const matmul_params p) { matmul<matmul_tile<bm, bn, wm, wn, stages, plain>>(p); }
#define NORM(name, bn, wm, wn, stages, plain, back) RC_KERNEL(wm * wn * 32) name(const matmul_params p) { matmul_normed<matmul_tile<64, bn, wm, wn, stages, plain>, back>(p); }

KERNEL(matmul_nt_128, 128, 128, 2, 2, 3, false)
KERNEL(matmul_nt_64, 64, 64, 2, 2, 3, false)
KERNEL(matmul_nn_128, 128, 128, 2, 2, 3, true)
KERNEL(matmul_nn_64, 64, 64, 2, 2, 3, true)
NORM(matmul_norm_64, 64, 2, 2, 3, false, false)
NORM(matmul_norm_256, 256, 2, 4, 3, false, false)
NORM(matmul_norm_back_256, 256, 2, 4, 3, true, true)
