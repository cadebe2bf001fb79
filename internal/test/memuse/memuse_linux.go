package memuse

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// most is the memory in bytes that reading may take in addition to the largest episode.
const most = 200e6

// Bytes returns the size in bytes for a test's dataset: the number in the variable ROBOCACHE_BIG, for example "5e9". It skips the
// test if the variable has no number.
func Bytes(t *testing.T) float64 {
	t.Helper()
	want, err := strconv.ParseFloat(os.Getenv("ROBOCACHE_BIG"), 64)
	if err != nil {
		t.Skip("no bytes in ROBOCACHE_BIG: a dataset larger than the shared recordings is not made")
	}
	return want
}

// Peak returns the largest memory use of the process since the last call of Peak, in bytes.
func Peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("not a test for root or others without /proc: ", err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, m)
	kb, err := strconv.ParseInt(string(m[1]), 10, 64)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600))
	return kb << 10
}

// workers is the number of episodes that dataset.Parallel reads at a time in these tests.
const workers = 4

// Read opens a dataset and reads all episodes one after the other, with all frames if frames is set. This may take 200 MB in addition
// to the largest episode. An episode counts as the size of its streams and clocks, and the largest as at least the argument largest.
//
// Then Read reads the episodes by dataset.Parallel. This may take 200 MB in addition to 2*(workers+1) times the largest episode,
// because Go keeps about as much garbage as live memory. Read returns the bytes of the largest episode.
func Read(t *testing.T, open func() (dataset.Dataset, error), frames bool, largest int64) int64 {
	t.Helper()
	largest = read(t, open, dataset.Episodes, frames, 1, largest)
	read(t, open, func(ctx context.Context, d dataset.Dataset) iter.Seq2[*dataset.Episode, error] {
		return dataset.Parallel(ctx, d, workers)
	}, false, 2*(workers+1), largest)
	return largest
}

// read reads a dataset's episodes and returns the bytes of the largest. It fails the test if that takes over 200 MB in addition to
// atOnce times the largest.
func read(t *testing.T, open func() (dataset.Dataset, error), episodes func(context.Context, dataset.Dataset) iter.Seq2[*dataset.Episode, error],
	frames bool, atOnce, largest int64,
) int64 {
	t.Helper()
	ctx := context.Background()
	debug.FreeOSMemory()
	Peak(t)
	before := Peak(t)
	began := time.Now()
	d, err := open()
	require.NoError(t, err)
	opened := time.Since(began)
	began = time.Now()
	count := 0
	for e, err := range episodes(ctx, d) {
		require.NoError(t, err)
		count++
		largest = max(largest, e.Bytes())
		for _, m := range e.Media {
			for i := 0; frames && i < m.Len(); i++ {
				_, err := m.Frame(ctx, i)
				require.NoError(t, err)
			}
		}
	}
	took := time.Since(began)
	peak := Peak(t)
	t.Logf("%s: %d episodes, the largest %.1f MB, memory for %d, frames %v: opened in %v, read in %v; memory %.0f MB before, at most %.0f MB", d.Format(),
		count, float64(largest)/1e6, atOnce, frames, opened.Round(time.Millisecond), took.Round(time.Millisecond), float64(before)/1e6, float64(peak)/1e6)
	assert.Equal(t, d.Len(), count)
	assert.Less(t, peak-before-atOnce*largest, int64(most))
	require.NoError(t, d.Close())
	return largest
}

// Inspect runs robocache inspect on a dataset. It fails the test if that takes over 200 MB in addition to the largest episode.
// command is the path of cmd/robocache.
func Inspect(t *testing.T, command, dir string, largest int64) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "robocache")
	out, err := exec.Command("go", "build", "-o", program, command).CombinedOutput()
	require.NoError(t, err, string(out))
	debug.FreeOSMemory()
	Peak(t) // the peak of a child process starts at its parent's
	began := time.Now()
	inspect := exec.Command(program, "inspect", dir)
	out, err = inspect.CombinedOutput()
	require.NoError(t, err, string(out))
	took := time.Since(began)
	usage, ok := inspect.ProcessState.SysUsage().(*syscall.Rusage)
	require.True(t, ok)
	peak := usage.Maxrss << 10
	t.Logf("robocache inspect: %v, at most %.0f MB", took.Round(time.Millisecond), float64(peak)/1e6)
	assert.Less(t, peak-largest, int64(most))
}
