package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/ops"
)

// converted is what convert says of its work.
type converted struct {
	Output  string            `json:"output"`
	Shards  []*convert.Report `json:"-"`      // those that were made, or were there
	Reports []shardReport     `json:"shards"` // these, with the sentences of their notes
	Before  []int             `json:"before"` // of each, how many pieces were there already, whole
	// Skipped are the inputs of which these shards lack episodes that were skipped.
	Skipped []convert.SkippedInput `json:"skipped"`
	Absent  []batching.Absent      `json:"absent"` // inputs of which declared episodes are not there
}

// shardReport is a shard with the sentences of its notes.
type shardReport struct {
	*convert.Report
	Losses  []shardNote `json:"losses"`
	Remarks []shardNote `json:"remarks"`
}

// shardNote is a note of some episodes.
type shardNote struct {
	notetext.Entry
	First    int   `json:"first"` // the number of the first episode
	Episodes int   `json:"episodes"`
	Bytes    int64 `json:"bytes,omitempty"` // of the file that are lost
}

func shardNotes(list dataset.EpisodeNotes) []shardNote {
	notes := []shardNote{}
	for _, m := range list.List {
		e := shardNote{notetext.EntryOf(m.Note), m.Number, m.Episodes, m.Note.Bytes}
		e.Text = notetext.Line(m.Note)
		notes = append(notes, e)
	}
	return notes
}

// conversion is a convert command as given.
type conversion struct {
	in       []string
	out, to  string
	planFile string
	backend  string
	shard    shardFlag
	shards   int
	// allowSkipped says that an input of which nothing could be converted is no error.
	allowSkipped bool
	unordered    string
	opt          convert.Options
	targets      map[string]func() (convert.Target, error)
}

