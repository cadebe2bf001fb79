// resample_channels.cu resamples rows whose channels have interpolations of their own: quaternions, angles, linear, previous, next and nearest, of 16 and 32 bits. See channel_rows.cuh.
#include "channel_rows.cuh"

using namespace rc;

RC_CHANNELS(resample_channels, false, false, 8)
