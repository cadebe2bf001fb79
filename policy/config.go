package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Config is config.json in a checkpoint: everything in a policy except its weights. Its JSON names are a contract.
type Config struct {
	Version int    `json:"version"` // always 1
	Policy  string `json:"policy"`  // one of [Kinds]
	Says    string `json:"says"`
	Recipe  Recipe `json:"recipe"`
	Seed    uint64 `json:"seed"`
	Devices int    `json:"devices"`        // how many trained the policy, each with its own batch
	NCCL    bool   `json:"nccl,omitempty"` // whether the library NCCL added up the gradients
	// Plan is the text of a plan, which puts the streams on the clock. Recipe.History and Recipe.Chunk replace its windows.
	Plan string  `json:"plan"`
	Hz   float64 `json:"hz"` // the rate of the clock
	// Clock is the source of the recordings' timestamps, one of dataset.Info.Clocks, if they have several clocks. Example: "header". When
	// the policy runs, the timestamps must come from the same clock.
	Clock     string     `json:"clock,omitempty"`
	Rate      float64    `json:"rate,omitempty"` // the sample rate in Hz that the caller supplied, if the recordings have none
	States    []Stream   `json:"states"`
	Action    Stream     `json:"action"`
	NotStates []NotState `json:"not_states"` // not used as states; only cameras, if the plan names streams
	// Inputs are the columns of a token: first the columns of the states. With Recipe.Differences, the action columns of the tick before
	// the token's tick follow. After them come the columns of the last action, unchanged; only the last token has them.
	Inputs []Column `json:"inputs"`
	// Targets are the action's columns. The network predicts (action - last action)/std with Recipe.Differences, else (action - mean)/std.
	// With Recipe.Sampler, inputs and targets in the training episodes become -1 to 1: mean is the range's middle, and std half its
	// length.
	Targets []Column `json:"targets"`
	Dataset string   `json:"dataset"` // the dataset's name
	Trained []int    `json:"trained"` // the numbers of the training episodes
	// Contents maps episode numbers to hashes of the samples that the policy takes. Copies of an episode have equal hashes.
	Contents map[int]string `json:"contents"`
	// Floor is the smallest standard deviation that scales an action column, in the column's unit. If it is 0, the smallest is 0.05 for
	// joints and a thousandth of the range for other columns.
	Floor   float64 `json:"floor,omitempty"`
	HoldOut []int   `json:"hold_out"`
	// LeaveOut are the numbers of the episodes that Options.Episodes leaves out.
	LeaveOut []int `json:"leave_out,omitempty"`
	Filtered int   `json:"filtered,omitempty"` // how many episodes the plan's filter excludes, without held-out ones
	// LeftOut has a note for each episode that is too short for one window. Such episodes are in neither list.
	LeftOut dataset.Notes `json:"notes"`
	// Choices has notes about settings that the episodes decided. Example: a shorter Chunk for short episodes.
	Choices dataset.Notes `json:"choices,omitempty"`

	// Settings are the training program's settings, by name, which it can read to continue. Package policy does not use them.
	Settings map[string][]string `json:"settings,omitempty"`

	continued bool // Options.From is set
	planName  string
	chunked   bool // the plan sets Chunk
}

// Says is a sentence about the limits of a policy, for printed reports.
const Says = "state only: no cameras, no VAE; the error is open loop, which does not rank policies"

// Stream is the name and the columns of a stream that a policy takes.
type Stream struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// Column is an input or a target of the network. An input x becomes (x - r - mean) * (1 / std) in float32. r is the value in column
// Relative of the last action, or 0 if Relative is -1. Example: with Relative 2, a state is measured from action column 2.
type Column struct {
	Stream   string  `json:"stream"`
	Name     string  `json:"name"`
	Relative int     `json:"relative"`
	Mean     float64 `json:"mean"`
	Std      float64 `json:"std"`
	// Floored is set on a target if its standard deviation is below the floor; Std is then the floor. See Config.Floor.
	Floored bool `json:"floored,omitempty"`
}

