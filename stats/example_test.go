package stats_test

import (
	"context"
	"fmt"
	"log"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/stats"
)

// The mean, deviation and median of an action, for normalising it.
func Example() {
	ctx := context.Background()
	d, err := dataset.Open(ctx, "../examples/data/g1", dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	report, err := stats.Compute(ctx, d, stats.Options{Streams: []string{"action"}})
	if err != nil {
		log.Fatal(err)
	}
	action := report.Stream("action")
	fmt.Println(action.Episodes, "episodes,", action.Rows, "rows,", len(action.Columns), "columns")
	c := action.Columns[0]
	fmt.Printf("%s: mean %.4f, std %.4f, median %.4f\n", c.Name, c.Mean, c.Std, c.Quantiles[2])
	// Output:
	// 3 episodes, 1121 rows, 26 columns
	// kLeftShoulderPitch: mean -0.7215, std 0.0053, median -0.7217
}
