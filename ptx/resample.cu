// resample.cu is the general Resample kernel of rows of 16 and 32 bit features, see resample_rows.cuh.
#include "resample_rows.cuh"

using namespace rc;

RC_KERNEL_OCC(128, RC_RESIDENT) resample(const resample_job p) {
    __shared__ shared<float> mem;
    resample_job j = p;
    begin(j);
    const u32 count = find(j, mem);
    dispatch_dtype(j.in(), [&](auto known) RC_INLINE_LAMBDA { 
        if (RC_UNLIKELY(!move_from<decltype(known)::dtype>(j, mem, count))) recompute_rows<decltype(known)::dtype>(j, mem, count);
    });
    end(j);
}
