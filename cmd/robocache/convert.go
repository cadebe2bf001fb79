package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
	"github.com/spf13/cobra"
)

func (a *app) convertCommand() *cobra.Command {
	c := &conversion{}
	var hz float64
	lerobot := &leRobotFlags{}
	encoding := cli.ChoiceOf("ENCODING", mcap.Protobuf, mcap.JSON)
	cmd := &cobra.Command{
		Use:   "convert IN... -o OUT --to FORMAT",
		Short: "Convert recordings and datasets to LeRobot, MCAP and other formats",
		Long: `Convert reads recordings and datasets of any format that robocache inspect reads, one after the other as
one dataset, and writes their episodes in another.

Without --plan and --hz every stream keeps the clock that it has, to the bit. --plan FILE puts each
episode on one clock, as robocache resample does, and --hz F is the plan that takes everything at
that rate; a row gets the camera frame before it unless the plan sets nearest or next. A format that
has one clock for all, such as lerobot and webdataset, takes a log of several clocks only so.

OUT is a folder, with a file for each episode or a file or dataset for each shard; for one recording
it may be a file with the format's ending, which is replaced. Each file is there whole or not at all.
Run an interrupted conversion again to resume it: finished parts stay, and the bytes
in the end are the same as without the interruption. On a finished output it succeeds with a note.

--shard I/N makes one part of N, each a run of the episodes with about as many frames as any other;
--shards N makes the one that the variables of Slurm's array, Kubernetes' Indexed Job or another
launcher name, or all where there are none.

Every sample is accounted for: used, or dropped and why; rows across gaps are counted. The account
is balanced before the output is complete, and is in OUT/convert.json. A broken episode
is skipped and listed; --strict makes it an error. An input with every episode skipped ends the
command with exit code 3 once the others are written, unless --allow-skipped is given. So does a
stream or camera that a plan or --media names and that no episode of the output has.

LeRobot cannot mark rows as valid, and programs that read zarr's ReplayBuffer ignore
such marks. So rows at both ends of an episode in which not every stream has a valid
value are left out and counted, such as those from before the first command;
--keep-invalid keeps them. Those in between stay, and are counted by their streams.`,
		Example: "  robocache convert run1.mcap run2.mcap -o demos/ --to lerobot --hz 30\n  robocache convert bags/ -o demos/ --to lerobot --plan plan.yaml\n  robocache convert lerobot/ -o run/ --to mcap\n  robocache convert flight.ulg -o flight.safetensors --to safetensors\n  robocache convert rlds/ -o tars/ --to webdataset --shards 64",
		Args:    takes(1, 0, "convert takes one or more recordings"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				c.in = append(c.in, strings.TrimPrefix(arg, "file://"))
			}
			if encoding.Given && c.to != "mcap" {
				return usagef("--encoding is for messages, got --to %s, want --to mcap", c.to)
			}
			if err := lerobot.check(c.to, cmd.Flags().Changed); err != nil {
				return err
			}
			return a.convert(c, hz, cmd.Flags().Changed)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&c.out, "output", "o", "", "the folder or `FILE` to write")
	f.StringVar(&c.to, "to", "", "`FORMAT` to write")
	f.StringVar(&c.planFile, "plan", "", "a plan `FILE` for putting streams on one clock; docs/plans.md has its keys")
	f.Var(cli.Hertz(&hz), "hz", "put everything on one clock with this rate")
	gapsFlag(f, &c.maxGap)
	f.Var(&c.shards.one, "shard", "make one shard, I from 0, of N")
	f.IntVar(&c.shards.all, "shards", 0, "make the output in `N` shards: this array task's, or all without a launcher")
	f.StringArrayVar(&c.opt.Media, "media", nil, "a media stream to take, all unless given, or none; repeatable")
	choiceFlag(cmd, &encoding, "encoding", "encoding for mcap messages: protobuf (default) or json")
	lerobot.add(f)
	datasetFlags(cmd, &c.opt.Reading)
	f.BoolVar(&c.opt.Reading.Strict, "strict", false, "refuse broken data")
	f.BoolVar(&c.allowSkipped, "allow-skipped", false, "an input with every episode skipped is no error")
	f.StringVar(&c.opt.Task, "task", "", "the task of episodes without one")
	f.BoolVar(&c.opt.KeepInvalid, "keep-invalid", false, "lerobot, zarr: keep rows at the ends in which not every stream is valid")
	unorderedFlag(cmd, &c.unordered, "with --plan or --hz: a stream if its timestamps step back or are no times: drop (default; the others stay), sort, or error")
	backendFlag(cmd, &c.backend, "cpu", "auto, cpu, cuda, cuda:N or sim, which --plan and --hz compute on")
	c.targets = map[string]func() (convert.Target, error){
		"lerobot":     lerobot.target(""),
		"lerobot-2.1": lerobot.target("2.1"),
		"npz":         func() (convert.Target, error) { return convert.NPZ(), nil },
		"safetensors": func() (convert.Target, error) { return convert.Safetensors(), nil },
		"mcap":        func() (convert.Target, error) { return convert.MCAP(encoding.Value), nil },
		"webdataset":  func() (convert.Target, error) { return convert.WebDataset(), nil },
		"zarr":        func() (convert.Target, error) { return convert.Zarr(), nil },
		"rlds":        func() (convert.Target, error) { return convert.RLDS(), nil },
	}
	a.targets = c.targets
	complete(cmd, "to", c.formats)
	lerobot.complete(cmd)
	files(cmd, map[string]string{"plan": "yaml yml"})
	completeFrom(cmd, (*dataset.Episode).Names, "", "state", "action")
	completeFrom(cmd, namesOfAll, "=", "name")
	completeFrom(cmd, (*dataset.Episode).MediaNames, "", "media")
	takesRecordings(cmd, 0)
	return cmd
}

