package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

// acting has the policy flags.
type acting struct {
	dir, path          string
	out, plot, backend string
	request            batching.Request // for the recordings
	hz                 float64          // for --live
	episode            episodeFlag
	live, columns      bool
}

// check checks the flags.
func (p *acting) check() error {
	switch {
	case p.live && (p.out != "" || p.plot != ""):
		return usagef("--live: got it with -o or --plot, want one of them")
	case p.hz > 0 && !p.live:
		return usagef("--hz: got it without --live, want both")
	}
	return writable(append(p.request.Definitions, p.dir, p.path), output{flag: "-o", path: p.out, ends: []string{".npz", ".safetensors"}}, picture(p.plot))
}

// acted is the policy report.
type acted struct {
	Policy     string               `json:"policy"` // the folder
	Input      string               `json:"input"`
	Output     string               `json:"output,omitempty"`
	Plot       string               `json:"plot,omitempty"`
	Device     deviceInfo           `json:"device"`
	Says       string               `json:"says"`
	Trained    []int                `json:"trained"` // episodes that the policy was trained on, recognised by their samples; their skill is separate
	Skill      map[string]float64   `json:"skill"`   // on the other episodes
	Evaluation *policy.Evaluation   `json:"evaluation,omitempty"`
	Seen       map[string]float64   `json:"trained_skill"`
	SeenBy     *policy.Evaluation   `json:"trained_evaluation,omitempty"`
	Problems   []inspection.Problem `json:"problems"` // about the whole dataset
	Latency    latency              `json:"latency"`
	Live       *lived               `json:"live,omitempty"`
	noteList
}

// latency is the time for one prediction, from the arrived samples to the actions on the host.
type latency struct {
	Predictions int     `json:"predictions"`
	Median      float64 `json:"median_ms"`
	P99         float64 `json:"p99_ms"`
}

// lived is the report of --live.
type lived struct {
	Hz            float64 `json:"hz"`
	Episode       string  `json:"episode"`
	Seconds       float64 `json:"seconds"`
	WithoutAction int     `json:"without_action"` // ticks before the first action
	WithoutState  int     `json:"without_state"`  // predictions with a state that has no valid sample at the tick
	Late          int     `json:"late"`           // predictions that took more than a period
	Ended         bool    `json:"ended_by_signal"`
}

// actor is a running policy command.
type actor struct {
	*acting
	app    *app
	policy *policy.Policy
	store  *store.Store
	out    *acted
}

func (w *actor) run(ctx context.Context) error {
	numbers, at := []int{}, 0 // at is the index of the episode to play
	for i, e := range w.store.Episodes {
		if w.episode < 0 || int(w.episode) == e.Number {
			numbers = append(numbers, e.Number)
			at = i
		}
	}
	switch n := len(w.store.Episodes); {
	case len(numbers) == 0 && w.episode >= 0:
		return usagef("--episode: got %d, and %s holds %s", w.episode, w.path, episodes(n))
	case len(numbers) > 1 && (w.live || w.plot != ""):
		return usagef("%s holds %d episodes, want --episode for --live or --plot", w.path, n)
	}
	e, _, err := w.store.Read(ctx, at)
	if err != nil {
		return readError(w.path, err)
	}
	if w.out.Trained, err = w.policy.TrainedOn(ctx, w.store, numbers); err != nil {
		return err
	}
	if !w.live {
		if err := w.compare(ctx, numbers); err != nil {
			return err
		}
	}
	if err := w.play(ctx, e, numbers[0], w.live); err != nil {
		return err
	}
	return w.write()
}

