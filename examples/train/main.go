package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/lerobot" // so that dataset.Open knows it
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda" // so that ops.Open("auto") finds a GPU
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/viz"
)

func main() {
	in := flag.String("in", "examples/data/g1", "the dataset")
	holdOut := flag.Int("hold-out", 2, "the episode that is not trained on")
	backend := flag.String("backend", "auto", "where to compute: auto, cpu, cuda, cuda:N or sim")
	flag.Parse()
	if err := run(*in, *holdOut, *backend, os.Stdout); err != nil {
		log.Fatal("train: ", err)
	}
}

func run(in string, holdOut int, backend string, out io.Writer) (err error) {
	ctx := context.Background()
	device, err := ops.Open(backend)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	d, err := dataset.Open(ctx, in, dataset.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	store, err := store.Build(ctx, d, store.BuildOptions{})
	if err != nil {
		return err
	}
	defer store.Close()
	trainer, err := policy.NewTrainer(ctx, []*ops.Device{device}, store, policy.Options{HoldOut: []int{holdOut}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trainer.Close()) }()
	config := trainer.Config()
	fmt.Fprintf(out, "%s, %d parameters, on %d windows of %d episodes, on %s\n", config.Policy, trainer.Parameters(), trainer.Report().Windows, len(config.Trained), device.Name())
	for !trainer.Done() {
		losses, err := trainer.Run(ctx, 250)
		if err != nil {
			return err
		}
		mean := float32(0)
		for _, loss := range losses {
			mean += loss / float32(len(losses))
		}
		fmt.Fprintf(out, "step %4d: loss %.3f\n", trainer.Steps(), mean)
	}
	trace := policy.NewTrace(config, holdOut)
	skill, err := trainer.Evaluate(ctx, trace.Add)
	if err != nil {
		return err
	}
	ridge, err := trace.Ridge(ctx, store)
	if err != nil {
		return err
	}
	for _, s := range skill.Skills {
		fmt.Fprintf(out, "%2d ticks ahead: skill %.2f, of a ridge %.2f, of holding the last action 0\n", s.Ticks, s.Skill, ridge.At(s.Ticks))
	}
	if err := draw(trace, holdOut); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\nwrote train.png\n", config.Says)
	return err
}

// draw makes a picture of the joints that move most.
func draw(trace *policy.Trace, episode int) error {
	streams, err := trace.Streams()
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	title := fmt.Sprintf("Episode %d, not trained on: the actions that move most", episode)
	if err := viz.WriteCurvesPNG(&picture, streams, trace.Moving(4), viz.Options{Title: title}); err != nil {
		return err
	}
	return os.WriteFile("train.png", picture.Bytes(), 0o644)
}
