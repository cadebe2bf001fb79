package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/schema"
)

// Conversion is a set of open inputs and the output to make from them. Its methods are for one goroutine at a time.
type Conversion struct {
	inputs   []input
	out      string
	single   bool // the output is one file
	target   Target
	traits   Traits
	opt      Options
	begins   []int // the first episode of each shard, then the number of all episodes
	episodes int
	head     Head
	own      bool // a shard has checked that all files at the output belong to this conversion
}

// New opens inputs and checks the options. Episodes are numbered across all inputs, in their order. Nothing is written.
//
// The output is a folder. If the target writes files and out has their extension, for example out.npz, the output is that file, and
// an existing one is replaced. Then the inputs must have one episode in total, unless a file of the target holds several. If the
// options are invalid, the error is an *OptionError or *align.PlanError; if an input cannot be opened, an *InputError.
func New(ctx context.Context, inputs []string, out string, t Target, opt Options) (*Conversion, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	switch {
	case len(inputs) == 0:
		return nil, refuse("inputs", "none", "one or more")
	case out == "":
		return nil, refuse("output", "no name", "a folder")
	}
	if err := opt.Reading.Episodes.CheckInputs(len(inputs)); err != nil {
		return nil, err
	}
	settings, err := json.Marshal(t.Settings())
	if err != nil {
		return nil, err
	}
	reading := opt.Reading
	reading.Lists = t.Traits().Lists
	list, err := open(ctx, inputs, reading)
	if err != nil {
		return nil, err
	}
	if err := known(ctx, list, opt.Media); err != nil {
		return nil, errors.Join(err, closeAll(list))
	}
	c := &Conversion{inputs: list, out: out, target: t, traits: t.Traits(), opt: opt}
	last := &list[len(list)-1]
	c.episodes = last.first + last.from.Len()
	c.begins = runs(weights(list), opt.Shards)
	st, failed := fault.Stat(out)
	if dataset.IsSystem(failed) {
		return nil, errors.Join(failed, closeAll(list))
	}
	c.single = c.traits.Ext != "" && strings.EqualFold(filepath.Ext(out), c.traits.Ext) && (failed != nil || !st.IsDir())
	if c.single && (opt.Shards > 1 || c.episodes > 1 && !c.traits.Whole) {
		err := refuse("output", fmt.Sprintf("%s, one file, for %d episodes in %d shards", out, c.episodes, opt.Shards), "the name of a folder")
		return nil, errors.Join(err, c.Close())
	}
	c.head = Head{Schema: schema.Of(schema.Conversion), Version: version, Target: t.Name(), Settings: settings, Strict: opt.Reading.Strict, Rate: opt.Reading.Rate, Clock: opt.Reading.Clock,
		Stretch: opt.Reading.Stretch, TaskFrom: opt.Reading.TaskFrom, Definitions: opt.Reading.Definitions, Media: opt.Media, KeepInvalid: opt.KeepInvalid, Task: opt.Task, Plan: planText(opt.Plan), Shards: opt.Shards, Episodes: c.episodes, Listing: listing(list),
		Selected: dataset.Selected(list[0].from).String()}
	return c, nil
}

// Close closes the inputs. Close twice is fine.
func (c *Conversion) Close() error { return closeAll(c.inputs) }

// Episodes returns the number of episodes in a shard.
func (c *Conversion) Episodes(shard int) int { return c.begins[shard+1] - c.begins[shard] }

func (c *Conversion) wantsMedia(name string) bool {
	return len(c.opt.Media) == 0 || slices.Contains(c.opt.Media, name)
}
