// resample_poses.cu resamples short rows of runs of kinds, see poses.cuh. resample_channels.cu takes the rest.
#include "poses.cuh"

using namespace rc;

RC_KERNEL_OCC(128, 4) resample_poses(const poses p) {
    extern __shared__ v16 memory[];
    plain_task j = task_of(p);
    begin(j);
    resample_poses(j, p, (char *)memory);
    end(j);
}