func (a *app) convert(c *conversion, hz float64, given func(string) bool) error {
	target, err := c.check(hz)
	if err != nil {
		return err
	}
	if ext := target.Traits().Ext; a.writes && ext == "" {
		return usagef("-o: got -, and %s is a folder, want its name", c.to)
	} else if a.writes {
		c.out += ext
		a.Pipe.Add(c.out, "standard output")
	}
	made, err := c.shards.choose(given, convert.MostShards)
	if err != nil {
		return err
	}
	if c.opt.Shards = made.count; made.from != "" {
		a.Remark("shard %d of %d, by %s", made.begin, made.count, made.from)
	}
	if err := a.locals(c.in); err != nil {
		return err
	}
	c.opt.Name = a.Pipe.Text
	ctx := context.Background()
	if c.opt.Plan != nil {
		device, err := ops.Open(c.backend)
		if err != nil {
			return err
		}
		defer device.Close()
		c.opt.Device = device
	}
	var shown cli.Bar
	defer newCollector().follow()()
	c.opt.Progress = func(p convert.Progress) {
		shown.Set(p.Done)
	}
	done := a.Step("opening the inputs")
	work, err := convert.New(ctx, c.in, c.out, target, c.opt)
	done()
	if err != nil {
		return c.explain(err)
	}
	defer work.Close()
	all := &converted{Output: c.out, noteList: newNotes()}
	defer a.OnSignal(func() {
		what := "its finished parts stay, and the same command resumes it"
		if target.Traits().Ext == "" {
			if what = "shards that are whole stay, and the same command makes the others"; made.count <= 1 {
				what = "nothing of it stays, and the same command starts anew; with --shards, shards that are whole stay"
			}
		}
		a.Remark("ended by a signal before %s was done: %s", c.out, what)
	})()
	for i := made.begin; i < made.end; i++ {
		what := "converting"
		if made.count > 1 {
			what = fmt.Sprintf("converting shard %d of %d", i, made.count)
		}
		n := work.Episodes(i)
		shown = a.Rating(what, n, "episodes")
		done := func() {}
		if n == 1 {
			done = a.Step(what)
		}
		r, err := work.Shard(ctx, i)
		shown.Done()
		done()
		if err != nil {
			return c.explain(err)
		}
		all.Shards, all.Reports, all.Before = append(all.Shards, r), append(all.Reports, shardReport{r, notetext.EpisodeEntries(r.Losses.List), notetext.EpisodeEntries(r.Notes.List)}), append(all.Before, r.Before)
	}
	all.Skipped = convert.SkippedInputs(all.Shards)
	for _, in := range all.Shards[0].Inputs {
		for _, n := range in.Notes {
			n.Subject = in.Path
			all.notes(dataset.Notes{n})
		}
	}
	if a.JSON {
		err = a.WriteJSON(schema.Convert, all)
	} else {
		err = a.converted(all)
	}
	if err != nil || c.allowSkipped {
		return err
	}
	for _, s := range all.Skipped {
		if s.Whole {
			return &inputError{Path: s.Input, Msg: fmt.Sprintf("nothing in it was converted: its %s skipped, the first: %s; --allow-skipped accepts that",
				wereEpisodes(s.Skipped), byFlags.Replace(notetext.Text(*s.First)))}
		}
	}
	if names := convert.Unwritten(all.Shards, c.opt); len(names) > 0 && made.end-made.begin == max(1, made.count) {
		return &inputError{Path: c.out, Msg: "no episode in the output has " + text.Names(names) + ", which was asked for"}
	}
	return nil
}
