// Package main sorts a LiDAR scan into voxels: a grid of counts, the padded voxels that networks for detection take, and sparse
// voxels with their mean intensity. It runs on a GPU, or on the CPU where there is none, and writes the tensors and a picture
// to the current folder.
//
//	go run github.com/robocache/robocache/examples/voxelize
package main
