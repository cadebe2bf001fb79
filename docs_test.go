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
	"github.com/robocache/robocache/internal/test/thorough"
)

// A fenced block of a document that is tested stands behind a comment that says what it is:
//
//	<!-- program: NAME -->   a Go program, which is built and run
//	<!-- commands: NAME -->  shell commands, which are run
//	<!-- file: NAME -->      a file that stands in the folder where they run
//	<!-- output: NAME -->    what the program or the commands of that name print
//	<!-- excerpt: NAME -->   parts of that, with a line ... between them
//	<!-- example: NAME -->   what the example of that name prints
//	<!-- source: FILE -->    lines of a file of this module
//
// They run in a folder of their own for each document, in the order of the document, with examples/data and the binary robocache. What is different in
// each run of a command, since it is of time, is not compared. The programs of testTools stand in for go and for robocache view, which does not end.
var marker = regexp.MustCompile("(?s)<!-- (program|commands|file|output|excerpt|source|example): ([^ ]+) -->\n```[a-z+]*\n(.*?)```\n")

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
	want := regexp.MustCompile("<!-- (program|commands|file|output|excerpt|source|example): ").FindAll(text, -1)
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
	out, err := exec.Command("go", append([]string{"build", "-ldflags=-s -w", "-o", program}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// testTools are shell scripts by name: a view that ends after it has begun, a training with the steps in a variable, and a go command for
// this module in any folder.
var testTools = map[string]string{
	"robocache": `#!/bin/sh
[ "$1" = train ] && exec "$BINARY" "$@" $STEPS
[ "$1" = view ] || exec "$BINARY" "$@"
shift
"$BINARY" view --no-open --port 0 "$@" > view.out &
until grep -q http view.out; do kill -0 $! || exit 1; sleep 0.05; done
kill -TERM $!
wait $!
rm view.out
`,
	"go": `#!/bin/sh
case "$1 $2" in
"run ./"*)
	program=$BINARY-example
	"$GO" -C "$MODULE" build -ldflags="-s -w" -o "$program" "$2" && shift 2 && exec "$program" "$@" ;;
"install ./cmd/robocache") exit 0 ;; # $BINARY is this program
"test ./...") exec "$GO" -C "$MODULE" list -f '{{if .Incomplete}}{{.Error}}{{end}}' ./... ;;
esac
echo "go $*: no such command in this test" >&2
exit 1
`,
}

// commandLine builds robocache into a folder of its own, with the scripts, and returns the folder and the variables of its commands.
func commandLine(t *testing.T) (dir string, env []string) {
	dir = t.TempDir()
	binary := filepath.Join(t.TempDir(), "robocache")
	buildTo(t, binary, "./cmd/robocache")
	for name, script := range testTools {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	root, err := os.Getwd()
	require.NoError(t, err)
	goCommand, err := exec.LookPath("go")
	require.NoError(t, err)
	return dir, []string{"BINARY=" + binary, "MODULE=" + root, "GO=" + goCommand}
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
	dir, tools := commandLine(t)
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
				case "excerpt":
					rest := printed[p.name]
					for _, part := range strings.Split(p.text, "...\n") {
						_, after, there := strings.Cut(rest, part)
						assert.True(t, there, "%s: %s does not print %q", document, p.name, part)
						rest = after
					}
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
				cmd.Env = append(cmd.Env, tools...)
				if document == "README.md" && !thorough.Long { // docs/train.md trains to the end, and its test compares what is printed
					cmd.Env = append(cmd.Env, "STEPS=--steps=20")
				}
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s: %s: %s", document, p.name, out)
				printed[p.name] = string(out)
			}
			left, err := os.ReadDir(where)
			require.NoError(t, err)
			for _, e := range left {
				assert.True(t, e.Name() == "examples" || ignored(t, e.Name()), "%s leaves %s, and .gitignore lacks it", document, e.Name())
			}
		})
	}
}

// ignored reports whether .gitignore has a name in the root.
func ignored(t *testing.T, name string) bool {
	for pattern := range strings.Lines(string(filetest.Read(t, ".gitignore"))) {
		pattern, _ = strings.CutSuffix(pattern, "\n")
		if is, err := filepath.Match(strings.Trim(pattern, "/"), name); err != nil || is {
			return err == nil
		}
	}
	return false
}

// Each block of commands in the README is run by TestDocumentsDoWhatTheySay, and the first two need nothing else.
func TestCommandsOfTheREADMEAreRun(t *testing.T) {
	text := string(filetest.Read(t, "README.md"))
	assert.Equal(t, strings.Count(text, "```sh\n"), strings.Count(text, "<!-- commands: "))
	assert.NotRegexp(t, "\n\n    ", text, "an indented block is not run")
	lines := strings.Split(text, "\n")
	for _, command := range []string{"go run ./examples/quickstart", "go test ./..."} {
		assert.Contains(t, lines[:60], command)
	}
}

// outputName matches an output of robocache in a document.
var outputName = regexp.MustCompile("(?: -o| --out| --output| --html| --plot)[ =]([^\\s`)|<>;]+)")

// Outputs of documents and examples are names that git ignores, not folders of the repository. No two documents write the same folder.
func TestOutputsOfDocumentsAreNoSources(t *testing.T) {
	writers := map[string]string{}
	for _, document := range documents(t) {
		for _, m := range outputName.FindAllStringSubmatch(string(filetest.Read(t, document)), -1) {
			name := strings.TrimSuffix(m[1], "/")
			if name == "" || name == "-" || strings.ToUpper(name) == name || strings.HasPrefix(name, "OUT.") || strings.ContainsAny(name, "/*.$") && filepath.Ext(name) == "" {
				continue // a placeholder
			}
			assert.NoFileExists(t, name, "%s writes a file of the repository", document)
			assert.NoDirExists(t, name, "%s writes into a folder of the repository", document)
			assert.True(t, ignored(t, name), "%s writes %s, and .gitignore lacks it", document, name)
			if filepath.Ext(name) == "" {
				if other := writers[name]; other != "" {
					assert.Equal(t, other, document, "%s is the output of both", name)
				}
				writers[name] = document
			}
		}
	}
	sources, err := filepath.Glob("examples/*/main.go")
	require.NoError(t, err)
	literal := regexp.MustCompile(`(?:WriteFile\(|flag\.String\("o", )"([^"]+)"`)
	for _, source := range sources {
		for _, m := range literal.FindAllStringSubmatch(string(filetest.Read(t, source)), -1) {
			assert.True(t, ignored(t, m[1]), "%s writes %s, and .gitignore lacks it", source, m[1])
			assert.Empty(t, writers[m[1]], "%s is the output of %s too", m[1], source)
		}
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
