package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset/ulog"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda" // so that ops.Open("auto") finds a GPU
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

//go:embed plan.yaml
var planFile []byte

func main() {
	backend := flag.String("backend", "auto", "where to compute: auto, cpu, cuda, cuda:N or sim")
	in := flag.String("in", "examples/data/flight.ulg", "the flight log")
	flag.Parse()
	if err := run(*in, *backend, os.Stdout); err != nil {
		log.Fatal("fuse: ", err)
	}
}

func run(in, backend string, out io.Writer) error {
	device, err := ops.Open(backend)
	if err != nil {
		return err
	}
	defer device.Close()
	flight, err := ulog.ReadFile(in, ulog.Options{})
	if err != nil {
		return err
	}
	plan, err := planfile.Parse("plan.yaml", planFile)
	if err != nil {
		return err
	}
	rows, err := align.Fuse(context.Background(), device, &flight.Episode, plan)
	if err != nil {
		return err
	}
	if err := printMask(out, rows); err != nil {
		return err
	}
	picture := viz.Options{Title: "Six inputs, one clock of 50 Hz: 18 numbers and 6 flags a tick"}
	if err := errors.Join(rows.WriteFile("fuse.npz"), viz.WriteFile("fuse.png", viz.Panels(rows.Pairs()), picture)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "values %v, valid %v and age %v, fused on %s; wrote fuse.npz and fuse.png\n",
		rows.Values.Shape(), rows.Valid.Shape(), rows.Age.Shape(), device.Name())
	return err
}

// printMask prints what became of each input, and of its mask a mark for every fifth tick.
func printMask(out io.Writer, rows *align.Fused) error {
	valid, err := tensor.Data[uint8](rows.Valid)
	if err != nil {
		return err
	}
	fmt.Fprint(out, rows.Report)
	m := len(rows.Streams)
	for i, s := range rows.Streams {
		var mask strings.Builder
		for row := 0; row < rows.Times.Len(); row += 5 {
			mask.WriteByte(".#"[valid[row*m+i]])
		}
		fmt.Fprintf(out, "%14s  %s\n", s.Name, mask.String())
	}
	return nil
}
