// streams.cuh says how many streams a Fuse has at most.
#pragma once
#include "common.cuh"

namespace rc {

RC_HOST constexpr u32 max_streams = 16;

} // namespace rc
