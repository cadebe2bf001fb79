// Package nvdec decodes video on the NVDEC engines of an NVIDIA GPU, through the driver's libnvcuvid.so.1. It needs neither cgo nor a
// toolkit. The library is optional: a container has it if NVIDIA_DRIVER_CAPABILITIES contains video.
//
// The caller parses the video. It hands over each picture's parameters, and reads the frames from the GPU's memory:
//
//	lib, err := nvdec.Open(driver)
//	dec, err := lib.NewDecoder(ctx, nvdec.Config{Codec: nvdec.H264, Bits: 8, Width: 640, Height: 480, Surfaces: 6, Mapped: 2})
//	err = dec.Decode(picture)
//	frame, err := dec.Map(picture.Params.Int(picture.Surface), stream)
//	// ... queue work on the stream that reads frame.Address ...
//	err = frame.Unmap()
//
// Creating a decoder takes about 40 ms, and the driver creates one at a time. So a program should keep its decoders and use
// [Decoder.Reconfigure] for another picture size.
//
// Source for the structures: cuviddec.h in NVIDIA's Video Codec SDK 12, in the version of FFmpeg's nv-codec-headers.
package nvdec
