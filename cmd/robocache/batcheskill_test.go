//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
)

// kills is how many programs a test kills, or times it kills all ranks: ROBOCACHE_KILLS, or a few.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ROBOCACHE_KILLS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "ROBOCACHE_KILLS")
	return n
}

// drawnFrom packs a dataset, and returns the arguments that draw 344 windows an epoch from it.
func drawnFrom(t *testing.T) []string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "kinds.safetensors")
	good(t, "pack", kindsRLDS, "-o", store, "--rate=10")
	return []string{"batches", store, "--hz=200", "--seed=7", "--backend=cpu", "--digest", "--stream=action", "--stream=reward", "--window=reward=-100ms:0s", "--last=short"}
}

// killedAfter runs a program and kills it with -9 some microseconds after so many of its lines, or some milliseconds after its start for none. It returns
// the lines that are whole, and whether the program had ended before.
func killedAfter(t *testing.T, r *rand.Rand, lines int, args ...string) (whole []string, ended bool) {
	t.Helper()
	cmd, _ := program(t, args...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	delay := time.Duration(r.IntN(2000)) * time.Microsecond
	if lines == 0 {
		delay *= 20
	}
	require.NoError(t, cmd.Start())
	kill := func() {
		time.Sleep(delay)
		_ = cmd.Process.Kill()
	}
	if lines == 0 {
		go kill()
	}
	in := bufio.NewReader(stdout)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			assert.ErrorIs(t, err, io.EOF)
			break // a line without a newline is incomplete
		}
		if whole = append(whole, strings.TrimSuffix(line, "\n")); len(whole) == lines {
			go kill()
		}
	}
	err = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
		require.NoError(t, err, stderr.String())
		return whole, true
	}
	return whole, false
}

// killedUntilDone runs a program that numbers its lines and resumes, and kills it after fewer than most lines of a run, until a run ends by
// itself. It returns the lines, how often it was killed, and how many lines came twice.
func killedUntilDone(t *testing.T, r *rand.Rand, most int, args ...string) (lines []string, killed, repeated int) {
	t.Helper()
	for {
		more, ended := killedAfter(t, r, r.IntN(most), args...)
		for _, line := range more {
			number, _, _ := strings.Cut(line, " ")
			step, err := strconv.Atoi(number)
			require.NoError(t, err)
			require.LessOrEqual(t, step, len(lines), "a batch was left out")
			require.GreaterOrEqual(t, step, len(lines)-1, "at most the last one is made again")
			if step < len(lines) {
				repeated++
				lines[step] = line
				continue
			}
			lines = append(lines, line)
		}
		if ended {
			return lines, killed, repeated
		}
		killed++
	}
}

// A program killed at any moment and started again writes the same lines and files as an undisturbed one, if the later of two lines with one
// number counts.
func TestWhoIsKilledLeavesNoBatchOut(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	base := append(drawnFrom(t), "--batch=5", "--epochs=2")
	dir := t.TempDir()
	whole, _ := good(t, append(base, "--out", filepath.Join(dir, "whole"))...)
	files := listed(t, filepath.Join(dir, "whole"))
	require.Equal(t, 2*69, len(files))
	r := rand.New(rand.NewPCG(1, 9))
	repeated := 0
	for killed, round := 0, 0; killed < kills(t); round++ {
		out := filepath.Join(dir, "out", strconv.Itoa(round))
		args := append(base, "--state", filepath.Join(dir, fmt.Sprintf("state%d.json", round)), "--out", out)
		lines, deaths, again := killedUntilDone(t, r, 30, args...)
		killed, repeated = killed+deaths, repeated+again
		require.Equal(t, whole, strings.Join(lines, "\n")+"\n")
		require.Equal(t, files, listed(t, out), "what was half-written is gone")
		for _, name := range files {
			want, err := os.ReadFile(filepath.Join(dir, "whole", name))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(out, name))
			require.NoError(t, err)
			require.Equal(t, want, got, name)
		}
		require.NoError(t, os.RemoveAll(out))
	}
	t.Logf("%d lines came twice", repeated)
}

