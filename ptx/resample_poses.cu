// resample_poses.cu resamples short rows of runs of kinds, see poses.cuh. resample_channels.cu takes the rest.
#include "poses.cuh"

using namespace rc;

#define RC_RESAMPLE_POSES(name, dtype)                           \
    RC_KERNEL_OCC(128, 4) resample_poses_##name(const poses p) { \
        extern __shared__ v16 memory[];                          \
        plain_task j = task_of(p);                               \
        begin(j);                                                \
        resample_poses<dtype>(j, p, (char *)memory);             \
        end(j);                                                  \
    }

RC_RESAMPLE_POSES(f32, dt_f32)
RC_RESAMPLE_POSES(f16, dt_f16)
RC_RESAMPLE_POSES(bf16, dt_bf16)