// compare predicts at all ticks and writes the predictions.
func (w *actor) compare(ctx context.Context, numbers []int) error {
	kept := &predictions{}
	trace := policy.NewTrace(w.policy.Config(), numbers[0])
	done := w.app.Step("predicting")
	visit := func(at *policy.Window, chunk []float64) error {
		if w.acting.out != "" {
			if err := kept.add(at, chunk); err != nil {
				return err
			}
		}
		if w.acting.plot == "" {
			return nil
		}
		return trace.Add(at, chunk)
	}
	others := slices.DeleteFunc(slices.Clone(numbers), func(n int) bool { return slices.Contains(w.out.Trained, n) })
	for _, some := range [][]int{others, w.out.Trained} {
		if len(some) == 0 {
			continue
		}
		e, err := w.policy.Evaluate(ctx, w.store, some, visit)
		if err != nil {
			done()
			return err
		}
		w.record(&e)
	}
	done()
	if w.acting.out != "" {
		if err := w.keep(kept); err != nil {
			return err
		}
	}
	if w.acting.plot == "" {
		return nil
	}
	streams, err := trace.Streams()
	if err != nil {
		return err
	}
	title := fmt.Sprintf("Episode %d: the %d actions that move most, of %d", numbers[0], len(trace.Moving(4)), len(w.policy.Config().Targets))
	return unwritten(atomicfile.WriteFile(w.acting.plot, func(f io.Writer) error {
		return viz.WriteCurvesPNG(f, streams, trace.Moving(4), viz.Options{Title: title})
	}))
}

// record stores an evaluation in the report: as Seen if its episodes were used in training, else as Skill.
func (w *actor) record(e *policy.Evaluation) {
	if len(e.Episodes) > 0 && slices.Contains(w.out.Trained, e.Episodes[0]) {
		w.out.SeenBy, w.out.Seen = e, skillOf(e)
	} else {
		w.out.Evaluation, w.out.Skill = e, skillOf(e)
	}
}

// keep writes the predictions to the file of -o.
func (w *actor) keep(p *predictions) error {
	c := w.policy.Config()
	n, chunk, columns := len(p.anchors), c.Recipe.Chunk, len(c.Targets)
	return unwritten(atomicfile.WriteFile(w.acting.out, func(f io.Writer) error {
		archive := arrayfile.New(w.acting.out, f)
		var errs []error
		add := func(name string, t *tensor.Tensor, err error) {
			if err == nil {
				err = archive.Add(name, t)
			}
			errs = append(errs, err)
		}
		array := func(name string, list []float64) {
			t, err := tensor.Of(list, n, chunk, columns)
			add(name, t, err)
		}
		array("chunks", p.chunks)
		array("recorded", p.recorded)
		counts, err := tensor.Of(p.counts, n, chunk)
		add("counts", counts, err)
		for name, list := range map[string][]int64{"anchors": p.anchors, "episodes": p.episodes, "ticks": p.ticks} {
			t, err := tensor.Of(list, n)
			add(name, t, err)
		}
		errs = append(errs, archive.AddStrings("columns", c.Action.Columns))
		if err := errors.Join(errs...); err != nil {
			return err
		}
		return archive.Close()
	}))
}

