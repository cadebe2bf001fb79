package convert

import (
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAFullDiskIsAnErrorOfTheFile runs itself as a program that may write no more than so many bytes to a file. What is whole stays, nothing else, and
// with room again the conversion goes on.
func TestAFullDiskIsAnErrorOfTheFile(t *testing.T) {
	dir := os.Getenv("CONVERT_FULL_DISK_IN")
	if dir == "" {
		in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 4000, false))
		for _, to := range []Target{Safetensors(), WebDataset()} {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=^TestAFullDiskIsAnErrorOfTheFile$")
			cmd.Env = append(os.Environ(), "CONVERT_FULL_DISK_IN="+dir, "CONVERT_FULL_DISK_OF="+in, "CONVERT_FULL_DISK_TO="+to.Name())
			text, err := cmd.CombinedOutput()
			require.NoError(t, err, string(text))
			for name := range tree(t, dir) {
				assert.True(t, name == "out/episode-000000.safetensors" || name == ".out.convert.journal", name)
			}
			undisturbed, out := filepath.Join(t.TempDir(), "out"), filepath.Join(dir, "out")
			converts(t, undisturbed, to, Options{}, in)
			converts(t, out, to, Options{}, in)
			assert.Equal(t, tree(t, undisturbed), tree(t, out))
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 50e3, Max: 50e3}))
	to := Safetensors()
	if os.Getenv("CONVERT_FULL_DISK_TO") == "webdataset" {
		to = WebDataset()
	}
	out := filepath.Join(dir, "out")
	_, err := all(out, to, Options{Workers: 1}, os.Getenv("CONVERT_FULL_DISK_OF"))
	assert.ErrorIs(t, err, syscall.EFBIG)
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	assert.True(t, strings.HasPrefix(path.Path, out), path.Path)
}
