// fuse_backward_f64.cu computes the gradients of a Fuse with respect to values of f64 (fuse_backward.cuh), summed in double.
#include "fuse_backward.cuh"

using namespace rc;

RC_KERNEL_OCC(backward_threads, resident_blocks) fuse_backward_f64(const backward_params p) {
    __shared__ target_batch<double> m;
    __shared__ backward_job j;
    load_shared_job(j, p);
    make_gradients(j, m);
}
