package convert_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/convert"
	_ "github.com/robocache/robocache/dataset/lerobot"
)

// A LeRobot dataset becomes one .npz file per episode, and every sample is accounted for.
func Example() {
	out, err := os.MkdirTemp("", "convert")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(out)
	ctx := context.Background()
	c, err := convert.New(ctx, []string{"../examples/data/g1"}, filepath.Join(out, "g1"), convert.NPZ(), convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	report, err := c.Shard(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Converted, "of", report.Read, "episodes,", report.Rows, "rows")
	for _, p := range report.Pieces {
		fmt.Println(p.Path)
	}
	for _, s := range report.Streams {
		fmt.Printf("%s: %d samples read, %d used\n", s.Name, s.Read, s.Used)
	}
	// Output:
	// 3 of 3 episodes, 1121 rows
	// episode-000000.npz
	// episode-000001.npz
	// episode-000002.npz
	// observation.state: 1121 samples read, 1121 used
	// action: 1121 samples read, 1121 used
}
