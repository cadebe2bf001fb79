// Package video decodes video packets with registered drivers and with the program ffmpeg. Each packet carries a number that comes back
// with the picture. If ffmpeg skips or cannot decode a packet, the result is an error and never another picture. Frames are packets
// without a container file, such as a recording's messages; the package finds where decoding can begin.
//
// Read: h264, h265, vp8, vp9, av1 and mpeg4. ErrUnsupported: codecs that neither a driver nor ffmpeg decodes.
//
// Drivers and ffmpeg return planes with 8, 10 or 12 bits in the stream's own format, and Planes.RGB converts them. So all frames have the
// same bits. ffmpeg is searched in PATH, or its path is in the variable ROBOCACHE_FFMPEG. Any version since 4.1 works. Versions before 4.4
// do not report colours, and convert to RGB themselves: 8-bit 4:2:0 then differs by up to 3 levels.
package video
