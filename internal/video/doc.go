// Package video decodes video packets with the program ffmpeg. Each packet carries a number that comes back with the picture. If ffmpeg
// skips or cannot decode a packet, the result is an error and never another picture. Frames are packets without a container file, such
// as a recording's messages; the package finds where decoding can begin.
//
// Read: h264, h265, vp8, vp9, av1 and mpeg4 with 8 bits per channel. ErrUnsupported: more bits, and codecs that ffmpeg lacks.
//
// ffmpeg is searched in PATH, or its path is in the variable ROBOCACHE_FFMPEG. Any version since 4.1 works.
package video