func (a *app) convertCommand() *cobra.Command {
	c := &conversion{}
	var hz float64
	lerobot := &leRobotFlags{}
	encoding := choice[mcap.Encoding]{list: []mcap.Encoding{mcap.Protobuf, mcap.JSON}, kind: "ENCODING"}
	cmd := &cobra.Command{
		Use:   "convert IN... -o OUT --to FORMAT",
		Short: "Convert recordings and datasets to another format, on one clock or as they are",
		Long: `Convert reads recordings and datasets of any format that robocache inspect reads, one after the other as
one dataset, and writes their episodes in another.

Without --plan and --hz every stream keeps the clock that it has, to the bit. --plan FILE puts each
episode on one clock, as robocache resample does, and --hz F is the plan that takes everything at
that rate; a camera's frame of a row is the one before it unless the plan says nearest or next. What
has one clock for all, such as lerobot and webdataset, takes a log of several clocks only so.

OUT is a folder, with a file for each episode or a file or dataset for each shard; for one recording
it may be a file with the format's ending, which is replaced. Each file is there whole or not at all.
A conversion that was ended is gone on with by running it again: what is whole stays, and the bytes
in the end are those of one that was not disturbed. On a finished output it says so and ends well.

--shard I/N makes one part of N, each a run of the episodes with about as many frames as any other;
--shards N makes the one that the variables of Slurm's array, Kubernetes' Indexed Job or another
launcher name, or all where there are none.

Every sample is accounted for: used, or dropped and why; rows across gaps are counted. The account
is balanced before anything is said to be done, and is in OUT/convert.json. An episode that is broken
is skipped and listed; --strict makes it an error. An input of which every episode is skipped ends the
command with exit code 3 once the others are written, unless --allow-skipped is given.

LeRobot has no place to say which rows are valid. So rows at both ends of an episode in which not
every stream has a valid value are left out and counted, such as those from before the first command;
--keep-invalid keeps them. Those in between stay, and are counted by their streams.`,
		Example: "  robocache convert run1.mcap run2.mcap -o dataset/ --to lerobot --hz 30\n  robocache convert bags/ -o dataset/ --to lerobot --plan plan.yaml\n  robocache convert lerobot/ -o run/ --to mcap\n  robocache convert flight.ulg -o flight.safetensors --to safetensors\n  robocache convert rlds/ -o tars/ --to webdataset --shards 64",
		Args:    takes(1, 0, "convert takes one or more recordings"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				c.in = append(c.in, strings.TrimPrefix(arg, "file://"))
			}
			if encoding.set && c.to != "mcap" {
				return usagef("--encoding is of messages, got --to %s, want --to mcap", c.to)
			}
			if err := lerobot.check(c.to, cmd.Flags().Changed); err != nil {
				return err
			}
			return a.convert(c, hz, cmd.Flags().Changed)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&c.out, "output", "o", "", "the folder to write, or the file")
	f.StringVar(&c.to, "to", "", "`FORMAT` to write")
	f.StringVar(&c.planFile, "plan", "", "a plan `FILE` that says how streams are put on one clock; docs/plans.md has its keys")
	f.Var(hertz(&hz), "hz", "put everything on one clock of this rate")
	f.Var(&c.shard, "shard", "make one shard, I from 0, of N")
	f.IntVar(&c.shards, "shards", 0, "make the output in `N` shards: this task's of an array or other launcher, or all")
	f.StringArrayVar(&c.opt.Media, "media", nil, "a media stream to take, all unless given, or none; repeatable")
	f.Var(&encoding, "encoding", "of the messages of mcap: protobuf (default) or json")
	lerobot.add(f)
	readingFlags(f, &c.opt.Reading)
	f.BoolVar(&c.opt.Reading.Strict, "strict", false, "refuse what is broken")
	f.BoolVar(&c.allowSkipped, "allow-skipped", false, "an input of which every episode was skipped is no error")
	f.BoolVar(&c.opt.KeepInvalid, "keep-invalid", false, "of lerobot: keep rows at the ends in which not every stream is valid")
	f.StringVar(&c.unordered, "unordered", "", "with --plan or --hz: a stream whose timestamps step back or are no times: drop (default; the others stay), sort, or error")
	f.StringVar(&c.backend, "backend", "cpu", "auto, cpu, cuda, cuda:N or sim, which --plan and --hz compute on")
	c.targets = map[string]func() (convert.Target, error){
		"lerobot":     lerobot.target,
		"npz":         func() (convert.Target, error) { return convert.NPZ(), nil },
		"safetensors": func() (convert.Target, error) { return convert.Safetensors(), nil },
		"mcap":        func() (convert.Target, error) { return convert.MCAP(encoding.value), nil },
		"webdataset":  func() (convert.Target, error) { return convert.WebDataset(), nil },
	}
	complete(cmd, "to", c.formats)
	complete(cmd, "encoding", encoding.names)
	complete(cmd, "unordered", func() []string { return align.Unordereds })
	lerobot.complete(cmd)
	complete(cmd, "backend", backendNames)
	files(cmd, map[string]string{"plan": "yaml yml"})
	cmd.ValidArgsFunction = recordingFiles
	return cmd
}

func (c *conversion) formats() []string { return slices.Sorted(maps.Keys(c.targets)) }

