package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
)

// Windows have the same frames from recordings, from a store with frames, and from a dataset that is streamed.
func TestBatchesHaveFrames(t *testing.T) {
	const camera = "observations/images/cam_high"
	recording := "../../dataset/aloha/testdata/jpeg.hdf5"
	dir := t.TempDir()
	store := filepath.Join(dir, "s.safetensors")
	good(t, "pack", recording, "-o", store, "--rate=10", "--media", camera)
	resized := filepath.Join(dir, "resized.safetensors")
	stdout, _ := good(t, "pack", recording, "-o", resized, "--rate=10", "--frames", camera+"=8x6", "--json")
	assert.Equal(t, map[string]any{"name": camera, "encoding": "rgb8", "width": 8.0, "height": 6.0, "resized": true, "frames": 4.0, "bytes": 4 * 6 * 8 * 3.0},
		unmarshal(t, stdout)["media"].([]any)[0])
	flags := []string{"--hz=10", "--batch=2", "--backend=cpu", "--shard-windows=4", "--camera", camera + "=8x6", "--window", camera + "=-200ms:0s"}
	var lines []string
	for _, args := range [][]string{{store}, {recording, "--rate=10"}, {recording, "--rate=10", "--streaming"}, {store, "--streaming"}, {resized}} {
		stdout, _ := good(t, append(append([]string{"batches", "--digest"}, flags...), args...)...)
		lines = append(lines, stdout)
	}
	assert.NotEmpty(t, lines[0])
	assert.Equal(t, []string{lines[0], lines[0], lines[0], lines[0]}, lines[1:])

	out := filepath.Join(dir, "out")
	stdout, _ = good(t, append([]string{"batches", store, "--json", "--out", out}, flags...)...)
	report := unmarshal(t, stdout)["cameras"].([]any)[0].(map[string]any)
	assert.Equal(t, map[string]any{"name": camera, "height": 6.0, "width": 8.0, "targets": 2.0, "frames": 4.0, "empty": 0.0, "bad": 0.0, "first_bad": "", "windows_in_gaps": 0.0,
		"level": "device", "bytes": 576.0, "need_bytes": 0.0, "room_bytes": 0.0, "wanted": 4.0, "left": 0.0, "decoded": 4.0}, report)
	f, err := safetensors.Open(filepath.Join(out, "batch-0000000.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	h, err := f.Header(camera + ".frames")
	require.NoError(t, err)
	assert.Equal(t, "U8 [2,2,6,8,3]", h.String())

	for text, args := range map[string][]string{
		"want NAME=WIDTHxHEIGHT":           {store, "--camera=x=8"},
		"want its own name":                {store, "--camera", camera + "=8x6", "--camera", camera + "=8x6"},
		"which no episode has":             {recording, "--rate=10", "--batch=2", "--camera=x=8x6"},
		"want 8x6, to which the store's":   {resized, "--camera", camera + "=6x8"},
		"the store lacks its frames":       {store, "--camera=observations/images/cam_left_wrist=8x6"},
		"--window: got stream \"nothing\"": {store, "--camera", camera + "=8x6", "--window=nothing=0s:1s"},
	} {
		code, _, stderr := execute(append([]string{"batches", "--hz=10", "--backend=cpu"}, args...)...)
		assert.NotEqual(t, exitGood, code)
		assert.Contains(t, stderr, text)
	}
}

// The level of frames changes no batch, and no batch after a resume.
func TestTheFrameLevelChangesNoBatch(t *testing.T) {
	const camera = "observations/images/cam_high"
	args := []string{"batches", "../../dataset/aloha/testdata/jpeg.hdf5", "--rate=10", "--hz=10", "--batch=1", "--epochs=2", "--backend=cpu",
		"--camera", camera + "=8x6,stored=16x12,crop=random,flip=0.5,dtype=f32,layout=CHW,normalise=imagenet,per-frame"}
	want, _ := good(t, append(args, "--digest")...)
	for _, level := range loader.FrameLevels {
		flag := "--frame-level=" + string(level)
		got, _ := good(t, append(args, "--digest", flag)...)
		assert.Equal(t, want, got)
		state := filepath.Join(t.TempDir(), "run.json")
		first, _ := good(t, append(args, "--digest", "--state", state, "--steps=2")...)
		rest, _ := good(t, append(args, "--digest", "--state", state, flag)...)
		assert.Equal(t, want, first+rest)
		stdout, _ := good(t, append(args, "--json", flag)...)
		assert.Equal(t, string(level), unmarshal(t, stdout)["cameras"].([]any)[0].(map[string]any)["level"])
	}
	stdout, _ := good(t, append(args, "--frame-memory=1000")...)
	assert.Regexp(t, `frames are decoded for each batch, \d+ so far; the next better level needs 0.0 MiB, and may take 0.0`, stdout)
	for _, c := range [][2]string{
		{"--frame-memory=-2", "--frame-memory: got -2, want 1 byte or more"}, {"--frame-level=ram", "want one of [device pinned streaming]"},
		{"--camera=x=8x6,crop=corner", "--camera: got corner, want centre, random, or empty"}, {"--camera=x=8x6,turn=1", `got "turn=1", want such as stored=320x240`},
	} {
		code, _, stderr := execute(append(args, c[0])...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, c[1])
	}
}

// A camera without any usable frame is an error with the reason, with --streaming and without.
func TestCamerasThatCannotBeDecodedAreRefused(t *testing.T) {
	recording := "../../dataset/aloha/testdata/jpeg.hdf5"
	store := filepath.Join(t.TempDir(), "s.safetensors")
	good(t, "pack", kindsRLDS, "-o", store, "--rate=10", "--media=all")
	kinds := []string{"--rate=10", "--hz=10", "--batch=1", "--stream=action"}
	const names = "media streams in the dataset: [observations/images/"
	for _, c := range []struct {
		code int
		text string
		args []string
	}{
		{exitInput, `got encoding "png-f32", want jpeg`, append(kinds, kindsRLDS, "--streaming", "--camera=observation/depth32=8x6")},
		{exitInput, `got encoding "png-f32", want jpeg`, append(kinds, store, "--camera=observation/depth32=8x6")},
		{exitInput, "got 16 bits a channel, want 8", append(kinds, kindsRLDS, "--camera=observation/depth16=8x6")},
		{exitUsage, `--camera: got "x", which no episode has, want ` + names, []string{recording, "--rate=10", "--hz=10", "--batch=2", "--camera=x=8x6"}},
		{exitUsage, `--camera: got "x", which no episode has, want ` + names, []string{recording, "--rate=10", "--hz=10", "--batch=2", "--camera=x=8x6", "--streaming"}},
		{exitInput, "got frames [2,1,99999,99998,3], 4 times", []string{recording, "--rate=10", "--hz=10", "--batch=2", "--streaming", "--camera=observations/images/cam_high=99998x99999"}},
	} {
		code, _, stderr := execute(append([]string{"batches", "--backend=cpu"}, c.args...)...)
		assert.Equal(t, c.code, code, stderr)
		assert.Contains(t, stderr, c.text)
		assert.NotContains(t, stderr, "--streaming keeps")
	}
}

// A damaged video has the same message as in inspect. A missing ffmpeg is an error before batches are drawn.
func TestVideosThatCannotBeReadAreToldWhy(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	recording := "../../../shared/data/lerobot_v3_g1"
	if _, err := os.Stat(recording); err != nil {
		t.Skip("the shared recordings are not here: ", recording)
	}
	args := []string{"batches", "--streaming", "--backend=cpu", "--steps=1", "--stream=action", "--camera=observation.images.front=8x6"}
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none"))
	code, _, stderr := execute(append(args, recording)...)
	assert.Equal(t, exitOther, code)
	assert.Contains(t, stderr, "got no program ffmpeg, want it in PATH")
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.CopyFS(broken, os.DirFS(recording)))
	videos, err := filepath.Glob(filepath.Join(broken, "videos", "observation.images.front", "*", "*.mp4"))
	require.NoError(t, err)
	require.NotEmpty(t, videos)
	for _, v := range videos {
		require.NoError(t, os.Chmod(v, 0o600))
		require.NoError(t, os.Truncate(v, 2000))
	}
	seen, _ := good(t, "inspect", broken)
	_, reason, found := strings.Cut(seen, "left out: observation.images.front, ")
	require.True(t, found, seen)
	reason, _, _ = strings.Cut(reason, "\n")
	for _, a := range [][]string{args, append(args[:1:1], args[2:]...)} {
		code, _, stderr = execute(append(a, broken)...)
		assert.Equal(t, exitInput, code)
		assert.Contains(t, stderr, reason)
	}
}

// With --video-backend a row has LeRobot's frame. Where a row has none, the target is not valid.
func TestVideoBackendsOfBatches(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	recording := "../../../shared/data/lerobot_studio/lerobotv2"
	if _, err := os.Stat(recording); err != nil {
		t.Skip("the shared recordings are not here: ", recording)
	}
	camera, drawn := "observation.images.cam", filepath.Join(t.TempDir(), "drawn")
	require.NoError(t, os.CopyFS(drawn, os.DirFS(recording)))
	args := []string{"batches", drawn, "--streaming", "--backend=cpu", "--batch=2", "--stream=action", "--camera", camera + "=8x6", "--shuffle=none", "--digest", "--steps=1", "--episodes=0"}
	want, _ := good(t, args...)
	halved := slices.Clone(args)
	halved[slices.Index(args, "--camera")+1] += ",frames=yuv420"
	got, _ := good(t, halved...)
	assert.Equal(t, want, got, "its frames have one colour")
	printed, _ := good(t, slices.DeleteFunc(halved, func(a string) bool { return a == "--digest" })...)
	assert.Regexp(t, `as yuv420, which differs from rgb by \d+\.\d\d in the mean, \d+ at most`, printed)
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 10\nshuffle: none\nstreams: [{name: action}, {name: "+camera+", method: next}]\nwindows: {action: [0, 1]}\n"), 0o600))
	planned := append(slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--stream=action" || a == "--shuffle=none" }), "--plan", plan)
	for _, backend := range dataset.VideoBackends {
		got, _ := good(t, append(args, "--video-backend", backend)...)
		assert.Equal(t, want, got, "its times are exact")
	}
	got, _ = good(t, append(planned, "--video-backend", dataset.VideoBackends[0])...)
	assert.Equal(t, want, got, "the plan's method")
	videos, err := filepath.Glob(filepath.Join(drawn, "videos", "*", camera, "*.mp4"))
	require.NoError(t, err)
	require.NotEmpty(t, videos)
	for _, path := range videos { // its clock is 2 % fast: frame 1 is 2 ms late
		b := filetest.Read(t, path)
		binary.BigEndian.PutUint32(b[bytes.Index(b, []byte("mdhd"))+16:], 10040)
		filetest.Write(t, path, b)
	}
	for tolerance, same := range map[string]bool{"1e-3": false, "0.02": true} {
		for i, backend := range dataset.VideoBackends {
			if !thorough.Long && same == (i == 0) {
				continue // by default the first backend misses a frame, and the others have it
			}
			got, stderr := good(t, append(args, "--video-backend", backend, "--tolerance-s", tolerance)...)
			assert.Equal(t, same, got == want, "%s: %s", tolerance, got)
			assert.Equal(t, !same, strings.Contains(stderr, "rows without a video frame"), stderr)
		}
	}
	for text, a := range map[string][]string{
		"--video-backend: got x, want pyav or torchcodec":                                  {"batches", recording, "--video-backend=x"},
		"--tolerance-s: got 1, want 0 or more seconds, with a video backend":               {"batches", recording, "--tolerance-s=1"},
		"--video-backend: got pyav, want none: recordings of aloha are no LeRobot dataset": {"batches", "../../dataset/aloha/testdata/jpeg.hdf5", "--video-backend=pyav"},
		"which has its frames": {"batches", packedStore(t, "../../dataset/aloha/testdata/jpeg.hdf5", "--rate=10"), "--video-backend=pyav"},
	} {
		code, _, stderr := execute(append(a, "--backend=cpu")...)
		assert.NotZero(t, code)
		assert.Contains(t, stderr, text)
	}
}

// With a tolerance longer than a row's time, a row without a frame still does not have its neighbour's.
func TestARowWithoutAFrameHasNoOther(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	recording, dir := "../../../shared/data/lerobot_studio/lerobotv2", t.TempDir()
	if _, err := os.Stat(recording); err != nil {
		t.Skip("the shared recordings are not here: ", recording)
	}
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	drawn, camera := filepath.Join(dir, "drawn"), "observation.images.cam"
	require.NoError(t, os.CopyFS(drawn, os.DirFS(recording)))
	made := filepath.Join(drawn, "videos", "chunk-000", camera, "episode_000000.mp4")
	require.NoError(t, os.Remove(made))
	// frames at 0, 0.5 and 0.6 s: at 10 Hz row 1 is 0.4 s from the frame with its number, and row 2 is 0.3 s
	out, err := exec.Command("ffmpeg", "-v", "error", "-i", strings.Replace(made, drawn, recording, 1), "-vf", `settb=1/10,setpts=if(N\,N+4\,0)`,
		"-vsync", "vfr", "-enc_time_base", "1/10", made).CombinedOutput()
	require.NoError(t, err, string(out))
	good(t, "batches", drawn, "--backend=cpu", "--batch=3", "--episodes=0", "--shuffle=none", "--stream=action", "--camera", camera+"=8x6",
		"--video-backend=torchcodec", "--tolerance-s=0.35", "--out", filepath.Join(dir, "out"))
	assert.Equal(t, []uint8{1, 0, 1}, ofBatch(t, filepath.Join(dir, "out"), camera+".valid"))
}

// packedStore is a recording's store.
func packedStore(t *testing.T, recording string, flags ...string) string {
	store := filepath.Join(t.TempDir(), "s.safetensors")
	good(t, append([]string{"pack", recording, "-o", store}, flags...)...)
	return store
}

// damagedStore is a store with four frames from a camera. The second frame is damaged.
func damagedStore(t *testing.T) (store, camera string) {
	t.Helper()
	store, camera = filepath.Join(t.TempDir(), "s.safetensors"), "observations/images/cam_high"
	good(t, "pack", "../../dataset/aloha/testdata/jpeg.hdf5", "-o", store, "--rate=10", "--media", camera)
	b, err := os.ReadFile(store)
	require.NoError(t, err)
	first := bytes.Index(b, []byte{0xff, 0xd8, 0xff})
	require.Positive(t, first)
	second := bytes.Index(b[first+3:], []byte{0xff, 0xd8, 0xff})
	require.Positive(t, second)
	b[first+3+second] = 0
	require.NoError(t, os.WriteFile(store, filetest.Reseal(t, b), 0o600)) // it was packed so
	return store, camera
}

// Damaged frames are black and counted, and the first damage is reported, for all ways to draw.
func TestDamagedFramesAreCountedAndTold(t *testing.T) {
	store, camera := damagedStore(t)
	for _, more := range [][]string{nil, {"--streaming"}} {
		args := append([]string{"batches", store, "--hz=10", "--backend=cpu", "--batch=1", "--shuffle=none", "--camera", camera + "=8x6"}, more...)
		bad := []float64{}
		for steps := 1; steps <= 4; steps++ {
			stdout, _ := good(t, append(args, "--json", fmt.Sprintf("--steps=%d", steps))...)
			r := unmarshal(t, stdout)
			cam := r["cameras"].([]any)[0].(map[string]any)
			bad = append(bad, cam["bad"].(float64))
			if cam["bad"] == 1.0 {
				assert.Contains(t, cam["first_bad"], "frame 1 of "+camera)
				assert.Contains(t, noteTexts(r), "camera "+camera+": 1 frames could not be decoded, the first: "+cam["first_bad"].(string))
			}
		}
		assert.Equal(t, []float64{1, 1, 1}, bad[1:], "it is decoded for the second batch at the latest, and counted once")
		_, stderr := good(t, args...)
		assert.Contains(t, stderr, "camera "+camera+": 1 frames could not be decoded, the first: dataset: frame 1")
	}
}
