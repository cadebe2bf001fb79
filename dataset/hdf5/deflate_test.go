package hdf5

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func deflated(t testing.TB, b []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestDeflateFillsWhatItIsGivenExactly(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 258, 1000, 32768, 70_000} {
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(random.IntN(1 + i%7*40))
		}
		src := deflated(t, want)
		got := make([]byte, n)
		in, err := inflate(got, append(bytes.Clone(src), "what follows"...))
		require.NoError(t, err, n)
		assert.Equal(t, len(src), in, n)
		assert.True(t, bytes.Equal(want, got), n)

		_, err = inflate(make([]byte, n+1), src)
		assert.EqualError(t, err, "fewer bytes than expected", n)
		if n > 0 {
			_, err = inflate(make([]byte, n-1), src)
			assert.EqualError(t, err, "more bytes than expected", n)
		}
	}
}

func TestDeflateThatIsCutOrBrokenIsAnErrorThatSaysWhere(t *testing.T) {
	want := []byte(fmt.Sprint(rand.New(rand.NewPCG(3, 4)).Perm(300)))
	src := deflated(t, want)
	for n := range src {
		in, err := inflate(make([]byte, len(want)), src[:n])
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, n)
		require.Equal(t, n, in, "it reads up to the cut")
	}
	for i := range src {
		broken := bytes.Clone(src)
		broken[i] ^= 0x10
		got := make([]byte, len(want))
		if in, err := inflate(got, broken); err == nil { // bits between the last block and the checksum say nothing
			require.Equal(t, want, got, i)
		} else {
			require.LessOrEqual(t, in, len(src))
		}
	}
	got := make([]byte, len(want))
	_, err := inflate(got, src)
	require.NoError(t, err, "what failed before it leaves nothing behind")
	require.Equal(t, want, got)
}
