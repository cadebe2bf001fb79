// matmul_norm.cu has the products that a LayerNorm follows: matmul_norm_N of A·Bᵀ, for rows of up to N columns. A block makes 64 whole rows.
#include "matmul_rows.cuh"

using namespace rc;

#define RC_MATMUL(name, columns, wm, wn, stages) \
    RC_KERNEL(wm *wn * 32) name(const matmul_params p) { matmul_normed<matmul_tile<64, columns, wm, wn, stages, false>, false>(p); }

RC_MATMUL(matmul_norm_64, 64, 2, 2, 3)
RC_MATMUL(matmul_norm_128, 128, 2, 2, 3)
RC_MATMUL(matmul_norm_256, 256, 2, 4, 4)
RC_MATMUL(matmul_norm_512, 512, 1, 8, 2)
