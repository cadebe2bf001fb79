package loader_test

import (
	"bytes"
	"context"
	"math"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// Each frame in a batch from images is nearest, in the episode, to the image of its row as ffmpeg decodes it.
func TestBatchesHaveTheImagesOfTheirRows(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	ctx := context.Background()
	const size, rate = 64, 5
	d, err := dataset.Open(ctx, sharedData(t, "bridge_rlds"), dataset.Options{Rate: rate})
	require.NoError(t, err)
	defer d.Close()
	cameras := []loader.Camera{{Name: "observation/image_0", Height: size, Width: size}, {Name: "observation/image_2", Height: size, Width: size}}
	images := map[int][][][]byte{}
	for e := range thorough.Of(6, d.Len()) {
		episode, err := d.Episode(ctx, e)
		require.NoError(t, err)
		for _, cam := range cameras {
			media := episode.MediaStream(cam.Name)
			var encoded []byte
			for i := range media.Len() {
				b, err := media.Frame(ctx, i)
				require.NoError(t, err)
				encoded = append(encoded, b...)
			}
			cmd := exec.Command("ffmpeg", "-v", "error", "-f", "image2pipe", "-c:v", "mjpeg", "-i", "-", "-vsync", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
			cmd.Stdin = bytes.NewReader(encoded)
			out, err := cmd.Output()
			require.NoError(t, err)
			list := slices.Collect(slices.Chunk(out, size*size*3))
			require.Len(t, list, media.Len())
			images[e] = append(images[e], list)
		}
	}
	p := align.Plan{Rate: 10, Shuffle: "shards", Streams: []align.Stream{{Name: "action"}}, Windows: map[string]align.Window{}}
	for _, cam := range cameras {
		p.Windows[cam.Name] = align.Window{From: -300 * time.Millisecond}
	}
	var numbers []int
	for e := range len(images) {
		numbers = append(numbers, e)
	}
	l := streamed(t, "cpu", d, p, loader.Options{Batch: 8, Seed: 1, Last: ops.LastShort, Cameras: cameras, Episodes: [][]int{numbers}, ShardWindows: 20, MixShards: 3})
	compared := 0
	for b, err := range l.Epoch(ctx) {
		require.NoError(t, err)
		for row, e := range data[int64](t, b.Episodes) {
			if e < 0 {
				continue
			}
			_, number := l.Known(e)
			for c, cam := range b.Cameras {
				deltas := cam.Frames.Dim(1)
				for k := range deltas {
					at := float64(data[int64](t, b.Anchors)[row])/1e9 - 0.1*float64(deltas-1-k)
					list := images[number][c]
					want := min(max(int(math.Floor(at*rate+1e-3)), 0), len(list)-1)
					got := data[uint8](t, cam.Frames)[(row*deltas+k)*size*size*3:][:size*size*3]
					off := distances(list, got)
					assert.Equal(t, slices.Min(off), off[want], "episode %d, %s, at %g s", number, cam.Name, at)
					assert.Less(t, off[want], 3.0)
					compared++
				}
			}
		}
	}
	assert.Greater(t, compared, 500)
	t.Log(compared)
}

// distances returns the mean difference to each picture, in levels.
func distances(list [][]byte, picture []byte) (off []float64) {
	for _, other := range list {
		sum := 0
		for i, x := range picture {
			sum += int(max(x, other[i]) - min(x, other[i]))
		}
		off = append(off, float64(sum)/float64(len(picture)))
	}
	return off
}
