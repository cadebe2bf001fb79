// resample.cu resamples rows of features of 16 and 32 bits, see resample_rows.cuh.
#include "resample_rows.cuh"

using namespace rc;

RC_KERNEL_OCC(128, RC_RESIDENT) resample(const resample_job p) {
    __shared__ shared<float> mem;
    resample_job j = p;
    begin(j);
    const u32 count = find(j, mem);
    tell_dtype(j.in(), [&](auto known) RC_INLINED { 
        if (RC_SELDOM(!move_from<decltype(known)::dtype>(j, mem, count))) mend_rows<decltype(known)::dtype>(j, mem, count);
    });
    end(j);
}
