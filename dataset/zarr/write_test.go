package zarr

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

const shared = "../../../shared/data/pusht_zarr"

// TestPushT compares PushT's arrays with hashes that zarr 2.13 and Python's hashlib computed.
func TestPushT(t *testing.T) {
	if _, err := os.Stat(shared); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	d := opens(t, shared, dataset.Options{Strict: true})
	require.Equal(t, []any{206, 10.0, "known datasets", 25650}, []any{d.Len(), d.Info().Rate, d.Info().RateFrom, d.Info().Frames})
	sums := map[string][]byte{}
	for i := range d.Len() {
		e := episode(t, d, i)
		require.Empty(t, e.Notes)
		for k := range e.Streams {
			for _, v := range floats(t, &e.Streams[k]) {
				bits := math.Float32bits(float32(v))
				sums[e.Streams[k].Name] = append(sums[e.Streams[k].Name], byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
			}
		}
	}
	for name, hash := range map[string]string{
		"action": "6691b085749144b8db1aede97a80fb380afd08953fcd03660b441d0ffe9d6a8f", "keypoint": "2419980734c1d41050f8fbf7513031e6e784168bafbe42bcec81fdebe44c6611",
		"n_contacts": "3e4258a61c21da4af3257269d3300b5128f04ba3ad34ebd0d0e709489ca854d4", "state": "dcdc539bfdba9fc01cba8d2fe91cc580539ec046a88b0ffbe91be5511948d4dc",
	} {
		sum := sha256.Sum256(sums[name])
		assert.Equal(t, hash, hex.EncodeToString(sum[:]), name)
	}
}

// written writes two episodes of 3 and 4 rows, with state [N,2], a camera, times and a mask, and returns the folder.
func written(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "out.zarr")
	w, err := Create(path)
	require.NoError(t, err)
	w.Rate = 20
	defer w.Close()
	for _, a := range []Array{
		{Name: "timestamp", DType: "<i8", Unit: "ns"}, {Name: "state", DType: "<f4", Shape: []int{2}, Columns: []string{"x", "y"}},
		{Name: "state.valid", DType: "|b1", MaskOf: "state"}, {Name: "camera", DType: "|u1", Shape: []int{400, 500, 3}},
	} {
		require.NoError(t, w.Declare(a))
	}
	success := true
	for i, rows := range []int{3, 4} {
		for row := range rows {
			require.NoError(t, w.Append("timestamp", []byte{0, 0, 0, byte(row), 0, 0, 0, 0}))
			require.NoError(t, w.Append("state", []byte{0, 0, 128, 63, 0, 0, 0, byte(64 + i)})) // 1, and 2 or 8
			require.NoError(t, w.Append("state.valid", []byte{min(byte(row+i), 1)}))
			require.NoError(t, w.Append("camera", filled(400*500*3, byte(10*i+row))))
		}
		require.NoError(t, w.EndEpisode("", "push", &success))
	}
	require.NoError(t, w.Commit(context.Background()))
	return path
}

func filled(n int, v byte) []byte {
	list := make([]byte, n)
	for i := range list {
		list[i] = v
	}
	return list
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	path := written(t)
	d := opens(t, path, dataset.Options{Strict: true})
	assert.Equal(t, []any{2, 20.0, []string{"push"}}, []any{d.Len(), d.Info().Rate, d.Info().Tasks})
	for i, rows := range []int{3, 4} {
		e := episode(t, d, i)
		valid := rows - 1 + i
		assert.Equal(t, []any{"push", true, []string{"state"}, rows}, []any{e.Attributes.Task, *e.Attributes.Success, e.Names(), e.Frames})
		s := e.Stream("state")
		assert.Equal(t, []any{[]string{"x", "y"}, valid, []float64{1, 2 + 6*float64(i)}}, []any{s.ColumnNames(), s.Len(), floats(t, s)[:2]}, "rows that are not valid are left out")
		assert.Equal(t, int64(1<<24*(rows-1)), s.Nanoseconds()[valid-1])
		m := e.MediaStream("camera")
		frame, err := m.Decode(t.Context(), rows-1)
		require.NoError(t, err)
		pixels, err := tensor.Data[uint8](frame)
		require.NoError(t, err)
		assert.Equal(t, filled(400*500*3, byte(10*i+rows-1)), pixels)
	}
	other := written(t)
	for _, name := range []string{".zattrs", "data/state/.zarray", "data/state/0.0", "data/camera/6.0.0.0", "meta/episode_ends/0"} {
		assert.Equal(t, filetest.Read(t, filepath.Join(path, name)), filetest.Read(t, filepath.Join(other, name)), name)
	}
}

// TestPythonReadsWhatIsWritten needs Debian's python3-zarr.
func TestPythonReadsWhatIsWritten(t *testing.T) {
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import zarr").Run() != nil {
		t.Skip("no python with zarr")
	}
	out, err := exec.Command(python, "-c", `
import sys, zarr
r = zarr.open(sys.argv[1], "r")
d = r["data"]
print(sorted(d), d["state"].dtype, d["state"][:].tolist()[2:4], d["state.valid"][:].tolist(), d["camera"].shape, d["camera"][5].min(), d["camera"][5].max(), r["meta/episode_ends"][:].tolist())
`, written(t)).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, "['camera', 'state', 'state.valid', 'timestamp'] float32 [[1.0, 2.0], [1.0, 8.0]] [False, True, True, True, True, True, True] (7, 400, 500, 3) 12 12 [3, 7]\n", string(out))
}

func TestWrongArraysAndRowsAreErrors(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Declare(Array{Name: "a", DType: "<f4"}))
	var bad *dataset.StreamError
	for _, a := range []Array{{Name: "", DType: "<f4"}, {Name: "A", DType: "<f4"}, {Name: "a/b", DType: "<f4"}, {Name: ".zarray", DType: "<f4"}, {Name: "b", DType: "<U4"}, {Name: "c", DType: "<f4", Shape: []int{0}}} {
		require.ErrorAs(t, w.Declare(a), &bad, a.Name)
	}
	require.ErrorAs(t, w.Append("b", nil), &bad)
	require.ErrorAs(t, w.Append("a", make([]byte, 3)), &bad)
	require.NoError(t, w.Declare(Array{Name: "b", DType: "<f4"}))
	require.NoError(t, w.Append("a", make([]byte, 4)))
	require.ErrorAs(t, w.EndEpisode("", "", nil), &bad)
	require.NoError(t, w.Close())
	_, err = os.Stat(filepath.Join(w.folder.Name()))
	assert.ErrorIs(t, err, os.ErrNotExist)
}
