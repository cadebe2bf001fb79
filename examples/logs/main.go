package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/mcap" // each for the logs that it reads
	"github.com/robocache/robocache/dataset/notetext"
	_ "github.com/robocache/robocache/dataset/rosbag"
	_ "github.com/robocache/robocache/dataset/rosbag2"
	_ "github.com/robocache/robocache/dataset/rosbag2/sqlite" // for the .db3 files of rosbag2
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda"   // so that ops.Open("auto") finds a GPU
	_ "github.com/robocache/robocache/storage/s3" // so that names may be s3:// URLs
)

func main() {
	in := flag.String("in", "examples/data/turtles.bag", "the log: a file, a rosbag2 folder or an s3:// URL")
	clock := flag.String("clock", "log", "when a message was: log (recorded), publish, or header (its own stamp)")
	output := flag.String("o", "", "what to write: a name that ends in .mcap, .npz or .safetensors")
	backend := flag.String("backend", "auto", "where to compute: auto, cpu, cuda, cuda:N or sim")
	flag.Parse()
	topics := flag.Args()
	if len(topics) == 0 {
		topics = []string{"/turtle1/pose", "/tf.turtle2"}
	}
	if err := run(*in, *clock, *backend, *output, topics, os.Stdout); err != nil {
		log.Fatal("logs: ", err)
	}
}

func run(in, clock, backend, output string, topics []string, out io.Writer) error {
	ctx := context.Background()
	device, err := ops.Open(backend)
	if err != nil {
		return err
	}
	defer device.Close()
	d, err := dataset.Open(ctx, in, dataset.Options{Clock: clock})
	if err != nil {
		return err
	}
	defer d.Close()
	e, err := d.Episode(ctx, 0)
	if err != nil {
		return err
	}
	for _, line := range notetext.Lost(e.Notes) { // whole parts of a broken log are read
		fmt.Fprintln(out, line)
	}
	plan := align.Plan{Rate: 50}
	for _, name := range topics {
		plan.Streams = append(plan.Streams, align.Stream{Name: name})
	}
	got, err := align.Resample(ctx, device, e, plan)
	if err != nil {
		return err
	}
	for _, remark := range got.Report.Remarks { // what was decided about these streams that one may want otherwise
		fmt.Fprintln(out, "remark:", remark)
	}
	for i, s := range got.Report.Streams {
		fmt.Fprintf(out, "%s: %d samples become %v, of which %d are valid\n", s.Name, e.Stream(s.Name).Len(), got.Streams[i].Values.Shape(), s.Valid)
	}
	if output != "" {
		if err := got.WriteFile(output); err != nil {
			return err
		}
		fmt.Fprintln(out, "wrote", output)
	}
	_, err = fmt.Fprintln(out, "computed on", device.Name())
	return err
}
