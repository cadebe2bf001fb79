// Package video has the program ffmpeg decode packets of a video, each with its number, which comes back with the picture: a packet that it leaves out
// or cannot decode is an error and never another picture in its place. Frames are packets that need no file around them, as those of a recording's
// messages: it finds where decoding can begin.
//
// Read: h264, h265, vp8, vp9, av1 and mpeg4 of 8 bits a channel. Refused with ErrUnsupported: more bits, and codecs that the program
// ffmpeg lacks.
//
// The program is looked for in PATH, or where the variable ROBOCACHE_FFMPEG says; any since version 4.1 will do.
package video
