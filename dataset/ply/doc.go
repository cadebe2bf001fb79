// Package ply reads and writes PLY files, ascii and binary of either byte order (format version 1.0), as clouds of points.
//
// The element vertex holds the points: its properties x, y and z (or X, Y and Z), in any place and of any type, and every other scalar
// property as a feature, in file order. What else a file holds, such as a mesh's faces or a list in a vertex, is read over and listed in Notes
// with its count; comments and obj_info are not looked at. In ascii data a row is a line, or several lines, each row alike.
//
// Of a file that is cut or broken the points before that are kept, all of them if it is in a later element, and Cloud.Notes counts the others and
// the rows of later elements. Where each point is a line, as the first is, a line that cannot be read costs itself alone, unless such lines are more
// than the others.
//
// Points are float32 in memory, or float64 where the file has doubles among x, y and z, and so are features, by theirs; Inexact counts
// the numbers that these could not hold. A reader takes the whole file, and nothing in one makes it take more memory than a fixed multiple of the
// file's size.
//
// The format is described by Greg Turk, "The PLY Polygon File Format", 1994.
package ply
