package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/gif"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// made is a dataset with played episodes, as demonstrations have them.
type made []episode

func (m made) Name() string       { return "made" }
func (m made) Format() string     { return "made" }
func (m made) Info() dataset.Info { return dataset.Info{Rate: rate, RateFrom: "file", Declared: rate} }
func (m made) Len() int           { return len(m) }
func (m made) Close() error       { return nil }

func (m made) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	rows := map[string][]float32{}
	var times []int64
	for k, target := range m[i].targets {
		times = append(times, at(k))
		for name, values := range sample(m[i].states[k], []float64{target.x, target.y}) {
			rows[name] = append(rows[name], tensor.Cast[float32](values)...)
		}
	}
	e := &dataset.Episode{Name: fmt.Sprint(i)}
	for _, name := range []string{"action", "keypoint", "state"} {
		n := len(rows[name]) / len(times)
		s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(rows[name], len(times), n)), nil)
		if err != nil {
			return nil, err
		}
		for j := range s.Columns {
			if name == "keypoint" {
				s.Columns[j].Name = fmt.Sprintf("[%d][%d]", j/2, j%2)
			}
		}
		e.Streams = append(e.Streams, s)
	}
	return e, nil
}

// circling sends the agent around the middle.
type circling struct{ holder }

func (circling) next(_ context.Context, step int, _ state) (vec, error) {
	if step == 60 {
		return vec{}, io.EOF
	}
	return direction(float64(step) / 9).times(120).add(vec{256, 256}), nil
}

// learn trains a policy for some steps and returns its checkpoint.
func learn(t *testing.T, o policy.Options) string {
	t.Helper()
	var m made
	for seed := range 3 {
		e, err := play(t.Context(), circling{}, seed)
		require.NoError(t, err)
		require.Len(t, e.targets, 60)
		m = append(m, e)
	}
	s, err := store.Build(t.Context(), m, store.BuildOptions{})
	require.NoError(t, err)
	defer s.Close()
	device, err := ops.Open("cpu:exact")
	require.NoError(t, err)
	defer device.Close()
	o.Steps, o.Batch = 30, 8
	trainer, err := policy.NewTrainer(t.Context(), []*ops.Device{device}, s, o)
	require.NoError(t, err)
	defer trainer.Close()
	_, err = trainer.Run(t.Context(), o.Steps)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, trainer.Save(t.Context(), dir))
	return dir
}

// The demonstrations' angles are at least 0 and less than 2 pi.
func TestAPolicyReadsAnglesAsTheyWereRecorded(t *testing.T) {
	for angle, want := range map[float64]float64{-0.5: 2*math.Pi - 0.5, 0: 0, 1: 1, 7: 7 - 2*math.Pi, -7: 4*math.Pi - 7} {
		assert.InDelta(t, want, sample(state{4: angle}, nil)["state"][4], 1e-15, angle)
	}
}

// A policy that plays gets the same inputs as from a recording, so it chooses the actions that Evaluate predicts.
func TestAPolicySeesTheEpisodeThatItPlays(t *testing.T) {
	for name, plan := range map[string]string{
		"all":                 "",
		"keypoints and agent": "version: 1\nrate: 10\nstreams: [{name: keypoint}, {name: at, from: state, columns: [\"0\", \"1\"]}, {name: action}]\n",
		"state":               "version: 1\nrate: 10\nstreams: [{name: state}, {name: action}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := newPlayer(t.Context(), learn(t, policy.Options{Plan: plan}), &options{backend: "cpu:exact"})
			require.NoError(t, err)
			defer p.Close()
			_, err = play(t.Context(), p, 100001)
			require.NoError(t, err)
			e, err := play(t.Context(), p, 100000) // a second episode begins anew
			require.NoError(t, err)
			s, err := store.Build(t.Context(), made{e}, store.BuildOptions{})
			require.NoError(t, err)
			defer s.Close()
			chunks := 0
			_, err = p.(*learned).policy.Evaluate(t.Context(), s, []int{0}, func(w *policy.Window, chunk []float64) error {
				i := int(w.Anchor*rate/1e9) - 1
				if i%8 == 0 && i >= 8 && i+8 < len(e.targets) {
					for j, target := range e.targets[i : i+8] {
						require.Equal(t, []float64{target.x, target.y}, chunk[2*j:2*j+2], "step %d", i)
					}
					chunks++
				}
				return nil
			})
			require.NoError(t, err)
			assert.Greater(t, chunks, 30)
			assert.NotEqual(t, e.targets[0], e.targets[100])
			assert.Less(t, e.targets[0].sub(e.states[0].agent()).length(), 100.0, "it starts from where the agent is")
		})
	}
}

