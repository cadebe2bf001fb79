// Package video has the program ffmpeg decode packets of a video, each with its number, which comes back with the picture: a packet that it leaves out
// or cannot decode is an error and never another picture in its place. Frames are packets that need no file around them, as those of a recording's
// messages: it finds where decoding can begin.
//
// The program is looked for in PATH, or where the variable ROBOCACHE_FFMPEG says; any since version 4.1 will do.
package video
