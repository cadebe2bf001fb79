// voxel_fill.cu opens a call of Voxelize, see voxel_fill.cuh. Bytes moved: the output and the tables, written.
#include "voxel_fill.cuh"

using namespace rc;

RC_KERNEL(fill_threads) voxel_fill(const voxel_fill_params p) { fill(p); }
