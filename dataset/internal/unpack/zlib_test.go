package unpack

import (
	"bytes"
	"compress/zlib"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An inflated chunk has the size that its dataset declares, and the checksum of its stream; else it is an error, with the place in the stream.
func TestAnInflatedChunkHasItsSizeAndItsChecksum(t *testing.T) {
	for _, n := range []int{0, 1, 2, 257, 1000, 70_000, 1 << 20} {
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(i / 3 * (i % 5))
		}
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		_, err := w.Write(want)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		src := out.Bytes()

		got := make([]byte, n)
		in, err := Zlib(got, append(bytes.Clone(src), "bytes after it"...))
		require.NoError(t, err, n)
		assert.Equal(t, len(src), in)
		assert.True(t, bytes.Equal(want, got), n)

		_, err = Zlib(make([]byte, n+1), src)
		assert.ErrorIs(t, err, errShort, n)
		if n > 0 {
			_, err = Zlib(make([]byte, n-1), src)
			assert.ErrorIs(t, err, errLong, n)
		}
		for _, cut := range []int{len(src) - 1, len(src) - 4, len(src) - 5, len(src) / 2, 2, 1, 0} {
			in, err := Zlib(make([]byte, n), src[:cut])
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d: %d of %d bytes", n, cut, len(src))
			assert.LessOrEqual(t, in, cut)
		}
		broken := bytes.Clone(src)
		broken[len(src)-1]++
		in, err = Zlib(make([]byte, n), broken)
		assert.ErrorIs(t, err, zlib.ErrChecksum, n)
		assert.Equal(t, len(src), in)
	}
	in, err := Zlib(make([]byte, 10), []byte("no stream"))
	assert.ErrorIs(t, err, zlib.ErrHeader)
	assert.Zero(t, in)
}
