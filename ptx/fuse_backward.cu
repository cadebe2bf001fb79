// fuse_backward.cu computes the gradients of a Fuse with respect to values of f32, f16 and bf16 (fuse_backward.cuh), summed in float.
#include "fuse_backward.cuh"

using namespace rc;

RC_KERNEL_OCC(backward_threads, resident_blocks) fuse_backward(const backward_params p) {
    __shared__ target_batch<float> m;
    __shared__ backward_job j;
    load_shared_job(j, p);
    make_gradients(j, m);
}