// isAction reports whether a stream is the predicted one.
func (o *Options) isAction(stream string) bool {
	if o.Action != "" {
		return stream == o.Action
	}
	return recognise.IsAction(stream)
}

// newConfig returns the config for a store and options, without the columns and their statistics.
func newConfig(store *store.Store, o *Options) (*Config, error) {
	if o.From != "" {
		return continueConfig(store, o)
	}
	kind := cmp.Or(o.Policy, Kind)
	recipe, err := RecipeOf(kind, o.Size)
	if err != nil {
		return nil, err
	}
	recipe.override(o)
	c := &Config{Version: 1, Policy: kind, Says: Says, Recipe: recipe, Seed: o.Seed, Plan: o.Plan, planName: o.PlanName, Floor: o.Floor, NotStates: []NotState{}}
	c.record(store, o)
	switch {
	case o.Hz != 0 && !dataset.IsRate(o.Hz):
		return nil, refuse("Hz", fmt.Sprint(o.Hz), "1e-6 to 1e9, or 0")
	case o.Unordered != "" && !slices.Contains(align.Unordereds, o.Unordered):
		return nil, refuse("Unordered", o.Unordered, strings.Join(align.Unordereds, ", "))
	case c.Plan != "" && (o.Hz != 0 || o.Action != "" || len(o.States) > 0 || o.Unordered != ""):
		return nil, refuse("Plan", "one, and Hz, Action, States or Unordered", "one of the two: a plan has the clock's rate and names streams")
	case c.Plan == "":
		if c.Plan, err = planOf(cmp.Or(o.Hz, store.Info().Rate), store); err != nil {
			return nil, err
		}
		if o.Unordered != "" {
			c.Plan += "unordered: " + o.Unordered + "\n"
		}
	}
	if err := c.findCameras(store.Info()); err != nil {
		return nil, err
	}
	p, err := c.parse()
	if err != nil {
		return nil, err
	}
	named := len(p.Streams) > 0
	if !named {
		if err := c.choose(store, &p, o); err != nil {
			return nil, err
		}
		if err := p.Check(); err != nil { // also checks that windows name streams
			if bad := (*align.PlanError)(nil); errors.As(err, &bad) {
				return nil, p.Mistake(bad.Key, bad.Got, bad.Want)
			}
			return nil, err
		}
	}
	if err := c.streams(&p, named, o); err != nil {
		return nil, err
	}
	if err := c.windows(&p); err != nil {
		return nil, err
	}
	if err := errors.Join(c.Recipe.check(), c.Recipe.sampled(kind, o)); err != nil {
		return nil, err
	}
	if !(c.Floor >= 0) || math.IsInf(c.Floor, 0) {
		return nil, refuse("Floor", fmt.Sprint(c.Floor), "a number above 0")
	}
	c.Recipe.WarmUp = min(c.Recipe.WarmUp, c.Recipe.Steps)
	return c, c.episodes(store, o, p.Filter)
}

// record sets the fields that describe the store, and those that the episodes decide to nothing.
func (c *Config) record(store *store.Store, o *Options) {
	c.Dataset, c.Clock, c.Rate, c.Settings = store.Name(), store.Clock(), 0, o.Settings
	if info := store.Info(); info.RateFrom == "caller" {
		c.Rate = info.Rate
	}
	c.Trained, c.HoldOut, c.LeaveOut, c.LeftOut, c.Contents = []int{}, []int{}, nil, dataset.Notes{}, nil
}

