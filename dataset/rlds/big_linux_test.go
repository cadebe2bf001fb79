package rlds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/memuse"
	"github.com/robocache/robocache/internal/test/thorough"
)

// ROBOCACHE_BIG=5e9 makes datasets of so many bytes in 64 shards, of the records of BridgeData V2 and of large ones with four cameras, reads each
// twice and inspects it.
func TestABigDatasetTakesLittleMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	want := memuse.Bytes(t)
	t.Run("recorded", func(t *testing.T) {
		const shared = "../../../shared/data/bridge_rlds/"
		records, err := os.ReadFile(shared + "bridge_dataset-train.tfrecord-00000-of-00001")
		if err != nil {
			t.Skip("no shared recordings beside the project: bridge_rlds")
		}
		features := filetest.Read(t, shared+featuresFile)
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
	filetest.Write(t, filepath.Join(dir, infoFile), info(lengths...))
	filetest.Write(t, filepath.Join(dir, featuresFile), features)
	largest := int64(0) // as a record, which is in memory as long as its episode
	s := open(t, dir, Options{Strict: true})
	for _, f := range s.shards {
		for _, r := range f.records {
			largest = max(largest, r.size)
		}
	}
	require.NoError(t, s.Close())
	s, records = nil, nil
	for _, frames := range []bool{false, true} {
		memuse.Read(t, func() (dataset.Dataset, error) { return Open(context.Background(), dir, Options{Strict: true}) }, frames, largest)
	}
	memuse.Inspect(t, "../../cmd/robocache", dir, largest)
}
