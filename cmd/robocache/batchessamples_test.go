//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// packedSample is a sample of a tar file.
type packedSample struct {
	key     string
	names   []string // of its members, in order
	members map[string][]byte
	about   sample
}

// samplesOf reads tar files by the rule of WebDataset: members that follow each other and have one name up to the first dot are a sample.
func samplesOf(t *testing.T, paths ...string) (list []packedSample) {
	t.Helper()
	seen := map[string]bool{}
	for _, path := range paths {
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		for r := tar.NewReader(f); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			body, err := io.ReadAll(r)
			require.NoError(t, err)
			key, ext, found := strings.Cut(h.Name, ".")
			require.True(t, found, h.Name)
			if len(list) == 0 || list[len(list)-1].key != key {
				require.False(t, seen[key], "%s is in two places", key)
				seen[key] = true
				list = append(list, packedSample{key: key, members: map[string][]byte{}})
			}
			s := &list[len(list)-1]
			s.names, s.members[ext] = append(s.names, ext), body
			if ext == "json" {
				require.NoError(t, json.Unmarshal(body, &s.about))
			}
		}
	}
	return list
}

// tars are the tar files of a folder.
func tars(t *testing.T, dir string) (list []string) {
	t.Helper()
	for _, name := range listed(t, dir) {
		if name != samplesFile && name != statisticsFile {
			list = append(list, filepath.Join(dir, name))
		}
	}
	return list
}

// Each window is one sample for any number of ranks, with the data of the batch.
func TestWindowsAreSamples(t *testing.T) {
	dir := t.TempDir()
	base := []string{"batches", kindsRLDS, "--rate=10", "--hz=10", "--batch=4", "--backend=cpu", "--stream=action", "--stream=reward", "--window=reward=-200ms:0s"}
	batches, out := filepath.Join(dir, "batches"), filepath.Join(dir, "out")
	good(t, append(base, "--last=short", "--out", batches)...)
	for rank := range 2 {
		good(t, append(base, "--world=2", fmt.Sprintf("--rank=%d", rank), "--out", out, "--format=webdataset", "--tar-samples=9")...)
	}
	want := map[[2]int64][2]string{} // values of action and pads of reward, by episode and tick
	for _, name := range listed(t, batches) {
		f, err := safetensors.Open(filepath.Join(batches, name))
		require.NoError(t, err)
		ticks, values, pads := read[int64](t, f, "ticks"), read[float32](t, f, "action.values"), read[uint8](t, f, "reward.pad")
		for i, e := range read[int64](t, f, "episodes") {
			if e >= 0 {
				want[[2]int64{e, ticks[i]}] = [2]string{fmt.Sprint(values[i*40 : (i+1)*40]), fmt.Sprint(pads[2*i : 2*i+2])}
			}
		}
		require.NoError(t, f.Close())
	}
	require.Len(t, want, 7+5+3+6)
	seen := 0
	for rank := range 2 {
		folder := filepath.Join(out, fmt.Sprintf("rank-%05d-of-00002", rank))
		assert.Equal(t, []string{"samples.json", "shard-000000.tar", "shard-000001.tar"}, listed(t, folder))
		for _, s := range samplesOf(t, tars(t, folder)...) {
			assert.Equal(t, []string{"json", "action.npy", "reward.npy"}, s.names)
			assert.Equal(t, fmt.Sprintf("%04d-%09d", s.about.Epoch, s.about.Position), s.key)
			assert.EqualValues(t, rank, s.about.Position%2)
			assert.Equal(t, s.about.Tick*100_000_000, s.about.Anchor)
			v, err := npy.Read(bytes.NewReader(s.members["action.npy"]))
			require.NoError(t, err)
			assert.Equal(t, "f32 [10,4] on host", v.String())
			list, err := tensor.Data[float32](v)
			require.NoError(t, err)
			at := [2]int64{int64(s.about.Episode), s.about.Tick}
			assert.Equal(t, want[at], [2]string{fmt.Sprint(list), fmt.Sprint(s.about.Pad["reward"])}, "%v", at)
			assert.Len(t, s.about.Valid["action"], 10)
			delete(want, at)
			seen++
		}
	}
	assert.Equal(t, 7+5+3+6, seen)
	assert.Empty(t, want)
	text, err := os.ReadFile(filepath.Join(out, "rank-00000-of-00002", samplesFile))
	require.NoError(t, err)
	var about described
	require.NoError(t, json.Unmarshal(text, &about))
	assert.Equal(t, describedPart{Member: "action.npy", Stream: "action", Shape: []int{10, 4}, DType: "f32", Columns: []string{"0", "1", "2", "3"}}, about.Members[0])
}

