// resample_thread_per_row.cu resamples short rows, one row per thread, see thread_per_row.cuh. resample_channels.cu takes the rest.
#include "thread_per_row.cuh"

using namespace rc;

RC_KERNEL_OCC(128, 4) resample_thread_per_row(const thread_per_row_params p) {
    extern __shared__ v16 memory[];
    fast_job j = task_of(p);
    begin(j);
    resample_thread_per_row(j, p, (char *)memory);
    end(j);
}
