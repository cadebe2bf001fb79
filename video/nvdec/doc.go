// Package nvdec decodes H.264 and HEVC on the NVDEC engines of an NVIDIA GPU. A program that imports it reads progressive 4:2:0 video
// without the program ffmpeg: H.264 with 8 bits, and HEVC with 8, 10 or 12.
//
//	import _ "github.com/robocache/robocache/video/nvdec"
//
// The device is opened at the first stream. It is the first one, or the number in the environment variable ROBOCACHE_DEVICE, or none if
// that is "off". Streams that the engines or the parsers do not read are refused, for example interlaced video and small HEVC pictures.
// ffmpeg decodes them.
//
// Decoders are kept after use, because creating one takes 40 ms. Pictures are NV12 in pinned memory, cropped to the visible part.
package nvdec
