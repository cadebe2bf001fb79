package all

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/internal/test/memuse"
	"github.com/robocache/robocache/tensor"
)

// ROBOCACHE_BIG=5e9 makes datasets of so many bytes, one after the other, reads and inspects them. TMPDIR is where they lie, ROBOCACHE_BIG_KEEP=DIR keeps them.
func TestABigDatasetTakesLittleMemory(t *testing.T) {
	size := memuse.Bytes(t)
	for name, camera := range map[string]frames{"lerobot": nil, "lerobot_images": images(t)} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(folder(t), name)
			memuse.Peak(t)
			before := memuse.Peak(t)
			episodes := writeLeRobot(t, dir, size, camera)
			t.Logf("%d episodes were written: memory %.0f MB before, at most %.0f MB", episodes, float64(before)/1e6, float64(memuse.Peak(t))/1e6)
			read(t, dir)
		})
	}
	for _, name := range []string{"robomimic", "robomimic_gzip", "aloha", "calvin", "lerobot2", "npz", "safetensors", "ulog", "csv", "tum"} {
		t.Run(name, func(t *testing.T) {
			if err := exec.Command("python3", "-c", "import h5py").Run(); err != nil {
				t.Skip("no python3 with h5py")
			}
			dir := folder(t)
			out, err := exec.Command("python3", "../../scripts/big_datasets.py", dir, fmt.Sprint(size), name).CombinedOutput()
			require.NoError(t, err, string(out))
			read(t, filepath.Join(dir, name))
		})
	}
}

func folder(t *testing.T) string {
	if dir := os.Getenv("ROBOCACHE_BIG_KEEP"); dir != "" {
		return dir
	}
	return t.TempDir()
}

func read(t *testing.T, dir string) {
	largest := memuse.Read(t, func() (dataset.Dataset, error) {
		return dataset.Open(context.Background(), dir, dataset.Options{})
	}, true, 0)
	memuse.Inspect(t, "../../cmd/robocache", dir, largest)
}

const rows = 500 // of an episode

// writeLeRobot writes episodes of 500 rows of 52 float32, and a camera if there is one.
func writeLeRobot(t *testing.T, dir string, size float64, camera frames) int {
	const width = 26
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 2))
	times, err := dataset.StepTimes(rows, 30)
	require.NoError(t, err)
	w, err := write.Create(dir, write.Options{FPS: 30})
	require.NoError(t, err)
	defer w.Close()
	each := rows * 2 * width * 4
	for _, b := range camera {
		each += len(b)
	}
	episodes := int(size) / each
	for range episodes {
		e := &dataset.Episode{}
		if camera != nil {
			e.Media = []dataset.Media{{Name: "camera", Times: times, Encoding: "png", Width: 64, Height: 64, Source: camera}}
		}
		for _, name := range []string{"observation.state", "action"} {
			values := make([]float32, rows*width)
			for i := range values {
				values[i] = rng.Float32()
			}
			columns := make([]dataset.Column, width)
			for i := range columns {
				columns[i] = dataset.Column{Name: fmt.Sprint(i), Type: "float32"}
			}
			s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, rows, width)), columns)
			require.NoError(t, err)
			e.Streams = append(e.Streams, s)
		}
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	return episodes
}

// frames are images of a camera.
type frames [][]byte

// images makes as many as an episode has rows.
func images(t *testing.T) (list frames) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range rows {
		img := image.NewGray(image.Rect(0, 0, 64, 64))
		for i := range img.Pix {
			img.Pix[i] = byte(rng.Uint32())
		}
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		list = append(list, b.Bytes())
	}
	return list
}

func (f frames) ReadFrame(_ context.Context, i int) ([]byte, error) { return bytes.Clone(f[i]), nil }
