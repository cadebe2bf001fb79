package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/sim"
)

// rankProgram is a rank of several, as torchrun starts it.
type rankProgram struct {
	*exec.Cmd
	out, err transcript
}

// transcript is a program's output so far.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// whenTraining waits until the first of the ranks, which stand in order, trains.
func whenTraining(t *testing.T, all []*rankProgram) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(all[0].out.String(), "states:") }, time.Minute, 20*time.Millisecond)
	time.Sleep(100 * time.Millisecond)
}

// upTo are the numbers below n.
func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// launched starts a command line in so many ranks, in the order of the list.
func launched(t *testing.T, ranks []int, world int, args ...string) []*rankProgram {
	t.Helper()
	temp, err := os.MkdirTemp("", "rc") // this name is short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(temp)) })
	var all []*rankProgram
	for _, rank := range ranks {
		cmd, _ := program(t, args...)
		p := &rankProgram{Cmd: cmd}
		p.Env = append(p.Env, "TMPDIR="+temp, fmt.Sprint("RANK=", rank), fmt.Sprint("WORLD_SIZE=", world), fmt.Sprint("LOCAL_RANK=", rank), fmt.Sprint("LOCAL_WORLD_SIZE=", world),
			"MASTER_ADDR=localhost", "MASTER_PORT=29500", "TORCHELASTIC_RUN_ID="+t.Name())
		p.Stdout, p.Stderr = &p.out, &p.err
		require.NoError(t, p.Start())
		t.Cleanup(func() { _ = p.Process.Kill() })
		all = append(all, p)
	}
	return all
}

// ended waits for all, and returns their exit codes.
func ended(t *testing.T, all []*rankProgram) (codes []int) {
	t.Helper()
	codes = make([]int, len(all))
	var wait sync.WaitGroup
	for i, p := range all {
		wait.Go(func() {
			late := time.AfterFunc(3*time.Minute, func() { _ = p.Process.Kill() })
			_ = p.Wait() // its error is the code
			late.Stop()
			codes[i] = p.ProcessState.ExitCode()
		})
	}
	wait.Wait()
	return codes
}

// hashesOf returns the hashes of the files in a folder and in the folders inside it.
func hashesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	}))
	return all
}

// onRanks runs a test with the CPU in two ranks, and with the GPUs, up to four of them, a rank each; where there is one it is in two.
func onRanks(t *testing.T, test func(t *testing.T, world int, backend, together string)) {
	t.Run("cpu", func(t *testing.T) { test(t, 2, "cpu", "cpu,cpu") })
	t.Run("cuda", func(t *testing.T) {
		names, err := ops.Names("cuda:all")
		if err != nil {
			if os.Getenv("ROBOCACHE_REQUIRE_GPU") == "1" {
				t.Fatal(err)
			}
			t.Skipf("no GPU: %v", err)
		}
		if len(names) == 1 {
			names = append(names, names[0])
		}
		names = names[:min(len(names), 4)]
		test(t, len(names), "cuda", strings.Join(names, ","))
	})
}

// Programs from one launcher train together. The checkpoint equals the checkpoint of one program with all devices, byte for byte, also after
// a resume. Only the first program prints.
func TestRanksWriteTheCheckpointOfOneProgram(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for _, options := range []string{"--policy=bc-transformer --ema=0.75", "--policy=flow --size=tiny --sample-steps=2 --dropout=0.3"} {
		ranksWrite(t, strings.Fields(options)...)
	}
}

func ranksWrite(t *testing.T, options ...string) {
	onRanks(t, func(t *testing.T, world int, backend, together string) {
		dir := t.TempDir()
		short := shortPlan(t)
		args := func(out, backend string) []string {
			return append([]string{"train", g1, short, "--hold-out=2", "--steps=20", "--batch=4", "--accumulate=2", "--json", "--backend", backend, "--out", filepath.Join(dir, out)}, options...)
		}
		one, _ := program(t, args("one", together)...)
		text, err := one.CombinedOutput()
		require.NoError(t, err, string(text))
		ranks := upTo(world)
		slices.Reverse(ranks) // the first comes last
		began := time.Now()
		all := launched(t, ranks, world, args("ranks", backend)...)
		codes := ended(t, all)
		t.Logf("%d ranks of %s: %.1f s", world, backend, time.Since(began).Seconds())
		for i, p := range all {
			require.Zero(t, codes[i], "rank %d: %s%s", ranks[i], p.err.String(), p.out.String())
			if ranks[i] > 0 {
				assert.Empty(t, p.out.String(), "rank %d", ranks[i])
			}
		}
		want := hashesOf(t, filepath.Join(dir, "one"))
		assert.Len(t, want, 6)
		assert.Equal(t, want, hashesOf(t, filepath.Join(dir, "ranks")))
		lines := strings.Split(strings.TrimSpace(all[world-1].out.String()), "\n")
		var last trained
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
		assert.Len(t, last.Devices, world)
		assert.Equal(t, 20, last.Steps)
		assert.NotEmpty(t, last.Skill)
	})
}

