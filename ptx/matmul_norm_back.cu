// matmul_norm_back.cu has the products that the gradient of a LayerNorm follows: matmul_norm_back_N of A·B, for rows of up to N columns. A block makes 64 whole rows.
#include "matmul_rows.cuh"

using namespace rc;

#define RC_MATMUL(name, columns, wm, wn, stages) \
    RC_KERNEL(wm *wn * 32) name(const matmul_params p) { matmul_normed<matmul_tile<64, columns, wm, wn, stages, true>, true>(p); }

RC_MATMUL(matmul_norm_back_64, 64, 2, 2, 3)
RC_MATMUL(matmul_norm_back_128, 128, 2, 2, 3)
RC_MATMUL(matmul_norm_back_256, 256, 2, 4, 4)
RC_MATMUL(matmul_norm_back_512, 512, 1, 8, 2)
