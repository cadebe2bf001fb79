package write_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/lerobot" // so that dataset.Open knows it
	"github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/tensor"
)

// An episode of three rows at 10 Hz is written and read.
func ExampleWriter() {
	dir, err := os.MkdirTemp("", "lerobot")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	times, err := dataset.StepTimes(3, 10)
	if err != nil {
		log.Fatal(err)
	}
	values := tensor.Must(tensor.Of([]float32{0, 0.5, 1, 1.5, 2, 2.5}, 3, 2))
	joints := []dataset.Column{{Name: "shoulder", Type: "float32"}, {Name: "elbow", Type: "float32"}}
	state, err := dataset.NewStream("obs/joint_pos", times, values, joints)
	if err != nil {
		log.Fatal(err)
	}
	episode := &dataset.Episode{Streams: []dataset.Stream{state}, Attributes: dataset.Attributes{Task: "lift the cup"}}

	ctx := context.Background()
	path := filepath.Join(dir, "cups")
	w, err := write.Create(path, write.Options{FPS: 10, Names: map[string]string{"obs/joint_pos": "observation.state"}})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	if err := w.Add(ctx, episode); err != nil {
		log.Fatal(err)
	}
	if err := w.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	d, err := dataset.Open(ctx, path, dataset.Options{Strict: true})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	e, err := d.Episode(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Info().Version, e.Attributes.Task, e.Names(), e.Streams[0].ColumnNames(), e.Streams[0].Values)
	// Output: v3.0 lift the cup [observation.state] [shoulder elbow] f32 [3,2] on host
}
