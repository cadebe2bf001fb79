package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
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

// streams are the ones to align, of the 70 in the log, with the unit and the columns that the picture shows.
var streams = []struct {
	name, unit string
	show       []string
}{
	{"actuator_controls_0", "output", []string{"control[0]", "control[1]", "control[2]", "control[3]"}},
	{"vehicle_attitude", "quaternion", []string{"q[0]", "q[1]", "q[2]", "q[3]"}},
	{"airspeed", "m/s", []string{"indicated_airspeed_m_s", "true_airspeed_m_s"}},
	{"manual_control_setpoint", "stick", []string{"x", "y", "z", "r"}},
	{"vehicle_control_mode", "on or off", []string{"flag_armed"}},
}

func main() {
	backend := flag.String("backend", "auto", "where to compute: auto, cpu, cuda or cuda:N")
	flag.Parse()
	if err := run(*backend, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(backend string, out io.Writer) error {
	device, err := ops.Open(backend)
	if err != nil {
		return err
	}
	defer device.Close()

	// A file is read as streams. Each has a clock in nanoseconds, a tensor of values [S,D] and D named columns.
	log, err := ulog.Parse(flightlog.ULog, ulog.Options{})
	if err != nil {
		return err
	}
	clock, err := commonClock(log)
	if err != nil {
		return err
	}
	times, err := ticks(clock)
	if err != nil {
		return err
	}

	var file bytes.Buffer
	archive := npz.NewWriter(&file, npz.Options{Compress: true})
	if err := archive.Add("times", times); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "stream\tsamples\trate\tjitter\tgaps\tvalid\tbackend\t")
	var panels []viz.Panel

	for _, want := range streams {
		s := log.Stream(want.name)
		stats := s.Stats()
		recorded, err := tensor.Of(s.Times, len(s.Times))
		if err != nil {
			return err
		}

		// One call puts the stream on the common clock. Targets inside a gap of the recording are marked invalid.
		got, err := device.Resample(
			ops.ResampleArgs{Src: s.Values, SrcTimes: recorded, Targets: clock},
			ops.ResampleOptions{Channels: channels(s), MaxGap: ops.Within(dataset.GapFactor * time.Duration(stats.Median))},
		)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}

		fmt.Fprintf(table, "%s\t%d\t%.1f Hz\t%.1f ms\t%d\t%.1f %%\t%s\t\n", s.Name, stats.Samples, stats.Rate,
			float64(stats.Jitter)/1e6, stats.Gaps, 100*share(got.Valid), device.Name())
		err = errors.Join(
			archive.Add(s.Name+".values", got.Dst),
			archive.Add(s.Name+".valid", got.Valid),
			archive.Add(s.Name+".age", got.Age),
			archive.AddStrings(s.Name+".columns", names(s)),
		)
		if err != nil {
			return err
		}
		panel := viz.Panel{
			Title: s.Name, Unit: want.unit, Columns: names(s),
			Recorded:  viz.Series{Times: recorded, Values: s.Values},
			Resampled: viz.Series{Times: times, Values: got.Dst},
		}
		for _, name := range want.show {
			panel.Show = append(panel.Show, s.Column(name))
		}
		panels = append(panels, panel)
	}

	if err := table.Flush(); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	var picture bytes.Buffer
	if err := viz.WritePNG(&picture, panels, viz.Options{Title: "A flight log, on one clock of 50 Hz"}); err != nil {
		return err
	}
	if err := os.WriteFile("quickstart.npz", file.Bytes(), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile("quickstart.png", picture.Bytes(), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d targets at %d Hz; wrote quickstart.npz and quickstart.png\n", clock.Count, rate)
	return err
}

// commonClock returns the clock over the time that all streams share.
func commonClock(log *ulog.Log) (ops.Clock, error) {
	var first, last int64
	for i, want := range streams {
		s := log.Stream(want.name)
		if s == nil {
			return ops.Clock{}, fmt.Errorf("the log has no stream %s", want.name)
		}
		stats := s.Stats()
		if i == 0 {
			first, last = stats.First, stats.Last
		}
		first, last = max(first, stats.First), min(last, stats.Last)
	}
	count := 1 + int(last-first)*rate/int(time.Second)
	return ops.Uniform(first, rate, count), nil
}

// ticks writes a clock out.
func ticks(clock ops.Clock) (*tensor.Tensor, error) {
	times := make([]int64, clock.Count)
	for i := range times {
		times[i] = clock.Tick(i)
	}
	return tensor.Of(times, len(times))
}

// channels says how each column is resampled: quaternions along their arc (PX4 has the scalar first), switches and counters by
// the last value. Columns that it leaves out are interpolated linearly.
func channels(s *dataset.Stream) []ops.Channel {
	var list []ops.Channel
	for i, c := range s.Columns {
		switch {
		case c.Name == "q[0]" || c.Name == "delta_q_reset[0]":
			list = append(list, ops.Channel{Lo: i, Hi: i + 4, Kind: ops.Slerp, Quat: ops.WXYZ})
		case c.Integer:
			list = append(list, ops.Channel{Lo: i, Hi: i + 1, Kind: ops.Previous})
		}
	}
	return list
}

// share returns how much of valid is 1.
func share(valid *tensor.Tensor) float64 {
	flags, err := tensor.Data[uint8](valid)
	if err != nil || len(flags) == 0 {
		return 0
	}
	return float64(bytes.Count(flags, []byte{1})) / float64(len(flags))
}

func names(s *dataset.Stream) []string {
	var list []string
	for _, c := range s.Columns {
		list = append(list, c.Name)
	}
	return list
}
