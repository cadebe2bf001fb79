package blosc

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// content returns the bytes that testdata/golden.py compresses.
func content(n int) []byte {
	b := make([]byte, n)
	for j := range b {
		b[j] = byte((j / 16) * (1 + j%4) % 23)
	}
	return b
}

// golden is a chunk that c-blosc wrote, and its size after decompression.
type golden struct {
	Name  string
	Size  int
	Chunk []byte
}

func goldens(t testing.TB) (list []golden) {
	f, err := os.Open("testdata/golden.json.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	require.NoError(t, json.NewDecoder(z).Decode(&list))
	return list
}

func TestChunksOfCBloscAreRead(t *testing.T) {
	list := goldens(t)
	require.Len(t, list, 108)
	for _, g := range list {
		got := make([]byte, g.Size)
		require.NoError(t, Expand("blosc", got, g.Chunk), g.Name)
		assert.Equal(t, content(g.Size), got, g.Name)
		assert.Error(t, Expand("blosc", make([]byte, g.Size+1), g.Chunk), g.Name)
	}
}

func TestEncodedChunksAreReadBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, element := range []int{1, 2, 4, 8, 12} {
		for _, n := range []int{1, 7, 8, 100, 1000, 100_000} {
			for name, b := range map[string][]byte{"smooth": content(n), "random": randomBytes(random, n)} {
				chunk := Encode(b, element)
				got := make([]byte, n)
				require.NoError(t, Expand("blosc", got, chunk), "%s %d %d", name, element, n)
				assert.Equal(t, b, got)
				assert.LessOrEqual(t, len(chunk), n+headerSize, "at most stored")
				assert.Equal(t, chunk, Encode(b, element), "the same bytes again")
			}
		}
	}
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestOtherChunksAreRefused(t *testing.T) {
	chunk := Encode(content(1000), 4)
	change := func(at int, v byte) []byte {
		b := bytes.Clone(chunk)
		b[at] = v
		return b
	}
	for name, c := range map[string]struct {
		chunk       []byte
		unsupported bool
	}{
		"blosclz": {change(2, whole), true}, "snappy": {change(2, 2<<5|whole), true}, "Blosc 2": {change(0, 5), true},
		"cut": {chunk[:40], false}, "no header": {chunk[:10], false}, "no elements": {change(3, 0), false}, "block size 0": {append(append(bytes.Clone(chunk[:8]), 0, 0, 0, 0), chunk[12:]...), false},
		"offset": {change(16, 255), false}, "stream size": {change(23, 127), false},
	} {
		var bad *dataset.FormatError
		require.ErrorAs(t, Expand("blosc", make([]byte, 1000), c.chunk), &bad, name)
		assert.Equal(t, c.unsupported, errors.Is(bad, dataset.ErrUnsupported), name)
	}
}

// declared returns the size that a chunk's header states; 0 if it is large.
func declared(b []byte) int {
	if len(b) < headerSize || le.Uint32(b[4:]) > 1<<20 {
		return 0
	}
	return int(le.Uint32(b[4:]))
}

func FuzzExpand(f *testing.F) {
	for _, g := range goldens(f)[:40] {
		f.Add(g.Chunk)
	}
	f.Add(Encode(content(500), 4))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = Expand("blosc", make([]byte, declared(b)), b)
	})
}

func BenchmarkExpand(b *testing.B) {
	for _, shuffle := range []byte{0, byteShuffled, bitShuffled} {
		b.Run(fmt.Sprintf("shuffle=%d", shuffle), func(b *testing.B) {
			src := content(512 << 10)
			chunk := Encode(src, 4)
			chunk[2] = chunk[2]&^(byteShuffled|bitShuffled) | shuffle // the time does not depend on the values
			dst := make([]byte, len(src))
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				if err := Expand("blosc", dst, chunk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
