package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/spf13/cobra"
)

// batching is what the flags of batches ask for.
type batching struct {
	packing
	planFile, backend, state     string
	hz                           positiveFlag
	windows                      []string
	batch, epochs, number, world int
	steps                        int
	seed                         uint64
	last                         choice[ops.LastBatch]
	values                       choice[tensor.DType]
	digest                       bool
}

const batchesHelp = `Batches draws training batches from a dataset: windows of its streams around an anchor, put on one
clock on the device, in an order that depends on the seed, the epoch and the number of windows
alone. The dataset is read once and kept on the device; a store that
robocache pack has made of it is read more quickly.

A plan file says which streams, windows and kinds; without one --hz is the rate of the clock, all
streams are taken, and --window NAME=FROM:TO gives a stream a window, such as action=0s:1s; others
have the anchor alone. Streams called action or actions have a second from the anchor on.

--state FILE is read if it is there and written after each step: whoever starts the command again
goes on where it ended, with another --world or --batch too. --digest prints a line for each step:
its number and a hash of each window.`

func (a *app) batchesCommand() *cobra.Command {
	b := batching{hz: positiveFlag{max: 1e9, unit: "HZ"}, packing: packing{rate: positiveFlag{max: 1e9, unit: "HZ"}},
		last:   choice[ops.LastBatch]{list: []ops.LastBatch{ops.LastDrop, ops.LastShort}, kind: "RULE"},
		values: choice[tensor.DType]{list: valueTypes(), kind: "DTYPE"},
	}
	cmd := &cobra.Command{
		Use:   "batches DATASET",
		Short: "Draw training batches of windows from a dataset",
		Long:  batchesHelp,
		Example: "  robocache batches dataset/ --hz 50 --batch 32 --seed 7 --epochs 1\n  robocache batches dataset/ --plan plan.yaml --state run.json --rank 0 --world 2\n" +
			"  robocache batches demos.hdf5 --rate 20 --hz 20 --window obs/state=-1s:0s --window actions=0s:1s --digest",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("batches takes one dataset, got %d: %q", len(args), args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			b.path = args[0]
			if err := a.ranked(&b.number, &b.world, cmd.Flags().Changed("rank") || cmd.Flags().Changed("world")); err != nil {
				return err
			}
			return a.batches(&b)
		},
	}
	f := cmd.Flags()
	f.StringVar(&b.planFile, "plan", "", "the plan `FILE`; instead of --hz, --stream and --window")
	f.Var(&b.hz, "hz", "rate of the windows' clock")
	f.StringArrayVar(&b.streams, "stream", nil, "a stream to take, all unless given; repeatable")
	f.StringArrayVar(&b.windows, "window", nil, "`NAME=FROM:TO`, a stream's window around the anchor: action=0s:1s; repeatable")
	f.IntVar(&b.batch, "batch", 32, "windows of a batch of each rank")
	f.Uint64Var(&b.seed, "seed", 0, "of the order of the windows")
	f.IntVar(&b.epochs, "epochs", 1, "how many epochs there are in all, those before --state too")
	f.IntVar(&b.steps, "steps", 0, "end after so many batches; 0 for all of the epochs")
	f.IntVar(&b.number, "rank", 0, "this program's number among --world; told by torchrun, srun or Open MPI unless given")
	f.IntVar(&b.world, "world", 1, "how many programs share each epoch")
	f.Var(&b.last, "last", "what the end of an epoch that fills no batch becomes: drop, or short, with rows that hold no window")
	f.Var(&b.values, "dtype", "dtype of the values, where the plan does not say")
	f.StringVar(&b.state, "state", "", "read the place in the order from this `FILE` if it is there, and write it after each step")
	f.BoolVar(&b.digest, "digest", false, "print a line for each step: its number, and a hash of each window")
	f.Var(&b.rate, "rate", "steps a second of recordings that have no times and do not say")
	f.StringVar(&b.clock, "clock", "", "where timestamps come from, of formats that have several clocks")
	f.BoolVar(&b.strict, "strict", false, "refuse what is broken, and episodes that the plan cannot take")
	f.StringVar(&b.backend, "backend", "auto", "where to compute: auto, cpu, cuda, cuda:N or sim")
	complete(cmd, "backend", backendNames)
	complete(cmd, "last", b.last.names)
	complete(cmd, "dtype", b.values.names)
	files(cmd, map[string]string{"plan": "yaml", "state": "json"})
	cmd.ValidArgsFunction = recordingFiles
	return cmd
}

func (b *batching) check() error {
	switch {
	case b.batch < 1:
		return usagef("--batch: got %d, want 1 or more", b.batch)
	case b.epochs < 1:
		return usagef("--epochs: got %d, want 1 or more", b.epochs)
	case b.steps < 0:
		return usagef("--steps: got %d, want 0 or more", b.steps)
	case b.world < 1 || b.number < 0 || b.number >= b.world:
		return usagef("--rank: got %d of --world %d, want a rank from 0 to %d", b.number, b.world, max(b.world, 1)-1)
	case b.planFile != "" && (b.hz.value > 0 || len(b.streams) > 0 || len(b.windows) > 0):
		return usagef("--plan: got it with --hz, --stream or --window, want what they say in the plan")
	case b.planFile == "" && b.hz.value == 0:
		return usagef("no clock given, want --hz or --plan")
	}
	return nil
}

