package cuda_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
)

// simulated opens the simulated device with a table as ROBOCACHE_TUNED says.
func simulated(t *testing.T, tuned string) *ops.Device {
	t.Helper()
	t.Setenv("ROBOCACHE_TUNED", tuned)
	dev, err := ops.Open("sim")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dev.Close()) })
	return dev
}

// tunedFor is a table whose one entry is a choice that is not the model's, for resamplePlan's job of 3 rows onto 1000 targets.
func tunedFor(t *testing.T, dev *ops.Device) (*cuda.Table, cuda.Entry) {
	t.Helper()
	p := resamplePlan(t, dev, 3, 1000)
	defer p.Close()
	class, list, err := cuda.Candidates(p)
	require.NoError(t, err)
	require.Greater(t, len(list), 1)
	table, _, err := cuda.Tuned(dev.Stream())
	require.NoError(t, err)
	table = cuda.NewTable(table.For)
	e := cuda.Entry{Class: class, Choice: list[len(list)-1], Job: "resample", Model: 2, Tuned: 1.5}
	require.NoError(t, table.Set(e))
	return table, e
}

func written(t *testing.T, table *cuda.Table) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, table.Write(&b))
	return b.String()
}

func launchOf(t *testing.T, dev *ops.Device) cuda.Launch {
	t.Helper()
	p := resamplePlan(t, dev, 3, 1000)
	defer p.Close()
	list, err := cuda.Explain(p)
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

func TestTablesAreReadAsTheyWereWritten(t *testing.T) {
	table, e := tunedFor(t, simulated(t, ""))
	again, err := cuda.ReadTable(strings.NewReader(written(t, table)), table.For)
	require.NoError(t, err)
	assert.Equal(t, table, again)
	assert.Equal(t, []cuda.Entry{e}, again.Entries())
	clone := again.Clone()
	clone.Drop(e.Class)
	assert.Empty(t, clone.Entries())
	assert.Len(t, again.Entries(), 1)
}

func TestPlansTakeTheirShapeFromTheTable(t *testing.T) {
	plain := simulated(t, "")
	assert.Equal(t, "the model: a simulated device takes no table but that of ROBOCACHE_TUNED", plain.Info().Shapes)
	model := launchOf(t, plain)
	assert.False(t, model.Tuned)
	table, e := tunedFor(t, plain)
	dir := t.TempDir()
	path := filepath.Join(dir, "some.json")
	require.NoError(t, os.WriteFile(path, []byte(written(t, table)), 0o644))
	dev := simulated(t, path)
	assert.Equal(t, "tuned for 1 classes by "+path+", else the model", dev.Info().Shapes)
	l := launchOf(t, dev)
	assert.True(t, l.Tuned)
	assert.Equal(t, e.Choice, l.Choice)
	assert.NotEqual(t, [2][3]uint32{model.Grid, model.Block}, [2][3]uint32{l.Grid, l.Block})

	// A folder holds one file a kind of GPU.
	inside := simulated(t, dir)
	_, at, err := cuda.Tuned(inside.Stream())
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "tuned-simulated-gpu-sm-9-0.json"), at)
	assert.Equal(t, "the model: there is no "+at, inside.Info().Shapes)
	require.NoError(t, os.Rename(path, at))
	assert.True(t, launchOf(t, simulated(t, dir)).Tuned)
	off := simulated(t, "off")
	assert.Equal(t, "the model: ROBOCACHE_TUNED is off", off.Info().Shapes)
	assert.Equal(t, model.Grid, launchOf(t, off).Grid)
}