// A program killed while frames of images or videos are decoded, and started again with another level of frames, draws the frames of an
// undisturbed one.
func TestWhoIsKilledLeavesNoFrameOut(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	const changes = "stored=16x12,crop=random,flip=0.5,brightness=0.2,per-frame"
	for name, args := range map[string][]string{
		"images": {"../../dataset/aloha/testdata/jpeg.hdf5", "--rate=10", "--hz=80",
			"--camera=observations/images/cam_high=8x6," + changes, "--window=observations/images/cam_high=-100ms:0s"},
		"log": {greyLog(t, 0), "--hz=10", "--stream=/vec", "--camera=/video=8x6," + changes, "--window=/video=-100ms:0s"},
		"videos": {"../../../shared/data/lerobot_v3_g1", "--episodes=7", "--hz=2", "--stream=action",
			"--camera=observation.images.front=8x6," + changes, "--camera=observation.images.wrist=8x6," + changes, "--window=observation.images.wrist=at:-100ms,0s"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(args[0]); err != nil || name == "videos" && !thorough.Long {
				t.Skip("it takes minutes, and needs the shared recordings")
			}
			base := append([]string{"batches", "--batch=2", "--epochs=2", "--backend=cpu", "--digest", "--last=short", "--shard-windows=4"}, args...)
			whole, _ := good(t, base...)
			r := rand.New(rand.NewPCG(1, 10))
			for killed, round := 0, 0; killed < kills(t); round++ {
				level := loader.FrameLevels[round%len(loader.FrameLevels)]
				lines, deaths, _ := killedUntilDone(t, r, 10, append(base, "--state", filepath.Join(t.TempDir(), "state.json"),
					"--frame-level", string(level), "--streaming="+strconv.FormatBool(round%2 == 0))...)
				killed += deaths
				require.Equal(t, whole, strings.Join(lines, "\n")+"\n", level)
			}
		})
	}
}

// Ranks killed at different moments resume with any other number of ranks and rows. No window is left out, and each window is unchanged.
func TestKilledRanksGoOnAsAnyNumberOfRanks(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	base := slices.Clip(append(drawnFrom(t), "--hz=50"))
	const windows, epochs = 89, 2
	stdout, _ := good(t, append(base, "--batch=1", "--epochs=2")...)
	want := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Equal(t, windows*epochs, len(want))
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(2, 9))
	killed := 0
	for round := 0; killed < kills(t); round++ {
		state := filepath.Join(dir, fmt.Sprintf("state%d.json", round))
		seen := make([]bool, windows*epochs)
		for try := 0; ; try++ {
			// at is the position over all epochs that comes next, to whoever has no file of its own.
			last, err := lastSpot(state, 0, 1)
			require.NoError(t, err)
			at := last.at.Epoch*windows + last.at.Taken
			for p := range at {
				require.True(t, seen[p], "%d is behind the place that was saved and nobody gave it", p)
			}
			if at == windows*epochs {
				break
			}
			world, batch := []int{1, 2, 4, 7}[try%4], 1+r.IntN(thorough.Of(8, 3))
			lines, ends := make([][]string, world), make([]bool, world)
			begins := make([]goOn, world)
			var wait sync.WaitGroup
			for rank := range world {
				begins[rank], err = lastSpot(state, rank, world)
				require.NoError(t, err)
				require.Equal(t, last.at, begins[rank].begun)
			}
			for rank := range world {
				own := rand.New(rand.NewPCG(r.Uint64(), 0))
				wait.Go(func() {
					lines[rank], ends[rank] = killedAfter(t, own, own.IntN(12), append(base, "--epochs=2", "--state", state, fmt.Sprintf("--batch=%d", batch), fmt.Sprintf("--world=%d", world), fmt.Sprintf("--rank=%d", rank))...)
				})
			}
			wait.Wait()
			for rank := range world {
				if !ends[rank] {
					killed++
				}
				for i, line := range lines[rank] {
					hashes := strings.Fields(line)
					step, err := strconv.ParseInt(hashes[0], 10, 64)
					require.NoError(t, err)
					from := begins[rank].at
					require.GreaterOrEqual(t, step, from.Step)
					if i > 0 {
						require.True(t, strings.HasPrefix(lines[rank][i-1], fmt.Sprint(step-1, " ")) || lines[rank][i-1] == fmt.Sprint(step-1))
					}
					epoch, taken := placeAfter(from.Epoch*windows+from.Taken, step-from.Step, windows, int64(batch*world))
					for row, hash := range hashes[1:] {
						p := taken + int64(rank+world*row)
						require.Less(t, p, int64(windows))
						require.Equal(t, strings.Fields(want[epoch*windows+p])[1], hash, "epoch %d, position %d", epoch, p)
						seen[epoch*windows+p] = true
					}
				}
			}
		}
	}
}

