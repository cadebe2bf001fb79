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

	"github.com/robocache/robocache/internal/test/filetest"
)

// A fenced block of a document that is tested stands behind a comment that says what it is:
//
//	<!-- program: NAME -->   a Go program, which is built and run
//	<!-- commands: NAME -->  shell commands, which are run
//	<!-- file: NAME -->      a file that stands in the folder where they run
//	<!-- output: NAME -->    what the program or the commands of that name print
//	<!-- example: NAME -->   what the example of that name prints
//	<!-- source: FILE -->    lines of a file of this module
//
// They run in a folder of their own for each document, in the order of the document, with examples/data and the binary robocache. What is different in
// each run of a command, since it is of time, is not compared.
var marker = regexp.MustCompile("(?s)<!-- (program|commands|file|output|source|example): ([^ ]+) -->\n```[a-z+]*\n(.*?)```\n")

// timed is what robocache batches prints that is of time.
var timed = regexp.MustCompile(`\d+ a second|read in [0-9.]+ s|bound by .*|read \d+ shards.*`)

// documents are those whose blocks are tested.
func documents(t *testing.T) []string {
	list, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	return append([]string{"README.md"}, list...)
}

type piece struct{ kind, name, text string }

// pieces returns the blocks of a document that are tested.
func pieces(t *testing.T, document string) []piece {
	text := filetest.Read(t, document)
	var list []piece
	for _, m := range marker.FindAllStringSubmatch(string(text), -1) {
		list = append(list, piece{m[1], m[2], m[3]})
	}
	want := regexp.MustCompile("<!-- (program|commands|file|output|source|example): ").FindAll(text, -1)
	assert.Len(t, list, len(want), "%s: each marker stands directly before a block", document)
	return list
}

// build compiles a program of this module and returns its path.
func build(t *testing.T, args ...string) string {
	program := filepath.Join(t.TempDir(), "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	buildTo(t, program, args...)
	return program
}

func buildTo(t *testing.T, program string, args ...string) {
	out, err := exec.Command("go", append([]string{"build", "-o", program}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// commandLine builds robocache into a folder of its own and returns the folder.
func commandLine(t *testing.T) string {
	dir := t.TempDir()
	buildTo(t, filepath.Join(dir, "robocache"), "./cmd/robocache")
	return dir
}

// programOf builds a document's program: an overlay puts it into the module without writing to the tree.
func programOf(t *testing.T, text string) string {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	filetest.Write(t, source, text)
	root, err := os.Getwd()
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "examples", "document", "main.go"): source},
	})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	filetest.Write(t, list, overlay)
	return build(t, "-overlay", list, "./examples/document")
}

func TestDocumentsDoWhatTheySay(t *testing.T) {
	dir := commandLine(t)
	for _, document := range documents(t) {
		list := pieces(t, document)
		if len(list) == 0 {
			continue
		}
		t.Run(document, func(t *testing.T) {
			where := t.TempDir()
			require.NoError(t, os.CopyFS(filepath.Join(where, "examples", "data"), os.DirFS("examples/data"))) // as in a clone
			printed := map[string]string{}
			for _, p := range list {
				var cmd *exec.Cmd
				switch p.kind {
				case "file":
					filetest.Write(t, filepath.Join(where, p.name), p.text)
					continue
				case "source":
					from := filetest.Read(t, filepath.FromSlash(p.name))
					assert.Contains(t, string(from), p.text, "%s shows %s as it was", document, p.name)
					continue
				case "output":
					got, ok := printed[p.name]
					assert.True(t, ok, "%s: output of %q, of which nothing ran before", document, p.name)
					assert.Equal(t, timed.ReplaceAllString(p.text, "TIMED"), timed.ReplaceAllString(got, "TIMED"), "%s: what %s prints", document, p.name)
					continue
				case "example": // below
					continue
				case "program":
					cmd = exec.Command(programOf(t, p.text))
				case "commands":
					if strings.Contains(p.text, "grep ") {
						filetest.NeedPrograms(t, "grep")
					}
					cmd = exec.Command("sh", "-ec", p.text)
				}
				cmd.Dir = where
				cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "ROBOCACHE_LIBCUDA=none", "ROBOCACHE_RANK=0", "ROBOCACHE_WORLD=1")
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s: %s: %s", document, p.name, out)
				printed[p.name] = string(out)
			}
		})
	}
}

func TestDocumentsShowWhatTheExamplesPrint(t *testing.T) {
	log, err := filepath.Abs("examples/data/flight.ulg")
	require.NoError(t, err)
	shown := map[string]string{}
	for _, document := range documents(t) {
		for _, p := range pieces(t, document) {
			if p.kind == "example" {
				shown[p.name] = p.text
			}
		}
	}
	require.NotEmpty(t, shown)
	for name, want := range shown {
		args := []string{"-backend", "cpu"}
		if name == "custom-kernel" {
			args = []string{"-device", "sim"}
		}
		if name == "quickstart" || name == "fuse" {
			args = append(args, "-in", log)
		}
		cmd := exec.Command(build(t, "./examples/"+name), args...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Equal(t, want, string(out))
	}
}

func TestDocumentsLinkToWhatExists(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	code := regexp.MustCompile("(?s)```.*?```")
	for _, name := range treeFiles(t) {
		if filepath.Ext(name) != ".md" {
			continue
		}
		text := filetest.Read(t, name)
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			assert.FileExists(t, filepath.Join(filepath.Dir(name), filepath.FromSlash(m[1])), "%s links to %s", name, m[1])
		}
	}
}

// The README is for a reader in a hurry.
func TestREADMEIsShort(t *testing.T) {
	text := filetest.Read(t, "README.md")
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 150, "lines in README.md")
}
