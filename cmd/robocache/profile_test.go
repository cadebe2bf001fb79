package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProfileCountsWhatALaunchDid(t *testing.T) {
	stdout, _ := good(t, "profile", "--json", "resample", "testdata/ramp.npz")
	var r profileResult
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Len(t, r.Launches, 1)
	l := r.Launches[0]
	assert.Equal(t, "resample", l.Kernel, "targets snap")
	assert.Equal(t, "sim:0", r.Device.Name)
	var threads uint64
	for class, n := range l.Instructions {
		assert.Contains(t, classes, class)
		threads += n
	}
	assert.Positive(t, threads)
	assert.LessOrEqual(t, threads, 32*l.Warps)
	assert.Positive(t, l.Write.Sectors)
	assert.Equal(t, (l.Read.Bytes+31)/32, l.Read.Least)

	again, _ := good(t, "profile", "--json", "resample", "testdata/ramp.npz")
	assert.Equal(t, stdout, again, "the figures are the same every time")

	table, _ := good(t, "profile", "resample", "testdata/ramp.npz")
	lines := strings.Split(table, "\n")
	assert.Contains(t, lines[0], "resample testdata/ramp.npz on sim:0, Simulated GPU")
	assert.Contains(t, table, l.Kernel)
}

func TestProfileWritesWhereItIsTold(t *testing.T) {
	out := filepath.Join(t.TempDir(), "o.npz")
	good(t, "profile", "resample", "testdata/ramp.npz", "-o", out, "--method=nearest")
	assert.NotEmpty(t, open(t, out).Names())
}

func TestProfileRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"profile"}, "want convert, fuse, resample"},
		{[]string{"profile", "info"}, `"info"`},
		{[]string{"profile", "--backend", "cuda", "resample", "testdata/ramp.npz"}, `"cuda", want sim`},
		{[]string{"profile", "resample", "testdata/ramp.npz", "--backend", "cpu"}, `"cpu", want sim`},
		{[]string{"profile", "resample", "testdata/ramp.npz", "--nonsense"}, "nonsense"},
		{[]string{"profile", "resample"}, "one input file"},
	} {
		code, _, stderr := execute(c.args...)
		assert.Equal(t, exitUsage, code, "%v", c.args)
		assert.Contains(t, stderr, c.want, "%v", c.args)
	}
}
