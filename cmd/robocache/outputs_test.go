package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// outputFlags are the command lines of the commands that write, without the flags of their outputs. IN is the input; FILE is another.
var outputFlags = map[string]struct {
	args    []string
	outputs map[string]string // the ending by the flag; empty for a folder
}{
	"inspect":  {[]string{"IN"}, map[string]string{"plot": ".png"}},
	"doctor":   {[]string{"IN"}, map[string]string{"html": ".html"}},
	"plan":     {[]string{"IN"}, map[string]string{"output": ".yaml"}},
	"stats":    {[]string{"IN"}, map[string]string{"output": ".json", "plot": ".png"}},
	"convert":  {[]string{"IN", "--to=npz"}, map[string]string{"output": ""}},
	"resample": {[]string{"IN", "--hz=10", "-o=OTHER"}, map[string]string{"output": ".npz", "plot": ".png"}},
	"fuse":     {[]string{"IN", "--hz=10", "-o=OTHER"}, map[string]string{"output": ".npz", "plot": ".png"}},
	"voxelize": {[]string{"IN", "--size=1", "-o=OTHER"}, map[string]string{"output": ".npz", "plot": ".png"}},
	"pack":     {[]string{"IN"}, map[string]string{"output": ".safetensors"}},
	"batches":  {[]string{"IN", "--hz=10", "--backend=cpu"}, map[string]string{"out": "", "state": ".json"}},
	"train":    {[]string{"IN", "--policy=bc-transformer", "--backend=cpu"}, map[string]string{"out": "", "log-dir": ""}},
	"policy":   {[]string{"FILE", "IN", "--backend=cpu"}, map[string]string{"out": ".npz", "plot": ".png"}},
	"bench":    {[]string{"--from=IN"}, map[string]string{"plot": ".png"}},
}

// The flags of all commands that write are in the table. Those that write nothing, or no file of the caller, are listed with the reason.
func TestEveryOutputFlagIsInTheTable(t *testing.T) {
	writes := regexp.MustCompile(`\b(write|writes|draw)\b`)
	known := map[string]bool{
		"convert keep-invalid": true, "stats to": true, "stats shard": true, "convert to": true, "bench benchstat": true, "bench markdown": true,
		"inspect json": true, "view plan": true, "tune shapes": true, "batches format": true,
		"tune output": true, // needs a GPU
	}
	for _, c := range newApp(nil, io.Discard, io.Discard).command().Commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, listed := outputFlags[c.Name()].outputs[f.Name]
			if writes.MatchString(f.Usage) && f.Value.Type() == "string" && !known[c.Name()+" "+f.Name] {
				assert.True(t, listed, "%s --%s: %s", c.Name(), f.Name, f.Usage)
			}
		})
	}
}

// treeOf returns the contents by path below a folder.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			all[path] = string(b)
			return err
		}
		return err
	}))
	return all
}

// A folder is no output of a command that writes several files if it has other files only. With a file of the command's own it is.
func TestAFolderWithOtherFilesIsNoOutput(t *testing.T) {
	for name, args := range map[string][]string{
		"convert": {"convert", g1, "--to=npz", "-o"},
		"batches": {"batches", g1, "--steps=1", "--backend=cpu", "--rank=0", "--world=2", "--out"},
		"samples": {"batches", g1, "--steps=1", "--backend=cpu", "--format=webdataset", "--out"},
		"pack":    {"pack", g1, "--shard=0/2", "-o"},
	} {
		dir, used := t.TempDir(), t.TempDir()
		other := filepath.Join(dir, "notes.txt")
		require.NoError(t, os.WriteFile(other, []byte("mine"), 0o600))
		code, _, stderr := execute(append(args, dir)...)
		assert.Equal(t, exitUsage, code, name)
		assert.Contains(t, stderr, "got "+dir+", in which there is notes.txt", name)
		assert.Contains(t, stderr, "want a new folder, or an empty one", name)
		assert.Equal(t, map[string]string{other: "mine"}, treeOf(t, dir), name)
		for range 2 {
			good(t, append(args, used)...)
			require.NoError(t, os.WriteFile(filepath.Join(used, "notes.txt"), []byte("mine"), 0o600))
		}
	}
}