// check finds what is wrong with the command line alone, and makes the target.
func (c *conversion) check(hz float64) (convert.Target, error) {
	target, known := c.targets[c.to]
	switch {
	case c.out == "":
		return nil, usagef("no output given, want -o OUT")
	case c.to == "":
		return nil, usagef("no format given, want --to %s", strings.Join(c.formats(), ", "))
	case !known:
		return nil, usagef("--to: got %q, want %s", c.to, strings.Join(c.formats(), ", "))
	case c.planFile != "" && hz > 0:
		return nil, usagef("--hz with --plan: got both, want the rate in the plan file")
	case slices.Contains(c.opt.Media, "none") && len(c.opt.Media) > 1:
		return nil, usagef("--media: got none and others, want one or the other")
	case c.unordered != "" && !slices.Contains(align.Unordereds, c.unordered):
		return nil, usagef("--unordered: got %q, want %s", c.unordered, strings.Join(align.Unordereds, ", "))
	case c.unordered != "" && c.planFile == "" && hz == 0:
		return nil, usagef("--unordered: got no --plan and no --hz, want one: else streams stay as they are")
	}
	if err := notURL(c.out); err != nil {
		return nil, err
	}
	if err := c.named(); err != nil {
		return nil, err
	}
	for _, in := range c.in {
		if err := outside(in, c.out); err != nil {
			return nil, err
		}
	}
	if len(c.opt.Media) == 1 && c.opt.Media[0] == "none" {
		c.opt.Media = []string{""}
	}
	if c.planFile != "" {
		p, err := planfile.Read(c.planFile)
		var bad *align.PlanError
		switch {
		case errors.As(err, &bad):
			return nil, err
		case err != nil:
			return nil, readError(c.planFile, err)
		}
		c.opt.Plan = &p
	} else if hz > 0 {
		c.opt.Plan = &align.Plan{Rate: hz}
	}
	if c.unordered != "" {
		c.opt.Plan.Unordered = c.unordered
	}
	return target()
}

// named refuses an output with the ending of another format than is asked for, as of a folder that there is not yet it would be the name.
func (c *conversion) named() error {
	ext := strings.ToLower(filepath.Ext(c.out))
	if st, err := os.Stat(c.out); ext == "" || err == nil && st.IsDir() {
		return nil
	}
	refused := func(of string) error {
		return usagef("-o: got %q, whose ending is of %s, with --to %s, want the name of a folder, or another ending", c.out, of, c.to)
	}
	of := ""
	for _, format := range c.formats() {
		t, err := c.targets[format]()
		if err != nil || t.Traits().Ext != ext {
			continue
		}
		if format == c.to {
			return nil
		}
		of = format
	}
	if of != "" {
		return refused(of)
	}
	for _, f := range dataset.Formats() {
		if slices.Contains(f.Extensions, ext) {
			return refused(f.Name)
		}
	}
	return nil
}

// outside refuses an output that is an input, or in one.
func outside(in, out string) error {
	if liesIn(in, out) {
		return usagef("-o: %q is the input %q, or in it, want one elsewhere", out, in)
	}
	return nil
}

// which returns the shards that this program makes.
func (c *conversion) which(given func(string) bool, remark func(string, ...any)) (begin, end int, err error) {
	switch {
	case given("shard"):
		if given("shards") && c.shards != c.shard.count {
			return 0, 0, usagef("--shards: got %d with --shard %v, want these equal, or one of them", c.shards, &c.shard)
		}
		c.opt.Shards = c.shard.count
		return c.shard.index, c.shard.index + 1, nil
	case given("shards"):
		if c.shards < 1 || c.shards > convert.MostShards {
			return 0, 0, usagef("--shards: got %d, want 1 to %d", c.shards, convert.MostShards)
		}
		c.opt.Shards = c.shards
		begin, end, from, err := shardsOf(c.shards, os.Getenv)
		if err == nil && from != "" {
			remark("shard %d of %d, by %s", begin, c.shards, from)
		}
		return begin, end, err
	}
	return 0, 1, nil
}

