package cuda_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
)

// simulated opens the simulated device with ROBOCACHE_TUNED set.
func simulated(t *testing.T, path string) *ops.Device {
	t.Helper()
	t.Setenv("ROBOCACHE_TUNED", path)
	dev, err := ops.Open("sim")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dev.Close()) })
	return dev
}

// candidates are those of resamplePlan's job of 3 rows onto 1000 targets.
func candidates(t *testing.T, dev *ops.Device) (tuned.Key, []tuned.Policy) {
	t.Helper()
	p := resamplePlan(t, dev, 3, 1000)
	defer p.Close()
	key, list, err := p.Backend().(tuned.Plan).Candidates()
	require.NoError(t, err)
	require.Greater(t, len(list), 1)
	return key, list
}

// launchOf is that job's.
func launchOf(t *testing.T, dev *ops.Device) cuda.Launch {
	t.Helper()
	p := resamplePlan(t, dev, 3, 1000)
	defer p.Close()
	list, err := cuda.Explain(p)
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

func TestPlansTakeTheirShapeFromTheTable(t *testing.T) {
	plain := simulated(t, "")
	assert.Equal(t, "the heuristic: a simulated device takes no table but that of ROBOCACHE_TUNED", plain.Info().Shapes)
	heuristic := launchOf(t, plain)
	assert.False(t, heuristic.Tuned)
	key, list := candidates(t, plain)
	require.NoError(t, tuneTo(plain.Queue().Backend(), key, list[len(list)-1]))
	table, _ := plain.Queue().Backend().(tuned.Device).Tuned()
	dir := t.TempDir()
	path := filepath.Join(dir, "some.json")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, table.Write(f))
	require.NoError(t, f.Close())

	dev := simulated(t, path)
	assert.Equal(t, "tuned for 1 keys by "+path+", else the heuristic", dev.Info().Shapes)
	l := launchOf(t, dev)
	assert.True(t, l.Tuned)
	assert.Equal(t, key.String(), l.Key)
	assert.NotEqual(t, [2][3]uint32{heuristic.Grid, heuristic.Block}, [2][3]uint32{l.Grid, l.Block})

	// A folder holds one file a kind of GPU.
	inside := simulated(t, dir)
	_, at := inside.Queue().Backend().(tuned.Device).Tuned()
	assert.Equal(t, filepath.Join(dir, "tuned-simulated-gpu-sm-9-0.json"), at)
	assert.Equal(t, "the heuristic: there is no "+at, inside.Info().Shapes)
	require.NoError(t, os.Rename(path, at))
	assert.True(t, launchOf(t, simulated(t, dir)).Tuned)
	off := simulated(t, "off")
	assert.Equal(t, "the heuristic: ROBOCACHE_TUNED is off", off.Info().Shapes)
	assert.Equal(t, heuristic, launchOf(t, off))
}

// What cannot be used is no error, and the heuristic decides.
func TestPoliciesThatDoNotFitAreNotUsed(t *testing.T) {
	dev := simulated(t, "")
	heuristic := launchOf(t, dev)
	key, list := candidates(t, dev)
	good := list[len(list)-1]
	for what, change := range map[string]func(c *tuned.Policy){
		"no such variant":       func(c *tuned.Policy) { c.Variant = "resample_i4" },
		"another job's variant": func(c *tuned.Policy) { c.Variant = "fuse_fast" },
		"a number too large":    func(c *tuned.Policy) { c.ItemsPerThread = 1024 },
		"a number too many":     func(c *tuned.Policy) { c.Tile = 8 },
		"none":                  func(c *tuned.Policy) { *c = tuned.Policy{} },
	} {
		c := good
		change(&c)
		require.NoError(t, tuneTo(dev.Queue().Backend(), key, c))
		assert.Equal(t, heuristic, launchOf(t, dev), what)
	}
	assert.ErrorIs(t, dev.Queue().Backend().(tuned.Device).Tune(tuned.New(tuned.Identity{Device: "NVIDIA H200"})), tuned.ErrStale)

	path := filepath.Join(t.TempDir(), "tuned.json")
	filetest.Write(t, path, `{"format": 3, "device": "NVIDIA H200"}`)
	other := simulated(t, path)
	assert.Contains(t, other.Info().Shapes, "the heuristic: "+path+" is not used: "+tuned.ErrStale.Error())
	assert.Equal(t, heuristic, launchOf(t, other))
}

// The candidates of a plan are launched as they say and differ, the heuristic's first, and a job twice as large is of another key.
func TestCandidatesDiffer(t *testing.T) {
	dev := simulated(t, "")
	heuristic := launchOf(t, dev)
	key, list := candidates(t, dev)
	seen := map[tuned.Policy]bool{}
	for i, c := range list {
		assert.False(t, seen[c], c)
		seen[c] = true
		require.NoError(t, tuneTo(dev.Queue().Backend(), key, c))
		l := launchOf(t, dev)
		assert.Equal(t, c.String(), l.Kernel+" "+l.Shape)
		assert.True(t, l.Tuned)
		assert.Equal(t, i == 0, l.Kernel == heuristic.Kernel && l.Shape == heuristic.Shape)
	}
	twice := resamplePlan(t, dev, 6, 1000)
	other, _, err := twice.Backend().(tuned.Plan).Candidates()
	require.NoError(t, err)
	assert.NotEqual(t, key, other)
	require.NoError(t, twice.Close())
	_, _, err = twice.Backend().(tuned.Plan).Candidates()
	assert.ErrorIs(t, err, ops.ErrClosed)
	empty := resamplePlan(t, dev, 3, 0)
	defer empty.Close()
	_, list, err = empty.Backend().(tuned.Plan).Candidates()
	require.NoError(t, err)
	assert.Empty(t, list)
}
