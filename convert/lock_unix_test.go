//go:build linux || darwin

package convert

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// Who begins to make what another makes is refused, and the other is not disturbed; a lock that a killed program has left is none.
func TestTwoDoNotMakeOneShard(t *testing.T) {
	in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 25, false))
	dir := t.TempDir()
	for out, in := range map[string]string{filepath.Join(dir, "out"): in, filepath.Join(dir, "out.npz"): filepath.Join(in, "run1.mcap")} {
		filetest.Write(t, filepath.Join(dir, "."+filepath.Base(out)+".convert.lock"), "")
		refused := 0
		list, err := all(out, NPZ(), Options{Workers: 1, Progress: func(p Progress) {
			_, err := all(out, NPZ(), Options{}, in)
			var option *OptionError
			require.ErrorAs(t, err, &option)
			assert.Contains(t, option.Got, "which another program is making")
			refused++
		}}, in)
		require.NoError(t, err)
		assert.Equal(t, list[0].Converted, refused)
		assert.NoFileExists(t, filepath.Join(dir, "."+filepath.Base(out)+".convert.lock"))
	}
}