// Frames are JPEGs, one or numbered.
func TestFramesOfSamplesAreJPEGs(t *testing.T) {
	const camera = "observations/images/cam_high"
	dir := t.TempDir()
	args := []string{"batches", "../../dataset/aloha/testdata/jpeg.hdf5", "--rate=10", "--hz=10", "--batch=2", "--backend=cpu", "--format=webdataset", "--camera", camera + "=8x6"}
	good(t, append(args, "--out", filepath.Join(dir, "one"))...)
	good(t, append(args, "--out", filepath.Join(dir, "two"), "--window", camera+"=-200ms:0s", "--tar-bytes=1")...)
	one, two := samplesOf(t, tars(t, filepath.Join(dir, "one"))...), samplesOf(t, tars(t, filepath.Join(dir, "two"))...)
	require.Len(t, one, 4)
	require.Len(t, two, 4)
	assert.Len(t, tars(t, filepath.Join(dir, "one")), 1)
	assert.Len(t, tars(t, filepath.Join(dir, "two")), 2, "a batch is the least")
	for i, s := range two {
		last := one[i].members["observations_images_cam_high.jpg"]
		assert.Equal(t, last, s.members["observations_images_cam_high.001.jpg"])
		assert.Contains(t, s.names, "observations_images_cam_high.000.jpg")
		size, err := jpeg.DecodeConfig(bytes.NewReader(last))
		require.NoError(t, err)
		assert.Equal(t, [2]int{8, 6}, [2]int{size.Width, size.Height})
		assert.Equal(t, []int{0}, one[i].about.Pad["observations_images_cam_high"])
		assert.Len(t, s.about.Valid["observations_images_cam_high"], 2)
	}
}

// After a kill at any moment, or a signal, a restarted program writes the same files as an undisturbed one.
func TestWhoIsKilledLeavesNoSampleOut(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	base := append(drawnFrom(t), "--batch=5", "--epochs=2", "--format=webdataset", "--tar-samples=30")
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	good(t, append(base, "--out", whole)...)
	files := listed(t, whole)
	require.Len(t, files, 1+23, "138 batches, 6 a shard")
	require.Len(t, samplesOf(t, tars(t, whole)...), 2*344)
	r := rand.New(rand.NewPCG(3, 9))
	for killed, round := 0, 0; killed < kills(t); round++ {
		out := filepath.Join(dir, "out", strconv.Itoa(round))
		args := append(base, "--state", filepath.Join(dir, fmt.Sprintf("state%d.json", round)), "--out", out)
		for ended := false; !ended; {
			if _, ended = killedAfter(t, r, r.IntN(60), args...); !ended {
				killed++
			}
		}
		require.Equal(t, files, listed(t, out), "what was half-written is gone")
		for _, name := range files {
			want, err := os.ReadFile(filepath.Join(whole, name))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(out, name))
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), name)
		}
	}
}

