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
			packed := compress(nil, src)
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

const (
	maxDistance = 1 << 13
	hashBits    = 14
)

// compress appends src in LZF. What cannot be compressed grows by a byte in 32.
func compress(dst, src []byte) []byte {
	var seen [1 << hashBits]int // one more than where three bytes were last
	literal := 0
	flush := func(end int) {
		for literal < end {
			n := min(end-literal, maxLiteral)
			dst = append(append(dst, byte(n-1)), src[literal:literal+n]...)
			literal += n
		}
	}
	for at := 0; at+3 <= len(src); {
		h := (uint32(src[at])<<16 | uint32(src[at+1])<<8 | uint32(src[at+2])) * 2654435761 >> (32 - hashBits)
		from := seen[h] - 1
		seen[h] = at + 1
		if from < 0 || at-from > maxDistance || [3]byte(src[from:]) != [3]byte(src[at:]) {
			at++
			continue
		}
		n := 3
		for n < maxCopy && at+n < len(src) && src[from+n] == src[at+n] {
			n++
		}
		flush(at)
		distance := at - from - 1
		if n-2 < 7 {
			dst = append(dst, byte((n-2)<<5|distance>>8), byte(distance))
		} else {
			dst = append(dst, byte(7<<5|distance>>8), byte(n-2-7), byte(distance))
		}
		at += n
		literal = at
	}
	flush(len(src))
	return dst
}
