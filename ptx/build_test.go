package ptx

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

const script = "../scripts/build_ptx.sh"

var scriptNeeds = []string{"bash", "grep", "sed", "gzip"}

// needClang skips without the one clang whose PTX is checked in.
func needClang(t *testing.T) {
	out, err := exec.Command("clang++-19", "--version").Output()
	if err != nil {
		t.Skip("no clang-19 here to rebuild the PTX with")
	}
	if !strings.Contains(string(out), "version 19.1.7") {
		t.Skip("this clang is not 19.1.7, whose PTX is checked in")
	}
}

// smallRoot is the folder of smallTree, which TestMain removes.
var smallRoot string

// smallTree makes a small repository around the smallest family, once for all tests.
var smallTree = sync.OnceValues(func() (string, error) {
	root, err := os.MkdirTemp("", "")
	if err != nil {
		return "", err
	}
	smallRoot = root
	for _, pattern := range []string{"../go.mod", "../go.sum", "../CONTRIBUTING.md", script, "copy.cu", "common.cuh", "copy.*.ptx.gz", "internal/*/*.go", "../internal/ptxparse/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			data, err := os.ReadFile(file)
			to := filepath.Join(root, "ptx", file)
			if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o755)); err != nil {
				return "", err
			}
		}
	}
	for _, args := range [][]string{{}, {"-sizes", "CONTRIBUTING.md"}} {
		manifest := exec.Command("go", append([]string{"run", "./ptx/internal/manifest", "-dir", "ptx"}, args...)...)
		manifest.Dir = root
		if out, err := manifest.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	return root, nil
})

// copyTree makes a copy of smallTree, so that the script can be tried on a broken one.
func copyTree(t *testing.T) string {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go here to describe images of clang with: ", err)
	}
	filetest.NeedPrograms(t, scriptNeeds...)
	small, err := smallTree()
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS(small)))
	return root
}

