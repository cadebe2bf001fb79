// Package kitti reads the point clouds of the KITTI data sets, and of those that followed them: files of nothing but
// float32 numbers in little-endian order, x, y, z and the features of one point after the other.
//
// A file does not say how many numbers a point has, and one number more would turn features into coordinates without a sign of it. Options.Columns
// names them. Without it the reader knows four kinds: x, y, z; with intensity, as KITTI has it; with intensity and ring, as nuScenes (.pcd.bin) has
// it; and with the time within the sweep besides. It takes one if the size allows it, its columns hold what they are called (coordinates within
// 10 km, intensities that are not negative, rings as small whole numbers, times that pass), and rows of its width, of all widths up to 16 numbers,
// have columns that differ from one another and do not change from point to point. Where that is none, as with a handful of points, it returns an
// error that names what is possible.
//
// That is a judgement of numbers, and can be wrong. It is meant to find the width of scans as sensors and surfaces make them. It cannot tell a
// feature from another that holds the like: labels may pass for intensities or rings, and second returns beside the first for points.
package kitti
