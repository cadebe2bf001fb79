package release

import (
	"debug/buildinfo"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"

	"github.com/robocache/robocache/internal/test/filetest"
)

const testVersion = "9.8.7rc6"

// here is what this machine runs.
var here = Target("linux/" + runtime.GOARCH)

// repository is the root of the module.
func repository(t *testing.T) string {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	return root
}

var (
	builtOnce sync.Once
	built     string
	builtErr  error
)

// binary builds the tree's command line, once.
func binary(t *testing.T) string {
	root := repository(t)
	builtOnce.Do(func() {
		var dir string
		if dir, builtErr = os.MkdirTemp("", "robocache-test-"); builtErr == nil {
			built = filepath.Join(dir, "robocache")
			builtErr = Build(root, here, testVersion, built)
		}
	})
	require.NoError(t, builtErr)
	return built
}

func TestMain(m *testing.M) {
	code := thorough.SkipRacePackage(m, thorough.Programs)
	if built != "" {
		os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(code)
}

// wheel writes a wheel of the tree for this machine. The licences do not matter here.
func wheel(t *testing.T) string {
	root := repository(t)
	path, err := WriteWheel(t.TempDir(), Wheel{Root: root, Version: testVersion, Arch: runtime.GOARCH, Binary: binary(t), Notices: []byte("-"), Modules: nil})
	require.NoError(t, err)
	return path
}

// copyTree copies what git knows of the repository, changes included, into another folder.
func copyTree(t *testing.T) string {
	root, to := repository(t), t.TempDir()
	filetest.NeedRepository(t, root)
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) || strings.Contains(name, "/testdata/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		require.NoError(t, err)
		filetest.Write(t, filepath.Join(to, name), text)
	}
	return to
}

func TestTheBinaryIsTheSameBytesFromAnyFolder(t *testing.T) {
	thorough.SkipShort(t, "another build takes 2 s of processor time")
	again := filepath.Join(t.TempDir(), "again")
	require.NoError(t, Build(copyTree(t), here, testVersion, again))
	a := filetest.Read(t, binary(t))
	b := filetest.Read(t, again)
	assert.True(t, string(a) == string(b), "%d and %d bytes", len(a), len(b))
}

func TestTheBinaryKnowsItsVersion(t *testing.T) {
	assert.Equal(t, "robocache "+testVersion+" "+runtime.Version()+" "+string(here)+"\n", output(t, nil, binary(t), "--version"))
	info := output(t, []string{"ROBOCACHE_LIBCUDA=none"}, binary(t), "info")
	assert.True(t, strings.HasPrefix(info, "robocache "+testVersion+" "), info)
}

// What is said to be linked in is what the binary says of itself.
func TestTheModulesAreThoseOfTheBinary(t *testing.T) {
	info, err := buildinfo.ReadFile(binary(t))
	require.NoError(t, err)
	want := map[string]string{"std": info.GoVersion}
	for _, d := range info.Deps {
		want[d.Path] = d.Version
	}
	modules, err := Modules(repository(t), []Target{here})
	require.NoError(t, err)
	got := map[string]string{}
	for _, m := range modules {
		got[m.Path] = m.Version
		assert.NotEmpty(t, m.Licences, m.Path)
	}
	assert.Equal(t, want, got)
	text := string(Notices(modules))
	for _, words := range []string{"Copyright 2009 The Go Authors", "SIL OPEN FONT LICENSE", "github.com/klauspost/compress v1.20.4: zstd/internal/xxhash/LICENSE.txt"} {
		assert.Contains(t, text, words)
	}
}

// python3 returns a Python that can make a virtual environment with pip.
func python3(t *testing.T) string {
	for _, p := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(p, "-c", "import venv, ensurepip, sys; sys.exit(sys.version_info < (3, 9))").Run() == nil {
			return p
		}
	}
	t.Skip("no python of 3.9 or newer with venv and ensurepip (Debian: python3-venv)")
	return ""
}

// output runs a program in an empty folder, without what the environment says of Python, and returns what it prints on standard output.
func output(t *testing.T, env []string, name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Dir = t.TempDir()
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PYTHON") && !strings.HasPrefix(v, "PIP_") && !strings.HasPrefix(v, "ROBOCACHE_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_ROOT_USER_ACTION=ignore"), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %q: %s%s", name, args, out, stderr.String())
	return string(out)
}

// files lists what lies in a folder, without what Python compiles.
func files(t *testing.T, dir string) []string {
	var list []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "__pycache__" {
			return filepath.SkipDir
		}
		list = append(list, path)
		return err
	}))
	return list
}

// verify is Python that checks an installed wheel against its RECORD.
const verify = `
import base64, hashlib, importlib.metadata, os
d = importlib.metadata.distribution("robocache")
checked = 0
for f in d.files:
    if f.hash is None:
        continue
    data = f.locate().read_bytes()
    got = base64.urlsafe_b64encode(hashlib.new(f.hash.mode, data).digest()).rstrip(b"=").decode()
    assert (got, len(data)) == (f.hash.value, f.size), f
    checked += 1
binary = [f.locate() for f in d.files if str(f) == "robocache/bin/robocache"]
print(d.version, checked > 10, os.access(binary[0], os.X_OK), d.requires)
`

// greets is Python that starts the helper process, which refuses a package of another version.
const greets = "import robocache; assert robocache.__version__ == robocache.info()['binary_version']; print(robocache.__version__)"

func TestAWheelInstallsWithoutANetwork(t *testing.T) {
	thorough.SkipShort(t, "pip takes 6 s of processor time")
	python, wheel := python3(t), wheel(t)
	said := "robocache " + testVersion + " " + runtime.Version() + " " + string(here) + "\n"
	assert.Equal(t, "None\n", output(t, nil, python, "-c", "import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).testzip())", wheel))

	env := filepath.Join(t.TempDir(), "env")
	own := filepath.Join(env, "bin", "python")
	output(t, nil, python, "-m", "venv", "--without-pip", env)
	run := []string{python, "-m", "pip", "--python", own}
	if exec.Command(python, append(run[1:], "--version")...).Run() != nil { // pip is older than 22.3, or absent
		output(t, nil, python, "-m", "venv", env) // installs the pip that Python contains, in 3 s
		run = []string{own, "-m", "pip"}
	}
	before := files(t, env)
	pip := func(args ...string) string { return output(t, nil, run[0], slices.Concat(run[1:], args)...) }
	pip("install", "--no-index", wheel)
	assert.Equal(t, testVersion+" True True None\n", output(t, nil, own, "-c", verify))
	assert.Equal(t, said, output(t, nil, filepath.Join(env, "bin", "robocache"), "--version"))
	assert.Equal(t, said, output(t, nil, own, "-m", "robocache", "--version"))
	assert.Equal(t, testVersion+"\n", output(t, nil, own, "-c", greets))
	assert.Equal(t, "No broken requirements found.\n", pip("check"))
	pip("uninstall", "--yes", "robocache")
	assert.Equal(t, before, files(t, env))

	target := filepath.Join(t.TempDir(), "target")
	pip("install", "--no-index", "--no-compile", "--target", target, wheel)
	path := []string{"PYTHONPATH=" + target}
	assert.Equal(t, said, output(t, path, python, "-m", "robocache", "--version"))
	assert.Equal(t, said, output(t, path, filepath.Join(target, "bin", "robocache"), "--version"))
	assert.Equal(t, testVersion+"\n", output(t, path, python, "-c", greets))
}
