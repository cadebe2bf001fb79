package nvdec

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudadrv/nvdec"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/h264"
	"github.com/robocache/robocache/internal/video/hevc"
)

// deviceEnv has the number of the device, or "off".
const deviceEnv = "ROBOCACHE_DEVICE"

// pools has the devices' pools, by ordinal. An error stays too.
var pools sync.Map

func init() {
	video.Register(video.Driver{Name: driver, Open: func(s video.Stream) (video.Decoder, error) {
		return open(s, func() (*pool, error) { return poolOf(s.Device) })
	}})
}

// poolOf returns the pool of a device. If the name is none of a GPU, ROBOCACHE_DEVICE decides.
func poolOf(device string) (*pool, error) {
	number, named := strings.CutPrefix(device, prefix)
	if !named {
		number = cmp.Or(os.Getenv(deviceEnv), "0")
	}
	if number == "off" {
		return nil, refuse(video.NoDevice, fmt.Errorf("%s=off", deviceEnv))
	}
	ordinal, err := strconv.Atoi(number)
	if err != nil {
		return nil, refuse(video.NoDevice, fmt.Errorf("%s: got %q, want a number from 0, or off", deviceEnv, number))
	}
	once, _ := pools.LoadOrStore(ordinal, sync.OnceValues(func() (*pool, error) {
		drv, err := cudadrv.Open()
		if err != nil {
			return nil, refuse(video.NoDevice, err)
		}
		return newPool(drv, ordinal)
	}))
	return once.(func() (*pool, error))()
}

// open returns a decoder for a stream. The device is not opened if the stream is refused anyway.
func open(s video.Stream, device func() (*pool, error)) (video.Decoder, error) {
	d := &decoder{onDevice: strings.HasPrefix(s.Device, prefix), wanted: s.Wanted}
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
		err = d.pool.enter(d.codec, d.onDevice)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}
