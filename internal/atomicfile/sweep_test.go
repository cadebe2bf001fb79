package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSweepTakesWhatAKilledProgramLeftAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	f, err := create(filepath.Join(dir, "own.json")) // and never finished
	require.NoError(t, err)
	require.NoError(t, f.f.Close())
	f.release() // as the end of the program does
	left := filepath.Base(f.f.Name())
	kept := []string{strings.Replace(left, "own", "other", 1), left[1:], strings.TrimSuffix(left, ".tmp"), ".own.json.0123.tmp", "own.json"}
	for _, name := range kept {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, Sweep(dir, func(name string) bool { return name == "own.json" }))
	assert.ElementsMatch(t, kept, names(t, dir))
	assert.Error(t, Sweep(filepath.Join(dir, "none"), func(string) bool { return true }))
}

// A program that was killed between the two renames has left the old folder beside its name, and perhaps the new one.
func TestSweepGivesAFolderThatWasToBeReplacedItsNameBack(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	for _, have := range []string{"no name", "a name"} {
		f, err := NewFolder(name, true)
		require.NoError(t, err)
		f.release() // as the end of the program does
		require.NoError(t, os.Mkdir(f.temporary+replaced, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(f.temporary+replaced, have), nil, 0o600))
		require.NoError(t, Sweep(dir, func(name string) bool { return name == "out" }))
		assert.Equal(t, []string{"out"}, names(t, dir), have)
		assert.Equal(t, []string{"no name"}, names(t, name), "what has the name keeps it")
	}
}
