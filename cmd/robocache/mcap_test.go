package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file with messages has the same numbers as the archive that the same command writes.
func TestAnOutputOfMessagesHoldsWhatTheArraysDo(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for _, encoding := range []string{"protobuf", "json"} {
		for _, line := range [][]string{
			{"resample", flight, "--hz=50", "--max-gap=none", "--stream=sensor_combined", "--stream=vehicle_attitude"},
			{"fuse", flight, "--hz=50", "--max-gap=none", "--stream=sensor_combined", "--stream=vehicle_attitude"},
		} {
			dir := t.TempDir()
			a, b := filepath.Join(dir, "o.npz"), filepath.Join(dir, "o.mcap")
			good(t, append(line, "--backend=cpu", "-o", a)...)
			good(t, append(line, "--backend=cpu", "--encoding="+encoding, "-o", b)...)
			d, err := dataset.Open(context.Background(), b, dataset.Options{Strict: true})
			require.NoError(t, err)
			defer d.Close()
			e, err := d.Episode(context.Background(), 0)
			require.NoError(t, err)
			from := open(t, a)
			arrays := map[string]string{"fused": "values", "sensor_combined": "sensor_combined.values", "vehicle_attitude": "vehicle_attitude.values"}
			found := 0
			for _, s := range e.Streams {
				name, ok := arrays[s.Name]
				if !ok {
					assert.Contains(t, s.Name, ".valid")
					continue
				}
				found++
				want, err := from.Tensor(name)
				require.NoError(t, err)
				assert.Equal(t, contentOf(t, want), contentOf(t, s.Values), s.Name)
				times, err := from.Times("times")
				require.NoError(t, err)
				assert.Equal(t, contentOf(t, times), contentOf(t, s.Times))
			}
			assert.Equal(t, map[string]int{"resample": 2, "fuse": 1}[line[0]], found)
		}
	}
}

func TestRotationsAreStillRotationsInAFileOfMessages(t *testing.T) {
	out := filepath.Join(t.TempDir(), "o.mcap")
	good(t, "resample", flight, "--hz=50", "--stream=vehicle_attitude", "--backend=cpu", "-o", out)
	d, err := dataset.Open(context.Background(), out, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	e, err := d.Episode(context.Background(), 0)
	require.NoError(t, err)
	columns := e.Stream("vehicle_attitude").Columns
	assert.Equal(t, dataset.Column{Name: "q[3]", Type: "float", Rotation: dataset.RotationWXYZ}, columns[3])
}

func TestWhatHasNoMessagesIsRefused(t *testing.T) {
	batch := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]float32{1, 2, 3, 4}, 2, 2, 1)), "times": vec[int64](0, 1e9)})
	out := filepath.Join(t.TempDir(), "o.mcap")
	code, _, stderr := execute("resample", batch, "--hz=4", "--backend=cpu", "-o", out)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "want a name that ends in .npz or .safetensors")
	code, _, stderr = execute("resample", flight, "--hz=4", "--backend=cpu", "-o", filepath.Join(t.TempDir(), "o.npz"), "--encoding=json")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--encoding is for an output of messages")
	before := beside(t, map[string]*tensor.Tensor{"b.values": column(10., 20), "b.times": vec[int64](-1e9, 1e9)})
	code, _, stderr = execute("resample", before, "--stream=b", "--hz=4", "--backend=cpu", "-o", out)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "mcap: stream b: got a timestamp of -1000000000 ns, want 0 or more")
	assert.NoFileExists(t, out)
}
