// Package mp4 finds the frames of a video in an mp4 or mov file, and has them decoded.
//
// It reads the boxes of ISO/IEC 14496-12 (moov and what is in it, before or behind the media) and keeps for each frame of the first video track where
// its bytes lie, when it is shown, and whether it is a key frame. Frames are counted in presentation order, the order of their times, which is not
// that of the file where there are B-frames. Times are exact fractions of the track's timescale with the edit list applied, as ffprobe's pts_time:
// the first frame that the list shows is at the start of its edit, also if the edit begins inside a frame. Frames that the edit list cuts off are not
// counted among the frames; Track.Hidden says how many there are.
//
// Frames come as they are encoded. A frame of h264 or hevc is its NAL units, each behind its length in big-endian bytes, mostly 4 (the configuration
// says how many); Track.Config is the decoder's configuration, the content of the box avcC, hvcC, av1C, vpcC or esds. Decoding runs the program
// ffmpeg, any since 4.1, which is looked for in PATH, or where the variable ROBOCACHE_FFMPEG says.
//
// A file that was cut off gives the frames that are whole, and Track.Notes counts the rest. Fragmented files (moof), media in other files, edits
// that change the speed or show a frame twice, and tracks that change their codec are refused by name, and so is decoding more than 8 bits a channel.
package mp4
