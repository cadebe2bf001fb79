package inflate

import (
	"bytes"
	"compress/zlib"
	"fmt"
	adler "hash/adler32"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inputs are bytes of many kinds: of lengths around what the loops take at once, with runs of every distance, and such that compress well or not at
// all.
func inputs() map[string][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	all := map[string][]byte{}
	for _, n := range []int{0, 1, 2, 7, 8, 9, 15, 16, 17, 257, 258, 259, 276, 277, 278, 1000, 70_000} {
		noise, text, steps, zeros := make([]byte, n), make([]byte, n), make([]byte, n), make([]byte, n)
		for i := range n {
			noise[i] = byte(random.Uint32())
			text[i] = "etaoin shrdlu,.\n"[random.IntN(16)&random.IntN(16)]
			steps[i] = byte(i / 3 * (i % 5))
		}
		all[fmt.Sprint("noise ", n)], all[fmt.Sprint("text ", n)], all[fmt.Sprint("steps ", n)], all[fmt.Sprint("zeros ", n)] = noise, text, steps, zeros
	}
	for distance := 1; distance < 40; distance++ {
		b := make([]byte, 2000)
		for i := range b {
			if b[i] = byte(random.Uint32()); i >= distance && random.IntN(50) > 0 {
				b[i] = b[i-distance]
			}
		}
		all[fmt.Sprint("distance ", distance)] = b
	}
	return all
}

func deflated(t testing.TB, b []byte, level int) []byte {
	var out bytes.Buffer
	w, err := zlib.NewWriterLevel(&out, level)
	require.NoError(t, err)
	_, err = w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestWhatWasCompressedComesBack(t *testing.T) {
	for name, want := range inputs() {
		for level := -2; level <= 9; level++ {
			src := deflated(t, want, level)
			got := make([]byte, len(want))
			in, err := Zlib(got, append(src, "what follows"...))
			require.NoError(t, err, "%s, level %d", name, level)
			require.Equal(t, len(src), in)
			require.True(t, bytes.Equal(want, got), "%s, level %d", name, level)
			if len(want) > 0 {
				_, err = Zlib(make([]byte, len(want)-1), src)
				assert.ErrorIs(t, err, ErrLong, "%s, level %d", name, level)
			}
			_, err = Zlib(make([]byte, len(want)+1), src)
			assert.ErrorIs(t, err, ErrShort, "%s, level %d", name, level)
		}
	}
}

func TestAStreamThatIsCutSaysSo(t *testing.T) {
	for name, want := range inputs() {
		src := deflated(t, want, 6)
		for n := 0; n < len(src); n += 1 + n/200 {
			in, err := Zlib(make([]byte, len(want)), src[:n])
			require.Error(t, err, "%s: %d of %d bytes", name, n, len(src))
			require.LessOrEqual(t, in, n)
		}
	}
}

// same reports whether a stream is to us what it is to compress/zlib: so many bytes, or an error.
func same(src []byte, size int) error {
	got := make([]byte, size)
	in, err := Zlib(got, src)
	want := make([]byte, size+1)
	n := 0
	r, theirs := zlib.NewReader(bytes.NewReader(src))
	if theirs == nil {
		if n, theirs = io.ReadFull(r, want); theirs == io.ErrUnexpectedEOF && n == size || theirs == io.EOF && size == 0 {
			_, theirs = r.Read(want[size:]) // the checksum is compared at the end
			if theirs == io.EOF {
				theirs = nil
			}
		} else if theirs == nil {
			theirs = ErrLong
		}
	}
	switch {
	case (err == nil) != (theirs == nil):
		return fmt.Errorf("ours: %w, theirs: %v", err, theirs)
	case err == nil && !bytes.Equal(got, want[:size]):
		return fmt.Errorf("other bytes")
	case in > len(src):
		return fmt.Errorf("%d bytes of %d", in, len(src))
	}
	return nil
}

func TestBrokenStreamsAreErrorsWhereOthersSaySo(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, data := range inputs() {
		for level := range 10 {
			src := deflated(t, data, level)
			for range 6 {
				broken := bytes.Clone(src)
				for range 1 + random.IntN(3) {
					broken[random.IntN(min(len(broken), 1+random.IntN(len(broken))))] ^= 1 << random.IntN(8)
				}
				require.NoError(t, same(broken, len(data)), "%s, level %d: %x", name, level, broken[:min(100, len(broken))])
			}
		}
	}
}

func FuzzZlib(f *testing.F) {
	for _, data := range inputs() {
		if len(data) < 300 {
			f.Add(deflated(f, data, 6), len(data))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, size int) {
		if size >= 0 && size < 1<<16 {
			require.NoError(t, same(src, size))
		}
	})
}

func BenchmarkZlib(b *testing.B) {
	for _, name := range []string{"text 70000", "steps 70000", "noise 70000", "distance 12"} {
		data := inputs()[name]
		src := deflated(b, data, 6)
		dst := make([]byte, len(data))
		b.Run("ours/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Zlib(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("std/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			r, _ := zlib.NewReader(bytes.NewReader(src))
			for b.Loop() {
				_ = r.(zlib.Resetter).Reset(bytes.NewReader(src), nil)
				_, _ = io.ReadFull(r, dst)
			}
		})
	}
}

func TestTheChecksumIsAdlers(t *testing.T) {
	full := bytes.Repeat([]byte{255}, 200_000)
	for _, data := range append(slices.Collect(maps.Values(inputs())), full, full[:175], full[:176], full[:177], full[:351], full[:352]) {
		require.Equal(t, adler.Checksum(data), adler32(data), len(data))
	}
}
