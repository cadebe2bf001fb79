package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

type packets [][]byte

func (p packets) ReadFrame(_ context.Context, i int) ([]byte, error) { return bytes.Clone(p[i]), nil }

// greyLog is a log with 24 frames of h264 at 10 Hz, and a stream. Frame i has the grey value 10*i. Each eighth frame is a key frame. The
// first frames are left out, and the damaged ones end in zeros.
func greyLog(t *testing.T, without int, damaged ...int) string {
	t.Helper()
	b, err := os.ReadFile("../../internal/video/testdata/grey.h264")
	require.NoError(t, err)
	m := dataset.Media{Name: "/video", Encoding: "h264"}
	var frames packets
	var times []int64
	delimiter := []byte{0, 0, 0, 1, 9}
	for i, part := range bytes.Split(b, delimiter)[1:] {
		times = append(times, int64(i)*1e8)
		if i >= without {
			part = bytes.Clone(part)
			if slices.Contains(damaged, i) {
				clear(part[len(part)/3:])
			}
			frames = append(frames, append(bytes.Clone(delimiter), part...))
			m.Times = append(m.Times, int64(i)*1e8)
		}
	}
	m.Source = frames
	s, err := dataset.NewStream("/vec", times, tensor.Must(tensor.New(tensor.F32, len(times), 1)), nil)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "grey.mcap")
	require.NoError(t, mcap.WriteFile(path, mcap.WriterOptions{}, func(w *mcap.Writer) error {
		return w.Episode(context.Background(), &dataset.Episode{Streams: []dataset.Stream{s}, Media: []dataset.Media{m}}, mcap.Protobuf)
	}))
	return path
}

// ofBatch returns the elements of a tensor of bytes in the first batch of a folder.
func ofBatch(t *testing.T, folder, name string) []uint8 {
	t.Helper()
	f, err := safetensors.Open(filepath.Join(folder, "batch-0000000.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	values, err := f.Tensor(name)
	require.NoError(t, err)
	bytes, err := tensor.Data[uint8](values)
	require.NoError(t, err)
	return slices.Clone(bytes)
}

// Windows have the same frames of a log's video from the recording, from a store with its packets, and from a dataset that is streamed.
func TestALogsVideoHasFrames(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	recording := greyLog(t, 0)
	dir := t.TempDir()
	store, late := filepath.Join(dir, "s.safetensors"), filepath.Join(dir, "late.safetensors")
	good(t, "pack", recording, "-o", store, "--media", "/video")
	flags := []string{"batches", "--hz=10", "--batch=24", "--backend=cpu", "--shuffle=none", "--stream=/vec", "--camera=/video=8x6"}
	var lines []string
	for _, args := range [][]string{{store}, {recording}, {recording, "--streaming"}, {store, "--streaming"}} {
		stdout, _ := good(t, append(append(flags, "--digest"), args...)...)
		lines = append(lines, stdout)
	}
	assert.NotEmpty(t, lines[0])
	assert.Equal(t, []string{lines[0], lines[0], lines[0]}, lines[1:])

	out := filepath.Join(dir, "out")
	good(t, append(flags, store, "--out", out)...)
	pixels := ofBatch(t, out, "/video.frames")
	require.Len(t, pixels, 24*6*8*3)
	for i := range 24 {
		assert.InDelta(t, 10*i, pixels[i*6*8*3], 3, i)
	}

	_, said := good(t, "pack", greyLog(t, 5), "-o", late, "--media", "/video")
	assert.Contains(t, said, "/video, 3 of 19 frames cannot be read (first: frame 0 of /video: no key frame before it")
	seen, _ := good(t, "inspect", late)
	assert.Contains(t, seen, "/video  16", "from the first key frame on")
}

// The frames from a damaged one to the next key frame are counted and not replaced, and the frames of the other groups are decoded.
func TestADamagedFrameOfAVideoCostsItsGroup(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	recording, dir := greyLog(t, 0, 14), t.TempDir()
	out := filepath.Join(dir, "out")
	stdout, _ := good(t, "batches", recording, "--hz=10", "--batch=24", "--backend=cpu", "--shuffle=none", "--stream=/vec", "--camera=/video=8x6", "--json", "--out", out)
	report := unmarshal(t, stdout)["cameras"].([]any)[0].(map[string]any)
	assert.InDelta(t, 2, report["bad"], 0)
	assert.Contains(t, report["first_bad"], "decode frame 14 of /video")
	pixels := ofBatch(t, out, "/video.frames")
	valid := ofBatch(t, out, "/video.valid")
	for i := range 24 {
		lost := i == 14 || i == 15
		assert.Equal(t, !lost, valid[i] == 1, i)
		if lost {
			assert.Zero(t, pixels[i*6*8*3], i)
		} else {
			assert.InDelta(t, 10*i, pixels[i*6*8*3], 3, i)
		}
	}
	for _, to := range []string{"webdataset", "mcap"}[:thorough.Of(1, 2)] {
		stdout, stderr := good(t, "convert", recording, "-o", filepath.Join(dir, to), "--to", to, "--hz=10")
		assert.Contains(t, stdout+stderr, "2 of 24 rows show another frame because theirs cannot be decoded, row 14 is the first")
	}
}
