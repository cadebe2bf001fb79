package mcap

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/memuse"
	"github.com/robocache/robocache/internal/test/thorough"
)

// ROBOCACHE_BIG=5e9 makes a file of so many bytes, of a camera's raw images and joints at 200 Hz, with an index and without, reads all its frames and
// inspects it. TMPDIR is where it lies.
func TestABigFileTakesLittleMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	size := memuse.Bytes(t)
	for name, omit := range map[string]Omit{"indexed": 0, "scanned": OmitSummary} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "big.mcap")
			writeBig(t, path, size, omit)
			largest := memuse.Read(t, func() (dataset.Dataset, error) {
				return dataset.Open(context.Background(), path, dataset.Options{Strict: true})
			}, true, 0)
			memuse.Inspect(t, "../../cmd/robocache", path, largest)
		})
	}
}

func writeBig(t *testing.T, path string, size float64, omit Omit) {
	f, err := os.Create(path)
	require.NoError(t, err)
	w, err := NewWriter(f, WriterOptions{Omit: omit})
	require.NoError(t, err)
	add := func(topic string, schema schemaText) uint16 {
		s, err := w.AddSchema(schema.name, schema.encoding, schema.data)
		require.NoError(t, err)
		c, err := w.AddChannel(topic, "protobuf", s, nil)
		require.NoError(t, err)
		return c
	}
	joints := dataset.Stream{Name: "joints"}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		joints.Columns = append(joints.Columns, dataset.Column{Name: name})
	}
	schema, err := protoNumbers(&joints, true)
	require.NoError(t, err)
	camera, arm := add("/camera", foxgloveSchema("RawImage", Protobuf)), add("/joints", schema)
	rng := rand.New(rand.NewPCG(1, 2))
	pixels := make([]byte, 640*480*3)
	for i := 0; i < len(pixels); i += 8 {
		le.PutUint64(pixels[i:], rng.Uint64())
	}
	const period = 5_000_000
	for n := 0; float64(w.at) < size; n++ {
		at := uint64(n) * period
		if n%10 == 0 {
			le.PutUint64(pixels[rng.IntN(len(pixels)/8)*8:], rng.Uint64())
			b := appendFixed32(appendFixed32(appendStamp(nil, int64(at)), 2, 640), 3, 480)
			b = appendProtoText(appendFixed32(appendProtoText(b, 4, "rgb8"), 5, 640*3), 6, pixels)
			require.NoError(t, w.Message(&Message{camera, uint32(n), at, at, b}))
		}
		row := make([]float64, 7)
		for i := range row {
			row[i] = math.Sin(float64(n+i) / 100)
		}
		require.NoError(t, w.Message(&Message{arm, uint32(n), at, at, appendDoubles(nil, row...)}))
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	t.Logf("%d messages in %d bytes, %d chunks", w.stats.MessageCount, w.at, len(w.chunks))
}
