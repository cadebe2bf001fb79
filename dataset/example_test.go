package dataset_test

import (
	"context"
	"fmt"
	"log"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/ulog"
)

// Open a recording, read its episodes, and look at a stream and at the notes.
func Example() {
	ctx := context.Background()
	d, err := dataset.Open(ctx, "../examples/data/flight.ulg", dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	for e, err := range dataset.Episodes(ctx, d) {
		if err != nil {
			log.Fatal(err)
		}
		s := e.Stream("vehicle_attitude")
		fmt.Println(e.Name, len(e.Streams), "streams")
		fmt.Println(s.Name, s.ColumnNames()[:4], s.Values.Shape(), s.Values.DType())
		st := s.Stats()
		fmt.Printf("%.0f Hz, %d gaps\n", st.Rate, st.Gaps)
		fmt.Println(len(e.Dropouts), "dropouts; left out:", e.Notes.Of(dataset.ClassLeftOut))
	}
	// Output:
	// flight 70 streams
	// vehicle_attitude [q[0] q[1] q[2] q[3]] [1298 9] f32
	// 205 Hz, 1 gaps
	// 1 dropouts; left out: no-samples vehicle_local_position_setpoint; no-samples sensor_mag_2
}
