package rlds

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mutate returns b with one to four faults: bits, bytes, numbers, and stretches that are gone, twice or elsewhere.
func mutate(rng *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + rng.IntN(4) {
		if len(b) == 0 {
			return b
		}
		at := rng.IntN(len(b))
		to := at + rng.IntN(min(len(b)-at, 64)+1)
		switch rng.IntN(8) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = byte(rng.Uint32())
		case 2:
			b[at] = []byte{0, 0x7f, 0x80, 0xff}[rng.IntN(4)]
		case 3:
			b = b[:at]
		case 4:
			b = slices.Delete(b, at, to)
		case 5:
			b = slices.Insert(b, at, slices.Clone(b[at:to])...)
		case 6:
			b = slices.Insert(b, rng.IntN(len(b)+1), slices.Clone(b[at:to])...)
		case 7:
			b = slices.Insert(b, at, binary.AppendUvarint(nil, rng.Uint64()>>rng.IntN(64))...)
		}
	}
	return b
}

// Of eight mutants seven are records whose checksum is right, one is a file: of records, of their features or of what describes the dataset.
// ROBOCACHE_MUTANTS says how many there are, and ROBOCACHE_SEED which.
func TestMutantsAreErrorsOrSound(t *testing.T) {
	const most = 64 << 20 // bytes that a mutant of a few kilobytes may take
	n, err := strconv.Atoi(os.Getenv("ROBOCACHE_MUTANTS"))
	if err != nil {
		n = 4000
	}
	seed, _ := strconv.ParseUint(os.Getenv("ROBOCACHE_SEED"), 10, 64)
	rng := rand.New(rand.NewPCG(seed, 1))
	kinds, err := readFeatures("testdata/kinds/features.json")
	require.NoError(t, err)
	type seedling struct {
		features []*leaf
		record   []byte
	}
	records := []seedling{}
	files := map[string]string{}
	for _, name := range []string{infoFile, featuresFile, "kinds-train.tfrecord-00000-of-00002", "kinds-train.tfrecord-00001-of-00002"} {
		b, err := os.ReadFile(filepath.Join("testdata/kinds", name))
		require.NoError(t, err)
		files[name] = string(b)
	}
	for _, shard := range open(t, "testdata/kinds", Options{}).shards {
		for i := range shard.records {
			b, err := shard.read(t.Context(), i, nil)
			require.NoError(t, err)
			records = append(records, seedling{kinds, b})
		}
	}
	robot := folder(t, typicalFeatures(7, 2), 0, nil)
	features, err := readFeatures(filepath.Join(robot, featuresFile))
	require.NoError(t, err)
	small := typical(rng, 5, 7, 0).with(example{
		"steps/observation/image_0": []string{jpeg, jpeg, jpeg, jpeg, jpeg}, "steps/observation/image_1": []string{png, "", png, png, png},
	})
	records = append(records, seedling{features, small.bytes()})
	dir := write(t, files)
	names := []string{infoFile, featuresFile, "kinds-train.tfrecord-00000-of-00002", "kinds-train.tfrecord-00001-of-00002"}
	var before, after runtime.MemStats
	began := time.Now()
	for i := range n {
		runtime.ReadMemStats(&before)
		if i%8 > 0 {
			from := records[rng.IntN(len(records))]
			sound(t, from.features, mutate(rng, from.record))
		} else {
			name := names[rng.IntN(len(names))]
			b := mutate(rng, []byte(files[name]))
			if rng.IntN(8) == 0 && name != infoFile && name != featuresFile {
				b = mutate(rng, gzipped(b))
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
			all(t, dir, Options{Strict: i%16 == 0})
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o600))
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most), "mutant %d of seed %d", i, seed)
	}
	t.Logf("%d mutants in %v", n, time.Since(began).Round(time.Millisecond))
}
