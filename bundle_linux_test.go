package robocache_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// bundle lays out a bundle as gpu_bundle.sh does, with shell scripts in place of test binaries.
func bundle(t *testing.T, packages map[string]string) string {
	filetest.NeedPrograms(t, "bash", "sed", "awk", "grep", "find")
	dir := t.TempDir()
	script := filetest.Read(t, "scripts/gpu_run.sh")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.sh"), script, 0o755))
	filetest.Write(t, filepath.Join(dir, "bundle.txt"), "made for a test\n")
	for name, body := range packages {
		folder := filepath.Join(dir, "tests", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "package.test"), []byte("#!/bin/sh\n"+body), 0o755))
	}
	return dir
}

// run starts run.sh in a bundle and returns what it printed and its exit code.
func run(t *testing.T, dir string, env []string, args ...string) (string, int) {
	cmd := exec.Command("bash", append([]string{filepath.Join(dir, "run.sh")}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); !failed {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

const (
	passes = `echo "=== RUN   TestGood"; echo "--- PASS: TestGood (0.00s)"; echo PASS`
	skips  = `echo "=== RUN   TestShy"; echo "    shy_test.go:3: no GPU here"; echo "--- SKIP: TestShy (0.00s)"; echo PASS`
	fails  = `echo "=== RUN   TestBad"; echo "    bad_test.go:3: the reason"; echo "--- FAIL: TestBad (0.00s)"; echo FAIL; exit 1`
)

func TestRunScriptFailsIfOnePackageFails(t *testing.T) {
	dir := bundle(t, map[string]string{"ops": passes, "ops/cuda": fails, "tensor": passes})
	out, code := run(t, dir, nil)
	assert.Equal(t, 1, code)
	assert.Regexp(t, `(?m)^ok   ops .* 1 passed, 0 failed, 0 skipped$`, out)
	assert.Regexp(t, `(?m)^FAIL ops/cuda .* 0 passed, 1 failed, 0 skipped$`, out)
	assert.Regexp(t, `(?s)ok   tensor.*==== ops/cuda\n.*the reason\n--- FAIL: TestBad.*FAIL: 1 of 3 packages\n$`, out)
}

func TestRunScriptTakesAPatternAndFlags(t *testing.T) {
	dir := bundle(t, map[string]string{"ops": fails, "ops/cuda": `[ "$4" = "-test.run=A|B" ] `, "tensor": fails})
	out, code := run(t, dir, nil, "cuda$", "--", "-test.run=A|B")
	assert.Equal(t, 0, code, "%s", out)
	out, code = run(t, dir, nil, "nothing")
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "no package matches nothing")
}

func TestRunScriptTellsEverySkip(t *testing.T) {
	out, code := run(t, bundle(t, map[string]string{"ops": skips}), nil)
	assert.Equal(t, 0, code)
	assert.Regexp(t, `(?m)^skipped:\n  ops, 1: no GPU here\n +TestShy\n`, out)
}

func TestRunScriptRequiresAGPU(t *testing.T) {
	dir := bundle(t, map[string]string{"ops": `[ "$ROBOCACHE_REQUIRE_GPU" = 1 ]`})
	_, code := run(t, dir, nil)
	assert.Equal(t, 0, code)
	_, code = run(t, dir, []string{"ROBOCACHE_REQUIRE_GPU=1"}, "--allow-no-gpu")
	assert.Equal(t, 1, code)
}

func TestRunScriptReportsTheSanitizer(t *testing.T) {
	tools := t.TempDir()
	fake := "#!/bin/sh\n[ \"$1\" = --version ] && exit\necho '========= ERROR SUMMARY: 2 errors'\nexit 99\n"
	require.NoError(t, os.WriteFile(filepath.Join(tools, "compute-sanitizer"), []byte(fake), 0o755))
	path := "PATH=" + tools + ":" + os.Getenv("PATH")
	out, code := run(t, bundle(t, map[string]string{"ops": passes}), []string{path}, "--sanitizer", "memcheck")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "memcheck found errors; ERROR SUMMARY: 2 errors")
	_, code = run(t, bundle(t, map[string]string{"ops": passes}), []string{path}, "--sanitizer", "other")
	assert.Equal(t, 2, code)
}

func TestRunScriptPassesAPackageThatNeverCallsTheDriver(t *testing.T) {
	tools := t.TempDir()
	fake := "#!/bin/sh\n[ \"$1\" = --version ] && exit\nfor a; do case $a in ./*) \"$a\" || exit; esac; done\n" +
		"echo '========= Error: Target application terminated before first instrumented API call'\nexit 255\n"
	require.NoError(t, os.WriteFile(filepath.Join(tools, "compute-sanitizer"), []byte(fake), 0o755))
	path := "PATH=" + tools + ":" + os.Getenv("PATH")
	out, code := run(t, bundle(t, map[string]string{"ops": passes}), []string{path}, "--sanitizer", "memcheck")
	assert.Equal(t, 0, code, "%s", out)
	assert.Contains(t, out, "it never calls the driver")
	_, code = run(t, bundle(t, map[string]string{"ops": fails}), []string{path}, "--sanitizer", "memcheck")
	assert.Equal(t, 1, code)
}

func TestRunScriptEndsAPackageThatHangs(t *testing.T) {
	out, code := run(t, bundle(t, map[string]string{"ops": "exec sleep 100"}), []string{"RUN_GRACE=0"}, "--timeout", "1")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "killed after 1 s")
}
