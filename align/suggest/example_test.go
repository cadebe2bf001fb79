package suggest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/robocache/robocache/align/suggest"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/lerobot"
)

// A first plan for a dataset of a robot's states and actions.
func ExamplePlan() {
	ctx := context.Background()
	d, err := dataset.Open(ctx, "../../examples/data/g1", dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	got, err := suggest.Plan(ctx, d, suggest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Policy, got.Plan.Rate, "Hz")
	for _, r := range got.Reasons {
		fmt.Printf("%s: %s\n", r.Key, r.Why)
	}
	// Output:
	// true 30 Hz
	// rate: as the dataset declares
	// defaults.method: the latest sample: a policy sees nothing later than its time
	// defaults.tolerance: three usual steps, 20 ms at least: a sample that is older is not valid
	// defaults.normalise: (x - mean) * (1 / std) over the episodes that are drawn from; train has its own
	// windows.observation.state: 6 ticks
	// windows.action: 30 ticks
}