// play feeds the episode's samples to a runner in time order, and predicts at each tick of --hz. If live is true, it runs at the speed of
// the recording, else as fast as possible.
func (w *actor) play(ctx context.Context, e *dataset.Episode, number int, live bool) (err error) {
	streams, err := w.policy.LiveStreams(e)
	if err != nil {
		return err
	}
	r, err := w.policy.NewRunner(ctx, streams)
	if err != nil {
		return err
	}
	defer joinClose(&err, r)
	feed, err := policy.NewFeed(w.policy.Config(), e)
	if err != nil {
		return err
	}
	var score *policy.Score // of the live predictions; without live, compare has scored all ticks
	if live {
		if score, err = policy.NewScore(w.policy.Config(), e); err != nil {
			return err
		}
		defer joinClose(&err, score)
	}
	hz := cmp.Or(w.hz, w.policy.Config().Hz)
	out := &lived{Hz: hz, Episode: e.Name}
	cut, ended, stop := w.app.UntilCut(0)
	defer stop()
	first, last := feed.Span()
	ticks := ops.Clock{Start: first, Rate: hz}
	begin := time.Now()
	var took []time.Duration
	for i := 0; live || len(took) < mostTimed; i++ {
		anchor := ticks.Tick(i)
		if anchor > last {
			break
		}
		after := time.Duration(anchor - first)
		if live {
			select {
			case <-time.After(time.Until(begin.Add(after))):
			case <-cut.Done():
			}
			if out.Ended = ended(); out.Ended {
				break
			}
		}
		if err := feed.Until(r, anchor); err != nil {
			return err
		}
		at := time.Now()
		chunk, err := r.Act(ctx, anchor)
		var none *policy.NoActionError
		switch {
		case errors.As(err, &none):
			out.WithoutAction++
			continue
		case err != nil:
			return err
		}
		took = append(took, time.Since(at))
		if len(r.Missing()) > 0 {
			out.WithoutState++
		}
		if live && time.Since(begin.Add(after)) > time.Duration(1e9/hz) {
			out.Late++
		}
		if live {
			if err := score.Add(ctx, anchor, chunk); err != nil {
				return err
			}
		}
	}
	out.Seconds = time.Since(begin).Seconds()
	if w.out.Latency = latencyOf(took); live {
		of := score.Evaluation(number)
		w.out.Live = out
		w.record(&of)
	}
	return nil
}

// write prints the result.
func (w *actor) write() error {
	o := w.out
	if w.app.JSON {
		return w.app.WriteJSON(schema.Policy, o)
	}
	var b bytes.Buffer
	if o.Evaluation != nil {
		writeSkills(&b, o.Evaluation, nil, nil)
	}
	if o.SeenBy != nil {
		fmt.Fprintf(&b, "it was trained on %s, so its skill there is only in --json\n", numbered(o.SeenBy.Episodes))
	}
	if e := cmp.Or(o.Evaluation, o.SeenBy); e != nil && w.columns {
		writeColumns(&b, e)
	}
	if l := o.Live; l != nil {
		fmt.Fprintf(&b, "played episode %s for %.1f s, %g predictions a second: %d late, %d without an action before them", l.Episode, l.Seconds, l.Hz, l.Late, l.WithoutAction)
		if l.WithoutState > 0 {
			fmt.Fprintf(&b, ", %d without a sample of a state", l.WithoutState)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d predictions, each in %.2f ms, the slowest of a hundred in %.2f ms, on %s\n%s\n", o.Latency.Predictions, o.Latency.Median, o.Latency.P99, o.Device.Name, o.Says)
	if o.Output != "" {
		fmt.Fprintf(&b, "wrote %s\n", o.Output)
	}
	if o.Plot != "" {
		fmt.Fprintf(&b, "wrote %s\n", o.Plot)
	}
	_, err := w.app.Out.Write(b.Bytes())
	return err
}

// predictions is the data in -o.
type predictions struct {
	chunks, recorded         []float64
	counts                   []uint8
	anchors, episodes, ticks []int64
}

func (p *predictions) add(w *policy.Window, chunk []float64) error {
	p.chunks, p.recorded = append(p.chunks, chunk...), append(p.recorded, w.Actions...)
	for _, c := range w.Counts {
		n := uint8(0)
		if c {
			n = 1
		}
		p.counts = append(p.counts, n)
	}
	p.anchors, p.episodes, p.ticks = append(p.anchors, w.Anchor), append(p.episodes, int64(w.Episode)), append(p.ticks, w.Tick)
	return nil
}

// mostTimed bounds the predictions that are timed without --live.
const mostTimed = 1000

// latencyOf returns the median and the 99th percentile, by nearest rank.
func latencyOf(took []time.Duration) latency {
	l := latency{Predictions: len(took)}
	if len(took) == 0 {
		return l
	}
	slices.Sort(took)
	at := func(q float64) float64 {
		return took[max(int(math.Ceil(q*float64(len(took))))-1, 0)].Seconds() * 1e3
	}
	l.Median, l.P99 = at(0.5), at(0.99)
	return l
}
