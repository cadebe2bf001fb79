package lzf

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompressionOfWhateverComesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 4, 31, 32, 33, 34, 127, 128, 129, 263, 264, 265, 266, 1000, 8191, 8192, 8193, 20000} {
		for _, letters := range []int{1, 2, 4, 256} {
			src := make([]byte, n)
			for i := range src {
				src[i] = byte(r.IntN(letters))
			}
			packed := Compress(nil, src)
			out := make([]byte, n)
			_, err := Decompress(out, packed)
			require.NoError(t, err, "%d bytes of %d letters", n, letters)
			assert.True(t, bytes.Equal(src, out), "%d bytes of %d letters", n, letters)
			assert.LessOrEqual(t, len(packed), n+(n+31)/32)
			if letters == 1 && n >= 1000 {
				assert.Less(t, len(packed), n/50)
			}
		}
	}
}
