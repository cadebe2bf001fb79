package align_test

import (
	"context"
	"fmt"
	"log"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/ulog"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cpu"
)

// Two streams of a flight log with different rates, on one clock of 50 Hz.
func Example() {
	ctx := context.Background()
	d, err := dataset.Open(ctx, "../examples/data/flight.ulg", dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	e, err := d.Episode(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	device, err := ops.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	got, err := align.Resample(ctx, device, e, align.Plan{Rate: 50, Streams: []align.Stream{{Name: "vehicle_attitude"}, {Name: "battery_status"}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range got.Streams {
		fmt.Println(s.Name, s.Values.Shape())
	}
	fmt.Print(got.Report)
	// Output:
	// vehicle_attitude [300 9]
	// battery_status [300 34]
	// clock: 300 timestamps at 50 Hz, 20.630667 to 26.610667 s (begins with battery_status, ends with battery_status)
	//             stream  samples      rate  gaps               range  timestamps    valid  outside  in gaps  lossy  methods
	//   vehicle_attitude     1298  204.6 Hz     1  20.327 to 26.823 s         300  100.0 %        0        0      0  8 slerp, 1 previous
	//     battery_status       21    3.3 Hz     0  20.631 to 26.630 s         300  100.0 %        0        0      0  20 linear, 14 previous
	// dropouts noted by the recorder: 1, 0.030 s in all
}
