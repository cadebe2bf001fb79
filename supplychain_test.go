package robocache_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

func TestActionsArePinnedAndPermissionsAreStated(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	pinned := regexp.MustCompile(`^[^@]+@[0-9a-f]{40} # v[0-9.]+$`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(b), "\npermissions:\n  contents: read\n", file)
		for _, m := range regexp.MustCompile(`(?m)uses: *(.*)$`).FindAllStringSubmatch(string(b), -1) {
			assert.Regexp(t, pinned, m[1], file)
		}
	}
}

func TestTheFuzzBuildFindsEachTarget(t *testing.T) {
	filetest.NeedPrograms(t, "bash", "sed")
	filetest.NeedRepository(t, ".")
	list, err := exec.Command("bash", ".clusterfuzzlite/build.sh", "--list").Output()
	require.NoError(t, err)
	want := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Fuzz\w*)\(f \*testing\.F\)`).FindAllStringSubmatch(string(b), -1) {
			want++
			assert.Contains(t, string(list), filepath.ToSlash(filepath.Dir(path))+" "+m[1]+" ")
		}
		return err
	}))
	assert.Equal(t, want, strings.Count(string(list), "\n"))
}
