package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all" // every format; a program that reads one imports that one
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda" // so that ops.Open("auto") finds a GPU
)

func main() {
	in := flag.String("in", "examples/data/g1", "the dataset: a file or folder of any format")
	rate := flag.Float64("rate", 0, "steps a second, if the format has no times and does not say")
	backend := flag.String("backend", "auto", "where to compute: auto, cpu, cuda, cuda:N or sim")
	flag.Parse()
	streams := flag.Args()
	if len(streams) == 0 {
		streams = []string{"observation.state", "action"}
	}
	if err := run(*in, *rate, *backend, streams, os.Stdout); err != nil {
		log.Fatal("dataset: ", err)
	}
}

func run(in string, rate float64, backend string, streams []string, out io.Writer) error {
	ctx := context.Background()
	device, err := ops.Open(backend)
	if err != nil {
		return err
	}
	defer device.Close()
	d, err := dataset.Open(ctx, in, dataset.Options{Rate: rate})
	if err != nil {
		return err
	}
	defer d.Close()
	info := d.Info()
	fmt.Fprintf(out, "%s, %s: %d episodes at %v Hz (from %s)\n", d.Name(), d.Format(), d.Len(), info.Rate, info.RateFrom)
	for _, line := range notetext.Lines(info.Notes) {
		fmt.Fprintln(out, "problem:", line)
	}
	plan := align.Plan{Rate: 50}
	for _, name := range streams {
		plan.Streams = append(plan.Streams, align.Stream{Name: name})
	}
	for e, err := range dataset.Episodes(ctx, d) {
		if err != nil { // of one episode; the next may be whole
			fmt.Fprintln(out, err)
			continue
		}
		rows, err := align.Fuse(ctx, device, e, plan)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		fmt.Fprintf(out, "%s: %d frames become %v, %d of %d ticks with all streams: %s\n",
			e.Name, e.Frames, rows.Values.Shape(), *rows.Report.AllValid, rows.Times.Len(), e.Attributes.Task)
	}
	_, err = fmt.Fprintln(out, "computed on", device.Name())
	return err
}
