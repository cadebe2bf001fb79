package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/lerobot" // so that dataset.Open knows it
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda" // so that ops.Open("auto") finds a GPU
	"github.com/robocache/robocache/viz"
)

var plan = align.Plan{
	Rate: 50, Shuffle: "windows", Padding: "lerobot",
	Streams: []align.Stream{
		{Name: "observation.state", Sampling: align.Sampling{Normalise: "mean-std"}},
		{Name: "action"},
	},
	Windows: map[string]align.Window{"observation.state": {From: -time.Second}, "action": {To: time.Second}},
}

func main() {
	in := flag.String("in", "examples/data/g1", "the dataset")
	backend := flag.String("backend", "auto", "where to compute: auto, cpu, cuda, cuda:N or sim")
	flag.Parse()
	if err := run(*in, *backend, os.Stdout); err != nil {
		log.Fatal("batches: ", err)
	}
}

func run(in, backend string, out io.Writer) error {
	ctx := context.Background()
	device, err := ops.Open(backend)
	if err != nil {
		return err
	}
	defer device.Close()
	d, err := dataset.Open(ctx, in, dataset.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	store, err := store.Build(ctx, d, store.BuildOptions{})
	if err != nil {
		return err
	}
	l, err := loader.New(ctx, device, store, plan, loader.Options{Batch: 32, Seed: 7})
	if err != nil {
		return err
	}
	defer l.Close()
	report := l.Report()
	fmt.Fprintf(out, "%d windows of %d episodes in %d batches, %d dropped; %d bytes on %s\n", report.Windows, report.Episodes, report.Batches, report.Dropped, report.Bytes, device.Name())
	steps := 0
	for batch, err := range l.Epoch(ctx) {
		if err != nil {
			return err
		}
		if steps++; steps == 1 {
			for _, s := range batch.Streams {
				fmt.Fprintf(out, "%s: values %v %v, valid %v\n", s.Name, s.Values.DType(), s.Values.Shape(), s.Valid.Shape())
			}
			if err := draw(ctx, l, store, batch); err != nil {
				return err
			}
		}
	}
	state, err := l.State(ctx) // from which a program that was stopped goes on
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "drew %d batches, up to position %d of epoch %d; wrote batches.png\n", steps, state.Taken, state.Epoch)
	return err
}

// draw makes a picture of the actions of the first window over the samples of its episode.
func draw(ctx context.Context, l *loader.Loader, store *store.Store, batch *loader.Batch) error {
	e, window, err := l.Window(ctx, store, batch, 0, "action")
	if err != nil {
		return err
	}
	panel := viz.Compare(e.Stream("action"), window)
	return viz.WriteFile("batches.png", []viz.Panel{panel}, viz.Options{Title: "A window of 50 ticks over the recorded actions of " + e.Name, Detail: 2 * time.Second})
}
