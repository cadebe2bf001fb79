package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
	"github.com/spf13/cobra"
)

const fuseHelp = `Fuse puts up to 16 streams on one clock, side by side in one array, in one launch.

IN is a ULog file (.ulg) or a numpy archive (.npz) that holds NAME.values [S,D] and
NAME.times [S] of each stream: int64 nanoseconds, float64 or float32 seconds, the same in all.
The clock is the array targets [T] of the archive, or that of --hz over the time that the
streams share.

--stream names the streams, in the order of their columns; without it all are taken in file
order. NAME:kind gives one a kind of its own, NAME:kind:max-gap or NAME::max-gap a limit too.
Columns of a .ulg file are treated as in resample: integers keep their previous value,
quaternions go by slerp.

OUT.npz holds values [T,D of all streams], valid [T,M] and age [T,M] of the M streams, times [T],
streams [M], and columns, which are named STREAM.column. What --edge fill and --fill-gaps write
is 0 unless --fill says otherwise: valid tells it from a recorded 0. A stream without samples is
filled and not valid. What --dtype cannot hold is counted for each stream, in what is printed and
under --json: integers that are rounded, and finite numbers that become infinite.`

const fuseExample = `  robocache fuse flight.ulg -o state.npz --hz 50 --stream sensor_combined --stream vehicle_attitude --stream airspeed::50ms
  robocache fuse episode.npz -o episode50.npz --hz 50 --stream image:previous --stream joints --edge fill --plot episode.png`

func (a *app) fuseCommand() *cobra.Command {
	r := newRequest("Fuse")
	cmd := &cobra.Command{
		Use:     "fuse IN -o OUT.npz",
		Short:   "Put streams on one clock, side by side, with a mask for each",
		Long:    fuseHelp,
		Example: fuseExample,
	}
	cmd.Flags().StringArrayVar(&r.streams, "stream", nil, "NAME, NAME:kind or NAME:kind:max-gap of a stream to take; repeatable, in the order of the columns")
	cmd.Flags().Var(&r.fill, "fill", "value written by --edge fill, --edge hold before the first sample, --fill-gaps, and for a stream without samples (default 0)")
	cmd.Flags().Var(&r.dtype, "dtype", "dtype of the values written: f32 (default), f64, f16 or bf16 (bf16 is stored as uint16)")
	r.finish(cmd, func() error { return a.put(r, map[string]loader{"npz": loadFuseNPZ, "ulg": loadFuseULog}) })
	return cmd
}

// fuseJob is streams to fuse.
type fuseJob struct {
	path    string
	picks   []pick
	clock   ops.Clock
	targets *tensor.Tensor
	start   func(r *request) *result
	options func(p *pick, r *request) (ops.ResampleOptions, map[string]int, error) // a stream's, and its columns by kind
	where   func(e *inputError, m int, array string)                               // says where stream m's array is
	out     ops.FuseArgs
	blank   bool // fill values are not drawn
}

// few refuses more streams than one Fuse takes.
func (r *request) few(n int) error {
	if n > ops.MaxStreams {
		return usagef("%s: got %d streams, want at most %d: name them with --stream", r.in, n, ops.MaxStreams)
	}
	return nil
}

func loadFuseULog(r *request) (*work, error) {
	log, err := readULog(r)
	if err != nil {
		return nil, err
	}
	if err := r.few(len(log.picks)); err != nil {
		return nil, err
	}
	return &work{&fuseJob{
		path: r.in, picks: log.picks, clock: log.clock, targets: log.targets, start: log.result,
		options: func(p *pick, r *request) (ops.ResampleOptions, map[string]int, error) {
			o := r.options()
			channels, err := log.channels(p, r)
			o.Kind, o.Channels = ops.Linear, channels
			return o, countKinds(channels), err
		},
		where: func(e *inputError, m int, _ string) { e.Stream = log.picks[m].stream.Name },
	}}, nil
}

