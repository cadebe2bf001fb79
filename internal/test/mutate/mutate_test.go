package mutate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

func TestTheEnvironmentSaysWhichMutants(t *testing.T) {
	for text, want := range map[string][2]int{"": {0, 5}, "1000": {0, 1000}, "17-18": {17, 18}, "many": {0, 5}} {
		first, last := numbers(text, 5)
		assert.Equal(t, want, [2]int{first, last}, text)
	}
}

// TestMutantsDifferAndLeaveTheirSeedsAlone: a million mutants of a few short seeds must not be the same few thousand again.
func TestMutantsDifferAndLeaveTheirSeedsAlone(t *testing.T) {
	text := "a text of some words, of which none is much longer than the others"
	p := Plan{Seeds: []Seed{{Name: "a", Data: []byte(text), To: 10}, {Name: "b", Data: []byte("0123456789"), From: 9}, {Name: "nothing"}}, Words: []string{"nan"}}
	seen, head, tail := map[string]bool{}, 0, 0
	for n := range uint64(10_000) {
		m := p.mutant(rand.New(rand.NewPCG(0, n)))
		assert.Equal(t, m, p.mutant(rand.New(rand.NewPCG(0, n))), "the same number is the same mutant")
		seen[string(m.Data)] = true
		if m.Seed.Name == "a" && len(m.Data) > 10 && string(m.Data[:10]) != text[:10] {
			head++
		}
		if m.Seed.Name == "b" && !bytes.HasSuffix(m.Data, []byte("9")) {
			tail++
		}
	}
	assert.Greater(t, len(seen), 5000)
	assert.Greater(t, head, 1500, "faults of the stretch that was asked for")
	assert.Greater(t, tail, 1800, "faults of the end")
	assert.Equal(t, text, string(p.Seeds[0].Data))
}

func TestAllAllocationsAreCounted(t *testing.T) {
	before := taken()
	var kept [][]byte
	for range 1000 {
		kept = append(kept, make([]byte, 10_000))
	}
	assert.GreaterOrEqual(t, taken()-before, uint64(9_500_000), "bytes for %d slices", len(kept))
}

func TestErrorsOfBrokenFilesHaveTypes(t *testing.T) {
	for _, err := range []error{
		&dataset.FormatError{Kind: dataset.ErrCorrupt}, fmt.Errorf("a: %w", &dataset.FormatError{Kind: dataset.ErrTruncated}), &dataset.OptionError{}, &fs.PathError{},
	} {
		assert.NoError(t, Untyped(err))
	}
	for _, err := range []error{&dataset.FormatError{}, errors.New("a"), &dataset.RangeError{}} {
		assert.Error(t, Untyped(err))
	}
}

func TestAMemberComesInItsArchive(t *testing.T) {
	seeds, err := Files("../../../dataset/npz/testdata", "stored.npz")
	require.NoError(t, err)
	a, err := Unzip(seeds[0], 10)
	require.NoError(t, err)
	members := a.Seeds()
	require.Len(t, members, 5)
	b, ok := a.With(Mutant{Seed: &members[1], Data: []byte("other")})
	require.True(t, ok)
	again, err := Unzip(Seed{Name: "stored.npz", Data: b}, 10)
	require.NoError(t, err)
	members[1].Data = []byte("other")
	assert.Equal(t, members, again.Seeds())
	_, ok = a.With(Mutant{Seed: &seeds[0]})
	assert.False(t, ok)
}
