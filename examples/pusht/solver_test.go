package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/tensor"
)

// golden has arrays from Chipmunk and numpy, by scripts/gen_pusht_golden.py.
const golden = "testdata/pushes.npz"

func array(t *testing.T, path, name string) []float64 {
	t.Helper()
	f, err := npz.Open(path)
	require.NoError(t, err)
	defer f.Close()
	x, err := f.Tensor(name)
	require.NoError(t, err)
	return floats(t, x)
}

func floats(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	list, err := tensor.Floats(x)
	require.NoError(t, err)
	return list
}

func TestSimulatesWhatChipmunkComputes(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.npz")
	require.NoError(t, run(t.Context(), []string{"simulate", golden, "-o", out}, nil, nil))
	want, got := array(t, golden, "states"), array(t, out, "states")
	require.Len(t, want, 42*10*5)
	assert.InDeltaSlice(t, want, got, 1e-9, "px and rad; a few roundings differ")
	moved := 0
	for i := range 42 {
		if start := array(t, golden, "start")[5*i+2]; math.Abs(want[50*i+47]-start) > 1 {
			moved++
		}
	}
	assert.Greater(t, moved, 20, "blocks that are pushed")
}

func TestInitialStatesAreNumpys(t *testing.T) {
	want := array(t, golden, "drawn")
	require.Len(t, want, 500*5)
	for i := range 500 {
		require.Equal(t, state(want[5*i:]), draw(100000+i), i)
	}
}

// demonstration is an episode in diffusion_policy's recordings.
type demonstration struct {
	states, actions, keypoints []float64
}

const recordings = "../../../shared/data/pusht_zarr/pusht_cchi_v7_replay.zarr"

func recorded(t *testing.T) (list []demonstration) {
	t.Helper()
	if _, err := os.Stat(recordings); err != nil {
		t.Skip("no shared recordings: ", err)
	}
	d, err := dataset.Open(t.Context(), recordings, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	for i := range d.Len() {
		e, err := d.Episode(t.Context(), i)
		require.NoError(t, err)
		values := func(stream string) []float64 { return floats(t, e.Stream(stream).Values) }
		list = append(list, demonstration{values("state"), values("action"), values("keypoint")})
	}
	return list
}

// The bounds are px. The last bit in the float32 recordings is worth 3e-5 px.
func TestReplaysTheDemonstrations(t *testing.T) {
	var last, points []float64
	list := recorded(t)
	require.Len(t, list, 206)
	for _, d := range list {
		n := len(d.actions) / 2
		row := func(i int) state { return state(d.states[5*i:]) }
		off := func(e *env, i int) (worst float64) {
			got, want := e.state(), row(i)
			for j := range 4 {
				worst = max(worst, math.Abs(got[j]-want[j]))
			}
			return worst
		}
		open, single := newEnv(row(0)), newEnv(row(0))
		for i := range n - 1 {
			target := vec{d.actions[2*i], d.actions[2*i+1]}
			open.step(target)
			s := row(i)
			single.agent.center = s.agent()
			single.block.place(s.block(), s[4])
			single.step(target)
			if i > 2 {
				require.Less(t, off(single, i+1), 1e-3, "one step from recorded poses")
			}
		}
		last = append(last, off(open, n-1))
		for i, v := range row(n - 1).keypoints() {
			points = append(points, math.Abs(v-d.keypoints[18*(n-1)+i]))
		}
	}
	slices.Sort(last)
	assert.Less(t, last[103], 1e-4, "median")
	assert.Less(t, last[185], 1e-3, "90 %")
	assert.Less(t, last[205], 1e-2)
	slices.Sort(points)
	assert.Less(t, points[len(points)/2], 1e-4, "keypoints; those recorded in a push are a little ahead of the pose")
	assert.Less(t, points[len(points)-1], 3.0)
}

// A grid counts the area where the block covers the goal.
func TestRewardIsTheShareOfTheGoalThatIsCovered(t *testing.T) {
	assert.Equal(t, 1.0, goal.reward())
	assert.Zero(t, state{0, 0, 100, 400, 0}.reward())
	for _, s := range []state{{2: 256, 256, 0}, {2: 270, 240, math.Pi / 4}, {2: 300, 290, 2.5}, {2: 230, 260, -9}} {
		isBlock, isGoal := s.covers(), goal.covers()
		both, all := 0, 0
		for i := range 1000 * 1000 {
			p := vec{float64(i%1000) + 0.5, float64(i/1000) + 0.5}.times(0.512)
			if isGoal(p) {
				all++
				if isBlock(p) {
					both++
				}
			}
		}
		assert.InDelta(t, float64(both)/float64(all)/0.95, s.reward(), 2e-3, s)
		assert.Positive(t, both)
	}
}

func TestDirectionAndLogarithmAreClose(t *testing.T) {
	for i := range 10000 {
		x := (float64(i) - 5000) / 137
		d := direction(x)
		assert.InDelta(t, math.Cos(x), d.x, 2.3e-16)
		assert.InDelta(t, math.Sin(x), d.y, 2.3e-16)
		y := (float64(i) + 0.5) / 3000
		assert.InEpsilon(t, math.Log(y), logarithm(y), 4e-16)
	}
}
