// Package kitti reads point clouds in the format of the KITTI data sets and their successors: files with little-endian float32
// numbers only, x, y, z and the features for one point after the other.
//
//	c, err := kitti.ReadFile("000000.bin", kitti.Options{Columns: []string{"x", "y", "z", "intensity"}})
//
// A file does not declare how many numbers a point has, and a wrong count would turn features into coordinates unnoticed.
// Options.Columns names the numbers. Without it the reader tries four layouts: x, y, z; the same with intensity, as in KITTI; with
// intensity and ring, as in nuScenes (.pcd.bin); and with the time within the sweep as a sixth number.
//
// The reader accepts a layout if the size is a multiple of its width, if the values fit the columns, and if the width explains the
// numbers better than every other width up to 16. Values fit if coordinates are within 10 km, intensities are not negative, rings
// are small whole numbers and times increase. If no layout passes, for example for a handful of points, the error names the
// possible layouts.
//
// This statistical test can be wrong. It finds the width for typical scans from real sensors. It cannot distinguish features with
// similar values: labels may pass for intensities or rings, and second returns next to the first may pass for points.
package kitti
