// Package kitti reads the point clouds of the KITTI data sets, and of those that followed them: files of nothing but
// float32 numbers in little-endian order, x, y, z and the features of one point after the other.
//
// KITTI's files (.bin) have one feature, intensity; nuScenes' (.pcd.bin) have intensity and ring.
package kitti
