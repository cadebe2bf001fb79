// resample_channels_f64.cu resamples rows whose channels have interpolations of their own: quaternions, angles, linear, previous, next and nearest, of 64 bits. See channel_rows.cuh.
#include "channel_rows.cuh"

using namespace rc;

RC_CHANNELS(resample_channels_f64, false, true, 6)
