package memuse

import (
	"context"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
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

// Read opens a dataset and reads all its episodes, with frames all those of their media as well, each dropped before the next. That may take 200 MB
// beyond the largest episode, which is what its streams and clocks take, or largest if that is more.
func Read(t *testing.T, open func() (dataset.Dataset, error), frames bool, largest int64) {
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
	for e, err := range dataset.Episodes(ctx, d) {
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
	t.Logf("%s: %d episodes, the largest %.1f MB, frames %v: opened in %v, read in %v; memory %.0f MB before, at most %.0f MB",
		d.Format(), count, float64(largest)/1e6, frames, opened.Round(time.Millisecond), took.Round(time.Millisecond), float64(before)/1e6, float64(peak)/1e6)
	assert.Equal(t, d.Len(), count)
	assert.Less(t, peak-before-largest, int64(most))
	require.NoError(t, d.Close())
}
