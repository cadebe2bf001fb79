// fuse_backward.cu makes the gradients of a Fuse with respect to values of f32, f16 and bf16 (fuse_backward.cuh). They are summed in float.
#include "fuse_backward.cuh"

using namespace rc;

RC_KERNEL_OCC(backward_threads, resident_blocks) fuse_backward(const backward_params p) {
    __shared__ marks<float> m;
    __shared__ backward_job j;
    share_job(j, p);
    make_gradients(j, m);
}
