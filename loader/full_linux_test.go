package loader_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader/store"
)

// TestAFullDiskIsAnErrorOfTheFile runs itself as a program that may write no more than some megabytes to a file.
func TestAFullDiskIsAnErrorOfTheFile(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := os.Getenv("LOADER_FULL_DISK_IN")
	if dir == "" {
		for _, most := range []string{"20", "45"} { // megabytes: it is full when numbers are put aside, or when the file is written
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=^TestAFullDiskIsAnErrorOfTheFile$")
			cmd.Env = append(os.Environ(), "LOADER_FULL_DISK_IN="+dir, "LOADER_FULL_DISK_AT="+most)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			assert.Equal(t, []string{"seen"}, names(t, dir), most)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	d := many(t, 50e6)
	limit := syscall.Rlimit{Cur: 20e6, Max: 20e6}
	if os.Getenv("LOADER_FULL_DISK_AT") == "45" {
		limit = syscall.Rlimit{Cur: 45e6, Max: 45e6}
	}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	path := filepath.Join(dir, "s.safetensors")
	err := store.Pack(context.Background(), d, path, store.BuildOptions{})
	assert.ErrorIs(t, err, syscall.EFBIG)
	var p *fs.PathError
	require.ErrorAs(t, err, &p)
	assert.Equal(t, path, p.Path)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600))
}
