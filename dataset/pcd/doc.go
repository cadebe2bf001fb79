// Package pcd reads PCD files, the point clouds of the Point Cloud Library (file versions 0.5 to 0.7), whose data
// is ascii, binary or binary_compressed.
//
// The fields x, y and z (or X, Y and Z), in any place and of any type, become the points; every other field becomes features, in file
// order. A field of COUNT n above 1 is n of them, "fpfh[0]" to "fpfh[32]", one of COUNT 0 is none. The packed colours rgb and rgba become
// red, green, blue and, for rgba, alpha, as numbers from 0 to 255, or NaN where text says no more. Fields named "_" are padding. Points that are
// NaN, as organised clouds have them, stay where they are and are counted.
//
// Of a file that is cut the points before that are kept, and lines of ascii data that cannot be read cost themselves alone, unless they are more than
// the others. The points are then in one row, and Cloud.Damage counts those that are lost. A compressed file is read whole or not at all.
//
// Points are float32 in memory, or float64 where the file has doubles among x, y and z, and so are features, by theirs; Inexact counts
// the numbers that these could not hold. A reader takes the whole file, and nothing in one makes it take more memory than a fixed multiple of the
// file's size.
//
// The format is described at https://pointclouds.org/documentation/tutorials/pcd_file_format.html.
package pcd
