package nvdec

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/nvdectest"
	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/bitstream"
)

// bench is a pool on a simulated device.
type bench struct {
	t      testing.TB
	device *cudasim.Device
	fake   *nvdectest.Library
	pool   *pool
}

func newBench(t testing.TB, change func(*nvdectest.Library)) *bench {
	t.Helper()
	b := &bench{t: t, device: cudasim.New(cudasim.Config{})}
	b.fake = nvdectest.New(t, b.device)
	if change != nil {
		change(b.fake)
	}
	drv, err := cudadrv.NewDriver(b.fake.FunctionTable())
	require.NoError(t, err)
	b.pool, err = newPool(drv, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Zero(t, b.pool.streams)
		assert.Len(t, b.pool.idle, b.pool.sessions)
		assert.NoError(t, b.pool.close())
		assert.Empty(t, b.device.Leaks())
		assert.Zero(t, b.fake.Open())
	})
	return b
}

// close closes a pool without streams.
func (p *pool) close() error {
	var err error
	for len(p.idle) > 0 {
		err = errors.Join(err, p.evict())
	}
	return errors.Join(err, p.ctx.Close())
}

func (b *bench) open(codec string, config []byte) *decoder {
	b.t.Helper()
	d, err := open(video.Stream{Codec: codec, Config: config}, func() (*pool, error) { return b.pool, nil })
	require.NoError(b.t, err)
	return d.(*decoder)
}

// codecOf returns the codec of a golden stream.
func codecOf(name string) string { return name[:4] }

// unsupported are the streams that go to another decoder.
var unsupported = map[string]bool{"h264_interlaced": true, "h264_lossless": true, "hevc_gray12": true}

func streams(t testing.TB, prefix string) map[string]*videotest.Stream {
	all := videotest.Streams(t, prefix)
	for name := range unsupported {
		delete(all, name)
	}
	return all
}

// parameterSets returns the NAL units of a packet that are no slices.
func parameterSets(codec string, packet []byte) (list [][]byte) {
	for unit := range bitstream.Units(packet, 0) {
		if kind := unit[0] & 31; codec == "h264" && (kind == 7 || kind == 8) {
			list = append(list, unit)
		}
		if kind := unit[0] >> 1 & 63; codec == "hevc" && kind >= 32 && kind <= 34 {
			list = append(list, unit)
		}
	}
	return list
}

// seek returns a packet after the stream's parameter sets.
func seek(s *videotest.Stream, packet int) (b []byte) {
	for _, unit := range parameterSets(codecOf(s.Name), s.Packets[0]) {
		b = append(append(b, 0, 0, 1), unit...)
	}
	return append(b, s.Packets[packet]...)
}

// format has the fields of a CUVIDEOFORMAT that a picture shows.
type format struct {
	left, top, width, height, bits int
	matrix                         uint8
	full                           bool
}

func formatOf(f [80]byte) format {
	number := func(at int) int { return int(binary.LittleEndian.Uint32(f[at:])) }
	return format{number(24), number(28), number(32) - number(24), number(36) - number(28), int(f[13]) + 8, f[59], f[56]&8 != 0}
}

// checkPicture compares a picture's samples with the pattern of a packet.
func checkPicture(t testing.TB, p *video.Planes, f format, packet []byte) {
	t.Helper()
	require.Equal(t, format{f.left, f.top, p.Width, p.Height, p.Bits, p.Matrix, p.FullRange}, f)
	require.Equal(t, video.NV12, p.Layout)
	require.Nil(t, p.Data[2])
	hash, wrong := nvdectest.Hash(packet), 0
	for plane := range 2 {
		width, height := p.Size(plane)
		require.Equal(t, [2]int{f.width, f.height >> plane}, [2]int{width, height})
		for y := range height {
			for x := range width {
				want := nvdectest.Sample(hash, 0, x+f.left, y+f.top, f.bits)
				if plane == 1 {
					want = nvdectest.Sample(hash, 1+x%2, (x+f.left)/2, y+f.top/2, f.bits)
				}
				if sampleOf(p, plane, x, y) != want {
					wrong++
				}
			}
		}
	}
	require.Zero(t, wrong, "samples differ")
}

func sampleOf(p *video.Planes, plane, x, y int) uint16 {
	if p.Bits == 8 {
		return uint16(p.Data[plane][y*p.Stride[plane]+x])
	}
	return binary.LittleEndian.Uint16(p.Data[plane][y*p.Stride[plane]+2*x:]) >> p.Shift
}

// digest returns a hash of a picture's samples.
func digest(p *video.Planes) uint64 {
	h := fnv.New64a()
	for plane := range 2 {
		width, height := p.Size(plane)
		for y := range height {
			h.Write(p.Data[plane][y*p.Stride[plane]:][:width*sampleBytes(p.Bits)])
		}
	}
	return h.Sum64()
}