// placeAfter is where a batch begins, so many batches after a position over all epochs.
func placeAfter(at, batches int64, windows, taken int64) (epoch, position int64) {
	epoch, position = at/windows, at%windows
	for range batches {
		if position += taken; position >= windows {
			epoch, position = epoch+1, 0
		}
	}
	return epoch, position
}

// A signal ends the command after a whole batch. Lines, files and state match.
func TestASignalEndsBatchesAfterAWholeOne(t *testing.T) {
	dir := t.TempDir()
	base := append(drawnFrom(t), "--batch=2", "--epochs=1000", "--out", filepath.Join(dir, "out"), "--state", filepath.Join(dir, "state.json"))
	steps := 0
	for _, c := range []struct {
		sig  syscall.Signal
		code string
		want int
	}{{syscall.SIGTERM, "0", 0}, {syscall.SIGINT, "0", 0}, {syscall.SIGHUP, "75", 75}} {
		if signal.Ignored(c.sig) { // as nohup has it, and the program keeps it so
			continue
		}
		cmd, temp := program(t, append(slices.Clip(base), "--signal-code", c.code)...)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		in := bufio.NewScanner(stdout)
		for n := 0; in.Scan(); n++ {
			require.True(t, strings.HasPrefix(in.Text(), strconv.Itoa(steps)+" "), in.Text())
			steps++
			if n == 3 {
				require.NoError(t, cmd.Process.Signal(c.sig))
			}
		}
		_ = cmd.Wait() // the error has the exit code
		assert.Equal(t, c.want, cmd.ProcessState.ExitCode(), "it ends by itself")
		assert.Contains(t, stderr.String(), fmt.Sprintf("robocache: ended by a signal after %d batches, which %s has\n", steps, filepath.Join(dir, "state.json")))
		last, err := lastSpot(filepath.Join(dir, "state.json"), 0, 1)
		require.NoError(t, err)
		assert.EqualValues(t, steps, last.at.Step)
		assert.Len(t, listed(t, filepath.Join(dir, "out")), steps)
		assert.Equal(t, []string{"out", "state.json"}, listed(t, dir))
		assert.Empty(t, listed(t, temp))
	}
}

// Programs that draw to one state or folder at once: one works, and the others refuse.
func TestBatchesToOneOutputAreMadeByOneProgram(t *testing.T) {
	dir := t.TempDir()
	base := append(drawnFrom(t), "--batch=1", "--epochs=1000")
	first, _ := program(t, append(slices.Clip(base), "--out", filepath.Join(dir, "out"), "--state", filepath.Join(dir, "state.json"))...)
	stdout, err := first.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, first.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, line)
	go io.Copy(io.Discard, stdout)
	for _, flag := range []string{"--out=" + filepath.Join(dir, "out"), "--state=" + filepath.Join(dir, "state.json")} {
		second, _ := program(t, append(slices.Clip(base), flag)...)
		text, err := second.CombinedOutput()
		require.Error(t, err, string(text))
		assert.Equal(t, exitOther, second.ProcessState.ExitCode(), string(text))
		assert.Contains(t, string(text), "another program is making it")
	}
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	require.NoError(t, first.Wait())
	assert.Equal(t, []string{"out", "state.json"}, listed(t, dir))
}