// plan is the plan file, or what the flags say.
func (b *batching) plan(store *loader.Store) (align.Plan, error) {
	if b.planFile != "" {
		p, err := align.ReadPlan(b.planFile)
		var bad *align.PlanError
		if err != nil && !errors.As(err, &bad) {
			err = readError(b.planFile, err)
		}
		return p, err
	}
	p := align.Plan{Rate: b.hz.value, Shuffle: "windows", Windows: map[string]align.Window{}}
	names := b.streams
	if len(names) == 0 {
		for _, s := range store.Streams {
			names = append(names, s.Name)
		}
	}
	for _, name := range names {
		p.Streams = append(p.Streams, align.Stream{Name: name})
		if name == "action" || name == "actions" {
			p.Windows[name] = align.Window{To: time.Second}
		}
	}
	for _, w := range b.windows {
		name, span, _ := cutLast(w, "=")
		from, to, found := strings.Cut(span, ":")
		lo, err := time.ParseDuration(from)
		hi, failed := time.ParseDuration(to)
		if !found || err != nil || failed != nil {
			return p, usagef("--window: got %q, want NAME=FROM:TO such as action=0s:1s", w)
		}
		if !slices.Contains(names, name) {
			return p, usagef("--window: got stream %q, want one of %s", name, strings.Join(names, ", "))
		}
		p.Windows[name] = align.Window{From: lo, To: hi}
	}
	return p, nil
}

// cutLast cuts at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// batched is what batches says of its work.
type batched struct {
	Input string `json:"input"`
	loader.Report
	Device  deviceInfo       `json:"device"`
	Skipped []loader.Skipped `json:"skipped"` // episodes that could not be read
	Rounded int              `json:"rounded"` // values that the store's dtype could not hold
	Steps   int              `json:"steps"`
	Drawn   int              `json:"windows_drawn"`
	Padded  int              `json:"padded"`  // targets outside of what the episode has, of the windows that were drawn
	Invalid int              `json:"invalid"` // targets that are not valid, padded or not
	Seconds float64          `json:"seconds"`
	Rate    float64          `json:"windows_per_second"`
	Read    float64          `json:"read_seconds"`
	State   loader.State     `json:"state"`
	Ended   bool             `json:"ended_by_signal"`
}

func (a *app) batches(b *batching) error {
	if err := b.check(); err != nil {
		return err
	}
	if b.state != "" {
		if err := writable(b.state); err != nil {
			return err
		}
	}
	device, err := ops.Open(b.backend)
	if err != nil {
		return err
	}
	defer device.Close()
	ctx, ended, stop := a.untilCut(0)
	defer stop()
	begin := time.Now()
	store, err := b.open(ctx, a)
	if err != nil {
		return err
	}
	plan, err := b.plan(store)
	if err != nil {
		return err
	}
	done := a.step("putting the store on " + device.Name())
	l, err := loader.New(ctx, device, store, plan, loader.Options{Batch: b.batch, Seed: b.seed, Rank: b.number, Ranks: b.world, Last: b.last.value, DType: b.values.value, Strict: b.strict})
	done()
	if err != nil {
		return b.explain(err)
	}
	defer l.Close()
	if err := b.resume(ctx, l); err != nil {
		return err
	}
	out := &batched{Input: b.path, Report: l.Report(), Device: deviceOf(device.Info()), Skipped: append([]loader.Skipped{}, store.Skipped...), Read: time.Since(begin).Seconds()}
	for _, s := range store.Streams {
		out.Rounded += s.Rounded
	}
	if err := a.draw(ctx, b, l, out); err != nil && !ended() {
		return err
	}
	out.Ended = ended()
	if out.State, err = l.State(context.Background()); err != nil {
		return err
	}
	return a.drew(b, out)
}

// open opens a store, or packs a dataset.
func (b *batching) open(ctx context.Context, a *app) (*loader.Store, error) {
	if loader.IsStore(b.path) {
		s, err := loader.Open(b.path)
		if err != nil {
			return nil, readError(b.path, err)
		}
		return s, nil
	}
	return a.store(ctx, &b.packing)
}

// explain says what an error of the loader means on the command line.
func (b *batching) explain(err error) error {
	var option *loader.OptionError
	var empty *loader.EmptyError
	var missing *align.MissingError
	switch {
	case errors.As(err, &option):
		return usagef("--%s: got %s, want %s", strings.ToLower(strings.TrimPrefix(option.Arg, "plan.")), option.Got, option.Want)
	case errors.As(err, &empty), errors.As(err, &missing):
		return &inputError{Path: b.path, Err: err}
	}
	return err
}