func TestScoresAPolicyAndDrawsIt(t *testing.T) {
	dir, folder := learn(t, policy.Options{}), t.TempDir()
	film, picture := filepath.Join(folder, "a.gif"), filepath.Join(folder, "a.png")
	args := []string{"score", dir, "--seeds", "100005-100011", "--backend", "cpu:exact", "--json", "--gif", film, "--png", picture}
	var out, again, errs bytes.Buffer
	require.NoError(t, run(t.Context(), args, &out, &errs))
	require.NoError(t, run(t.Context(), args, &again, io.Discard))
	assert.Equal(t, out.String(), again.String(), "the same command has the same scores")
	assert.Contains(t, errs.String(), "seed 100011: ")
	var got map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	assert.Len(t, got, 3)
	var s scores
	require.NoError(t, json.Unmarshal(out.Bytes(), &s))
	require.Len(t, s.Scores, 7)
	assert.InDelta(t, mean(s.Scores), s.Mean, 1e-15)
	assert.LessOrEqual(t, s.Interval[0], s.Mean)
	assert.GreaterOrEqual(t, s.Interval[1], s.Mean)
	var one bytes.Buffer
	args = []string{"score", dir, "--json", "--backend", "cpu:exact", "--seeds", "100007-100007"}
	require.NoError(t, run(t.Context(), args, &one, io.Discard))
	assert.Contains(t, one.String(), fmt.Sprintf(`{"scores":[%v]`, s.Scores[2]), "a score depends on its seed alone")

	f, err := os.Open(film)
	require.NoError(t, err)
	defer f.Close()
	g, err := gif.DecodeAll(f)
	require.NoError(t, err)
	assert.Equal(t, []int{300, 10}, []int{len(g.Image), g.Delay[0]})
	at := draw(100005).agent().times(size / 512.0)
	assert.Equal(t, uint8(blue), g.Image[0].ColorIndexAt(int(at.x), int(at.y)), "the agent")
	f, err = os.Open(picture)
	require.NoError(t, err)
	defer f.Close()
	_, err = png.Decode(f)
	require.NoError(t, err)
}

// Without -execute, a policy executes the number of actions that it was trained for.
func TestTheCheckpointSaysHowManyActionsAreExecuted(t *testing.T) {
	dir := learn(t, policy.Options{Execute: 4})
	for given, want := range map[int]int{0: 4, 3: 3} {
		p, err := newPlayer(t.Context(), dir, &options{backend: "cpu:exact", execute: given})
		require.NoError(t, err)
		assert.Equal(t, want, p.(*learned).execute)
		require.NoError(t, p.Close())
	}
}

// The exact backends have the same actions, so the same episodes.
func TestScoresAreTheSameOnEveryBackend(t *testing.T) {
	dir := learn(t, policy.Options{})
	for _, backend := range []string{"sim", "cuda"} {
		t.Run(backend, func(t *testing.T) {
			if backend == "cuda" {
				gputest.Require(t)
			}
			var want, got bytes.Buffer
			args := []string{"score", dir, "--seeds", "100001-100001", "--json", "--backend"}
			require.NoError(t, run(t.Context(), append(args, "cpu:exact"), &want, io.Discard))
			require.NoError(t, run(t.Context(), append(args, backend), &got, io.Discard))
			assert.Equal(t, want.String(), got.String())
		})
	}
}

func TestHoldIsTheCoverageAtTheStart(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"score", "hold", "--seeds", "100000-100009"}, &out, io.Discard))
	assert.Equal(t, "10 episodes: mean score 0.082 [0.018, 0.160]\n", out.String())
	e, err := play(t.Context(), holder{}, 100003)
	require.NoError(t, err)
	assert.InDelta(t, initial(100003).reward(), e.score, 1e-9)
}

// The demonstrations end when the block covers 90 % of its goal.
func TestReplayedDemonstrationsReachTheGoal(t *testing.T) {
	recorded(t)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"score", recordings, "--seeds", "0-9", "--json", "--backend", "cpu"}, &out, io.Discard))
	var s scores
	require.NoError(t, json.Unmarshal(out.Bytes(), &s))
	for _, v := range s.Scores {
		assert.InDelta(t, 0.95, v, 0.05)
	}
}

func TestTheIntervalOfTheMean(t *testing.T) {
	list := make([]float64, 400)
	for i := range list {
		list[i] = float64(i % 2)
	}
	got := bootstrap(list)
	assert.Equal(t, got, bootstrap(list))
	want := 1.96 * math.Sqrt(0.25/400)
	assert.InDelta(t, 0.5-want, got[0], 0.01)
	assert.InDelta(t, 0.5+want, got[1], 0.01)
}

func TestWrongInput(t *testing.T) {
	bad, nan := filepath.Join(t.TempDir(), "bad.npz"), filepath.Join(t.TempDir(), "nan.npz")
	for path, start := range map[string][]float64{bad: make([]float64, 10), nan: {1, 2, 3, 4, math.NaN(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}} {
		require.NoError(t, write(path, func(w io.Writer) error {
			archive := npz.NewWriter(w, npz.Options{})
			require.NoError(t, archive.Add("start", tensor.Must(tensor.Of(start, len(start)/5, 5))))
			require.NoError(t, archive.Add("actions", tensor.Must(tensor.New(tensor.F64, 3, 1, 2))))
			return archive.Close()
		}))
	}
	fast := learn(t, policy.Options{Hz: 20})
	for want, args := range map[string][]string{
		"want simulate":                   {},
		"want simulate IN.npz":            {"play"},
		"or score POLICY":                 {"score"},
		"--seeds A-B":                     {"simulate", bad},
		"start [2 5] and actions [3 1 2]": {"simulate", bad, "-o", "x"},
		"stat absent.npz":                 {"simulate", "absent.npz", "-o", "x"},
		`got "9-3"`:                       {"score", "hold", "--seeds", "9-3"},
		`got "-1"`:                        {"score", "hold", "--seeds", "-1"},
		"no such file or":                 {"score", "absent", "--backend", "cpu"},
		"tpu":                             {"score", fast, "--backend", "tpu"},
		"a policy for 20 Hz":              {"score", fast, "--backend", "cpu"},
		"-execute: got -1":                {"score", fast, "--backend", "cpu", "--execute", "-1"},
		"open absent/a.gif":               {"score", "hold", "--gif", "absent/a.gif"},
		"got NaN":                         {"simulate", nan, "-o", "x"},
		"not defined: -x":                 {"score", "hold", "-x"},
	} {
		assert.ErrorContains(t, run(t.Context(), args, io.Discard, io.Discard), want)
	}
}
