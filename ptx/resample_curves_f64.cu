// resample_curves_f64.cu resamples rows whose ranges of features have kinds of their own: every kind, of 64 bits. See channel_rows.cuh.
#include "channel_rows.cuh"

using namespace rc;

RC_CHANNELS(resample_curves_f64, true, true, 8)
