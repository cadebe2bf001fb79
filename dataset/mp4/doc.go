// Package mp4 locates the video frames in an mp4 or mov file, and decodes them.
//
//	f, err := mp4.Open("front.mp4")
//	defer f.Close()
//	t, err := f.Video()                                  // t.Len(), t.Times()
//	for image, err := range t.DecodeFrames(ctx, 0, 30) { // u8 [H,W,3]
//	}
//
// It reads the boxes in ISO/IEC 14496-12 (moov and its content, before or after the media). For each frame in the first video track
// it keeps the position of its bytes, its presentation time, and whether it is a key frame. Frames are numbered in presentation
// order, which differs from file order if there are B-frames. Times are exact fractions in the track's timescale, after the edit
// list is applied, and equal ffprobe's pts_time: the first visible frame is at the start of its edit, even if the edit begins
// inside a frame. Frames that the edit list hides have no number; Track.Hidden counts them.
//
// Frames are returned as encoded. An h264 or hevc frame is its NAL units, each after its big-endian length, usually in 4 bytes (the
// configuration has the size). Track.Config is the decoder configuration, the content of the box avcC, hvcC, av1C, vpcC or esds.
// Drivers that the program imports decode first, such as video/dav1d, then ffmpeg 4.1 or later, from PATH or from the environment variable
// ROBOCACHE_FFMPEG.
//
// If a file was cut, the whole frames are available, and Track.Notes counts the others. Not supported, with an error that names the
// feature: fragmented files (moof), media in other files, edits that change the speed or repeat a frame, and tracks that change
// their codec.
package mp4
