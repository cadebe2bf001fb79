//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// A task killed at any moment leaves only complete shards. A second run ends with the files of an undisturbed one and no others.
func TestATaskThatIsKilledIsRunAgain(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	want := filepath.Join(dir, "want")
	args := []string{"pack", kindsRLDS, "--rate=10", "--shards=2", "-o"}
	good(t, append(args, want)...)
	equal := func(folder string) (whole int) {
		for _, name := range names(t, folder) {
			if strings.HasPrefix(name, ".") {
				continue
			}
			a, err := os.ReadFile(filepath.Join(want, name))
			require.NoError(t, err)
			b, err := os.ReadFile(filepath.Join(folder, name))
			require.NoError(t, err)
			assert.True(t, string(a) == string(b), "%s after a kill", name)
			whole++
		}
		return whole
	}
	halves := 0
	for i := 0; i < 24; i += thorough.Of(5, 1) {
		folder := filepath.Join(dir, "got")
		require.NoError(t, os.RemoveAll(folder))
		require.NoError(t, os.Mkdir(folder, 0o700))
		cmd, _ := program(t, append(args, folder)...)
		require.NoError(t, cmd.Start())
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		if whenWriting(folder, i%2 == 0, ended); i%3 > 0 {
			time.Sleep(time.Duration(i) * 200 * time.Microsecond)
		}
		cmd.Process.Kill() // which may have ended
		<-ended
		if equal(folder) < 2 {
			halves++
		}
		good(t, append(args, folder)...)
		assert.Equal(t, 2, equal(folder))
		assert.Equal(t, names(t, want), names(t, folder), "what the killed one left is gone")
	}
	assert.Positive(t, halves, "none was killed before it ended")
}
