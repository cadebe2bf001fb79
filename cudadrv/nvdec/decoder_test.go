package nvdec

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/nvdectest"
	"github.com/robocache/robocache/internal/video/picture"
)

// bench is a library on a simulated device.
type bench struct {
	device *cudasim.Device
	fake   *nvdectest.Library
	ctx    *cudadrv.Context
	lib    *Library
	stream *cudadrv.Stream
}

func newBench(t testing.TB, change func(*nvdectest.Library)) *bench {
	t.Helper()
	b := &bench{device: cudasim.New(cudasim.Config{})}
	b.fake = nvdectest.New(t, b.device)
	if change != nil {
		change(b.fake)
	}
	drv, err := cudadrv.NewDriver(b.fake.FunctionTable())
	require.NoError(t, err)
	dev, err := drv.Device(0)
	require.NoError(t, err)
	b.ctx, err = dev.Primary()
	require.NoError(t, err)
	b.stream, err = b.ctx.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	b.lib, err = Open(drv)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.stream.Close())
		assert.NoError(t, b.ctx.Close())
		if b.ctx.Device().Lost() == nil {
			assert.Empty(t, b.device.Leaks())
			assert.Zero(t, b.fake.Open())
		}
	})
	return b
}

// slice returns a picture of one slice for a surface.
func slice(width, height, surface int, text string) *picture.Picture {
	p := &picture.Picture{Data: []byte("\x00\x00\x01" + text), Slices: []uint32{0}}
	p.Params.Put(picture.WidthInMacroblocks, width/16)
	p.Params.Put(picture.HeightInMacroblocks, height/16)
	p.Params.Put(picture.Surface, surface)
	return p
}

// compare reads a frame's samples, and compares them with the picture's.
func (b *bench) compare(t *testing.T, f *Frame, c Config, text string) {
	t.Helper()
	got := make([]byte, f.Pitch*f.Height*3/2)
	require.NoError(t, b.stream.Synchronize(t.Context()))
	require.NoError(t, b.ctx.CopyToHost(t.Context(), got, f.Address))
	sample := func(x, y int) uint16 {
		if c.Bits == 8 {
			return uint16(got[y*f.Pitch+x])
		}
		return (uint16(got[y*f.Pitch+2*x]) | uint16(got[y*f.Pitch+2*x+1])<<8) >> (16 - c.Bits)
	}
	hash, wrong := nvdectest.Hash([]byte(text)), 0
	for y := range c.Height {
		for x := range c.Width {
			luma, chroma := nvdectest.Sample(hash, 0, x, y, c.Bits), nvdectest.Sample(hash, 1+x%2, x/2, y/2, c.Bits)
			if sample(x, y) != luma || sample(x, f.Height+y/2) != chroma {
				wrong++
			}
		}
	}
	require.Zero(t, wrong, "samples differ")
}

