package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/ulog"
	"github.com/robocache/robocache/internal/flightlog"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda" // so that ops.Open("auto") finds a GPU
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

// rate is the common clock's, in Hz.
const rate = 50

// input is a block of neighbouring columns of a stream, and how it becomes part of a row.
type input struct {
	name, stream string
	first        string // the first column
	width        int
	kind         ops.Kind
	unit         string
	scale        float32 // of the model's unit; 0 leaves the values as they are
}

var inputs = []input{
	{"gyro", "sensor_combined", "gyro_rad[0]", 3, ops.WindowMean, "rad/s", 0},
	{"accelerometer", "sensor_combined", "accelerometer_m_s2[0]", 3, ops.WindowMean, "g", 1 / 9.80665},
	{"attitude", "vehicle_attitude", "q[0]", 4, ops.Slerp, "quaternion", 0},
	{"actuators", "actuator_controls_0", "control[0]", 4, ops.Previous, "output", 0},
	{"position", "vehicle_local_position", "x", 3, ops.Pchip, "m", 0},
	{"airspeed", "airspeed", "indicated_airspeed_m_s", 1, ops.Linear, "m/s", 0},
	{"rangefinder", "distance_sensor", "current_distance", 1, ops.Linear, "m", 0}, // which this aircraft did not carry
}

func main() {
	backend := flag.String("backend", "auto", "where to compute: auto, cpu, cuda, cuda:N or sim")
	flag.Parse()
	if err := run(*backend, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fuse:", err)
		os.Exit(1)
	}
}

func run(backend string, out io.Writer) error {
	device, err := ops.Open(backend)
	if err != nil {
		return err
	}
	defer device.Close()
	log, err := ulog.Parse(flightlog.ULog, ulog.Options{})
	if err != nil {
		return err
	}
	args := ops.FuseArgs{}
	var first, last int64 = math.MaxInt64, math.MinInt64
	for _, in := range inputs {
		s := log.Stream(in.stream)
		stream, err := in.of(s)
		if err != nil {
			return err
		}
		args.Streams = append(args.Streams, stream)
		if s != nil {
			first, last = min(first, s.Times[0]), max(last, s.Times[len(s.Times)-1])
		}
	}

	// From the first sample of any stream to the last: where a stream has none, its columns are 0 and not valid.
	args.Targets = ops.Uniform(first, rate, 1+int(last-first)*rate/int(time.Second))
	got, err := device.Fuse(args, ops.FuseOptions{})
	if err != nil {
		return err
	}
	times, err := ticks(args.Targets)
	if err != nil {
		return err
	}
	if err := report(out, log, got, device.Name()); err != nil {
		return err
	}
	return save(out, log, got, times)
}

// of describes the input to Fuse. Its values are the stream's own memory, seen as a narrower tensor. A stream that the log does
// not have is missing: its columns stay in the row.
func (in input) of(s *dataset.Stream) (ops.FuseStream, error) {
	if s == nil {
		return ops.FuseStream{Width: in.width}, nil
	}
	values, err := in.columns(s)
	if err != nil {
		return ops.FuseStream{}, err
	}
	times, err := tensor.Of(s.Times, len(s.Times))
	if err != nil {
		return ops.FuseStream{}, err
	}
	f := ops.FuseStream{Src: values, SrcTimes: times, Options: ops.ResampleOptions{
		Kind: in.kind, Quat: ops.WXYZ, // PX4 has the scalar first
		Window: ops.Within(time.Second / rate), // of the means: all samples since the tick before
		Edge:   ops.FillEdge, FillGaps: true, MaxGap: ops.Within(dataset.GapFactor * time.Duration(s.Stats().Median)),
	}}
	for range in.width {
		if in.scale != 0 {
			f.Scale = append(f.Scale, in.scale)
		}
	}
	return f, nil
}

func (in input) columns(s *dataset.Stream) (*tensor.Tensor, error) {
	lo := s.Column(in.first)
	if lo < 0 {
		return nil, fmt.Errorf("%s has no column %s", in.stream, in.first)
	}
	return s.Values.Slice(1, lo, lo+in.width)
}

// names of the input's columns in the row.
func (in input) names() []string {
	var list []string
	for d := range in.width {
		switch {
		case in.kind == ops.Slerp:
			list = append(list, "wxyz"[d:d+1])
		case in.width == 3:
			list = append(list, "xyz"[d:d+1])
		default:
			list = append(list, fmt.Sprint(d))
		}
	}
	return list
}

