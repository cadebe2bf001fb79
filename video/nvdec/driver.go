package nvdec

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudadrv/nvdec"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/h264"
	"github.com/robocache/robocache/internal/video/hevc"
)

// deviceEnv has the number of the device.
const deviceEnv = "ROBOCACHE_DEVICE"

func init() {
	device := sync.OnceValues(openDevice)
	video.Register(video.Driver{Name: driver, Open: func(s video.Stream) (video.Decoder, error) { return open(s, device) }})
}

func openDevice() (*pool, error) {
	ordinal := 0
	if v := os.Getenv(deviceEnv); v != "" {
		var err error
		if ordinal, err = strconv.Atoi(v); err != nil {
			return nil, refuse(video.NoDevice, fmt.Errorf("%s: got %q, want a number from 0", deviceEnv, v))
		}
	}
	drv, err := cudadrv.Open()
	if err != nil {
		return nil, refuse(video.NoDevice, err)
	}
	return newPool(drv, ordinal)
}

// open returns a decoder for a stream. The device is not opened if the stream is refused anyway.
func open(s video.Stream, device func() (*pool, error)) (video.Decoder, error) {
	d := &decoder{}
	var err error
	switch s.Codec {
	case "h264":
		d.codec = nvdec.H264
		d.parser, err = h264.New(s.Config, delay)
	case "hevc", "h265":
		d.codec = nvdec.HEVC
		d.parser, err = hevc.New(s.Config, delay)
	default:
		return nil, refuse(video.OtherCodec, nil)
	}
	if err != nil {
		return nil, refusal(err)
	}
	if d.pool, err = device(); err == nil {
		err = d.pool.enter(d.codec)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}
