package loader_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cpu"
)

// Windows of a humanoid's recordings: a fifth of a second of states before each anchor, and the second of actions from it on.
func Example() {
	ctx := context.Background()
	d, err := dataset.Open(ctx, "../examples/data/g1", dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	s, err := store.Build(ctx, d, store.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	device, err := ops.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	plan := align.Plan{
		Rate: 30, Shuffle: "windows",
		Streams: []align.Stream{{Name: "observation.state", Sampling: align.Sampling{Normalise: "mean-std"}}, {Name: "action"}},
		Windows: map[string]align.Window{"observation.state": {From: -200 * time.Millisecond}, "action": {To: time.Second}},
	}
	l, err := loader.New(ctx, device, s, plan, loader.Options{Batch: 32, Seed: 7})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	batches := 0
	for batch, err := range l.Epoch(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if batches++; batches == 1 {
			for _, b := range batch.Streams {
				fmt.Println(b.Name, b.Values.Shape())
			}
		}
	}
	report := l.Report()
	fmt.Println(batches, "batches of 32 from", report.Windows, "windows in", report.Episodes, "episodes")
	// Output:
	// observation.state [32 6 26]
	// action [32 30 26]
	// 35 batches of 32 from 1121 windows in 3 episodes
}