func (j *fuseJob) run(r *request, device *ops.Device) (*result, error) {
	res := j.start(r)
	args := ops.FuseArgs{Targets: j.clock}
	kinds := make([]map[string]int, len(j.picks))
	empty := false
	for m := range j.picks {
		p := &j.picks[m]
		o, by, err := j.options(p, r)
		if err != nil {
			return nil, err
		}
		o.DType, o.MaxGap, kinds[m] = 0, p.gap, by
		args.Streams = append(args.Streams, ops.FuseStream{Src: p.stream.Values, SrcTimes: p.times, Options: o})
		empty = empty || p.times.Len() == 0
	}
	j.blank = r.fills()
	if r.fill.set && !j.blank && !empty {
		res.Remarks = append(res.Remarks, fillUnused)
	}
	var err error
	if j.out, err = device.Fuse(args, ops.FuseOptions{DType: r.dtype.value}); err != nil {
		return nil, j.explain(err)
	}
	valid, err := tensor.Data[uint8](j.out.Valid)
	if err != nil {
		return nil, err
	}
	all := 0
	for i := 0; i < len(valid); i += len(j.picks) {
		if !bytes.Contains(valid[i:i+len(j.picks)], []byte{0}) {
			all++
		}
	}
	res.AllValid = &all
	again := func(clock ops.Clock) (*tensor.Tensor, error) {
		a := args
		a.Targets = clock
		out, err := device.Fuse(a, ops.FuseOptions{DType: tensor.F64})
		return out.Dst, err
	}
	first := 0
	for m := range j.picks {
		p := &j.picks[m]
		line := streamResult{
			Name: p.stream.Name, Rows: 1, Columns: p.stream.Values.Dim(1), DType: j.out.Dst.DType().String(),
			Inexact: p.stream.Inexact, Kinds: kinds[m],
		}
		ns, err := nanoseconds(p.times)
		if err != nil {
			return nil, err
		}
		line.clockStats(dataset.StatsOf(ns))
		mask, err := part(j.out.Valid, m, m+1)
		if err != nil {
			return nil, err
		}
		if err := line.count(p.times, j.targets, mask); err != nil {
			return nil, err
		}
		if err := line.narrow(j.out.Dst, j.targets, first, p.stream.Columns, p.stream.Values.DType(), again); err != nil {
			return nil, err
		}
		first += line.Columns
		res.Streams = append(res.Streams, line)
	}
	return res, nil
}

// explain says in which of the file's streams the operation found an error.
func (j *fuseJob) explain(err error) error {
	var arg *ops.ArgError
	var value *ops.ValueError
	name := ""
	switch {
	case errors.As(err, &arg):
		name = arg.Arg
	case errors.As(err, &value):
		name = value.Arg
	default:
		return err
	}
	e := &inputError{Path: j.path, Err: err}
	var m int
	if _, failed := fmt.Sscanf(name, "Streams[%d].", &m); failed == nil && m < len(j.picks) {
		_, array, _ := strings.Cut(name, ".")
		j.where(e, m, array)
	}
	return e
}

// part returns a copy of the columns lo to hi-1.
func part(t *tensor.Tensor, lo, hi int) (*tensor.Tensor, error) {
	v, err := t.Slice(1, lo, hi)
	if err != nil {
		return nil, err
	}
	return v.Contiguous()
}

func (j *fuseJob) arrays(w *npz.Writer) error {
	var streams, columns []string
	for _, p := range j.picks {
		streams = append(streams, p.stream.Name)
		for _, c := range p.stream.Columns {
			columns = append(columns, p.stream.Name+"."+c.Name)
		}
	}
	return errors.Join(w.Add("values", j.out.Dst), w.Add("valid", j.out.Valid), w.Add("age", j.out.Age), w.Add("times", j.targets),
		w.AddStrings("streams", streams), w.AddStrings("columns", columns))
}

func (j *fuseJob) panels() ([]viz.Panel, error) {
	var list []viz.Panel
	lo := 0
	for m := range j.picks {
		p := &j.picks[m]
		hi := lo + p.stream.Values.Dim(1)
		made, err := part(j.out.Dst, lo, hi)
		if err == nil && j.blank {
			made, err = blanked(made, j.out.Valid, m)
		}
		if err != nil {
			return nil, err
		}
		lo = hi
		if p.times.Len() > 0 {
			gap, _ := p.gap.Get()
			list = append(list, p.panel(gap, j.targets, made))
		}
	}
	return list, nil
}
