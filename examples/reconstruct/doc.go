// Package main reconstructs a scene from depth images: a sphere on a floor, in front of a box. The images are rendered, so the
// true surface is known, and the program prints how far the mesh is from it. It runs on a GPU, or on the CPU where there is
// none, and writes the mesh and a picture to the current folder.
//
//	go run github.com/robocache/robocache/examples/reconstruct
package main