// A file that cannot be used is told of, and the model does.
func TestTablesThatDoNotFitAreNotUsed(t *testing.T) {
	dev := simulated(t, "")
	table, e := tunedFor(t, dev)
	model := launchOf(t, dev)
	good := written(t, table)
	changed := func(change func(f map[string]any)) string {
		var f map[string]any
		require.NoError(t, json.Unmarshal([]byte(good), &f))
		change(f)
		text, err := json.Marshal(f)
		require.NoError(t, err)
		return string(text)
	}
	entry := func(f map[string]any) map[string]any { return f["entries"].([]any)[0].(map[string]any) }
	for what, c := range map[string]struct {
		text, want string
		stale      bool
	}{
		"another device":                         {changed(func(f map[string]any) { f["device"] = "NVIDIA H200" }), `device: got "NVIDIA H200", want "Simulated GPU"`, true},
		"another capability":                     {changed(func(f map[string]any) { f["capability"] = "8.6" }), `capability: got "8.6", want "9.0"`, true},
		"other kernels":                          {changed(func(f map[string]any) { f["kernels"] = "0123" }), `kernels: got "0123"`, true},
		"another format":                         {changed(func(f map[string]any) { f["format"] = 2 }), "format: got 2, want 1", false},
		"no JSON":                                {"hello", "not a table", false},
		"cut off":                                {good[:len(good)/2], "not a table", false},
		"nothing":                                {"", "not a table: EOF", false},
		"something else":                         {`{"jobs": []}`, `unknown field "jobs"`, false},
		"too much":                               {strings.Repeat(" ", 5<<20), "more than", false},
		"a kernel unknown":                       {changed(func(f map[string]any) { entry(f)["class"].(map[string]any)["kernel"] = "resample_i4" }), `entry 0: kernel "resample_i4": there is none`, false},
		"a choice that the kernel does not take": {changed(func(f map[string]any) { entry(f)["choice"].(map[string]any)["threads"] = 1024 }), "entry 0: " + e.Class.Kernel + ": got threads 1024", false},
		"a number too many":                      {changed(func(f map[string]any) { entry(f)["choice"].(map[string]any)["items"] = 4 }), "got items 4", false},
		"an entry twice":                         {changed(func(f map[string]any) { f["entries"] = append(f["entries"].([]any), entry(f)) }), "entry 1: ", false},
	} {
		_, err := cuda.ReadTable(strings.NewReader(c.text), table.For)
		assert.ErrorContains(t, err, c.want, what)
		assert.Equal(t, c.stale, err != nil && strings.Contains(err.Error(), cuda.ErrStale.Error()), what)
		path := filepath.Join(t.TempDir(), "tuned.json")
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o644))
		dev := simulated(t, path)
		assert.Contains(t, dev.Info().Shapes, "the model: "+path+" is not used: ", what)
		assert.Contains(t, dev.Info().Shapes, c.want, what)
		l := launchOf(t, dev)
		assert.False(t, l.Tuned, what)
		assert.Equal(t, model.Grid, l.Grid, what)
	}
	gone := simulated(t, filepath.Join(t.TempDir(), "gone.json"))
	assert.Contains(t, gone.Info().Shapes, "the model: there is no ")
}

func TestTablesOfOthersAreRefused(t *testing.T) {
	dev := simulated(t, "")
	err := cuda.UseTable(dev.Stream(), cuda.NewTable(cuda.Identity{Device: "NVIDIA H200"}))
	assert.ErrorIs(t, err, cuda.ErrStale)
	host, err := ops.Open("cpu")
	require.NoError(t, err)
	defer host.Close()
	assert.ErrorIs(t, cuda.UseTable(host.Stream(), nil), ops.ErrWrongDevice)
	_, _, err = cuda.Tuned(host.Stream())
	assert.ErrorIs(t, err, ops.ErrWrongDevice)
	p := resamplePlan(t, host, 1, 1)
	defer p.Close()
	_, _, err = cuda.Candidates(p)
	assert.ErrorIs(t, err, ops.ErrWrongDevice)
	assert.Empty(t, host.Info().Shapes)
}

// The candidates of a plan give launches that differ, the model's first, and the class of a job is not that of one twice as large.
func TestCandidatesDiffer(t *testing.T) {
	dev := simulated(t, "")
	table, _ := tunedFor(t, dev)
	p := resamplePlan(t, dev, 3, 1000)
	class, list, err := cuda.Candidates(p)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	assert.Equal(t, launchOf(t, dev).Choice, list[0])
	_, _, err = cuda.Candidates(p)
	assert.ErrorIs(t, err, ops.ErrClosed)
	for _, c := range list {
		one := cuda.NewTable(table.For)
		require.NoError(t, one.Set(cuda.Entry{Class: class, Choice: c}))
		require.NoError(t, cuda.UseTable(dev.Stream(), one))
		assert.Equal(t, c, launchOf(t, dev).Choice)
	}
	twice := resamplePlan(t, dev, 6, 1000)
	defer twice.Close()
	other, _, err := cuda.Candidates(twice)
	require.NoError(t, err)
	assert.NotEqual(t, class, other)
	empty := resamplePlan(t, dev, 3, 0)
	defer empty.Close()
	_, list, err = cuda.Candidates(empty)
	require.NoError(t, err)
	assert.Empty(t, list)
}
