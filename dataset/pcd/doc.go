// Package pcd reads and writes PCD files, the point clouds of the Point Cloud Library (file versions 0.5 to 0.7), whose data
// is ascii, binary or binary_compressed.
//
// The fields x, y and z, in any place and of any type, become the points; every other field becomes features, in file
// order. A field of COUNT n above 1 is n of them, "fpfh[0]" to "fpfh[32]". The packed colours rgb and rgba become
// red, green, blue and, for rgba, alpha, as numbers from 0 to 255. Fields named "_" are padding. Points that are NaN, as
// organised clouds have them, stay where they are and are counted.
//
// Points are float32 in memory, or float64 where the file has doubles among x, y and z, and so are features, by theirs; Inexact counts
// the numbers that these could not hold. A reader takes the whole file, and
// nothing in one makes it take more memory than a fixed multiple of the file's size.
//
// The format is described at https://pointclouds.org/documentation/tutorials/pcd_file_format.html.
package pcd
