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

// most is how much memory reading may take beyond the largest episode, bytes.
const most = 200e6

// Bytes returns how large a dataset is to be made, as ROBOCACHE_BIG says: "5e9". Without it the test is skipped.
func Bytes(t *testing.T) float64 {
	t.Helper()
	want, err := strconv.ParseFloat(os.Getenv("ROBOCACHE_BIG"), 64)
	if err != nil {
		t.Skip("no bytes in ROBOCACHE_BIG: a dataset larger than the shared recordings is not made")
	}
	return want
}

// Peak returns the most memory that the process had since it was last asked for, bytes.
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

// workers is how many episodes dataset.Parallel reads at a time here.
const workers = 4

// Read opens a dataset and reads all its episodes one after the other, with frames all those of their media as well, each dropped before the next. That
// may take 200 MB beyond the largest episode, which is what its streams and clocks take, or largest if that is more. Then it reads the episodes by
// dataset.Parallel, which may take 200 MB beyond twice as many of the largest as are in memory at a time: so much garbage Go leaves beside what is in
// use. It returns the bytes of the largest.
func Read(t *testing.T, open func() (dataset.Dataset, error), frames bool, largest int64) int64 {
	t.Helper()
	largest = read(t, open, dataset.Episodes, frames, 1, largest)
	read(t, open, func(ctx context.Context, d dataset.Dataset) iter.Seq2[*dataset.Episode, error] {
		return dataset.Parallel(ctx, d, workers)
	}, false, 2*(workers+1), largest)
	return largest
}

// read reads a dataset's episodes, so many of which may be in memory at a time, and returns what the largest takes.
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

// Inspect runs robocache inspect on a dataset, which may take 200 MB beyond the largest episode. Command is the path of cmd/robocache.
func Inspect(t *testing.T, command, dir string, largest int64) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "robocache")
	out, err := exec.Command("go", "build", "-o", program, command).CombinedOutput()
	require.NoError(t, err, string(out))
	debug.FreeOSMemory()
	Peak(t) // the peak of a child counts that of its parent before
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
