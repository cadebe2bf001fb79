// resample_curves.cu resamples rows whose channels have interpolations of their own, any of them, of 16 and 32 bits. See channel_rows.cuh.
#include "channel_rows.cuh"

using namespace rc;

RC_CHANNELS(resample_curves, true, false, 7)
