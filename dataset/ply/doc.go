// Package ply reads and writes PLY files (format version 1.0, ascii and binary in both byte orders) as point clouds.
//
//	c, err := ply.ReadFile("scan.ply", dataset.Options{})
//	err = ply.Write(file, c, ply.Options{ASCII: true})
//
// The element vertex holds the points: its properties x, y and z (or X, Y and Z), in any place and type, and every other scalar
// property as a feature, in file order. Other content, such as a mesh's faces or a list in a vertex, is skipped by the reader, and
// Notes has its count; Write can add a mesh's triangles. comment and obj_info lines are ignored. In ascii data a row is one line,
// or several lines if every row has the same number.
//
// If a file is cut or broken, the points before that place are kept, and Cloud.Notes counts the lost points and the lost rows in
// later elements. If each point is one line, a broken line loses only its point, unless most lines are broken.
//
// Points are float32 in memory, or float64 if x, y or z is a double in the file. The same rule holds for the features. Inexact
// counts the numbers that these types cannot hold. The reader takes the whole file. Its memory is at most a fixed multiple of the
// file size, so a malicious file cannot exhaust it.
//
// The format is described by Greg Turk, "The PLY Polygon File Format", 1994.
package ply
