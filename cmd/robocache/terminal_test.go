package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// obeyed matches bytes that a terminal acts on: controls except tabs and newlines, bytes outside UTF-8, and controls of the writing direction. FAKE is a
// line inside a name.
var obeyed = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\nFAKE")

// No command passes controls in names to a terminal, neither from inside a file nor from the file's own name.
func TestNamesDoNothingToATerminal(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	evil := "\x1b]0;PWNED\a\x1b[2J\u009b31m\u202e"
	dir := t.TempDir()
	name := filepath.Join(dir, "a\x9b5m\x1b[2Jb")
	write := func(ending, content string) string {
		require.NoError(t, os.WriteFile(name+ending, []byte(content), 0o600))
		return name + ending
	}
	files := []string{
		write(".csv", "timestamp,"+evil+",b,\x9bm\n0,1,2,3\n1,2,3,4\n2,3,4,5\n"),
		write(".ply", "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nproperty float "+evil+"\nend_header\n1 2 3 4\n1 2 4 4\n"),
		write(".pcd", "VERSION .7\nFIELDS x y z "+evil+"\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA ascii\n1 2 3 4\n1 2 4 4\n"),
		write(".mcap", "\x1b[2J"), name + "none\x9b.mcap",
		writeNPZ(t, map[string]*tensor.Tensor{evil + ".values": rows(2, 1, 2, 3, 4), evil + ".times": vec[int64](0, 1e9), "a\nFAKE.values": rows(2, 1, 2, 3, 4), "a\nFAKE.times": vec[int64](0, 1e9)}),
	}
	for _, file := range []string{"esc.bag", "esc.csv", "esc.mcap", "esc.npz", "esc.pcd", "esc.ply", "esc.safetensors", "c1.hdf5"} {
		if _, err := os.Stat("../../../shared/cases/safe-inputs/" + file); err == nil {
			files = append(files, "../../../shared/cases/safe-inputs/"+file)
		}
	}
	for _, file := range files {
		for _, args := range [][]string{
			{"inspect", file}, {"inspect", file, "--columns"}, {"doctor", file}, {"stats", file}, {"plan", file, "-o", dir + "/plan.yaml"}, {"plan", file},
			{"convert", file, "--to=npz", "-o", dir + "/out"}, {"convert", file, "--to=lerobot", "--hz=10", "-o", dir + "/rows"},
			{"resample", file, "--hz=10", "-o", dir + "/o.npz"}, {"fuse", file, "--hz=10", "-o", dir + "/o.npz"}, {"resample", file, "--hz=10", "--stream", evil, "-o", dir + "/o.npz"},
			{"voxelize", file, "--size=1", "-o", dir + "/v.npz"}, {"voxelize", file, "--size=1", "--stream", evil, "-o", dir + "/v.npz"}, {"pack", file, "-o", dir + "/p.safetensors"},
			{"batches", file, "--hz=10", "--steps=1", "--backend=cpu"}, {"train", file, "--backend=cpu", "--steps=1"}, {"policy", file, file, "--backend=cpu"}, {evil},
			{"inspect", "--" + evil}, {"view", file, "--plan", file, "--no-open"},
		} {
			_, stdout, stderr := execute(args...)
			assert.NotRegexp(t, obeyed, stdout, "%q", args)
			assert.NotRegexp(t, obeyed, stderr, "%q", args)
			assert.True(t, utf8.ValidString(stdout+stderr), "%q", args)
			if args[0] != "view" && (thorough.Long || strings.HasPrefix(file, dir) || filepath.Ext(file) == ".npz") { // JSON has the same escapes for all files
				_, stdout, _ = execute(append(args, "--json")...)
				assert.NotRegexp(t, obeyed, stdout, "%q", args)
				if stdout != "" && args[0] != "batches" && args[0] != "train" {
					assert.True(t, json.Valid([]byte(stdout)), "%q: %q", args, stdout)
				}
			}
			require.NoError(t, os.RemoveAll(dir+"/out"))
			require.NoError(t, os.RemoveAll(dir+"/rows"))
		}
	}
}
