package filetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Read returns the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// Write writes a file, and creates its folder if it does not exist.
func Write[T string | []byte](t testing.TB, path string, content T) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
}

// NeedPrograms skips a test unless PATH has all the named programs.
func NeedPrograms(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no such program in PATH: ", err)
		}
	}
}

// NeedRepository skips a test if git is missing, or if the folder is not a git clone.
func NeedRepository(t testing.TB, root string) {
	t.Helper()
	NeedPrograms(t, "git")
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("no git clone: ", err)
	}
}
