package robocache_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each folder of the cases in the repository, and of the shared cases, has a test by its name: TestClockSetBackInterleaves in Go, or
// test_clock_set_back_interleaves in Python.
func TestEachCaseHasATestByItsName(t *testing.T) {
	folders, err := filepath.Glob("../shared/cases/*/case.md")
	require.NoError(t, err)
	own, err := os.ReadDir("cmd/robocache/testdata/cases")
	require.NoError(t, err)
	for _, e := range own {
		if e.IsDir() {
			folders = append(folders, filepath.Join("cases", e.Name(), "case.md"))
		}
	}
	inGo, inPython := regexp.MustCompile(`(?m)^func Test(\w+)\(t \*testing\.T\)`), regexp.MustCompile(`(?m)^def test_(\w+)\(`)
	tests := map[string]bool{}
	for _, root := range []string{"cmd", "convert", "dataset", "doctor", "loader", "policy", "python/tests"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			names := inGo
			switch {
			case err != nil:
				return err
			case strings.HasSuffix(path, ".py"):
				names = inPython
			case !strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			for _, m := range names.FindAllSubmatch(text, -1) {
				tests[strings.ToLower(strings.ReplaceAll(string(m[1]), "_", ""))] = true
			}
			return err
		}))
	}
	for _, folder := range folders {
		name := filepath.Base(filepath.Dir(folder))
		assert.True(t, tests[strings.ReplaceAll(name, "-", "")], "%s has a test by its name", name)
	}
}
