package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// project is a repository with release.sh, a release_check.sh that passes if the file ready is committed, and a go command that writes how it was run.
type project struct {
	t   *testing.T
	dir string
}

func newProject(t *testing.T) *project {
	filetest.NeedPrograms(t, "git", "bash")
	script := filetest.Read(t, filepath.Join(repository(t), "scripts", "release.sh"))
	p := &project{t, tree(t, map[string]string{
		"scripts/release.sh":       string(script),
		"scripts/release_check.sh": "#!/bin/sh\ntest -e ready\n",
		".gitignore":               "/build/\n/bin/\n",
		"bin/go":                   "#!/bin/sh\nout=$4\nmkdir \"$out\" && { echo \"$@\"; ls; git log --format=%s -1; git describe --always --dirty --exclude '*' | grep -o dirty; pwd; } >\"$out/ran\"\nexit 0\n",
	})}
	for _, name := range []string{"scripts/release.sh", "scripts/release_check.sh", "bin/go"} {
		require.NoError(t, os.Chmod(filepath.Join(p.dir, name), 0o755))
	}
	p.git("init", "-q")
	p.commit("first")
	return p
}

func (p *project) git(args ...string) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)...)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	require.NoError(p.t, err, "%s", out)
}

func (p *project) commit(message string) {
	p.git("add", "-A")
	p.git("commit", "-qm", message)
}

// release runs the script from another folder and returns its exit code and what it printed.
func (p *project) release(args ...string) (int, string) {
	cmd := exec.Command(filepath.Join(p.dir, "scripts", "release.sh"), args...)
	cmd.Dir = p.t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); !failed {
		require.NoError(p.t, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (p *project) put(name string) {
	require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte("x"), 0o644))
}

func TestAReleaseIsMadeOfACleanClone(t *testing.T) {
	p := newProject(t)
	p.put("ready")
	p.commit("second")
	p.git("tag", "v1.2.3")
	code, out := p.release("v1.2.3")
	require.Equal(t, 0, code, out)
	ran := filetest.Read(t, filepath.Join(p.dir, "build", "release", "ran"))
	lines := strings.Split(strings.TrimSpace(string(ran)), "\n")
	assert.Equal(t, []string{"run ./scripts/release -o " + filepath.Join(p.dir, "build", "release") + " -version v1.2.3", "ready", "scripts", "second"}, lines[:4])
	require.Len(t, lines, 5, "%s", ran)
	assert.NoDirExists(t, lines[4], "the clone is gone")
	assert.NotEqual(t, p.dir, lines[4])
}

func TestAReleaseOfUncertainContentIsRefused(t *testing.T) {
	p := newProject(t)
	refused := func(code int, words string, args ...string) {
		got, out := p.release(args...)
		assert.Equal(t, code, got, out)
		assert.Contains(t, out, words)
		assert.NoDirExists(t, filepath.Join(p.dir, "build", "release"))
	}
	refused(1, "", "v1.0.0") // no machine code of kernels
	p.put("ready")
	refused(2, "files were changed", "v1.0.0")
	p.commit("second")
	p.git("tag", "v1.0.0")
	refused(2, "the commit has the tag v1.0.0, and 1.0.1 was asked for", "1.0.1")
	refused(2, "is there already", "-o", p.dir)
	refused(2, "no such option", "--all")
	refused(2, "one version", "v1.0.0", "v1.0.0")
}
