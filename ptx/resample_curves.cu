// resample_curves.cu resamples rows whose ranges of features have kinds of their own: every kind, of 16 and 32 bits. See channel_rows.cuh.
#include "channel_rows.cuh"

using namespace rc;

RC_CHANNELS(resample_curves, true, false, 7)
