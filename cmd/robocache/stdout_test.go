package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// piped runs a command line with a file as standard input.
func piped(t *testing.T, in string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(args, bytes.NewReader(filetest.Read(t, in)), &out, &err)
	return code, out.String(), err.String()
}

// Each command that writes one file writes the same bytes to standard output, from standard input too. Its report is on standard error.
func TestAHyphenIsStandardInputAndOutput(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	scan := filepath.Join(dir, "scan.pcd")
	filetest.Write(t, scan, "VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA ascii\n1 2 3\n2 3 4\n")
	for _, c := range []struct {
		in, ext string
		args    []string
	}{
		{flight, ".yaml", []string{"plan"}},
		{flight, ".json", []string{"stats", "--to=openpi", "--state=vehicle_attitude", "--action=airspeed"}},
		{flight, ".npz", []string{"resample", "--hz=10", "--backend=cpu"}},
		{flight, ".npz", []string{"fuse", "--hz=10", "--backend=cpu", "--stream=airspeed"}},
		{flight, ".mcap", []string{"convert", "--to=mcap"}},
		{flight, ".safetensors", []string{"pack"}},
		{scan, ".npz", []string{"voxelize", "--size=1", "--backend=cpu"}},
	} {
		name := filepath.Join(dir, "stdin") // as the copy of standard input is called
		require.NoError(t, os.RemoveAll(name))
		filetest.Write(t, name, filetest.Read(t, c.in))
		out := filepath.Join(dir, "out"+c.ext)
		report, _ := good(t, append(c.args, name, "-o", out)...)
		assert.NotEmpty(t, report)
		want := filetest.Read(t, out)
		require.NoError(t, os.Remove(out))
		code, stdout, stderr := piped(t, c.in, append(c.args, "-", "-o", "-")...)
		require.Equal(t, exitGood, code, "%q: %s", c.args, stderr)
		assert.Equal(t, len(want), len(stdout), c.args)
		assert.True(t, string(want) == stdout, "%q: other bytes than in a file", c.args)
		assert.NotContains(t, stderr, os.TempDir(), c.args)
		assert.Contains(t, stderr, "standard output", c.args)
	}
	left, err := filepath.Glob(filepath.Join(temp, "*", "*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestTheOtherCommandsReadStandardInput(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	store, trained := filepath.Join(dir, "g1.safetensors"), filepath.Join(dir, "trained")
	good(t, "pack", g1, "-o", store)
	for _, args := range [][]string{
		{"train", "-", "--batch=2", "--steps=1", "--backend=cpu", "--out", trained}, {"policy", trained, "-", "--backend=cpu"},
		{"batches", "-", "--batch=2", "--steps=1", "--backend=cpu"},
	} {
		code, _, stderr := piped(t, store, args...)
		assert.Equal(t, exitGood, code, "%q: %s", args, stderr)
		assert.NotContains(t, stderr, os.TempDir(), args)
	}
	code, stdout, stderr := piped(t, store, "policy", trained, "-", "--backend=cpu", "--out=-")
	assert.Equal(t, exitGood, code, stderr)
	assert.Equal(t, "PK", stdout[:2])
	code, stdout, stderr = piped(t, flight, "doctor", "-", "--html", "-", "--fail-on=warning")
	assert.Equal(t, exitFound, code, "the page is whole, with findings")
	assert.Contains(t, stdout, "</html>")
	assert.Contains(t, stderr, " in 1 episode: ")
	code, stdout, stderr = piped(t, flight, "inspect", "-", "--plot", "-")
	assert.Equal(t, exitGood, code, stderr)
	assert.Equal(t, "\x89PNG", stdout[:4])
}

func TestAHyphenThatCannotBe(t *testing.T) {
	for want, args := range map[string][]string{
		"--out: got -, want a folder":               {"batches", g1, "--out=-"},
		"--output: got - with --json":               {"resample", flight, "--hz=10", "-o", "-", "--json"},
		"--plot: got - for a second output":         {"resample", flight, "--hz=10", "-o", "-", "--plot", "-"},
		"-o: got -, and lerobot is a folder":        {"convert", flight, "--hz=10", "--to=lerobot", "-o", "-"},
		"got the input - twice":                     {"doctor", "-", "-"},
		`got "standard output", want the name of a`: {"pack", g1, "--shard=0/2", "-o", "-"},
	} {
		code, stdout, stderr := piped(t, flight, args...)
		assert.Equal(t, exitUsage, code, "%q: %s", args, stderr)
		assert.Contains(t, stdout+stderr, want)
	}
}
