// streams.cuh says how many streams a Fuse has at most, and how many most have.
#pragma once
#include "common.cuh"

namespace rc {

RC_HOST constexpr u32 max_streams = 16;
RC_HOST constexpr u32 few_streams = 4; // the most streams in most jobs

} // namespace rc
