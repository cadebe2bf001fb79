// matmul.cu has the products that no norm follows: matmul_nt_N of A·Bᵀ and matmul_nn_N of A·B, whose blocks make N x N elements. matmul_nt_32 is for
// few rows, as a policy has that runs: k up to 448 is under way at once. Deep kernels have k up to 320 under way: they are for so few tiles that a
// multiprocessor has one, which nothing else keeps busy.
// Bytes moved: the tiles' rows of A and of B once a tile, from the second-level cache mostly; what is read and written of elements once.
#include "matmul_rows.cuh"

using namespace rc;

#define RC_MATMUL(name, size, stages, plain) \
    RC_KERNEL(128) name(const matmul_params p) { matmul<matmul_tile<size, size, 2, 2, stages, plain>>(p); }

RC_MATMUL(matmul_nt_32, 32, 8, false)
RC_MATMUL(matmul_nt_64, 64, 3, false)
RC_MATMUL(matmul_nt_deep_64, 64, 6, false)
RC_MATMUL(matmul_nt_128, 128, 3, false)
RC_MATMUL(matmul_nn_64, 64, 3, true)
RC_MATMUL(matmul_nn_deep_64, 64, 6, true)
RC_MATMUL(matmul_nn_128, 128, 3, true)
