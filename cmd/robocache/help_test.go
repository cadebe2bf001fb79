package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// The first screen and the help of two commands are as in the files, which ROBOCACHE_HELP=1 writes anew, with the document.
func TestHelpIsAsInTheGoldens(t *testing.T) {
	for name, args := range map[string][]string{"root": {}, "doctor": {"doctor", "--help"}, "convert": {"convert", "--help"}} {
		stdout, stderr := good(t, args...)
		assert.Empty(t, stderr)
		golden := filepath.Join("testdata", "help", name+".txt")
		if os.Getenv("ROBOCACHE_HELP") != "" {
			filetest.Write(t, golden, stdout)
		}
		assert.Equal(t, string(filetest.Read(t, golden)), stdout)
	}
	root, _ := good(t)
	for _, args := range [][]string{{"--help"}, {"help"}, {"-h"}} {
		stdout, _ := good(t, args...)
		assert.Equal(t, root, stdout)
	}
	code, stdout, _ := execute("--json")
	assert.Equal(t, exitUsage, code)
	assert.Regexp(t, "no command given, want .*info.*resample|no command given, want .*resample.*info", unmarshal(t, stdout)["error"].(map[string]any)["message"])
	const document = "../../docs/command-line.md"
	text := string(filetest.Read(t, document))
	before, rest, found := strings.Cut(text, "```\n")
	shown, after, ended := strings.Cut(rest, "```\n")
	require.True(t, found && ended)
	if os.Getenv("ROBOCACHE_HELP") != "" {
		filetest.Write(t, document, before+"```\n"+root+"```\n"+after)
		shown = root
	}
	assert.Equal(t, root, shown, "the document shows the first screen")
}

// commandsOf returns the command and all below it.
func commandsOf(c *cobra.Command) (list []*cobra.Command) {
	list = append(list, c)
	for _, sub := range c.Commands() {
		list = append(list, commandsOf(sub)...)
	}
	return list
}

// Each help fits 80 columns: usage and examples come first, flags have a topic and no type of Go, and the last line is the address of a document.
func TestHelpOfEachCommand(t *testing.T) {
	last := regexp.MustCompile(`\n\nMore: https://github\.com/robocache/robocache/blob/main/(docs/[a-z-]+\.md)\n$`)
	typed := regexp.MustCompile(`(?m)^ +(-.,)? +--\S+ (string|strings|stringArray|int|uint|ints|float|duration)\b`)
	for _, c := range commandsOf(newApp(nil, io.Discard, io.Discard).command()) {
		path := c.CommandPath()
		args := append(strings.Fields(path)[1:], "--help")
		if c.Name() == "help" {
			continue
		}
		stdout, _ := good(t, args...)
		for line := range strings.Lines(stdout) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), helpWidth, "%s: %s", path, line)
		}
		assert.NotRegexp(t, typed, stdout, path)
		if m := last.FindStringSubmatch(stdout); assert.NotNil(t, m, path) {
			assert.FileExists(t, filepath.Join("..", "..", filepath.FromSlash(m[1])))
		}
		if c.HasParent() {
			require.Contains(t, stdout, "\n\nUsage:\n", path)
			assert.Less(t, strings.Index(stdout, "\n\nUsage:\n"), 120, path)
			if c.HasExample() {
				assert.Less(t, strings.Index(stdout, "\nExamples:\n"), strings.Index(stdout, ":\n      --"), path)
			}
		}
		if c.Parent() == nil || c.Parent().Name() != "completion" {
			c.Flags().VisitAll(func(f *pflag.Flag) {

				topic := topics[topicOf(c.Name(), f.Name)]
				assert.True(t, slices.Contains(topic.flags, f.Name) || slices.Contains(topic.flags, c.Name()+" "+f.Name), "%s --%s has no topic", path, f.Name)

			})
		}
		assert.NotRegexp(t, `\b(dataset|bench|data|docs|convert)/(\s|$)`, c.Example, "%s: an example names a folder of the repository", path)
	}
	stdout, _ := good(t)
	assert.NotContains(t, stdout, "serve", "only the Python package starts it")
}

// Each topic has flags that exist.
func TestTopicsHaveNoOtherFlags(t *testing.T) {
	flags := map[string]bool{}
	for _, c := range commandsOf(newApp(nil, io.Discard, io.Discard).command()) {
		add := func(f *pflag.Flag) { flags[f.Name], flags[c.Name()+" "+f.Name] = true, true }
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
	}
	for _, topic := range topics {
		for _, name := range topic.flags {
			assert.True(t, flags[name], "%s: %s", topic.title, name)
		}
	}
}
