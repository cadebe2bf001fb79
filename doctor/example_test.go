package doctor_test

import (
	"context"
	"fmt"
	"log"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/ulog"
	"github.com/robocache/robocache/doctor"
)

// The faults in a flight log.
func Example() {
	ctx, path := context.Background(), "../examples/data/flight.ulg"
	d, err := dataset.Open(ctx, path, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	report, err := doctor.Examine(ctx, d, doctor.Options{Path: path})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Checked.Streams, "streams,", report.Checked.Samples, "samples")
	fmt.Println(len(report.Findings), "findings,", report.Count(doctor.Error), "of them errors")
	f := report.Findings[0]
	fmt.Printf("%s: a %s in %d streams, %d ns after the beginning\n", f.Severity, f.Kind, len(f.Streams), f.At[0]-f.Start)
	// Output:
	// 70 streams, 14604 samples
	// 6 findings, 0 of them errors
	// warning: a gap in 9 streams, 867118000 ns after the beginning
}
