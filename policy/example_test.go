package policy_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
)

// A policy is trained on two episodes of a G1, kept, opened, and given the samples of the third as they would arrive at the robot.
func Example() {
	if err := actions(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// trained on 711 windows for 50 steps
	// at tick 1: 30 actions of 26 columns, the first of kLeftShoulderPitch
}

func actions() (err error) {
	ctx := context.Background()
	device, err := ops.Open("cpu")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	d, err := dataset.Open(ctx, "../examples/data/g1", dataset.Options{}) // with _ ".../dataset/lerobot" imported
	if err != nil {
		return err
	}
	defer d.Close()
	store, err := store.Build(ctx, d, store.BuildOptions{})
	if err != nil {
		return err
	}
	defer store.Close()
	trainer, err := policy.NewTrainer(ctx, []*ops.Device{device}, store, policy.Options{HoldOut: []int{2}, Steps: 50})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trainer.Close()) }()
	if _, err := trainer.Run(ctx, 50); err != nil {
		return err
	}
	fmt.Printf("trained on %d windows for %d steps\n", trainer.Report().Windows, trainer.Steps())
	dir, err := os.MkdirTemp("", "policy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := trainer.Save(ctx, dir); err != nil {
		return err
	}

	p, err := policy.Open(ctx, device, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	episode, err := store.Episode(ctx, 2)
	if err != nil {
		return err
	}
	streams, err := p.LiveStreams(episode) // on a robot: which streams there are, with their columns
	if err != nil {
		return err
	}
	runner, err := p.NewRunner(ctx, streams)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	feed, err := policy.NewFeed(p.Config(), episode)
	if err != nil {
		return err
	}
	anchor := episode.Stream("observation.state").Nanoseconds()[1]
	if err := feed.Until(runner, anchor); err != nil { // on a robot: runner.Push of each sample when it comes
		return err
	}
	chunk, err := runner.Act(ctx, anchor)
	if err != nil {
		return err
	}
	columns := p.Config().Targets
	fmt.Printf("at tick 1: %d actions of %d columns, the first of %s\n", len(chunk)/len(columns), len(columns), columns[0].Name)
	return nil
}
