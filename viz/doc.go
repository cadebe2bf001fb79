// Package viz draws recordings, and the results of operations on them, as PNG images.
//
//	panel := viz.Compare(recorded, resampled)                                // two dataset.Streams with the same columns
//	err := viz.WriteFile("out.png", []viz.Panel{panel}, viz.Options{})
//	err = viz.WriteTimelinePNG(w, viz.TimelinesOf(episode), viz.Options{})   // the clocks of all streams
//
// [WritePNG] draws streams, one panel for each. Recorded samples are rings, the resampled curve is a line, and times without
// samples are shaded. The whole recording is on the left. A short detail, in which single samples are visible, is on the right.
// The x axis is in seconds since the first timestamp in all panels. [WriteVoxelsPNG] draws voxels as shaded cubes, in an oblique
// view and from above, with axes in metres. [WriteMeshPNG] draws shaded triangles.
//
// The package does not keep or modify tensors. The colours are distinguishable without colour vision (Okabe and Ito, 2008; Smith
// and van der Walt, 2015).
package viz
