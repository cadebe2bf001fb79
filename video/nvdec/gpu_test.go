package nvdec

import (
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/picture"
)

// frames.txt has a line for each stream: its name, the number of frames, and the FNV-1a of all frames in the order of display. An H200
// decoded them with the driver's own parser. For each row it has as many bytes as there are pixels, NV12 or P016.
//
//go:embed testdata/frames.txt
var frames string

// displayOrder returns the packets in the order of display.
func displayOrder(s *videotest.Stream) (order []int) {
	holds, next := map[int]int{}, 0
	for _, shown := range s.Shown {
		for ; next <= shown.After; next++ {
			holds[s.Pictures[next].Params.Int(picture.Surface)] = next
		}
		order = append(order, holds[shown.Surface])
	}
	return order
}

// leading returns the first bytes of each row, as the engine gives them.
func leading(p *video.Planes) (b []byte) {
	for plane := range 2 {
		_, height := p.Size(plane)
		for y := range height {
			for x := range p.Width {
				if p.Bits == 8 {
					b = append(b, byte(sampleOf(p, plane, x, y)))
				} else {
					b = append(b, byte(sampleOf(p, plane, x/2, y)<<(16-p.Bits)>>(x%2*8)))
				}
			}
		}
	}
	return b
}

func TestDisplayOrderHasEachPacketOnce(t *testing.T) {
	assert.Equal(t, []int{0, 2, 1, 3}, displayOrder(golden(t, "h264_g2b"))[:4])
	for name, s := range streams(t, "h") {
		once := map[int]bool{}
		for _, packet := range displayOrder(s) {
			once[packet] = true
		}
		assert.Len(t, once, len(s.Packets), name)
	}
}

// All frames are those that the driver's own parser gives.
func TestFramesOnAGPU(t *testing.T) {
	drv := gputest.Require(t)
	p, err := newPool(drv, 0)
	if errors.Is(errors.Unwrap(err), cudadrv.ErrNVDECMissing) {
		t.Skip("the driver is without libnvcuvid")
	}
	require.NoError(t, err)
	defer func() { assert.NoError(t, p.close()) }()
	for line := range strings.Lines(frames) {
		var name, want string
		var count int
		_, err := fmt.Sscan(line, &name, &count, &want)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			s := golden(t, name)
			d, err := open(video.Stream{Codec: codecOf(name)}, func() (*pool, error) { return p, nil })
			require.NoError(t, err)
			pictures := map[int64][]byte{}
			show := func(number int64, p *video.Planes, err error) error {
				if err == nil {
					pictures[number] = leading(p)
				}
				return err
			}
			for i, packet := range s.Packets {
				require.NoError(t, d.Decode(packet, int64(i), show))
			}
			require.NoError(t, d.Flush(show))
			require.NoError(t, d.Close())
			require.Len(t, pictures, count)
			h := fnv.New64a()
			for _, packet := range displayOrder(s) {
				h.Write(pictures[int64(packet)])
			}
			assert.Equal(t, want, fmt.Sprintf("%016x", h.Sum64()))
		})
	}
}
