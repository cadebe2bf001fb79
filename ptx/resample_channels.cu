// resample_channels.cu resamples rows whose ranges of features have kinds of their own: quaternions, angles and the kinds that look at no value, of 16 and 32 bits. See channel_rows.cuh.
#include "channel_rows.cuh"

using namespace rc;

RC_CHANNELS(resample_channels, false, false, 8)
