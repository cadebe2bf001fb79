package robocache_test

import (
	"archive/zip"
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

// fuzzTargets returns what .clusterfuzzlite/build.sh lists of each fuzz target: its folder, function and program.
func fuzzTargets(t *testing.T) (targets [][]string) {
	t.Helper()
	filetest.NeedPrograms(t, "bash", "sed")
	filetest.NeedRepository(t, ".")
	list, err := exec.Command("bash", ".clusterfuzzlite/build.sh", "--list").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(list)) {
		targets = append(targets, strings.Fields(line))
	}
	return targets
}

func TestTheFuzzBuildFindsEachTarget(t *testing.T) {
	var listed, want []string
	for _, target := range fuzzTargets(t) {
		listed = append(listed, strings.Join(target[:2], " "))
	}
	require.NoError(t, filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Fuzz\w*)\(f \*testing\.F\)( *\{.*\}$|(?s:.*?)^\})`).FindAllStringSubmatch(string(b), -1) {
			want = append(want, filepath.ToSlash(filepath.Dir(path))+" "+m[1])
			assert.Regexp(t, `f\.Add\(|\w\(f, `, m[2], "%s of %s adds no seed, and calls nothing that does", m[1], path)
		}
		return err
	}))
	assert.ElementsMatch(t, want, listed)
}

// The build compiles each target once, and packs the test data of each folder that has some below 64 KiB.
func TestTheFuzzBuildCompilesAndPacksSeeds(t *testing.T) {
	filetest.NeedPrograms(t, "bash", "sed", "zip")
	bin, out := t.TempDir(), t.TempDir()
	compiled := filepath.Join(out, "compiled")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "compile_native_go_fuzzer_v2"), []byte("#!/bin/sh\necho \"$@\" >>\"$OUT/compiled\"\n"), 0o700))
	cmd := exec.Command("bash", ".clusterfuzzlite/build.sh")
	cmd.Env = append(os.Environ(), "OUT="+out, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	text, err := os.ReadFile(compiled)
	require.NoError(t, err)
	var want string
	for _, target := range fuzzTargets(t) {
		want += "github.com/robocache/robocache/" + target[0] + " " + target[1] + " " + target[2] + "\n"
	}
	assert.Equal(t, want, string(text))
	for _, name := range []string{"dataset_npz_FuzzRead", "dataset_ulog_FuzzRead", "dataset_mp4_FuzzFile", "dataset_hdf5_FuzzRead"} {
		seeds, err := zip.OpenReader(filepath.Join(out, name+"_seed_corpus.zip"))
		require.NoError(t, err)
		assert.NotEmpty(t, seeds.File, name)
		require.NoError(t, seeds.Close())
	}
}

// The fuzz workflow keeps the corpus from run to run, also of a run that found an error.
func TestTheFuzzCorpusPersists(t *testing.T) {
	b, err := os.ReadFile(".github/workflows/fuzz.yml")
	require.NoError(t, err)
	for _, want := range []string{"schedule:", "actions/cache/restore@", "restore-keys: fuzz-corpus-", "actions/cache/save@", "if: always()", "run: .ci/run fuzz"} {
		assert.Contains(t, string(b), want)
	}
}