// continueConfig returns the config for training that continues from a checkpoint.
func continueConfig(store *store.Store, o *Options) (*Config, error) {
	for _, f := range []struct {
		arg   string
		given bool
	}{{"Policy", o.Policy != ""}, {"Size", o.Size != ""}, {"Condition", o.Condition != ""}, {"Plan", o.Plan != ""}, {"Hz", o.Hz != 0}, {"Action", o.Action != ""}, {"States", len(o.States) > 0},
		{"Unordered", o.Unordered != ""}, {"Floor", o.Floor != 0}} {
		if f.given {
			return nil, refuse(f.arg, "a value, and From", "one of the two: a checkpoint has its own")
		}
	}
	c, err := readConfig(o.From)
	if err != nil {
		return nil, err
	}
	c.Recipe.WarmUp = max(c.Recipe.WarmUp, recipes[c.Recipe.Size].WarmUp) // a shorter training had a shorter one
	c.Recipe.override(o)
	c.Recipe.WarmUp = min(c.Recipe.WarmUp, c.Recipe.Steps)
	c.Seed, c.continued, c.chunked = cmp.Or(o.Seed, c.Seed), true, true
	c.record(store, o)
	p, err := c.parse()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.Recipe.check(), c.Recipe.sampled(c.Policy, o)); err != nil {
		return nil, err
	}
	return c, c.episodes(store, o, p.Filter)
}

// planOf returns the text of a plan with a rate and nothing else. Without a rate the error has that of a recorded stream.
func planOf(rate float64, store *store.Store) (string, error) {
	if rate == 0 {
		want := "the clock's rate, or a plan that has it"
		if e, _, err := store.Read(context.Background(), 0); err == nil && len(e.Streams) > 0 {
			if hz := e.Streams[0].Stats().Rate; hz > 0 {
				want += fmt.Sprintf(": %s has %.3g Hz", e.Streams[0].Name, hz)
			}
		}
		return "", refuse("Hz", "none, and a dataset without a rate", want)
	}
	return fmt.Sprintf("version: 1\nrate: %s\n", strconv.FormatFloat(rate, 'f', -1, 64)), nil
}

// readPlan parses the plan's text.
func (c *Config) readPlan() (align.Plan, error) {
	return planfile.Parse(cmp.Or(c.planName, "plan"), []byte(c.Plan))
}

// parse returns the plan for a policy: with the chosen streams if it names none, without cameras and normalisation, and after causal.
func (c *Config) parse() (align.Plan, error) {
	p, err := c.readPlan()
	if err != nil {
		return p, err
	}
	c.passOver(&p)
	p.Defaults.Normalise = ""
	for i := range p.Streams {
		if s := &p.Streams[i]; s.Points != nil { // a state is a row of columns, and the store has these
			if s.Points.Grid != "" {
				return p, p.Mistake(p.Key(i, "points.grid"), s.Points.Grid, "none: a policy takes numbers, x, y and z of the points")
			}
			s.From, s.Points = "", nil
		}
		p.Streams[i].Normalise = ""
	}
	if len(p.Streams) == 0 && len(c.States) > 0 {
		for _, s := range append(slices.Clone(c.States), c.Action) {
			in := align.Stream{Name: s.Name}
			if slices.ContainsFunc(c.NotStates, func(n NotState) bool { return n.Stream == s.Name && n.Column != "" }) {
				in.Columns = s.Columns
			}
			p.Streams = append(p.Streams, in)
		}
	}
	return p, causal(&p)
}

// Normalised returns the normalisations in the plan, for example "mean-std of action". A policy ignores them, because it normalises its
// inputs and targets itself.
func (c *Config) Normalised() (list []string, err error) {
	p, err := c.readPlan()
	if err != nil {
		return nil, err
	}
	c.passOver(&p)
	for i := range p.Streams {
		if rule := cmp.Or(p.Streams[i].Normalise, p.Defaults.Normalise, "none"); rule != "none" {
			list = append(list, rule+" of "+p.Streams[i].Name)
		}
	}
	if rule := cmp.Or(p.Defaults.Normalise, "none"); len(p.Streams) == 0 && rule != "none" {
		list = append(list, rule+" of all")
	}
	return list, nil
}

