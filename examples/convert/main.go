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
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all" // so that the input may be of any format
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cpu"
)

func main() {
	in := flag.String("in", "examples/data/turtles2", "a recording, or a folder of them")
	plan := flag.String("plan", "examples/convert/plan.yaml", "how its streams are put on one clock")
	output := flag.String("o", "turtles-lerobot", "the dataset to write")
	flag.Parse()
	if err := run(*in, *plan, *output, os.Stdout); err != nil {
		log.Fatal("convert: ", err)
	}
}

func run(in, planFile, output string, out io.Writer) error {
	ctx := context.Background()
	device, err := ops.Open("cpu")
	if err != nil {
		return err
	}
	defer device.Close()
	plan, err := planfile.Read(planFile)
	if err != nil {
		return err
	}
	target, err := convert.LeRobot(convert.LeRobotOptions{State: []string{"follower", "leader"}, RobotType: "turtle"})
	if err != nil {
		return err
	}
	work, err := convert.New(ctx, []string{in}, output, target, convert.Options{Plan: &plan, Device: device, Task: "follow the turtle"})
	if err != nil {
		return err
	}
	defer work.Close()
	report, err := work.Shard(ctx, 0)
	if err != nil {
		return err
	}
	for _, s := range report.Streams { // every sample is accounted for
		fmt.Fprintf(out, "%s: %d read, %d used, %d dropped; %d rows, %d across gaps\n", s.Name, s.Read, s.Used, s.Read-s.Used, s.Rows, s.AcrossGaps)
	}
	return windows(ctx, device, output, plan.Rate, out)
}

// windows draws a batch from the dataset: a second of what was seen, and the second of commands that followed.
func windows(ctx context.Context, device *ops.Device, path string, rate float64, out io.Writer) error {
	d, err := dataset.Open(ctx, path, dataset.Options{Strict: true})
	if err != nil {
		return err
	}
	defer d.Close()
	fmt.Fprintf(out, "%s %s: %d rows at %g Hz, tasks %q\n", d.Format(), d.Info().Version, d.Info().Frames, d.Info().Rate, d.Info().Tasks)
	store, err := store.Build(ctx, d, store.BuildOptions{})
	if err != nil {
		return err
	}
	l, err := loader.New(ctx, device, store, align.Plan{
		Rate: rate, Shuffle: "windows", Padding: "lerobot", Streams: []align.Stream{{Name: "observation.state"}, {Name: "action"}},
		Windows: map[string]align.Window{"observation.state": {From: -time.Second}, "action": {To: time.Second}},
	}, loader.Options{Batch: 32, Seed: 7})
	if err != nil {
		return err
	}
	defer l.Close()
	for batch, err := range l.Epoch(ctx) {
		if err != nil {
			return err
		}
		for _, s := range batch.Streams {
			fmt.Fprintf(out, "%s: windows %v\n", s.Name, s.Values.Shape())
		}
		break
	}
	return nil
}
