package nvdec

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudadrv/nvdec"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/nvdectest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/picture"
)

// refusedFor checks that an error is a refusal, and returns its reason and cause.
func refusedFor(t testing.TB, err error) (video.Reason, error) {
	t.Helper()
	var r *video.Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, driver, r.Driver)
	return r.Reason, r.Err
}

func TestOtherStreamsAreRefused(t *testing.T) {
	never := func() (*pool, error) { t.Error("the device is opened"); return nil, errors.New("never") }
	_, err := open(video.Stream{Codec: "av1"}, never)
	reason, _ := refusedFor(t, err)
	assert.Equal(t, video.OtherCodec, reason)
	_, err = open(video.Stream{Codec: "h264", Config: []byte("bad")}, never)
	reason, cause := refusedFor(t, err)
	invalid := (*picture.InvalidError)(nil)
	assert.Equal(t, video.Invalid, reason)
	assert.ErrorAs(t, cause, &invalid)
	config, _ := boxed(golden(t, "h264_lossless"))
	_, err = open(video.Stream{Codec: "h264", Config: config}, never)
	reason, cause = refusedFor(t, err)
	assert.Equal(t, video.Feature, reason)
	assert.Equal(t, &picture.UnsupportedError{Codec: "H.264", Feature: picture.Profile, Got: 244}, cause)
	b := newBench(t, nil)
	for name := range unsupported {
		d := b.open(codecOf(name), nil)
		reason, _ := refusedFor(t, d.Decode(golden(t, name).Packets[0], 0, nil))
		assert.Equal(t, video.Feature, reason, name)
		require.NoError(t, d.Close())
	}
}

func TestDevicesWithoutADecoderAreRefused(t *testing.T) {
	table := cudasim.New(cudasim.Config{}).FunctionTable()
	for want, change := range map[video.Reason]func() (*cudadrv.FunctionTable, error){
		video.NoLibrary: nil,
		video.OldLibrary: func() (*cudadrv.FunctionTable, error) {
			return &cudadrv.FunctionTable{Lookup: func(string, int) (cudadrv.Proc, bool) { return nil, false }}, nil
		},
	} {
		table.NVDEC = change
		drv, err := cudadrv.NewDriver(table)
		require.NoError(t, err)
		_, err = newPool(drv, 0)
		reason, cause := refusedFor(t, err)
		assert.Equal(t, want, reason)
		assert.ErrorIs(t, cause, cudadrv.ErrNVDECMissing)
	}
	for capabilities, cure := range map[string]string{
		"compute,utility": "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video",
		"all":             "the package libnvidia-decode or libnvcuvid1",
	} {
		t.Setenv("NVIDIA_DRIVER_CAPABILITIES", capabilities)
		table.NVDEC = nil
		drv, err := cudadrv.NewDriver(table)
		require.NoError(t, err)
		_, err = newPool(drv, 0)
		refused := (*video.Refusal)(nil)
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, cure, refused.Cure)
	}
	drv, err := cudadrv.NewDriver(nvdectest.New(t, cudasim.New(cudasim.Config{})).FunctionTable())
	require.NoError(t, err)
	_, err = newPool(drv, 1)
	reason, _ := refusedFor(t, err)
	assert.Equal(t, video.NoDevice, reason)

	t.Setenv(deviceEnv, "first")
	_, err = poolOf("")
	reason, cause := refusedFor(t, err)
	assert.Equal(t, video.NoDevice, reason)
	assert.ErrorContains(t, cause, `ROBOCACHE_DEVICE: got "first", want a number from 0, or off`)
	t.Setenv(deviceEnv, "off")
	_, err = poolOf("")
	_, cause = refusedFor(t, err)
	assert.EqualError(t, cause, "ROBOCACHE_DEVICE=off")
}

func TestTheDeviceIsOpenedByTheDriver(t *testing.T) {
	if _, err := cudadrv.Open(); err == nil {
		t.Skip("only without a GPU's driver")
	}
	_, err := open(video.Stream{Codec: "h264"}, func() (*pool, error) { return poolOf("") })
	reason, cause := refusedFor(t, err)
	assert.Equal(t, video.NoDevice, reason)
	load := (*cudadrv.LoadError)(nil)
	assert.ErrorAs(t, cause, &load)
}