// streams sorts the plan's streams into states and the action. named is set if the plan's text names them.
func (c *Config) streams(p *align.Plan, named bool, o *Options) error {
	c.Hz = p.Rate
	var names, others, unnamed []string
	for _, n := range c.NotStates {
		others = append(others, n.Stream+", "+n.Reason)
		unnamed = append(unnamed, n.Stream)
	}
	for i := range p.Streams {
		in := &p.Streams[i]
		names = append(names, in.Name)
		if d := cmp.Or(in.DType, p.Defaults.DType, tensor.F32); d != tensor.F32 {
			return p.Mistake(p.Key(i, "dtype"), d.String(), "f32, or nothing")
		}
		switch {
		case !o.isAction(in.Name):
			c.States = append(c.States, Stream{Name: in.Name, Columns: in.Columns})
		case c.Action.Name != "":
			return &StreamError{in.Name, "a second action stream beside " + c.Action.Name, "one: a plan names those to take"}
		default:
			c.Action.Name = in.Name
		}
	}
	switch {
	case c.Action.Name == "":
		return &StreamError{"action", "none of that name among " + text.Closest("action", append(names, unnamed...)), "a stream called action or actions, or which one it is: --action NAME, or in a plan {name: action, from: NAME}"}
	case len(c.States) == 0:
		return &StreamError{"state", "none beside " + strings.Join(append([]string{c.Action.Name}, others...), "; "), "a state stream; a plan can name any stream as one"}
	case len(c.States)+2 > backend.MaxTokenSources && !named:
		return refuse("States", fmt.Sprintf("none, and %d streams that can be states", len(c.States)), fmt.Sprintf("at most %d of them", backend.MaxTokenSources-2))
	case len(c.States)+2 > backend.MaxTokenSources:
		return p.Mistake("streams", fmt.Sprintf("%d of states", len(c.States)), fmt.Sprintf("at most %d: a plan names those to take", backend.MaxTokenSources-2))
	}
	return nil
}

// windows reads History and Chunk from the plan's windows, if it has any. States end at the anchor, and the action begins there.
func (c *Config) windows(p *align.Plan) error {
	history := 0
	for i := range p.Streams {
		name := p.Streams[i].Name
		w, given := p.Windows[name]
		if !given {
			continue
		}
		ticks := w.Ticks(p.Rate)
		n := len(ticks)
		wrong := func(got, want string) error { return p.Mistake("windows."+name, got, want) }
		if len(w.At) > 0 {
			return wrong(w.String(), "a range, [from, to]")
		}
		if name == c.Action.Name {
			switch {
			case n == 0 || ticks[0] != 0:
				return wrong(w.String(), "one that begins at the anchor and ends after it: [0s, 1s]")
			case c.Recipe.PerToken && n > 1:
				return wrong(fmt.Sprintf("%d ticks from the anchor on", n), "1, as size "+c.Recipe.Size+" predicts")
			}
			c.Recipe.Chunk, c.chunked = n, true
			continue
		}
		if n == 0 || ticks[n-1] != 0 {
			return wrong(w.String(), "one that ends at the anchor: [-200ms, 0s]")
		}
		if history != 0 && history != n {
			return wrong(fmt.Sprintf("%d ticks", n), fmt.Sprintf("%d, as other states have", history))
		}
		history = n
	}
	c.Recipe.History = cmp.Or(history, c.Recipe.History)
	return nil
}

