package convert

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/video"
)

// TestAFullDiskIsAnErrorOfTheFile runs itself as a program that may write no more than so many bytes to a file. What is whole stays, nothing else, and
// with room again the conversion goes on.
func TestAFullDiskIsAnErrorOfTheFile(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := os.Getenv("CONVERT_FULL_DISK_IN")
	if dir == "" {
		in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 4000, false))
		for _, to := range []Target{Safetensors(), WebDataset(), RLDS()} {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=^TestAFullDiskIsAnErrorOfTheFile$")
			cmd.Env = append(os.Environ(), "CONVERT_FULL_DISK_IN="+dir, "CONVERT_FULL_DISK_OF="+in, "CONVERT_FULL_DISK_TO="+to.Name())
			text, err := cmd.CombinedOutput()
			require.NoError(t, err, string(text))
			for name := range tree(t, dir) {
				assert.True(t, name == "out/episode-000000.safetensors" || name == ".out.convert.journal", name)
			}
			undisturbed, out := filepath.Join(t.TempDir(), "out"), filepath.Join(dir, "out")
			converts(t, undisturbed, to, Options{}, in)
			converts(t, out, to, Options{}, in)
			assert.Equal(t, tree(t, undisturbed), tree(t, out))
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 50e3, Max: 50e3}))
	to := map[string]Target{"safetensors": Safetensors(), "webdataset": WebDataset(), "rlds": RLDS()}[os.Getenv("CONVERT_FULL_DISK_TO")]
	out := filepath.Join(dir, "out")
	_, err := all(out, to, Options{Workers: 1}, os.Getenv("CONVERT_FULL_DISK_OF"))
	assert.ErrorIs(t, err, syscall.EFBIG)
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	assert.True(t, strings.HasPrefix(path.Path, out), path.Path)
}

// restless is frames of 64x64 pixels that no encoder makes small.
type restless struct{}

func (restless) ReadFrame(_ context.Context, i int) ([]byte, error) {
	b := make([]byte, 64*64*3)
	_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(b) // it never fails
	return b, nil
}

// TestADiskThatIsFullForAnEncoderEndsTheConversion runs itself as TestAFullDiskIsAnErrorOfTheFile does: what the encoder has no room for is no episode
// that is skipped.
func TestADiskThatIsFullForAnEncoderEndsTheConversion(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := os.Getenv("CONVERT_FULL_ENCODER_IN")
	if dir == "" {
		if _, err := exec.LookPath("ffmpeg"); err != nil {
			t.Skip("no program ffmpeg")
		}
		list := []*dataset.Episode{recorded(t, 1, 3, false), recorded(t, 2, 200, false)}
		for _, e := range list {
			e.Media = []dataset.Media{{Name: "cam", Times: e.Streams[0].Nanoseconds(), Encoding: "rgb8", Width: 64, Height: 64, Source: restless{}}}
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestADiskThatIsFullForAnEncoderEndsTheConversion$")
		cmd.Env = append(os.Environ(), "CONVERT_FULL_ENCODER_IN="+t.TempDir(), "CONVERT_FULL_ENCODER_OF="+write(t, list...))
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, string(text))
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100e3, Max: 100e3}))
	to, err := LeRobot(LeRobotOptions{Codec: "h264"})
	require.NoError(t, err)
	out := filepath.Join(dir, "out")
	_, err = all(out, to, Options{Workers: 1, Task: "none"}, os.Getenv("CONVERT_FULL_ENCODER_OF"))
	assert.ErrorIs(t, err, syscall.EFBIG)
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	assert.Equal(t, filepath.Join(out, "videos", "cam"), path.Path)
	assert.NoDirExists(t, out)
}

// Of recordings of which some have cameras, those without are not all that a machine without an encoder makes.
func TestWithoutAnEncoderAConversionEnds(t *testing.T) {
	list := []*dataset.Episode{recorded(t, 1, 30, false), recorded(t, 2, 30, false)}
	for _, e := range list {
		e.Media = []dataset.Media{{Name: "cam", Times: e.Streams[0].Nanoseconds(), Encoding: "rgb8", Width: 64, Height: 64, Source: restless{}}}
	}
	in := write(t, list...)
	program := filepath.Join(t.TempDir(), "ffmpeg")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho Unknown encoder >&2\nexit 1\n"), 0o755))
	for _, program := range []string{program, program + "none"} {
		t.Setenv("ROBOCACHE_FFMPEG", program)
		out := filepath.Join(t.TempDir(), "out")
		_, err := all(out, leRobot(t, LeRobotOptions{Codec: "h264"}), Options{Workers: 1, Task: "none"}, in)
		var path *fs.PathError
		require.ErrorAs(t, err, &path, program)
		assert.Equal(t, filepath.Join(out, "videos", "cam"), path.Path)
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
		assert.NoDirExists(t, out)
	}
}

// A decoder that there is not, or that the machine ended, is no episode that is skipped; one that can make nothing of the frames is.
func TestWithoutADecoderAConversionEnds(t *testing.T) {
	needsFFmpeg(t)
	e := recorded(t, 1, 10, false)
	e.Media = []dataset.Media{{Name: "cam", Times: e.Streams[0].Nanoseconds(), Encoding: "rgb8", Width: 64, Height: 64, Source: restless{}}}
	in, _ := made(t, leRobot(t, LeRobotOptions{Codec: "h264"}), Options{Task: "none"}, write(t, e))
	for script, ends := range map[string]bool{"": true, "kill -9 $$": true, "echo Cannot allocate memory >&2; exit 1": true, "echo Invalid data >&2; exit 1": false} {
		program := filepath.Join(t.TempDir(), "ffmpeg")
		if script != "" {
			require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		}
		t.Setenv("ROBOCACHE_FFMPEG", program)
		_, err := all(filepath.Join(t.TempDir(), "out"), WebDataset(), Options{Workers: 1}, in)
		var failed *video.ProgramError
		var nothing *NothingError
		assert.Equal(t, ends, errors.As(err, &failed), "%s: %v", script, err)
		assert.Equal(t, !ends, errors.As(err, &nothing), "%s: %v", script, err)
	}
}
