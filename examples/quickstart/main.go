package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset/ulog"
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
	flight, err := ulog.ReadFile(in, ulog.Options{})
	if err != nil {
		return err
	}
	fast := align.Sampling{MaxGap: ops.Within(100 * time.Millisecond)} // longer gaps are marked as not valid
	plan := align.Plan{Rate: 50, Streams: []align.Stream{
		{Name: "actuator_controls_0", Sampling: fast}, {Name: "vehicle_attitude", Sampling: fast}, {Name: "airspeed", Sampling: fast},
		{Name: "manual_control_setpoint"}, {Name: "vehicle_control_mode"},
	}}
	got, err := align.Resample(context.Background(), device, &flight.Episode, plan)
	if err != nil {
		return err
	}
	picture := viz.Options{Title: "A flight log, on one clock of 50 Hz"}
	if err := errors.Join(got.WriteFile("quickstart.npz"), viz.WriteFile("quickstart.png", viz.Panels(got.Pairs()), picture)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%vcomputed on %s; wrote quickstart.npz and quickstart.png\n", got.Report, device.Name())
	return err
}
