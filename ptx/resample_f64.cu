// resample_f64.cu resamples rows of features of 64 bits, see resample_rows.cuh.
#include "resample_rows.cuh"

using namespace rc;

RC_KERNEL_OCC(128, RC_RESIDENT) resample_f64(const resample_job p) {
    __shared__ shared<double> mem;
    resample_job j = p;
    begin(j);
    const u32 count = find(j, mem);
    if (RC_SELDOM(!move_from<dt_f64>(j, mem, count))) mend_rows<dt_f64>(j, mem, count);
    end(j);
}
