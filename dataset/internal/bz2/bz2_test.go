package bz2

import (
	"bytes"
	"compress/bzip2"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// streams are what bzip2 1.0.8 packed: see testdata/README.md.
func streams(t testing.TB) map[string][]byte {
	list := map[string][]byte{}
	entries, err := os.ReadDir("testdata")
	require.NoError(t, err)
	for _, e := range entries {
		if b, err := os.ReadFile("testdata/" + e.Name()); err == nil && bytes.HasPrefix(b, []byte("BZh")) {
			list[e.Name()] = b
		}
	}
	require.Len(t, list, 6)
	return list
}

func plainOf(packed []byte) ([]byte, error) {
	return io.ReadAll(bzip2.NewReader(bytes.NewReader(packed)))
}

func TestStreamsBecomeWhatTheStandardLibraryMakesOfThem(t *testing.T) {
	var d Decoder // of all
	for name, packed := range streams(t) {
		want, err := plainOf(packed)
		require.NoError(t, err)
		got, err := d.Append([]byte("before"), packed, len(want)+6)
		require.NoError(t, err, name)
		assert.True(t, bytes.Equal(append([]byte("before"), want...), got), name)
		got, err = d.Append(nil, append(bytes.Clone(packed), "what follows"...), 1<<30)
		require.NoError(t, err, name)
		assert.True(t, bytes.Equal(want, got), name)
		if len(want) > 0 {
			got, err = d.Append(nil, packed, len(want)-1)
			assert.ErrorIs(t, err, ErrTooLarge, name)
			assert.Less(t, len(got), len(want), name)
		}
	}
}

func TestAStreamThatIsCutGivesWholeBlocks(t *testing.T) {
	var d Decoder
	for name, packed := range streams(t) {
		want, err := plainOf(packed)
		require.NoError(t, err)
		for n := 0; n < len(packed); n += 1 + len(packed)/300 {
			got, err := d.Append(nil, packed[:n], 1<<30)
			if len(got) < len(want) && name != "two.bz2" { // of which the first may be all
				require.Error(t, err, "%s, %d bytes", name, n)
			}
			require.True(t, bytes.HasPrefix(want, got), "%s, %d bytes", name, n)
		}
	}
}

// What is broken is an error of both, and neither takes more than there may be.
func TestMutantsAreAsTheStandardLibraryHasThem(t *testing.T) {
	list := streams(t)
	r := rand.New(rand.NewPCG(1, 2))
	var d Decoder
	whole := 0
	for range thorough.Of(150, 500) {
		for name, packed := range list {
			if len(packed) > 3000 {
				continue
			}
			b := bytes.Clone(packed)
			for range 1 + r.IntN(3) {
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
			got, err := d.Append(nil, b, 1<<20)
			want, failed := plainOf(b)
			switch {
			case failed == nil && err != nil: // it takes tables with codes that are none, as no program writes them
				require.ErrorContains(t, err, "a code that there is not", name)
			case failed == nil:
				require.True(t, bytes.Equal(want, got))
				whole++
			}
			if failed != nil && err == nil {
				require.True(t, bytes.HasPrefix(want, got) || bytes.HasPrefix(got, want), "what follows a stream")
			}
		}
	}
	t.Logf("%d whole", whole)
}

func FuzzAppend(f *testing.F) {
	for _, packed := range streams(f) {
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decoder
		got, err := d.Append(nil, b, 1<<20)
		if want, failed := plainOf(b); failed == nil && len(want) <= 1<<20 && err == nil && !bytes.Equal(want, got) {
			t.Fatal(len(want), len(got))
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	packed := streams(b)["imu.bz2"]
	plain, err := plainOf(packed)
	require.NoError(b, err)
	b.Run("by=here", func(b *testing.B) {
		var d Decoder
		buf := make([]byte, 0, len(plain))
		b.SetBytes(int64(len(plain)))
		for b.Loop() {
			if _, err := d.Append(buf, packed, len(plain)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by=standard", func(b *testing.B) {
		buf := make([]byte, len(plain))
		b.SetBytes(int64(len(plain)))
		for b.Loop() {
			if _, err := io.ReadFull(bzip2.NewReader(bytes.NewReader(packed)), buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}