func (a *app) convert(c *conversion, hz float64, given func(string) bool) error {
	target, err := c.check(hz)
	if err != nil {
		return err
	}
	begin, end, err := c.which(given, a.remark)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if c.opt.Plan != nil {
		device, err := ops.Open(c.backend)
		if err != nil {
			return err
		}
		defer device.Close()
		c.opt.Device = device
	}
	var shown bar
	defer newCollector().follow()()
	c.opt.Progress = func(p convert.Progress) {
		if shown.ProgressBar != nil {
			_ = shown.Set(p.Done)
		}
	}
	done := a.step("opening the inputs")
	work, err := convert.New(ctx, c.in, c.out, target, c.opt)
	done()
	if err != nil {
		return c.explain(err)
	}
	defer work.Close()
	all := &converted{Output: c.out, Absent: []batching.Absent{}}
	defer a.onSignal(func() {
		what := "what is whole of it stays, and the same command goes on"
		if c.to == "lerobot" {
			what = "shards that are whole stay, and the same command makes the others"
		}
		a.remark("ended by a signal before %s was done: %s", c.out, what)
	})()
	for i := begin; i < end; i++ {
		what := "converting"
		if c.opt.Shards > 1 {
			what = fmt.Sprintf("converting shard %d of %d", i, c.opt.Shards)
		}
		n := work.Episodes(i)
		shown = a.rating(what, n, "episodes")
		done := func() {}
		if n == 1 {
			done = a.step(what)
		}
		r, err := work.Shard(ctx, i)
		shown.done()
		done()
		if err != nil {
			return c.explain(err)
		}
		all.Shards, all.Reports, all.Before = append(all.Shards, r), append(all.Reports, shardReport{r, shardNotes(r.Losses), shardNotes(r.Notes)}), append(all.Before, r.Before)
	}
	all.Skipped = convert.SkippedInputs(all.Shards)
	for _, in := range all.Shards[0].Inputs {
		if in.Absent != nil {
			all.Absent = append(all.Absent, batching.Absent{Input: in.Path, Absent: *in.Absent})
		}
	}
	if a.json {
		err = a.writeJSON(all)
	} else {
		err = a.converted(all)
	}
	if err != nil || c.allowSkipped {
		return err
	}
	for _, s := range all.Skipped {
		if s.Whole {
			return &inputError{Path: s.Input, Msg: fmt.Sprintf("nothing of it was converted: its %s skipped, the first: %s; --allow-skipped takes that as good",
				wereEpisodes(s.Skipped), byFlags.Replace(notetext.Text(*s.First)))}
		}
	}
	return nil
}

func wereEpisodes(n int) string {
	if n == 1 {
		return "one episode was"
	}
	return fmt.Sprintf("%d episodes were all", n)
}

// explain says what an error means on the command line.
func (c *conversion) explain(err error) error {
	var (
		option  *convert.OptionError
		input   *convert.InputError
		episode *convert.EpisodeError
		clock   *convert.ClockError
		nothing *convert.NothingError
		path    *fs.PathError
		steps   *align.StepsError
		extra   *convert.ExtraStreamError
		busy    *convert.BusyError
		program *video.ProgramError
	)
	switch {
	case errors.As(err, &extra):
		return &inputError{Path: strings.Join(c.in, ", "), Msg: fmt.Sprintf("--extra: got error, and episode %d, %s, has %s, which the first, %s, has not: want drop to "+
			"leave that out, skip to do without such episodes, or a --plan of streams that all have", extra.Number, extra.Episode, strings.Join(extra.Streams, ", "), extra.First)}
	case errors.As(err, &clock):
		return usagef("--to %s has one clock for all: got episode %s, whose %s and %s have clocks of their own, want --hz F or --plan FILE",
			c.to, clock.Episode, clock.A, clock.B)
	case errors.As(err, &steps):
		return usagef("--hz: %v, want --rate", err)
	case errors.As(err, &busy):
		return &outputError{c.out, fmt.Errorf("another program is making it: want %s", busy.Option.Want)}
	case errors.As(err, &option) && option.Arg == "Plan" && c.planFile != "":
		return &inputError{Path: c.planFile, Got: option.Got, Want: option.Want}
	case errors.As(err, &option):
		return option
	case errors.As(err, &input):
		return readError(input.Path, input.Err)
	case errors.As(err, &program): // which says nothing of the input
		return &outputError{c.out, err}
	case errors.As(err, &episode):
		return &inputError{Path: episode.Input, Err: flagged{episode.Err}}
	case errors.As(err, &nothing):
		return &inputError{Path: strings.Join(c.in, ", "), Err: flagged{err}}
	case errors.As(err, &path):
		return unwritten(err)
	}
	return err
}