func TestLimitsOfTheDeviceAreRefusals(t *testing.T) {
	b := newBench(t, func(l *nvdectest.Library) {
		delete(l.Limits, nvdectest.Stream{Codec: 4, Bits: 8})
		delete(l.Limits, nvdectest.Stream{Codec: 8, Bits: 12})
		l.Limits[nvdectest.Stream{Codec: 8, Bits: 8}] = nvdectest.Limits{
			Engines: 1, Formats: 1, MinWidth: 176, MinHeight: 144, MaxWidth: 640, MaxHeight: 360, MaxMacroblocks: 65536,
		}
	})
	limit := (*nvdec.LimitError)(nil)
	_, err := open(video.Stream{Codec: "h264"}, func() (*pool, error) { return b.pool, nil })
	reason, cause := refusedFor(t, err)
	assert.Equal(t, video.Limits, reason)
	assert.ErrorAs(t, cause, &limit)
	for _, name := range []string{"hevc_main12", "hevc_size_1080", "hevc_size_640x360"} {
		d := b.open("hevc", nil)
		reason, cause = refusedFor(t, d.Decode(golden(t, name).Packets[0], 0, nil))
		assert.Equal(t, video.Limits, reason, name)
		assert.ErrorAs(t, cause, &limit)
		require.NoError(t, d.Close())
	}
	decode(t, b.open("h265", nil), golden(t, "hevc_main").Packets)
}

// One decoder is enough for streams of all sizes in a class, one after another.
func TestDecodersAreKept(t *testing.T) {
	names := []string{"h264_g2", "hevc_g2", "h264_crop_66x50", "hevc_main10", "h264_size_1280x720", "h264_main", "h264_size_1080"}
	b := newBench(t, nil)
	free := func() uint64 {
		free, _, err := b.pool.ctx.MemInfo()
		require.NoError(t, err)
		return free
	}
	for _, name := range names {
		decode(t, b.open(codecOf(name), nil), golden(t, name).Packets[:2])
	}
	leaks, before := len(b.device.Leaks()), free()
	for i := range thorough.Of(35, 105) {
		name := names[i%len(names)]
		d := b.open(codecOf(name), nil)
		if i%5 == 0 { // decode nothing
			require.NoError(t, d.Close())
			continue
		}
		if i%3 == 0 { // leave a picture in the queue
			require.NoError(t, d.Decode(golden(t, name).Packets[0], 0, nil))
			require.NoError(t, d.Close())
			continue
		}
		decode(t, d, golden(t, name).Packets[:2])
	}
	assert.Len(t, b.device.Leaks(), leaks)
	assert.Equal(t, before, free())
	assert.Equal(t, 4, b.fake.Created(), "H.264 up to 1280x720 and above, HEVC with 8 and with 10 bits")
}

func TestStreamsAreLimitedByTheEngines(t *testing.T) {
	b := newBench(t, func(l *nvdectest.Library) {
		limits := l.Limits[nvdectest.Stream{Codec: 4, Bits: 8}]
		limits.Engines = 1
		l.Limits[nvdectest.Stream{Codec: 4, Bits: 8}] = limits
	})
	packet := golden(t, "h264_g2").Packets[0]
	var list []*decoder
	for range streamsPerEngine {
		d := b.open("h264", nil)
		require.NoError(t, d.Decode(packet, 0, nil))
		list = append(list, d)
	}
	again := func() error {
		_, err := open(video.Stream{Codec: "h264"}, func() (*pool, error) { return b.pool, nil })
		return err
	}
	reason, _ := refusedFor(t, again())
	assert.Equal(t, video.NoSession, reason)
	require.NoError(t, list[0].Close())
	d := b.open("h264", nil)
	require.NoError(t, d.Decode(golden(t, "h264_size_1080").Packets[0], 0, nil))
	assert.Equal(t, streamsPerEngine, b.fake.Open(), "an idle decoder of another class is closed")
	assert.Equal(t, streamsPerEngine+1, b.fake.Created())
	for _, d := range append(list, d) {
		require.NoError(t, d.Close())
	}
}

