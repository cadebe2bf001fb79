// Package dav1d decodes AV1 with VideoLAN's library libdav1d. A program that imports it reads AV1 without the program ffmpeg:
//
//	import _ "github.com/robocache/robocache/video/dav1d"
//
// The library is loaded at the first AV1 stream: libdav1d.so.7, .6 or .5 from the loader's path, or the file in the environment
// variable ROBOCACHE_LIBDAV1D. These are dav1d 0.9 and later; Debian and Ubuntu have the packages libdav1d7, libdav1d6 and libdav1d5.
// Without the library, streams are decoded by ffmpeg. Nothing needs cgo.
//
// Source for the structures: dav1d's public headers, versions 0.9.2, 1.0.0, 1.3.0 and 1.5.3.
package dav1d