// run decodes two pictures, then two of another size.
func (b *bench) run(t *testing.T, c Config) (err error) {
	d, err := b.lib.NewDecoder(b.ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	for _, size := range [][2]int{{c.Width, c.Height}, {c.MaxWidth, c.MaxHeight}} {
		if size[0] != c.Width {
			if err := d.Reconfigure(size[0], size[1], c.Surfaces); err != nil {
				return err
			}
			c.Width, c.Height = size[0], size[1]
		}
		for i, text := range []string{"one", "two"} {
			if err := d.Decode(slice(c.Width, c.Height, i, text)); err != nil {
				return err
			}
			if s, err := d.Status(i); err != nil || s != InProgress {
				return errors.Join(err, errors.New("not in progress"))
			}
		}
		for i, text := range []string{"one", "two"} {
			f, err := d.Map(i, b.stream)
			if err != nil {
				return err
			}
			b.compare(t, f, c, text)
			if s, err := d.Status(i); err != nil || s != Success {
				return errors.Join(err, f.Unmap(), errors.New("not decoded"))
			}
			if err := f.Unmap(); err != nil {
				return err
			}
		}
	}
	return nil
}

var configs = []Config{
	{Codec: H264, Bits: 8, Width: 48, Height: 32, MaxWidth: 160, MaxHeight: 144, Surfaces: 2, Mapped: 1},
	{Codec: HEVC, Bits: 8, Width: 144, Height: 144, MaxWidth: 160, MaxHeight: 160, Surfaces: 3, Mapped: 1},
	{Codec: HEVC, Bits: 10, Width: 144, Height: 144, MaxWidth: 160, MaxHeight: 160, Surfaces: 3, Mapped: 2},
	{Codec: HEVC, Bits: 12, Width: 144, Height: 144, MaxWidth: 160, MaxHeight: 160, Surfaces: 32, Mapped: 1},
}

func TestPicturesAreDecoded(t *testing.T) {
	for _, c := range configs {
		require.NoError(t, newBench(t, nil).run(t, c), "%v", c)
	}
}

func TestParametersArriveWithTheSlices(t *testing.T) {
	var got []nvdectest.Picture
	b := newBench(t, func(l *nvdectest.Library) { l.Decode = func(p nvdectest.Picture) { got = append(got, p) } })
	d, err := b.lib.NewDecoder(b.ctx, configs[0])
	require.NoError(t, err)
	p := slice(48, 32, 1, "first")
	p.Slices, p.Data = append(p.Slices, uint32(len(p.Data))), append(p.Data, "\x00\x00\x01second"...)
	for i := picture.Codec; i < picture.Size; i++ {
		p.Params[i] = byte(i)
	}
	require.NoError(t, d.Decode(p))
	require.NoError(t, d.Close())
	require.Len(t, got, 1)
	assert.Equal(t, p.Data, got[0].Data)
	assert.Equal(t, []uint32{0, 8}, got[0].Slices)
	assert.Equal(t, p.Params[picture.Codec:], got[0].Params[picture.Codec:])
}

// Each call that fails gives an error with its name, and nothing stays open.
func TestEachCallMayFail(t *testing.T) {
	for _, name := range functions {
		for n := 1; ; n++ {
			var in *cudasim.Injector
			b := newBench(t, func(l *nvdectest.Library) {
				l.Wrap = func(t *cudadrv.FunctionTable) *cudadrv.FunctionTable {
					t, in = cudasim.Inject(t, cudasim.Failure{Call: name, N: n, Code: 999, After: name == "cuvidDestroyDecoder"})
					return t
				}
			})
			err := b.run(t, configs[0])
			if len(in.Hits()) == 0 {
				require.NoError(t, err)
				require.Greater(t, n, 1, "%s was never called", name)
				break
			}
			var failed *cudadrv.Error
			require.ErrorAs(t, err, &failed, "%s, call %d", name, n)
			assert.Equal(t, name, failed.Op)
			assert.Equal(t, cudadrv.Code(999), failed.Code)
		}
	}
}

func TestALostDeviceIsReported(t *testing.T) {
	b := newBench(t, func(l *nvdectest.Library) {
		l.Wrap = func(t *cudadrv.FunctionTable) *cudadrv.FunctionTable {
			t, _ = cudasim.Inject(t, cudasim.Failure{Call: "cuvidDecodePicture", Code: 700})
			return t
		}
	})
	assert.ErrorIs(t, b.run(t, configs[0]), cudadrv.ErrDeviceLost)
	_, err := b.lib.NewDecoder(b.ctx, configs[0])
	assert.ErrorIs(t, err, cudadrv.ErrDeviceLost)
}

func TestCapabilitiesAreTheDevices(t *testing.T) {
	b := newBench(t, func(l *nvdectest.Library) {
		l.Limits[nvdectest.Stream{Codec: 8, Bits: 12}] = nvdectest.Limits{
			Engines: 3, Formats: 2, MinWidth: 130, MinHeight: 140, MaxWidth: 70000, MaxHeight: 80000, MaxMacroblocks: 90000,
		}
	})
	c, err := b.lib.Capabilities(b.ctx, HEVC, 12)
	require.NoError(t, err)
	assert.Equal(t, Capabilities{
		Engines: 3, MinWidth: 130, MinHeight: 140, MaxWidth: 70000, MaxHeight: 80000, MaxMacroblocks: 90000, OutputsP016: true,
	}, c)
	for _, s := range []nvdectest.Stream{{Codec: 4, Bits: 10}, {Codec: 11, Bits: 8}} {
		c, err = b.lib.Capabilities(b.ctx, Codec(s.Codec), s.Bits)
		require.NoError(t, err)
		assert.Zero(t, c)
	}
}

func TestLimitsAreChecked(t *testing.T) {
	b := newBench(t, func(l *nvdectest.Library) {
		limits := nvdectest.Limits{Engines: 1, Formats: 1, MinWidth: 144, MinHeight: 144, MaxWidth: 4096, MaxHeight: 4096, MaxMacroblocks: 16384}
		l.Limits[nvdectest.Stream{Codec: 8, Bits: 8}] = limits
		l.Limits[nvdectest.Stream{Codec: 8, Bits: 10}] = limits
	})
	base := Config{Codec: HEVC, Bits: 8, Width: 144, Height: 144, Surfaces: 1, Mapped: 1}
	for want, change := range map[string]func(c *Config){
		"got HEVC with 8 bits and 142x144 pixels, " +
			"want an even size from 144x144 to 4096x4096 and at most 16384 macroblocks; ffmpeg has no such limit": func(c *Config) { c.Width = 142 },
		"144x142":          func(c *Config) { c.Height = 142 },
		"4098x144":         func(c *Config) { c.Width = 4098 },
		"144x4098":         func(c *Config) { c.Height = 4098 },
		"144x145":          func(c *Config) { c.Height = 145 },
		"145x144":          func(c *Config) { c.Width = 145 },
		"2048x2050 pixels": func(c *Config) { c.Width, c.Height = 2048, 2050 },
		"10 bits":          func(c *Config) { c.Bits = 10 },
		"H.264 with 10 bits and 144x144 pixels, which this GPU does not decode; ffmpeg does": func(c *Config) { c.Codec, c.Bits = H264, 10 },
		"codec 11": func(c *Config) { c.Codec = 11 },
	} {
		c := base
		change(&c)
		_, err := b.lib.NewDecoder(b.ctx, c)
		var limit *LimitError
		require.ErrorAs(t, err, &limit, want)
		assert.ErrorContains(t, err, want)
		assert.ErrorIs(t, err, cudadrv.ErrUnsupported)
	}
	for _, count := range [][2]int{{0, 1}, {33, 1}, {1, 0}} {
		c := base
		c.Surfaces, c.Mapped = count[0], count[1]
		_, err := b.lib.NewDecoder(b.ctx, c)
		assert.ErrorIs(t, err, cudadrv.ErrOption)
	}
	d, err := b.lib.NewDecoder(b.ctx, base)
	require.NoError(t, err)
	var limit *LimitError
	assert.ErrorAs(t, d.Reconfigure(160, 144, 1), &limit, "larger than at creation")
	assert.ErrorIs(t, d.Reconfigure(144, 144, 0), cudadrv.ErrOption)
	assert.ErrorIs(t, d.Reconfigure(144, 144, 33), cudadrv.ErrOption)
	require.NoError(t, d.Close())
}

func TestAShortageOfMemoryIsASessionError(t *testing.T) {
	b := newBench(t, func(l *nvdectest.Library) { l.Most = 1 })
	d, err := b.lib.NewDecoder(b.ctx, configs[0])
	require.NoError(t, err)
	_, err = b.lib.NewDecoder(b.ctx, configs[0])
	var session *SessionError
	require.ErrorAs(t, err, &session)
	assert.ErrorIs(t, err, cudadrv.ErrOutOfMemory)
	assert.ErrorContains(t, err, "close one, or lower Surfaces or MaxWidth and MaxHeight: cudadrv: cuvidCreateDecoder")
	require.NoError(t, d.Close())
	d, err = b.lib.NewDecoder(b.ctx, configs[0])
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

func TestFramesAndSurfacesAreCounted(t *testing.T) {
	b := newBench(t, nil)
	c := configs[0]
	c.Mapped = 2
	d, err := b.lib.NewDecoder(b.ctx, c)
	require.NoError(t, err)
	for _, s := range []int{-1, 2} {
		assert.ErrorIs(t, d.Decode(slice(48, 32, s, "x")), cudadrv.ErrOption)
		_, err = d.Status(s)
		assert.ErrorIs(t, err, cudadrv.ErrOption)
		_, err = d.Map(s, b.stream)
		assert.ErrorIs(t, err, cudadrv.ErrOption)
	}
	s, err := d.Status(0)
	require.NoError(t, err)
	assert.Equal(t, Invalid, s)
	require.NoError(t, d.Decode(slice(48, 32, 0, "x")))
	first, err := d.Map(0, b.stream)
	require.NoError(t, err)
	second, err := d.Map(0, b.stream)
	require.NoError(t, err)
	assert.NotEqual(t, first.Address, second.Address)
	_, err = d.Map(0, b.stream)
	assert.ErrorIs(t, err, cudadrv.ErrOption, "two frames are mapped")
	assert.ErrorIs(t, d.Reconfigure(48, 32, 2), cudadrv.ErrOption, "frames are mapped")
	require.NoError(t, first.Unmap())
	require.NoError(t, first.Unmap())
	first, err = d.Map(0, b.stream)
	require.NoError(t, err)
	require.NoError(t, second.Unmap())
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	require.NoError(t, first.Unmap(), "the decoder has its frames no more")
	closed := []error{d.Decode(slice(48, 32, 0, "x")), d.Reconfigure(48, 32, 2), errorOf(d.Status(0)), errorOf(d.Map(0, b.stream))}
	for _, err := range closed {
		assert.ErrorIs(t, err, cudadrv.ErrClosed)
	}
	d, err = b.lib.NewDecoder(b.ctx, c)
	require.NoError(t, err)
	require.NoError(t, d.Decode(slice(48, 32, 0, "x")))
	stream, err := b.ctx.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	require.NoError(t, stream.Close())
	_, err = d.Map(0, stream)
	assert.ErrorIs(t, err, cudadrv.ErrClosed, "the stream")
	require.NoError(t, d.Close())
	other, err := b.ctx.Device().Primary()
	require.NoError(t, err)
	require.NoError(t, other.Close())
	_, err = b.lib.Capabilities(other, H264, 8)
	assert.ErrorIs(t, err, cudadrv.ErrClosed, "the context")
}

func errorOf[T any](_ T, err error) error { return err }

func TestDamageIsAStatus(t *testing.T) {
	for text, want := range map[string]Status{"damaged": Damaged, "concealed": Concealed} {
		b := newBench(t, func(l *nvdectest.Library) { l.Status = map[uint64]int{nvdectest.Hash([]byte(text)): int(want)} })
		d, err := b.lib.NewDecoder(b.ctx, configs[0])
		require.NoError(t, err)
		require.NoError(t, d.Decode(slice(48, 32, 0, text)))
		f, err := d.Map(0, b.stream)
		require.NoError(t, err)
		s, err := d.Status(0)
		require.NoError(t, err)
		assert.Equal(t, want, s)
		require.NoError(t, f.Unmap())
		require.NoError(t, d.Close())
	}
}

func TestAMissingLibraryIsNamed(t *testing.T) {
	missing := &cudadrv.LoadError{Kind: cudadrv.ErrNVDECMissing, Tried: []string{"libnvcuvid.so.1: cannot open"}}
	open := func(nvdec func() (*cudadrv.FunctionTable, error)) error {
		table := cudasim.New(cudasim.Config{}).FunctionTable()
		table.NVDEC = nvdec
		drv, err := cudadrv.NewDriver(table)
		require.NoError(t, err)
		_, err = Open(drv)
		return err
	}
	t.Setenv("NVIDIA_DRIVER_CAPABILITIES", "")
	assert.ErrorIs(t, open(nil), cudadrv.ErrNVDECMissing)
	gone := func() (*cudadrv.FunctionTable, error) { e := *missing; return nil, &e }
	assert.EqualError(t, open(gone), "cudadrv: no NVDEC library found: "+
		"it is in the driver's package libnvidia-decode or libnvcuvid1; tried libnvcuvid.so.1: cannot open")
	for value, locked := range map[string]bool{"compute,utility": true, "videos": true, "compute,video": false, "all": false} {
		t.Setenv("NVIDIA_DRIVER_CAPABILITIES", value)
		err := open(gone)
		assert.Equal(t, locked, errors.Is(err, cudadrv.ErrNVDECLocked), value)
		assert.Equal(t, !locked, errors.Is(err, cudadrv.ErrNVDECMissing), value)
	}
	t.Setenv("NVIDIA_DRIVER_CAPABILITIES", "compute")
	assert.EqualError(t, open(gone), "cudadrv: the container lacks NVIDIA's capability video: "+
		"start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility,video; tried libnvcuvid.so.1: cannot open")
	other := errors.New("other")
	assert.Equal(t, other, open(func() (*cudadrv.FunctionTable, error) { return nil, other }))

	all := map[string]bool{}
	for _, name := range functions {
		all[name] = true
	}
	assert.Len(t, all, 8)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		err := open(func() (*cudadrv.FunctionTable, error) {
			return &cudadrv.FunctionTable{Path: "old.so", Lookup: func(n string, _ int) (cudadrv.Proc, bool) { return nil, n != name }}, nil
		})
		var load *cudadrv.LoadError
		require.ErrorAs(t, err, &load)
		assert.Equal(t, name, load.Symbol)
		assert.ErrorContains(t, err, "old.so: it lacks "+name)
	}
}
