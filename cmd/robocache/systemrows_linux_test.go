package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// A file table that is nearly full ends the command; before, episodes were skipped.
func TestTenDescriptorsAreNoSmallerDataset(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	g1, err := filepath.Abs("../../examples/data/g1")
	require.NoError(t, err)
	turtles, err := filepath.Abs("../../examples/data/turtles2/turtles2_0.mcap")
	require.NoError(t, err)
	size := "--size=small"
	if thorough.Long {
		size = "--size=seed"
	}
	set := t.TempDir()
	for i := range 8 {
		require.NoError(t, os.Symlink(turtles, filepath.Join(set, fmt.Sprintf("%d.mcap", i))))
	}
	for _, args := range [][]string{{"stats", set}, {"pack", set, "-o", "OUT"}, {"batches", set, "--hz=10", "--batch=2", "--steps=2", "--backend=cpu"}, {"doctor", set}, {"inspect", set},
		{"train", g1, shortPlan(t), size, "--steps=1", "--batch=2", "--hold-out=1", "--backend=cpu", "--out", "OUT"}} {
		for _, limit := range []int{10, 9, 11}[:thorough.Of(1, 3)] {
			out := t.TempDir()
			cmd, _ := program(t, strings.Split(strings.ReplaceAll(strings.Join(args, "\x00"), "OUT", filepath.Join(out, "o.safetensors")), "\x00")...)
			limited := exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, limit)}, cmd.Args...)...)
			limited.Env = cmd.Env
			text, err := limited.CombinedOutput()
			assert.NotContains(t, string(text), "skipped", "%v with %d", args, limit)
			if err != nil {
				assert.Equal(t, exitOther, limited.ProcessState.ExitCode(), "%v with %d: %s", args, limit, text)
				assert.Contains(t, string(text), "too many open files", "%v with %d", args, limit)
			}
		}
	}
}

// A pipe in place of a dataset's file is refused, and not waited for.
func TestAPipeInPlaceOfAFileIsRefused(t *testing.T) {
	for _, name := range []string{"data/chunk-000/file-000.parquet", "meta/info.json", "meta/tasks.parquet", "meta/episodes/chunk-000/file-000.parquet"} {
		set := filepath.Join(t.TempDir(), "g1")
		require.NoError(t, os.CopyFS(set, os.DirFS("../../examples/data/g1")))
		at := filepath.Join(set, filepath.FromSlash(name))
		require.NoError(t, os.Remove(at))
		require.NoError(t, syscall.Mkfifo(at, 0o600))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for _, command := range []string{"doctor", "inspect", "stats"} {
				code, _, stderr := execute(command, set)
				assert.Equal(t, exitInput, code, "%s: %s: %s", command, name, stderr)
			}
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal(name, " is waited for")
		}
	}
}

// A folder below /proc is read by the same rules as any folder: a file that the system refuses to read ends the command with exit code 1 and the file's
// name, and a command that finds no recording ends with 3. None waits.
func TestAFolderOfTheKernelIsNoSpecialCase(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for folder, codes := range map[string][]int{"/proc/self": {exitOther}, "/sys/class": {exitInput}, "/proc/self/mem": {exitOther, exitInput}} {
		for _, command := range []string{"inspect", "doctor", "stats"} {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				code, _, stderr := execute(command, folder)
				assert.Contains(t, codes, code, "%s %s: %s", command, folder, stderr)
				assert.Contains(t, stderr, folder)
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal(command, folder, " waits")
			}
		}
	}
}