// report prints a line for each input, and a row of the mask where it has a hole.
func report(out io.Writer, log *ulog.Log, got ops.FuseArgs, device string) error {
	valid, err := tensor.Data[uint8](got.Valid)
	if err != nil {
		return err
	}
	age, err := tensor.Data[int64](got.Age)
	if err != nil {
		return err
	}
	m, rows := len(inputs), got.Valid.Dim(0)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "input\tstream\trate\tcolumns\tkind\tvalid\toldest\t  mask, a mark for five ticks")
	lo := 0
	for i, in := range inputs {
		rate, count, oldest := "-", 0, int64(0)
		if s := log.Stream(in.stream); s != nil {
			rate = fmt.Sprintf("%.0f Hz", s.Stats().Rate)
		}
		var mask strings.Builder
		for row := range rows {
			if valid[row*m+i] == 1 {
				count++
				oldest = max(oldest, age[row*m+i])
			}
			if row%5 == 0 {
				mask.WriteByte(".#"[valid[row*m+i]])
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d:%d\t%v\t%.1f %%\t%.1f ms\t  %s\n", in.name, in.stream, rate, lo, lo+in.width, in.kind,
			100*float64(count)/float64(rows), float64(oldest)/1e6, mask.String())
		lo += in.width
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "values %v, valid %v and age %v, fused on %s\n", got.Dst.Shape(), got.Valid.Shape(), got.Age.Shape(), device)
	return err
}

// save writes fuse.npz, and fuse.png with a panel for each input that the log has.
func save(out io.Writer, log *ulog.Log, got ops.FuseArgs, times *tensor.Tensor) error {
	var file, picture bytes.Buffer
	archive := npz.NewWriter(&file, npz.Options{Compress: true})
	var columns, names []string
	var panels []viz.Panel
	for i, in := range inputs {
		names = append(names, in.name)
		lo := len(columns)
		for _, c := range in.names() {
			columns = append(columns, in.name+"."+c)
		}
		s := log.Stream(in.stream)
		if s == nil {
			continue
		}
		p, err := in.panel(s, got, i, lo, times)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	err := errors.Join(archive.Add("values", got.Dst), archive.Add("valid", got.Valid), archive.Add("age", got.Age), archive.Add("times", times),
		archive.AddStrings("streams", names), archive.AddStrings("columns", columns), archive.Close(),
		viz.WritePNG(&picture, panels, viz.Options{Title: "Seven inputs, one clock of 50 Hz: 19 numbers and 7 flags a tick"}))
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile("fuse.npz", file.Bytes(), 0o644), os.WriteFile("fuse.png", picture.Bytes(), 0o644)); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "wrote fuse.npz and fuse.png")
	return err
}

// panel shows the samples of input i and its columns of the rows from lo on; nothing is drawn where they are not valid.
func (in input) panel(s *dataset.Stream, got ops.FuseArgs, i, lo int, times *tensor.Tensor) (viz.Panel, error) {
	p := viz.Panel{Title: in.name, Unit: in.unit, Columns: in.names(), Gap: dataset.GapFactor * time.Duration(s.Stats().Median), Show: []int{0, 1, 2, 3}[:in.width]}
	recorded, err := in.columns(s)
	if err != nil {
		return p, err
	}
	made, err := got.Dst.Slice(1, lo, lo+in.width)
	if err != nil {
		return p, err
	}
	if recorded, err = copyOf(recorded, func(_ int, x float64) float64 {
		if in.scale != 0 {
			return x * float64(in.scale)
		}
		return x
	}); err != nil {
		return p, err
	}
	valid, err := tensor.Data[uint8](got.Valid)
	if err != nil {
		return p, err
	}
	if made, err = copyOf(made, func(row int, x float64) float64 {
		if valid[row*len(inputs)+i] == 0 {
			return math.NaN()
		}
		return x
	}); err != nil {
		return p, err
	}
	stamps, err := tensor.Of(s.Times, len(s.Times))
	p.Recorded, p.Resampled = viz.Series{Times: stamps, Values: recorded}, viz.Series{Times: times, Values: made}
	return p, err
}

// copyOf returns f of every element of an f32 or f64 tensor [S,D], for the picture.
func copyOf(t *tensor.Tensor, f func(row int, x float64) float64) (*tensor.Tensor, error) {
	if t.DType() == tensor.F32 {
		return mapped[float32](t, f)
	}
	return mapped[float64](t, f)
}

func mapped[T float32 | float64](t *tensor.Tensor, f func(row int, x float64) float64) (*tensor.Tensor, error) {
	data, err := tensor.Elements[T](t)
	if err != nil {
		return nil, err
	}
	out := make([]float64, 0, t.Len())
	for row := range t.Dim(0) {
		for d := range t.Dim(1) {
			out = append(out, f(row, float64(data[row*t.Stride(0)+d])))
		}
	}
	return tensor.Of(out, t.Shape()...)
}

// ticks writes a clock out.
func ticks(clock ops.Clock) (*tensor.Tensor, error) {
	times := make([]int64, clock.Count)
	for i := range times {
		times[i] = clock.Tick(i)
	}
	return tensor.Of(times, len(times))
}