// Steps that end within a shard end that, and who goes on begins the next.
func TestSamplesGoOnBehindAShardThatIsNotFull(t *testing.T) {
	dir := t.TempDir()
	args := append(drawnFrom(t), "--batch=5", "--format=webdataset", "--tar-samples=30", "--out", filepath.Join(dir, "out"), "--state", filepath.Join(dir, "state.json"))
	good(t, append(args, "--steps=8")...)
	assert.Equal(t, []string{"samples.json", "shard-000000.tar", "shard-000001.tar"}, listed(t, filepath.Join(dir, "out")))
	good(t, args...)
	list := samplesOf(t, tars(t, filepath.Join(dir, "out"))...)
	require.Len(t, list, 344)
	for i, s := range list {
		require.EqualValues(t, i, s.about.Position)
	}
	assert.Len(t, tars(t, filepath.Join(dir, "out")), 2+11)
}

func TestSamplesThatCannotBeWrittenAreRefused(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	args := []string{"batches", kindsRLDS, "--rate=10", "--hz=10", "--batch=4", "--backend=cpu", "--stream=action", "--format=webdataset"}
	good(t, append(args, "--out", out)...)
	before := listed(t, out)
	for says, other := range map[string][]string{
		"want the folder for its files":                  {},
		"--tar-samples: got 0":                           {"--out", out, "--tar-samples=0"},
		"got values of bf16 in action":                   {"--out", filepath.Join(dir, "other"), "--dtype=bf16"},
		"seed 0, where this one has 1;":                  {"--out", out, "--seed=1"},
		"batches in a shard 2500, where this one has 1;": {"--out", out, "--tar-samples=4"},
		"plan or dataset":                                {"--out", out, "--stream=reward"},
	} {
		code, _, stderr := execute(append(slices.Clip(args), other...)...)
		assert.Equal(t, exitUsage, code, says)
		assert.Contains(t, stderr, says)
	}
	assert.Equal(t, before, listed(t, out))
	require.NoError(t, os.WriteFile(filepath.Join(out, "shard-000000.tar"), []byte("no tar"), 0o600))
	code, _, stderr := execute(append(args, "--out", out)...)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "shard-000000.tar is a batch from another run")
}

// readByNumpy groups members by the rule of WebDataset and reads the arrays.
const readByNumpy = `
import io, json, sys, tarfile
import numpy
samples = []
for path in sys.argv[1:]:
    for member in tarfile.open(path):
        key, ext = member.name.split(".", 1)
        if not samples or samples[-1]["key"] != key:
            samples.append({"key": key})
        data = tarfile.open(path).extractfile(member.name).read()
        samples[-1][ext] = json.loads(data) if ext == "json" else numpy.load(io.BytesIO(data))
print(json.dumps([[s["key"], s["json"]["tick"], s["action.npy"].dtype.str, list(s["action.npy"].shape), float(s["action.npy"].sum())] for s in samples]))
`

func TestPythonReadsSamples(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if python == "" && exec.Command(p, "-c", "import numpy").Run() == nil {
			python = p
		}
	}
	if python == "" {
		t.Skip("no python with numpy")
	}
	out := filepath.Join(t.TempDir(), "out")
	good(t, "batches", kindsRLDS, "--rate=10", "--hz=10", "--batch=4", "--backend=cpu", "--stream=action", "--out", out, "--format=webdataset", "--tar-samples=8")
	files := tars(t, out)
	text, err := exec.Command(python, append([]string{"-c", readByNumpy}, files...)...).Output()
	require.NoError(t, err)
	var got, want [][]any
	require.NoError(t, json.Unmarshal(text, &got))
	for _, s := range samplesOf(t, files...) {
		v, err := npy.Read(bytes.NewReader(s.members["action.npy"]))
		require.NoError(t, err)
		list, err := tensor.Data[float32](v)
		require.NoError(t, err)
		sum := 0.0
		for _, x := range list {
			sum += float64(x)
		}
		want = append(want, []any{s.key, float64(s.about.Tick), "<f4", []any{10.0, 4.0}, sum})
	}
	require.Len(t, got, len(want))
	for i := range want {
		assert.Equal(t, want[i][:4], got[i][:4])
		assert.InDelta(t, want[i][4], got[i][4], 1e-4)
	}
}
