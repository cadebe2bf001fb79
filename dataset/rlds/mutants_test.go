package rlds

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
)

// Most mutants are records whose checksum is right, the others files: of records, of their features or of what describes the dataset.
func TestMutantsDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	kinds, err := readFeatures("testdata/kinds/features.json")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/kinds")))
	names := []string{infoFile, featuresFile, "kinds-train.tfrecord-00000-of-00002", "kinds-train.tfrecord-00001-of-00002"}
	seeds, err := mutate.Files("testdata/kinds", names...)
	require.NoError(t, err)
	seeds = append(seeds, mutate.Seed{Name: names[2], Data: gzipped(seeds[2].Data)})
	features := map[string][]*leaf{} // of seeds that are records
	record := func(name string, of []*leaf, data []byte) {
		features[name] = of
		for range 3 {
			seeds = append(seeds, mutate.Seed{Name: name, Data: data})
		}
	}
	for _, shard := range open(t, "testdata/kinds", Options{}).shards {
		for i := range shard.records {
			b, err := shard.read(t.Context(), i, nil)
			require.NoError(t, err)
			record("a record of kinds", kinds, b)
		}
	}
	robot, err := readFeatures(filepath.Join(folder(t, typicalFeatures(7, 2), 0, nil), featuresFile))
	require.NoError(t, err)
	small := typical(rand.New(rand.NewPCG(1, 2)), 5, 7, 0).with(example{
		"steps/observation/image_0": []string{jpeg, jpeg, jpeg, jpeg, jpeg}, "steps/observation/image_1": []string{png, "", png, png, png},
	})
	record("a record of a robot", robot, small.bytes())
	record("a record that was written", readable(t), writtenRecord(t))
	mutate.Run(t, mutate.Plan{Seeds: seeds, Few: 3000, Most: 64 << 20, Try: func(m mutate.Mutant) {
		if of := features[m.Seed.Name]; of != nil {
			sound(t, of, m.Data)
			return
		}
		require.NoError(t, m.In(dir, func() { all(t, dir, Options{Strict: m.N%2 == 0}) }))
	}})
}
