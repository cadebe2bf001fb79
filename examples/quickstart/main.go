package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/ulog" // so that dataset.Open knows flight logs
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda" // so that ops.Open("auto") finds a GPU
	"github.com/robocache/robocache/viz"
)

func main() {
	backend := flag.String("backend", "auto", "where to compute: auto, cpu, cuda or cuda:N")
	in := flag.String("in", "examples/data/flight.ulg", "the flight log")
	flag.Parse()
	if err := run(*in, *backend, os.Stdout); err != nil {
		log.Fatal("quickstart: ", err)
	}
}

func run(in, backend string, out io.Writer) error {
	device, err := ops.Open(backend)
	if err != nil {
		return err
	}
	defer device.Close()
	ctx := context.Background()
	recording, err := dataset.Open(ctx, in, dataset.Options{}) // any format, by its content
	if err != nil {
		return err
	}
	defer recording.Close()

	report, err := doctor.Examine(ctx, recording, doctor.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "1. Faults in %s, by cause:\n", filepath.Base(in))
	for _, f := range report.Findings {
		if f.Severity != doctor.Information {
			fmt.Fprintf(out, "\n   %-10s  %s\n               %s\n            -> %s\n", f.Kind, cmp.Or(f.Subject(), "the recording"), f.Why, f.WhatToDo)
		}
	}

	flight, err := recording.Episode(ctx, 0)
	if err != nil {
		return err
	}
	fast := align.Sampling{MaxGap: ops.Within(100 * time.Millisecond)} // longer gaps are marked as not valid
	plan := align.Plan{Rate: 50, Streams: []align.Stream{
		{Name: "actuator_controls_0", Sampling: fast}, {Name: "vehicle_attitude", Sampling: fast}, {Name: "airspeed", Sampling: fast},
		{Name: "manual_control_setpoint"}, {Name: "vehicle_control_mode"},
	}}
	got, err := align.Resample(ctx, device, flight, plan)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n2. Five streams on one clock of %g Hz, %d timestamps, computed on %s:\n\n", got.Report.Clock.Hz, got.Report.Clock.Targets, device.Name())
	fmt.Fprintf(out, "   %-24s %8s %10s %10s %7s\n", "stream", "samples", "recorded", "values", "valid")
	for i, s := range got.Report.Streams {
		fmt.Fprintf(out, "   %-24s %8d %7.1f Hz %10v %5.1f %%\n", s.Name, s.Samples, s.Rate, fmt.Sprint(got.Streams[i].Values.Shape()), 100*s.ValidShare)
	}

	picture := viz.Options{Title: "A flight log, on one clock of 50 Hz"}
	if err := errors.Join(got.WriteFile("quickstart.npz"), viz.WriteFile("quickstart.png", viz.Panels(got.Pairs()), picture)); err != nil {
		return err
	}
	_, err = fmt.Fprint(out, `
3. quickstart.npz has these values with masks; quickstart.png shows them over the samples, with gaps.

Next, in the browser: go run ./cmd/robocache view examples/data/flight.ulg
`)
	return err
}