// No command's output is an input, is inside one or contains one, also through symbolic and hard links.
func TestNoOutputReplacesAnInput(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for name, c := range outputFlags {
		for flag, ext := range c.outputs {
			dir := t.TempDir()
			at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
			write := func(path string) {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
			}
			write(at("data", "set", "meta", "x"+ext))
			write(at("data", "set", "meta", "info.json"))
			write(at("one", "rec"+ext))
			write(at("blobs", "blob"+ext))
			require.NoError(t, os.Symlink(at("blobs", "blob"+ext), at("data", "set", "link"+ext)))
			require.NoError(t, os.Symlink(at("data", "set"), at("way")))
			require.NoError(t, os.Symlink(at("one", "rec"+ext), at("alias"+ext)))
			require.NoError(t, os.Link(at("one", "rec"+ext), at("hard"+ext)))
			require.NoError(t, os.Link(at("data", "set", "meta", "x"+ext), at("hardin"+ext)))
			before := treeOf(t, dir)
			cases := [][2]string{ // input, output
				{at("one", "rec"+ext), at("one", "rec"+ext)}, {at("one", "rec"+ext), at("alias" + ext)}, {at("alias" + ext), at("one", "rec"+ext)},
				{at("one", "rec"+ext), at("hard" + ext)}, {at("data", "set"), at("data", "set", "meta", "x"+ext)}, {at("data", "set"), at("data", "set", "new", "y"+ext)},
				{at("data", "set"), at("way", "meta", "x"+ext)}, {at("way"), at("data", "set", "y"+ext)}, {at("data", "set"), at("hardin" + ext)},
				{at("data", "set"), at("blobs", "blob"+ext)}, {at("data", "set", "meta", "info.json"), at("data", "set", "z"+ext)}, {"file://" + at("data", "set"), at("data", "set", "y"+ext)},
			}
			if ext == "" {
				cases = append(cases, [2]string{at("data", "set"), at("data")}, [2]string{at("data", "set"), dir}, [2]string{at("one", "rec"+ext), at("one")})
			}
			for _, io := range cases {
				args := []string{name}
				for _, a := range c.args {
					a = strings.ReplaceAll(a, "IN", io[0])
					if a = strings.ReplaceAll(a, "FILE", at("elsewhere")); a == "-o=OTHER" {
						if flag == "output" {
							continue
						}
						a = "-o=" + at("other.npz")
					}
					args = append(args, a)
				}
				args = append(args, "--"+flag, io[1])
				code, stdout, stderr := execute(args...)
				assert.Equal(t, exitUsage, code, "%q: %s", args, stderr)
				assert.Contains(t, stderr, "is the input", "%q", args)
				assert.Empty(t, stdout)
			}
			assert.Equal(t, before, treeOf(t, dir), name)
		}
	}
}

// The rows that replaced a file: a bag's metadata, a dataset's declaration, a policy's weights.
func TestFilesOfAnInputStay(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "g1"), os.DirFS(g1)))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "bag"), os.DirFS("../../examples/data/turtles2")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tr"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tr", "model.safetensors"), []byte("weights"), 0o600))
	before := treeOf(t, dir)
	t.Chdir(dir)
	for _, args := range [][]string{
		{"plan", "bag", "-o", "bag/metadata.yaml"}, {"stats", "g1", "-o", "g1/meta/info.json"}, {"stats", "g1", "--to=lerobot", "-o", "g1/meta/info.json"},
		{"stats", "g1", "-o", "g1/meta/stats.json"}, {"policy", "tr", "g1", "-o", "tr/model.safetensors"}, {"plan", "g1/meta/info.json", "-o", "g1/meta/tasks.jsonl"},
	} {
		code, _, stderr := execute(args...)
		assert.Equal(t, exitUsage, code, "%q: %s", args, stderr)
	}
	assert.Equal(t, before, treeOf(t, dir))
	good(t, "stats", "g1", "--to=lerobot", "-o", "g1/meta/stats.json") // which takes over what is there of images
	good(t, "plan", "bag", "-o", "plan.yaml")
}
