package policy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/policy"
)

// sizes are episodes of columns of some names and sizes, which swing.
func sizes(t testing.TB, names []string, size []float64, rows ...int) made {
	t.Helper()
	columns := make([]dataset.Column, len(names))
	for j, n := range names {
		columns[j].Name = n
	}
	var m made
	for i, n := range rows {
		value := func(row, j int) float64 {
			return size[j] * math.Sin(float64(row)/float64(12+5*j)+float64(i)*1.7+float64(j))
		}
		m = append(m, &dataset.Episode{Name: fmt.Sprint("e", i), Streams: []dataset.Stream{table(t, "state", n, columns, value), table(t, "action", n, columns, value)}})
	}
	return m
}

// What joints are measured by has a floor of 0.05 rad; that of other columns has their own unit, so that metres or a millionth of them count like any other.
func TestTheFloorHasTheUnitOfItsColumns(t *testing.T) {
	names, size := []string{"x", "y", "z"}, []float64{0.01, 0.02, 0}
	train := func(names []string, by float64, o policy.Options) *policy.Config {
		scaled := []float64{by * size[0], by * size[1], by * size[2]}
		return trainer(t, "cpu", build(t, sizes(t, names, scaled, 80, 80)), o).Config()
	}
	large, small := train(names, 1, policy.Options{}), train(names, 1e-6, policy.Options{})
	for j, y := range large.Targets[:2] {
		assert.InEpsilon(t, size[j]/math.Sqrt2, y.Std, 0.3, "its standard deviation")
		assert.InEpsilon(t, 1e-6*y.Std, small.Targets[j].Std, 1e-3)
		assert.False(t, y.Floored)
	}
	require.Len(t, large.Floored(), 1)
	assert.Equal(t, policy.Column{Stream: "action", Name: "z", Relative: 2, Std: 1, Floored: true}, large.Floored()[0], "one that does not vary is taken as it is")

	joints := train([]string{"kLeftElbow", "left_knee_joint", "hand_z"}, 1, policy.Options{})
	for j, floored := range []bool{true, true, true} {
		assert.Equal(t, floored, joints.Targets[j].Floored)
	}
	assert.Equal(t, policy.Floor, joints.Targets[0].Std)
	assert.Equal(t, policy.Floor, joints.Targets[1].Std)
	assert.Equal(t, 1.0, joints.Targets[2].Std, "no joint")
	given := train(names, 1, policy.Options{Floor: 0.01})
	assert.Equal(t, 0.01, given.Targets[0].Std)
	assert.Greater(t, given.Targets[1].Std, 0.01)
}

// Skill by column is 1 - MSE/MSE(hold) of its unit, and the deviations join the columns to the whole.
func TestSkillIsToldByColumn(t *testing.T) {
	tr := trainer(t, "cpu", build(t, robots(t, 80, 80)), policy.Options{HoldOut: []int{1}, Steps: 30})
	train(t, tr, 30)
	sum, n := make([]float64, 3), 0.0
	e, err := tr.Evaluate(context.Background(), func(w *policy.Window, chunk []float64) error {
		if w.Counts[9] {
			n++
			for j := range sum {
				d := chunk[9*3+j] - w.Actions[9*3+j]
				sum[j] += d * d
			}
		}
		return nil
	})
	require.NoError(t, err)
	whole := 0.0
	for j, y := range e.Skills[0].Columns {
		assert.InEpsilon(t, sum[j]/n, y.MSE, 1e-9)
		assert.InDelta(t, 1-y.MSE/y.Hold, y.Skill, 1e-12)
		assert.Equal(t, tr.Config().Targets[j].Std, y.Std)
		whole += y.MSE / (y.Std * y.Std) / 3
	}
	assert.InEpsilon(t, e.Skills[0].MSE, whole, 1e-9)
}

// partial is a dataset of which some episodes cannot be read.
type partial struct {
	made
	broken int
}

func (p partial) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	if i == p.broken {
		return nil, errors.New("it is broken")
	}
	return p.made.Episode(ctx, i)
}

// An episode is known by its samples: in a copy, under another number, and where others cannot be read.
func TestAnEpisodeIsKnownByItsSamples(t *testing.T) {
	ctx := context.Background()
	all := robots(t, 60, 70, 80, 90)
	tr := trainer(t, "cpu", build(t, all), policy.Options{HoldOut: []int{2}, Steps: 1})
	train(t, tr, 1)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	for name, c := range map[string]struct {
		d    dataset.Dataset
		ask  []int
		want []int
	}{
		"itself":                   {all, []int{0, 1, 2, 3}, []int{0, 1, 3}},
		"of some":                  {all, []int{1, 2}, []int{1}},
		"a copy without the first": {all[1:], []int{0, 1, 2}, []int{0, 2}},
		"one that is broken":       {partial{all, 0}, []int{1, 2, 3}, []int{1, 3}},
		"others":                   {sizes(t, []string{"shoulder", "elbow", "wrist"}, []float64{1, 2, 3}, 60, 70), []int{0, 1}, []int{}},
	} {
		got, err := p.TrainedOn(ctx, build(t, c.d), c.ask)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
	var seen []int
	_, err = p.Evaluate(ctx, build(t, partial{all, 0}), []int{2, 3}, func(w *policy.Window, _ []float64) error {
		if len(seen) == 0 || seen[len(seen)-1] != w.Episode {
			seen = append(seen, w.Episode)
		}
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3}, seen, "numbers of the dataset, not places among what could be read")
}

// A value that is not finite is found before the first step, be it of an episode that is held out, and it is said where it is.
func TestAValueThatIsNotFiniteIsFoundBeforeTheFirstStep(t *testing.T) {
	for _, o := range []policy.Options{{}, {HoldOut: []int{1}}} {
		d := robots(t, 60, 60)
		d[1].Streams[0] = table(t, "state", 60, joints, func(row, j int) float64 {
			if row == 30 && j == 1 {
				return math.Inf(-1)
			}
			return float64(row * j)
		})
		_, err := policy.NewTrainer(context.Background(), all(t, "cpu"), build(t, d), o)
		var stream *policy.StreamError
		require.ErrorAs(t, err, &stream)
		assert.EqualError(t, err, "policy: stream state: got -Inf in column elbow of episode e1, row 30, 1.000 s after its first, want finite values")
	}
}

// A recording without a stream that the policy takes is refused by that stream's name, and a filter says of how many episodes it leaves none.
func TestWhatIsMissingIsNamed(t *testing.T) {
	ctx := context.Background()
	tr := trainer(t, "cpu", build(t, robots(t, 60)), policy.Options{Steps: 1})
	train(t, tr, 1)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	other := robots(t, 60)
	other[0].Streams[0].Name = "legs"
	_, err = p.TrainedOn(ctx, build(t, other), []int{0})
	assert.EqualError(t, err, "policy: stream state: got none in made, want one, as the policy was trained with")

	plan := "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nfilter: {task: dance}\n"
	_, err = policy.NewTrainer(ctx, all(t, "cpu"), build(t, robots(t, 60, 60, 60)), policy.Options{Plan: plan, HoldOut: []int{1}})
	assert.ErrorContains(t, err, "of 2 episodes the filter leaves out 2")

	heads := files(t, dir)["config.json"]
	filetest.Write(t, filepath.Join(dir, "config.json"), strings.Replace(heads, `"heads": 2`, `"heads": 3`, 1))
	_, err = policy.Open(ctx, open(t, "cpu"), dir)
	var bad *policy.CheckpointError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "config.json: recipe", bad.What)
}
