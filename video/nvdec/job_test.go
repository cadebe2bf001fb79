package nvdec

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/nvdectest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// current is the pool of the driver "fake", which is asked before "nvdec".
var current *pool

func init() {
	video.Register(video.Driver{Name: "fake", Open: func(s video.Stream) (video.Decoder, error) {
		return open(s, func() (*pool, error) { return current, nil })
	}})
}

// job returns a job for a golden stream, and the packets in the order of display.
func job(t testing.TB, name string) (j *video.Job, order []int) {
	s := golden(t, name)
	order = s.Order
	fail := func(int) *dataset.FormatError { return &dataset.FormatError{} }
	j = &video.Job{Codec: codecOf(name), Packets: make([]video.Packet, len(s.Packets)), Fail: fail}
	for rank, packet := range order {
		j.Packets[packet] = video.Packet{Size: uint32(len(s.Packets[packet])), Rank: int32(rank)}
	}
	j.Open = func(_ context.Context, packet int) (io.Reader, error) { return bytes.NewReader(s.Packets[packet]), nil }
	return j, order
}

// Frames come in the order of display, whichever are wanted.
func TestFramesComeInDisplayOrder(t *testing.T) {
	for _, name := range []string{"h264_g1", "h264_crop_66x50", "h264_pyr_normal", "hevc_opengop", "hevc_main10"} {
		b := newBench(t, nil)
		current = b.pool
		s, frames := golden(t, name), map[int64][]uint8{}
		d := b.open(codecOf(name), nil)
		show := func(n int64, p *video.Planes, err error) error {
			require.NoError(t, err)
			frame, err := p.RGB()
			require.NoError(t, err)
			frames[n], err = tensor.Data[uint8](frame)
			return err
		}
		for i, packet := range s.Packets {
			require.NoError(t, d.Decode(packet, int64(i), show))
		}
		require.NoError(t, d.Flush(show))
		require.NoError(t, d.Close())
		j, order := job(t, name)
		for _, step := range []int{1, 5} {
			var ranks []int
			for rank := 0; rank < len(order); rank += step {
				ranks = append(ranks, rank)
			}
			n := 0
			for frame, err := range video.Decode(t.Context(), ranks, j.Planes) {
				require.NoError(t, err)
				got, err := tensor.Data[uint8](frame)
				require.NoError(t, err)
				require.True(t, bytes.Equal(frames[int64(order[ranks[n]])], got), "%s: rank %d", name, ranks[n])
				n++
			}
			assert.Len(t, ranks, n)
		}
	}
}

// A wanted picture that is damaged is an error at its place, and the later ones follow; one that is not wanted is none.
func TestAWantedPictureIsAnError(t *testing.T) {
	s := golden(t, "h264_g1")
	b := newBench(t, func(l *nvdectest.Library) {
		l.Status = map[uint64]int{nvdectest.Hash(s.Packets[7]): nvdectest.Concealed}
	})
	current = b.pool
	j, _ := job(t, "h264_g1")
	for _, ranks := range [][]int{{5, 6, 7, 8}, {5, 6, 8}} {
		n := 0
		for _, err := range video.Decode(t.Context(), ranks, j.Planes) {
			n++
			if err == nil {
				continue
			}
			var format *dataset.FormatError
			require.True(t, errors.As(err, &format) && ranks[n-1] == 7)
			assert.Equal(t, dataset.ErrCorrupt, format.Kind)
			assert.ErrorIs(t, err, video.ErrDamaged)
		}
		assert.Len(t, ranks, n)
	}
}

// Pictures before a wanted one are decoded, but only the wanted one's two planes are copied to the host.
func TestUnwantedPicturesAreNotCopied(t *testing.T) {
	copies := 0
	table := nvdectest.New(t, cudasim.New(cudasim.Config{})).FunctionTable().Wrap(func(name string, next cudadrv.Proc) cudadrv.Proc {
		return func(args []uintptr) uintptr {
			if name == "cuMemcpy2DAsync_v2" {
				copies++
			}
			return next(args)
		}
	})
	drv, err := cudadrv.NewDriver(table)
	require.NoError(t, err)
	current, err = newPool(drv, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, current.close()) }()
	j, order := job(t, "h264_pyr_normal")
	for _, ranks := range [][]int{{len(order) - 1}, {0, 5}} {
		copies = 0
		for _, err := range video.Decode(t.Context(), ranks, j.Planes) {
			require.NoError(t, err)
		}
		assert.Equal(t, 2*len(ranks), copies)
	}
}

// A failure of the device is not counted as damage of the frames.
func TestADeviceFailureIsNoDamage(t *testing.T) {
	b := newBench(t, func(l *nvdectest.Library) {
		l.Wrap = func(t *cudadrv.FunctionTable) *cudadrv.FunctionTable {
			t, _ = cudasim.Inject(t, cudasim.Failure{Call: "cuvidMapVideoFrame64", N: 3, Code: 999})
			return t
		}
	})
	current = b.pool
	j, _ := job(t, "h264_g1")
	n := 0
	for _, err := range video.Decode(t.Context(), []int{0, 1, 2, 3}, j.Planes) {
		if err == nil {
			n++
			continue
		}
		program, format := (*video.ProgramError)(nil), (*dataset.FormatError)(nil)
		require.ErrorAs(t, err, &format)
		assert.Equal(t, dataset.ErrUnsupported, format.Kind)
		assert.ErrorAs(t, err, &program)
	}
	assert.Equal(t, 2, n)
}

// Damaged packets give an answer for each packet, or an error that ends the stream. Nothing stays open, and decoders can be used again.
func TestDamagedPackets(t *testing.T) {
	b := newBench(t, nil)
	random := rand.New(rand.NewPCG(7, 8))
	names := []string{"h264_g2", "h264_opengop", "h264_crop_66x50", "hevc_g2", "hevc_opengop", "hevc_main10_open"}
	for i := range thorough.Of(18, 2000) {
		s := golden(t, names[i%len(names)])
		d, a, ended := b.open(codecOf(s.Name), nil), answers{}, false
		for number, packet := range s.Packets {
			packet = slices.Clone(packet)
			if random.IntN(6) == 0 {
				for range 1 + random.IntN(3) {
					packet[random.IntN(min(len(packet), 60))] ^= 1 << random.IntN(8)
				}
			}
			refused := (*video.Refusal)(nil)
			if err := d.Decode(packet, int64(number), a.show); err != nil {
				require.ErrorAs(t, err, &refused, s.Name)
				ended = true
				break
			}
		}
		require.NoError(t, d.Flush(a.show))
		require.NoError(t, d.Close())
		if !ended {
			require.Len(t, a, len(s.Packets))
		}
	}
	for _, name := range names {
		a := decode(t, b.open(codecOf(name), nil), golden(t, name).Packets)
		assert.Empty(t, a.numbers(video.ErrUndecodable))
	}
}
