package h5test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Golden is the content of a file according to h5py. scripts/gen_demos_golden.py writes it.
type Golden struct {
	Datasets map[string]struct {
		Shape     []int
		Sum, Last float64
	}
	Cameras map[string][][2]any // the length in bytes and the SHA-256 of each frame
}

// ReadGolden reads the golden file next to an HDF5 file: its name has .json in place of .hdf5.
func ReadGolden(t *testing.T, file string) Golden {
	t.Helper()
	var g Golden
	text, err := os.ReadFile(strings.TrimSuffix(file, ".hdf5") + ".json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &g))
	require.NotEmpty(t, g.Datasets)
	return g
}

// Check compares an episode with h5py's values for its group, which has the datasets with paths that begin with prefix. Each of these
// datasets must be a stream, a media stream, or the subject of a note about left-out data.
func (g Golden) Check(t *testing.T, e *dataset.Episode, prefix string) {
	t.Helper()
	left := map[string]bool{}
	for _, n := range e.Notes.Of(dataset.ClassLeftOut) {
		left[n.Subject] = true
	}
	checked := 0
	for path, want := range g.Datasets {
		name, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		s := e.Stream(name)
		if s == nil {
			assert.True(t, left[name], "%s is neither stream nor left out", path)
			continue
		}
		list, err := tensor.Floats(s.Values)
		require.NoError(t, err)
		sum := 0.0
		for _, v := range list {
			sum += v
		}
		n, err := tensor.NumElements(want.Shape...)
		require.NoError(t, err)
		assert.Len(t, list, n, path)
		assert.Equal(t, want.Shape[0], s.Len(), path)
		assert.Equal(t, want.Sum, sum, path)
		assert.Equal(t, want.Last, list[len(list)-1], path)
		checked++
	}
	assert.Equal(t, len(e.Streams), checked, "every stream is a dataset")
	for path, want := range g.Cameras {
		name, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		m := e.MediaStream(name)
		if !assert.NotNil(t, m, path) || !assert.Equal(t, len(want), m.Len(), path) {
			continue
		}
		for i, w := range want {
			frame, err := m.Frame(context.Background(), i)
			require.NoError(t, err, path)
			sum := sha256.Sum256(frame)
			assert.Equal(t, w, [2]any{float64(len(frame)), hex.EncodeToString(sum[:])}, "%s: frame %d", path, i)
		}
	}
}

// Left returns an episode's notes about left-out data, by subject.
func Left(e *dataset.Episode) map[string]dataset.Note {
	left := map[string]dataset.Note{}
	for _, n := range e.Notes.Of(dataset.ClassLeftOut) {
		left[n.Subject] = n
	}
	return left
}
