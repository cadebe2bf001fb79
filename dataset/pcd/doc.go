// Package pcd reads PCD files, the point clouds of the Point Cloud Library, in the file versions 0.5 to 0.7 with ascii, binary or
// binary_compressed data.
//
//	c, err := pcd.ReadFile("scan.pcd", dataset.Options{})
//	intensity := c.Column("intensity") // an index into c.Features, or -1
//
// The fields x, y and z (or X, Y and Z), in any place and type, become the points; every other field becomes a feature, in file
// order. A field with COUNT n above 1 becomes n features, "fpfh[0]" to "fpfh[32]"; with COUNT 0 it becomes none. The packed colours
// rgb and rgba become red, green, blue and, for rgba, alpha, as numbers from 0 to 255. They are NaN if ascii data has "nan" as the
// packed colour, because the text has lost the bits. Fields named "_" are padding. Organised clouds contain NaN points, which keep
// their place and are counted.
//
// If a file is cut, the points before the cut are kept. A broken line in ascii data loses only its point, unless most lines are
// broken. In both cases the cloud has one row, and Cloud.Notes counts the lost points. A compressed file is read completely or not
// at all.
//
// Points are float32 in memory, or float64 if x, y or z is a double in the file. The same rule holds for the features. Inexact
// counts the numbers that these types cannot hold. The reader takes the whole file. Its memory is at most a fixed multiple of the
// file size, so a malicious file cannot exhaust it.
//
// The format is described at https://pointclouds.org/documentation/tutorials/pcd_file_format.html.
package pcd
