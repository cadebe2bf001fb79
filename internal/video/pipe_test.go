package video

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

func TestOutputThatIsNotFFmpegsIsAnError(t *testing.T) {
	for _, text := range []string{
		"", "\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff", "\x00", "\x00\x00\x00", "\xa3", "\xa3\x84", "\xa3\x84\x81\x00\x00\x80", "\xe7\x88\xff\xff\xff\xff\xff\xff\xff\xff",
		"\xb0\x84\xff\xff\xff\xff\xba\x84\xff\xff\xff\xff\xa3\x84\x81\x00\x00\x80", "\xec\x81", strings.Repeat("\xec\x80", 1000),
	} {
		p := pictures{r: bufio.NewReader(strings.NewReader(text))}
		_, _, err := p.next()
		assert.Error(t, err, "% x", text)
	}
	const good = "\xe7\x82\x01\x00\xb0\x81\x02\xba\x81\x01\xec\x82??\x2e\xb5\x24\x84I420\xa3\x88\x81\xff\xff\x80abcd"
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		broken := []byte(good)
		broken[rng.IntN(len(good))] = byte(rng.Uint32())
		p := pictures{r: bufio.NewReader(bytes.NewReader(broken))}
		for err := error(nil); err == nil; _, _, err = p.next() {
		}
	}
	p := pictures{r: bufio.NewReader(strings.NewReader(good))}
	ms, picture, err := p.next()
	assert.NoError(t, err)
	assert.Equal(t, int64(255), ms)
	assert.Equal(t, [3][]byte{[]byte("ab"), []byte("c"), []byte("d")}, picture.Data)
	_, _, err = p.next()
	assert.True(t, err == io.EOF)
}

func TestTheTailOfWhatIsSaidIsKept(t *testing.T) {
	var s tail
	for range 1000 {
		_, err := s.Write(bytes.Repeat([]byte("x"), 100))
		require.NoError(t, err)
	}
	_, err := s.Write([]byte("\nthe last @ 0x56284b005340\n"))
	require.NoError(t, err)
	assert.Equal(t, "the last", s.last())
	assert.Less(t, len(s.b), 5000)
	assert.Empty(t, new(tail).last())
}

// A program that the system cannot start, for example without one of its libraries, is no damage of the frames.
func TestAProgramThatCannotStartIsNoDamage(t *testing.T) {
	for _, code := range []int{126, 127} {
		without(t, fmt.Sprintf("cat > /dev/null; echo error while loading shared libraries >&2; exit %d", code))
		refusing := &fake{name: "one", open: &Refusal{Driver: "one", Reason: OtherCodec}}
		_, err := levels(context.Background(), install(t, pyramid, refusing), all)
		var program *ProgramError
		require.ErrorAs(t, err, &program)
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
	}
}
