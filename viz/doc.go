// Package viz draws what was recorded and what the operations made of it.
//
// [WriteVoxelsPNG] draws voxels as shaded cubes, seen obliquely and from above, with axes in metres. [WritePNG] draws streams: a
// figure has one panel a stream: recorded samples as rings, the resampled curve as a line, and stretches without samples
// shaded. On the left is the whole recording, on the right a short stretch of it, where single samples can be told apart.
// The x axis is in seconds since the first timestamp of all panels; the package keeps no reference to a tensor and writes to none.
// Colours can be told apart without colour vision (Okabe and Ito, 2008; Smith and van der Walt, 2015).
package viz