// resume goes on from the state file, if it is there.
func (b *batching) resume(ctx context.Context, l *loader.Loader) error {
	if b.state == "" {
		return nil
	}
	text, err := os.ReadFile(b.state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return readError(b.state, err)
	}
	var s loader.State
	if err := json.Unmarshal(text, &s); err != nil {
		return readError(b.state, err)
	}
	if err := l.Resume(ctx, s); err != nil {
		return &inputError{Path: b.state, Err: err}
	}
	return nil
}

// draw makes the batches.
func (a *app) draw(ctx context.Context, b *batching, l *loader.Loader, out *batched) error {
	first, err := l.State(ctx)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(a.out)
	defer w.Flush()
	over := func(s loader.State) bool {
		return s.Epoch >= int64(b.epochs) || s.Epoch == int64(b.epochs)-1 && l.EpochEnds(s)
	}
	if over(first) {
		return nil
	}
	step := first.Epoch*int64(l.Report().Batches) + first.Taken/int64(b.batch*b.world)
	all := l.Report().Batches*b.epochs - int(step)
	if b.steps > 0 {
		all = min(all, b.steps)
	}
	bar := a.counting("drawing batches", all)
	defer bar.done()
	begin := time.Now()
	defer func() {
		out.Seconds = time.Since(begin).Seconds()
		out.Rate = float64(out.Drawn) / max(out.Seconds, 1e-9)
	}()
	for batch, err := range l.Batches(ctx) {
		if err != nil {
			return err
		}
		host, err := batch.Host(ctx)
		if err != nil {
			return err
		}
		if err := out.count(host); err != nil {
			return err
		}
		if b.digest && !a.json {
			if err := digestLine(w, step, host, b.batch); err != nil {
				return err
			}
		}
		step++
		out.Steps++
		bar.add()
		if err := b.save(ctx, l); err != nil {
			return err
		}
		s, err := l.State(ctx)
		if err != nil {
			return err
		}
		if out.Steps == b.steps || over(s) {
			return nil
		}
	}
	return nil
}

// save writes the state file.
func (b *batching) save(ctx context.Context, l *loader.Loader) error {
	if b.state == "" {
		return nil
	}
	s, err := l.State(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return unwritten(atomicfile.WriteFile(b.state, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	}))
}

// count adds what became of the windows of a batch.
func (out *batched) count(b *loader.Batch) error {
	episodes, err := tensor.Data[int64](b.Episodes)
	if err != nil {
		return err
	}
	rows := 0
	for _, e := range episodes {
		if e >= 0 {
			rows++
		}
	}
	out.Drawn += rows
	for i := range b.Streams {
		s := &b.Streams[i]
		valid, err := tensor.Data[uint8](s.Valid)
		if err != nil {
			return err
		}
		pad, err := tensor.Data[uint8](s.Pad)
		if err != nil {
			return err
		}
		t := s.Valid.Dim(1)
		for row, e := range episodes {
			if e < 0 {
				continue
			}
			for k := row * t; k < (row+1)*t; k++ {
				out.Padded += int(pad[k])
				out.Invalid += 1 - int(valid[k])
			}
		}
	}
	return nil
}

// digestLine prints a step and the hashes of its windows.
func digestLine(w *bufio.Writer, step int64, b *loader.Batch, rows int) error {
	fmt.Fprint(w, strconv.FormatInt(step, 10))
	episodes, err := tensor.Data[int64](b.Episodes)
	if err != nil {
		return err
	}
	for i := range rows {
		if episodes[i] < 0 {
			continue
		}
		d, err := b.Digest(i)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, " %016x", d)
	}
	return w.WriteByte('\n')
}

// drew prints what was done.
func (a *app) drew(b *batching, out *batched) error {
	if a.json {
		return a.writeJSON(out)
	}
	for _, s := range out.Skipped {
		a.remark("skipped: episode %d: %s", s.Number, s.Reason)
	}
	for _, s := range out.LeftOut {
		a.remark("left out: episode %s: %s", s.Name, s.Reason)
	}
	if out.Rounded > 0 {
		a.remark("%d values were rounded", out.Rounded)
	}
	if out.Ended {
		a.remark("ended by a signal after a whole batch")
	}
	if b.digest {
		return nil
	}
	fmt.Fprintf(a.out, "%d windows of an epoch in %d episodes, %d batches, %d dropped, %d rows missing; %.1f MiB on %s\n",
		out.Windows, out.Episodes, out.Batches, out.Dropped, out.Missing, float64(out.Bytes)/(1<<20), out.Device.Name)
	_, err := fmt.Fprintf(a.out, "drew %d windows in %d steps, %.0f a second; %d targets padded, %d not valid; read in %.2f s\n", out.Drawn, out.Steps, out.Rate, out.Padded, out.Invalid, out.Read)
	return err
}