// Streams begin and end while the driver creates a decoder for another one, or changes its size.
func TestNoStreamWaitsForAnothersDecoder(t *testing.T) {
	for _, call := range []string{"cuvidCreateDecoder", "cuvidReconfigureDecoder"} {
		entered, leave := make(chan bool), make(chan bool)
		var waits atomic.Bool
		b := newBench(t, func(l *nvdectest.Library) {
			l.Wrap = func(table *cudadrv.FunctionTable) *cudadrv.FunctionTable {
				lookup := table.Lookup
				table.Lookup = func(name string, version int) (cudadrv.Proc, bool) {
					p, ok := lookup(name, version)
					return func(args []uintptr) uintptr {
						if name == call && waits.Swap(false) {
							close(entered)
							<-leave
						}
						return p(args)
					}, ok
				}
				return table
			}
		})
		decode(t, b.open("h264", nil), golden(t, "h264_g2").Packets[:2])
		idle := b.open("hevc", nil)
		require.NoError(t, idle.Decode(golden(t, "hevc_g2").Packets[0], 0, nil))
		slow, done := b.open("h264", nil), make(chan error)
		waits.Store(true)
		name := map[string]string{"cuvidCreateDecoder": "h264_size_1080", "cuvidReconfigureDecoder": "h264_crop_66x50"}[call]
		go func() { done <- slow.Decode(golden(t, name).Packets[0], 0, nil) }()
		<-entered
		go func() { done <- errors.Join(idle.Close(), b.open("hevc", nil).Close()) }()
		select {
		case err := <-done:
			assert.NoError(t, err)
		case <-time.After(10 * time.Second):
			assert.Fail(t, "a stream waits", call)
		}
		close(leave)
		require.NoError(t, <-done)
		require.NoError(t, slow.Close())
	}
}

func TestIdleDecodersGiveTheirMemory(t *testing.T) {
	b := newBench(t, func(l *nvdectest.Library) { l.Most = 1 })
	small, large := golden(t, "h264_g2").Packets, golden(t, "h264_size_1080").Packets
	decode(t, b.open("h264", nil), small)
	decode(t, b.open("h264", nil), large)
	assert.Equal(t, 2, b.fake.Created())
	first, second := b.open("h264", nil), b.open("h264", nil)
	require.NoError(t, first.Decode(large[0], 0, nil))
	reason, cause := refusedFor(t, second.Decode(large[0], 0, nil))
	assert.Equal(t, video.NoSession, reason)
	assert.ErrorIs(t, cause, cudadrv.ErrOutOfMemory)
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
}

// A stream with more reference pictures than a decoder has surfaces gets another one.
func TestSurfacesAreEnough(t *testing.T) {
	b := newBench(t, nil)
	decode(t, b.open("h264", nil), golden(t, "h264_g2").Packets)
	decode(t, b.open("h264", nil), golden(t, "h264_ref16").Packets)
	decode(t, b.open("h264", nil), golden(t, "h264_g2").Packets)
	decode(t, b.open("h264", nil), golden(t, "h264_ref16").Packets)
	assert.Equal(t, 2, b.fake.Created())
}

func TestStreamsAreDecodedAtTheSameTime(t *testing.T) {
	b := newBench(t, nil)
	var all sync.WaitGroup
	for _, name := range []string{"h264_g2", "hevc_g2", "h264_main", "hevc_main10", "h264_slices4", "hevc_main"} {
		s := golden(t, name)
		all.Go(func() {
			for range 3 {
				d, err := open(video.Stream{Codec: codecOf(name)}, func() (*pool, error) { return b.pool, nil })
				if !assert.NoError(t, err) {
					return
				}
				shown := 0
				show := func(n int64, p *video.Planes, err error) error {
					checkPicture(t, p, formatOf(s.Formats[0]), s.Packets[n])
					shown++
					return err
				}
				for i, packet := range s.Packets {
					assert.NoError(t, d.Decode(packet, int64(i), show))
				}
				assert.NoError(t, errors.Join(d.Flush(show), d.Close()))
				assert.Equal(t, len(s.Packets), shown)
			}
		})
	}
	all.Wait()
}

// An engine that does not take a picture's parameters leaves the stream to another decoder.
func TestAPictureThatAnEngineRefuses(t *testing.T) {
	b := newBench(t, func(l *nvdectest.Library) {
		l.Wrap = func(t *cudadrv.FunctionTable) *cudadrv.FunctionTable {
			t, _ = cudasim.Inject(t, cudasim.Failure{N: 1, Code: cudadrv.ErrInvalidValue, Match: func(name string) bool { return name == "cuvidDecodePicture" }})
			return t
		}
	})
	s := golden(t, "h264_g2")
	d := b.open("h264", nil)
	reason, cause := refusedFor(t, d.Decode(s.Packets[0], 0, nil))
	assert.Equal(t, video.Limits, reason)
	assert.ErrorIs(t, cause, cudadrv.ErrInvalidValue)
	require.NoError(t, d.Close())
	assert.Zero(t, b.pool.sessions)
}
