package robocache_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// block returns the fenced block that follows a marker in the README.
func block(t *testing.T, marker string) string {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "<!-- "+marker+" -->\n```")
	require.True(t, ok, "README.md has no block marked %q", marker)
	_, rest, _ = strings.Cut(rest, "\n")
	body, _, ok := strings.Cut(rest, "```\n")
	require.True(t, ok, "the block marked %q has no end", marker)
	return body
}

// build compiles a program of this module and returns its path.
func build(t *testing.T, args ...string) string {
	program := filepath.Join(t.TempDir(), "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	out, err := exec.Command("go", append([]string{"build", "-o", program}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

func TestREADMEProgramPrintsWhatItSays(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(source, []byte(block(t, "program")), 0o644))
	// An overlay puts the program into the module without writing to the tree.
	root, err := os.Getwd()
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "examples", "readme", "main.go"): source},
	})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o644))

	out, err := exec.Command(build(t, "-overlay", list, "./examples/readme")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, block(t, "output: program"), string(out))
}

func TestREADMEShowsWhatTheExamplesPrint(t *testing.T) {
	for _, name := range []string{"quickstart", "voxelize"} {
		cmd := exec.Command(build(t, "./examples/"+name), "-backend", "cpu")
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Equal(t, block(t, "output: "+name), string(out))
	}
}

func TestDocumentsLinkToWhatExists(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	code := regexp.MustCompile("(?s)```.*?```")
	for _, name := range treeFiles(t) {
		if filepath.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			assert.FileExists(t, filepath.Join(filepath.Dir(name), filepath.FromSlash(m[1])), "%s links to %s", name, m[1])
		}
	}
}
