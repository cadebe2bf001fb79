// resample_curves_f64.cu resamples rows whose channels have interpolations of their own, any of them, of 64 bits. See channel_rows.cuh.
#include "channel_rows.cuh"

using namespace rc;

RC_CHANNELS(resample_curves_f64, true, true, 8)