func runScript(root string, env []string, args ...string) (string, error) {
	cmd := exec.Command("bash", append([]string{filepath.Join(root, "scripts", "build_ptx.sh")}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func appendTo(t *testing.T, file, text string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// touch adds a line to a compressed PTX: a second member of the archive, which reads as one text with the first.
func touch(t *testing.T, file string) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte("// touched\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	appendTo(t, file, b.String())
}

func TestUnchangedPTXIsNotWrittenAgain(t *testing.T) {
	needClang(t)
	root := copyTree(t)
	file := filepath.Join(root, "ptx", "copy.sm_90.ptx.gz")
	require.NoError(t, os.Chtimes(file, time.Time{}, time.Unix(1e9, 0)))
	out, err := runScript(root, nil)
	require.NoError(t, err, out)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, int64(1e9), info.ModTime().Unix())
}

func TestCheckNamesEachFileThatDiffers(t *testing.T) {
	needClang(t)
	root := copyTree(t)
	out, err := runScript(root, nil, "--check")
	require.NoError(t, err, out)
	touch(t, filepath.Join(root, "ptx", "copy.sm_80.ptx.gz"))
	out, err = runScript(root, nil, "--check")
	require.Error(t, err)
	assert.Contains(t, out, "ptx/copy.sm_80.ptx is not what its sources give")
	assert.NotContains(t, out, "ptx/copy.sm_90.ptx is not")
	assert.Contains(t, out, "zmanifest.go")
}

func TestSourceThatDoesNotCompileLeavesThePTXAlone(t *testing.T) {
	needClang(t)
	root := copyTree(t)
	appendTo(t, filepath.Join(root, "ptx", "copy.cu"), "not C++\n")
	out, err := runScript(root, nil)
	require.Error(t, err)
	assert.Contains(t, out, "copy.cu does not compile")
	for _, name := range []string{"copy.sm_80.ptx.gz", "copy.sm_90.ptx.gz"} {
		was := filetest.Read(t, name)
		is := filetest.Read(t, filepath.Join(root, "ptx", name))
		assert.Equal(t, string(was), string(is))
	}
}

// fakeTool writes a command that prints a version and, given -o FILE, makes FILE.
func fakeTool(t *testing.T, says string) string {
	path := filepath.Join(t.TempDir(), "tool")
	text := "#!/bin/sh\necho '" + says + "'\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && printf '\\177ELF made' >\"$2\"; shift; done\nexit 0\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

func TestBuildStopsOnAnotherClang(t *testing.T) {
	root := copyTree(t)
	out, err := runScript(root, []string{"CLANG=" + fakeTool(t, "Debian clang version 18.1.8")}, "--check")
	require.Error(t, err)
	assert.Contains(t, out, "is version 18.1.8")
	assert.Contains(t, out, "19.1.7")
	out, err = runScript(root, []string{"CLANG=no-such-clang"})
	require.Error(t, err)
	assert.Contains(t, out, "no-such-clang is not installed")
}

func TestCubinsAreTakenOnlyWithThePTXTheyCameFrom(t *testing.T) {
	root, dir := copyTree(t), t.TempDir()
	ptxas := fakeTool(t, "Cuda compilation tools, release 13.0, V13.0.88")
	out, err := runScript(root, []string{"PTXAS=" + ptxas}, "--cubin", dir)
	require.NoError(t, err, out)
	out, err = runScript(root, nil, "--adopt", dir)
	require.NoError(t, err, out)
	text, err := os.ReadFile(filepath.Join(root, "ptx", "zmanifest.go"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "//go:embed copy.sm_90.cubin.gz\n")
	assert.Contains(t, string(text), `File: "copy.sm_90.cubin", Kind: Cubin, SM: 90, ISA: 78, Toolkit: 13000,`)

	touch(t, filepath.Join(root, "ptx", "copy.sm_90.ptx.gz"))
	out, err = runScript(root, nil, "--adopt", dir)
	require.Error(t, err)
	assert.Contains(t, out, "copy.sm_90.cubin was made from other PTX")
}

func TestAdoptedCubinsLieCompressedUnlessTheyAreLarge(t *testing.T) {
	root, dir := copyTree(t), t.TempDir()
	out, err := runScript(root, []string{"PTXAS=" + fakeTool(t, "Cuda compilation tools, release 13.0, V13.0.88")}, "--cubin", dir)
	require.NoError(t, err, out)
	made, cubin := filepath.Join(dir, "copy.sm_90.cubin"), filepath.Join(root, "ptx", "copy.sm_90.cubin")
	packed := cubin + ".gz"
	for _, c := range []struct {
		size          int
		there, absent string
	}{{278529, cubin, packed}, {278528, packed, cubin}} {
		filetest.Write(t, made, "\x7fELF"+strings.Repeat("x", c.size-4))
		out, err = runScript(root, nil, "--adopt", dir)
		require.NoError(t, err, out)
		assert.FileExists(t, c.there)
		assert.NoFileExists(t, c.absent)
		require.NoError(t, os.Chtimes(c.there, time.Time{}, time.Unix(1e9, 0)))
		out, err = runScript(root, nil, "--adopt", dir)
		require.NoError(t, err, out)
		info, err := os.Stat(c.there)
		require.NoError(t, err)
		assert.Equal(t, int64(1e9), info.ModTime().Unix(), "what has not changed is not written")
	}
}

func TestSpillsAreRefused(t *testing.T) {
	root := copyTree(t)
	ptxas := fakeTool(t, "ptxas info    : 0 bytes stack frame, 16 bytes spill stores, 8 bytes spill loads")
	out, err := runScript(root, []string{"PTXAS=" + ptxas}, "--cubin", t.TempDir())
	require.Error(t, err)
	assert.Contains(t, out, "spills registers")
}

func TestScriptExplainsItself(t *testing.T) {
	filetest.NeedPrograms(t, scriptNeeds...)
	out, err := runScript("..", nil, "--help")
	require.NoError(t, err)
	for _, option := range []string{"--check", "--cubin DIR", "--adopt DIR", "--nvcc"} {
		assert.Contains(t, out, option)
	}
	_, err = runScript("..", nil, "--nonsense")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 2, exit.ExitCode())
}