// A rank that is killed within a step ends the others within seconds, with an error that names it and the checkpoint of before.
func TestAKilledRankEndsTheOthers(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	onRanks(t, func(t *testing.T, world int, backend, _ string) {
		for _, killed := range []int{0, world - 1} {
			dir := filepath.Join(t.TempDir(), "out")
			all := launched(t, upTo(world), world, "train", g1, "--steps=100000", "--batch=1", "--backend", backend, "--out", dir)
			whenTraining(t, all)
			require.NoError(t, all[killed].Process.Kill())
			began := time.Now()
			codes := ended(t, all)
			assert.Less(t, time.Since(began), time.Minute)
			t.Logf("rank %d of %d killed: the others ended after %.2f s", killed, world, time.Since(began).Seconds())
			for rank, p := range all {
				if rank != killed {
					assert.Equal(t, exitOther, codes[rank], "rank %d: %s", rank, p.err.String())
					assert.Contains(t, p.err.String(), fmt.Sprintf("rank %d has ended", killed))
				}
			}
		}
	})
}

// A signal to one of the ranks ends all after the same step, with a checkpoint.
func TestASignalToARankEndsAll(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	onRanks(t, func(t *testing.T, world int, backend, _ string) {
		dir := filepath.Join(t.TempDir(), "out")
		all := launched(t, upTo(world), world, "train", g1, "--steps=100000", "--batch=1", "--backend", backend, "--out", dir)
		whenTraining(t, all)
		time.Sleep(200 * time.Millisecond) // a signal before the first step leaves no checkpoint
		require.NoError(t, all[world-1].Process.Signal(syscall.SIGTERM))
		for i, code := range ended(t, all) {
			assert.Zero(t, code, "rank %d: %s", i, all[i].err.String())
		}
		assert.Equal(t, []string{"config.json", "loss.png", "model.safetensors", "training.safetensors"}, listed(t, dir))
	})
}

// Invalid combinations fail at once.
func TestRanksThatCannotBe(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--rank 2 --world 2", "--rank and --world: got 2 of 2"},
		{"--rank 0 --world 99", "--rank and --world: got 0 of 99"},
		{"--rank 0", "--rank"},
	} {
		cmd, _ := program(t, append([]string{"train", g1}, strings.Fields(c.args)...)...)
		text, err := cmd.CombinedOutput()
		assert.Error(t, err)
		assert.Contains(t, string(text), c.want)
		assert.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
	}
	cmd, _ := program(t, "train", g1)
	cmd.Env = append(cmd.Env, "RANK=0", "WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8")
	text, err := cmd.CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(text), "but by LOCAL_WORLD_SIZE 8 are on this machine")
}

// Each program uses the device with the index of its rank, from --backend or the launcher.
func TestEachRankTakesADeviceOfItsOwn(t *testing.T) {
	t.Setenv(sim.CountEnv, "4")
	for _, c := range []struct {
		backend     string
		rank, world int
		want        string // empty: an error
	}{
		{"sim", 2, 4, "sim:2"}, {"sim:all", 3, 4, "sim:3"}, {"sim", 1, 2, "sim:1"}, {"sim", 4, 8, ""}, {"cuda:5,cuda:3", 1, 2, "cuda:3"},
		{"cuda:5,cuda:3", 1, 3, ""}, {"cuda:7", 1, 2, "cuda:7"}, {"cpu", 1, 2, "cpu"}, {"cpu,cpu", 0, 1, "cpu,cpu"},
	} {
		train := &training{backend: c.backend, rank: c.rank, world: c.world}
		got, err := train.ownDevice()
		assert.Equal(t, c.want, got, "%+v", c)
		assert.Equal(t, c.want == "", err != nil, "%+v: %v", c, err)
	}
}

// Programs by one launcher meet, and do not meet another launcher's programs.
func TestTheProgramsOfALauncherMeet(t *testing.T) {
	for _, name := range launch {
		t.Setenv(name, "")
	}
	point := func(out, id string) string {
		t.Setenv("TORCHELASTIC_RUN_ID", id)
		path, err := (&training{path: "data", out: out, world: 2}).meetingPoint()
		require.NoError(t, err)
		return path
	}
	all := []string{point("a", "1"), point("a", "2"), point("b", "1"), point("a", "")}
	for i, path := range all {
		assert.NotContains(t, all[:i], path)
	}
	assert.Equal(t, all[0], point("a", "1"))
	t.Setenv("TMPDIR", "/"+strings.Repeat("long", 25))
	assert.LessOrEqual(t, len(point("a", "1")), longestSocket)
}

// Ranks that train on other episodes end before the first step: each prints both hashes and the other rank. They meet at their socket, also without a shared
// folder.
func TestRanksThatTrainOnOtherEpisodesEnd(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "policy")
	all := launched(t, []int{0}, 2, "train", g1, "--size=seed", "--steps=1", "--batch=2", "--hold-out=1", "--backend=cpu", "--out", out)
	env := all[0].Env
	cmd, _ := program(t, "train", g1, "--size=seed", "--steps=1", "--batch=2", "--hold-out=2", "--backend=cpu", "--out", out)
	p := &rankProgram{Cmd: cmd}
	for _, v := range env {
		if v != "RANK=0" && v != "LOCAL_RANK=0" {
			p.Env = append(p.Env, v)
		}
	}
	p.Env = append(p.Env, "RANK=1", "LOCAL_RANK=1")
	p.Stdout, p.Stderr = &p.out, &p.err
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	all = append(all, p)
	for i, code := range ended(t, all) {
		assert.NotEqual(t, exitGood, code)
		assert.Regexp(t, fmt.Sprintf("another dataset or other options in rank %d than in rank %d: [0-9]+ episodes with hash [0-9a-f]{16}, want the same in all: [0-9]+ episodes with hash [0-9a-f]{16}", 1-i, i), all[i].err.String())
	}
	assert.NoDirExists(t, out)
}