// plan returns the plan with the policy's windows: the states up to the anchor, and the action from the tick before the first state on. If
// ahead is set, the action reaches to the end of the chunk, and no further than the recording. If not, it ends at the last known action.
func (c *Config) plan(ahead bool) (align.Plan, error) {
	p, err := c.parse()
	if err != nil {
		return p, err
	}
	ticks := func(n int) time.Duration { return time.Duration(math.Round(float64(n) * 1e9 / c.Hz)) }
	p.Windows, p.Defaults.DType = map[string]align.Window{}, tensor.F32
	p.Filter = dataset.Filter{} // Trained has passed it, and other episodes are requested by number
	for _, s := range c.States {
		p.Windows[s.Name] = align.Window{From: -ticks(c.Recipe.History)}
	}
	p.Windows[c.Action.Name] = align.Window{From: -ticks(c.Recipe.History), To: ticks(c.Recipe.Chunk)}
	if !ahead {
		p.Windows[c.Action.Name] = align.Window{From: -ticks(c.Recipe.History + 1), To: -ticks(1)}
		return p, nil
	}
	for i := range p.Streams {
		if s := &p.Streams[i]; s.Name == c.Action.Name {
			s.Edge = ops.EdgeClamp.String()
		}
	}
	return p, nil
}

// loader returns a loader that draws all windows from some episodes, in their order.
func (c *Config) loader(ctx context.Context, device *ops.Device, store *store.Store, episodes []int) (*loader.Loader, error) {
	p, err := c.plan(true)
	if err != nil {
		return nil, err
	}
	p.Shuffle = "none"
	return loader.New(ctx, device, store, p, loader.Options{Batch: evaluated, Seed: c.Seed, Episodes: [][]int{episodes}, Last: ops.LastShort})
}

// drawn returns a group that draws windows from the training episodes, a batch for each device. rank is the first device's.
func (c *Config) drawn(ctx context.Context, devices []*ops.Device, rank int, store *store.Store) (*loader.Group, error) {
	p, err := c.plan(true)
	if err != nil {
		return nil, err
	}
	p.Shuffle = cmp.Or(p.Shuffle, "windows")
	o := loader.Options{Batch: c.Recipe.Batch, Seed: c.Seed, Episodes: [][]int{c.Trained}, Last: ops.LastDrop, Rank: rank, Ranks: c.Devices}
	return loader.NewGroup(devices, o, func(d *ops.Device, o loader.Options) (*loader.Loader, error) { return loader.New(ctx, d, store, p, o) })
}

// adopt sets the streams' columns, the inputs and the targets from a loader's batch.
func (c *Config) adopt(l *loader.Loader) {
	for i := range c.States {
		c.States[i].Columns = columnsOf(l, c.States[i].Name)
	}
	c.Action.Columns = columnsOf(l, c.Action.Name)
	relative := func(name string) int { return -1 }
	if c.Recipe.Differences {
		relative = func(name string) int { return slices.Index(c.Action.Columns, name) }
	}
	for _, s := range c.States {
		for _, name := range s.Columns {
			c.Inputs = append(c.Inputs, Column{Stream: s.Name, Name: name, Relative: relative(name)})
		}
	}
	for i, name := range c.Action.Columns {
		c.Targets = append(c.Targets, Column{Stream: c.Action.Name, Name: name, Relative: -1})
		if c.Recipe.Differences {
			c.Targets[i].Relative = i
			c.Inputs = append(c.Inputs, c.Targets[i])
		}
	}
	for _, name := range c.Action.Columns {
		if c.Recipe.Differences {
			c.Inputs = append(c.Inputs, Column{Stream: c.Action.Name, Name: name, Relative: -1})
		}
	}
}

func columnsOf(l *loader.Loader, stream string) []string {
	list := []string{}
	for _, col := range l.Batch().Stream(stream).Columns {
		list = append(list, col.Name)
	}
	return list
}

// fits returns a *StreamError if a loader's streams have other columns than the policy was trained with.
func (c *Config) fits(l *loader.Loader) error {
	for _, s := range append(slices.Clone(c.States), c.Action) {
		if got := columnsOf(l, s.Name); !slices.Equal(got, s.Columns) {
			return &StreamError{s.Name, fmt.Sprintf("columns %q", got), fmt.Sprintf("%q, as the policy was trained with", s.Columns)}
		}
	}
	return nil
}
