// resample_f64.cu is the general Resample kernel of rows of 64 bit features, see resample_rows.cuh.
#include "resample_rows.cuh"

using namespace rc;

RC_KERNEL_OCC(128, RC_RESIDENT) resample_f64(const resample_job p) {
    __shared__ shared<double> mem;
    resample_job j = p;
    begin(j);
    const u32 count = find(j, mem);
    if (RC_UNLIKELY(!move_from<dt_f64>(j, mem, count))) recompute_rows<dt_f64>(j, mem, count);
    end(j);
}
