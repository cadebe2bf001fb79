package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/test/filetest"
)

// Except for a few, every argument in a request is a flag of batches and an argument of Python's Loader.
func TestArgumentsOfARequestAreFlagsAndArgumentsOfPython(t *testing.T) {
	noFlag := []string{"paths", "plan_name", "normalise", "statistics", "age", "anchor_alone"} // paths are no flag, and a plan has the others, or the Loader alone
	notOfPython := []string{"plan_name", "fresh", "anchor_alone"}                              // keys="lerobot" sets the last one
	flags := (&app{}).batchesCommand().Flags()
	python, err := os.ReadFile("../../python/robocache/_loader.py")
	require.NoError(t, err)
	count := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[batching.Request]()) {
		name := f.Tag.Get("json")
		if name == "" || name == "-" {
			continue
		}
		count++
		assert.Equal(t, !slices.Contains(noFlag, name), flagOf(flags, name) != nil, "a flag for %s", name)
		if slices.Contains(notOfPython, name) {
			assert.NotContains(t, string(python), "        "+name+": ")
		} else {
			assert.Regexp(t, "\n        "+name+": .*,\n", string(python))
		}
	}
	assert.Greater(t, count, 25)
}

// An error of an argument is one of the flag that sets it: one of its name, of its singular if the flag is repeated, or of another name.
func TestErrorsOfArgumentsNameTheFlag(t *testing.T) {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Int("shard-windows", 0, "")
	f.StringArray("stream", nil, "")
	f.StringArray("msg-path", nil, "")
	f.StringP("output", "o", "", "")
	require.NoError(t, f.Set("stream", "a,b"))
	for arg, want := range map[string]string{
		"shard_windows": "--shard-windows: got 1, want 2", "ShardWindows": "--shard-windows: got 1, want 2", "definitions": "--msg-path: got 1, want 2",
		"streams": "--stream: got 1, want 2; each has a --stream of its own", "output": "-o: got 1, want 2", "WORLD_SIZE": "WORLD_SIZE: got 1, want 2",
	} {
		err := inFlags(f, &dataset.OptionError{Arg: arg, Got: "1", Want: "2"})
		assert.EqualError(t, err, want)
		r := describe(err)
		assert.Equal(t, []string{"usage", "1"}, []string{r.Kind, r.Got})
	}
	input := &inputError{Path: "a", Err: &dataset.OptionError{Arg: "Clock", Got: "1", Want: "2"}}
	assert.Equal(t, error(input), inFlags(f, input), "it is the input's")
}

// Job scripts on disks have --kind, the old name for --method. Neither help nor completion lists it.
func TestKindIsAHiddenNameOfMethod(t *testing.T) {
	for _, command := range []string{"resample", "fuse"} {
		in := twoStreams(t, nil)
		out := [2]string{filepath.Join(t.TempDir(), "a.npz"), filepath.Join(t.TempDir(), "b.npz")}
		for i, flag := range []string{"--kind", "--method"} {
			good(t, command, in, "-o", out[i], "--backend=cpu", "--hz=50", flag, "previous")
		}
		assert.Equal(t, filetest.Read(t, out[0]), filetest.Read(t, out[1]))
		help, _ := good(t, command, "--help")
		assert.NotContains(t, help, "--kind")
		assert.Contains(t, help, "--method")
		list, _ := good(t, "__complete", command, in, "--ki")
		assert.NotContains(t, list, "--kind")
	}
}
