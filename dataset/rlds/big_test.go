package rlds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// peak returns the most memory that the process had, bytes, since it was last asked for.
func peak(t *testing.T) int64 {
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

// ROBOCACHE_BIG=5e9 makes datasets of so many bytes in 64 shards, of the records of BridgeData V2 and of large ones with four cameras, and reads each
// twice.
func TestABigDatasetTakesLittleMemory(t *testing.T) {
	want, err := strconv.ParseFloat(os.Getenv("ROBOCACHE_BIG"), 64)
	if err != nil {
		t.Skip("no bytes in ROBOCACHE_BIG: a dataset larger than the shared recordings is not made")
	}
	t.Run("recorded", func(t *testing.T) {
		const shared = "../../../shared/data/bridge_rlds/"
		records, err := os.ReadFile(shared + "bridge_dataset-train.tfrecord-00000-of-00001")
		if err != nil {
			t.Skip("no shared recordings beside the project: bridge_rlds")
		}
		features, err := os.ReadFile(shared + featuresFile)
		require.NoError(t, err)
		big(t, want, records, string(features), 25)
	})
	t.Run("generated", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		big(t, want, recordsOf(typical(rng, 300, 26, 4).bytes(), typical(rng, 200, 26, 4).bytes()), typicalFeatures(26, 4), 2)
	})
}

// big reads a dataset that has n records again and again.
func big(t *testing.T, want float64, records []byte, features string, n int) {
	dir := t.TempDir()
	const shards = 64
	each := int(want)/shards/len(records) + 1
	var lengths []int
	for i := range shards {
		file, err := os.Create(filepath.Join(dir, fmt.Sprintf("d-train.tfrecord-%05d-of-%05d", i, shards)))
		require.NoError(t, err)
		for range each {
			_, err := file.Write(records)
			require.NoError(t, err)
		}
		require.NoError(t, file.Close())
		lengths = append(lengths, n*each)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, infoFile), []byte(info(lengths...)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, featuresFile), []byte(features), 0o600))
	size := float64(len(records)) * shards * float64(each)
	records = nil
	debug.FreeOSMemory()
	peak(t)
	before := peak(t)
	for _, frames := range []bool{false, true} {
		began := time.Now()
		s := open(t, dir, Options{Strict: true})
		opened := time.Since(began)
		began = time.Now()
		count, largest := 0, int64(0)
		for e, err := range dataset.Episodes(context.Background(), s) {
			require.NoError(t, err)
			count++
			for _, m := range e.Media {
				for i := range m.Len() {
					if !frames {
						break
					}
					_, err := m.Frame(context.Background(), i)
					require.NoError(t, err)
				}
			}
		}
		took := time.Since(began)
		for _, f := range s.shards {
			for _, r := range f.records {
				largest = max(largest, r.size)
			}
		}
		most := peak(t)
		t.Logf("%.0f MB, %d episodes, the largest %.1f MB, frames %v: opened in %v, read in %v: %.0f MB/s; memory %.0f MB before, at most %.0f MB",
			size/1e6, count, float64(largest)/1e6, frames, opened.Round(time.Millisecond), took.Round(time.Millisecond), size/1e6/took.Seconds(),
			float64(before)/1e6, float64(most)/1e6)
		assert.Equal(t, s.Len(), count)
		assert.Less(t, most-before-largest, int64(200e6))
	}
}
