package mcap_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
)

// A file with one message, written and read.
func Example() {
	dir, err := os.MkdirTemp("", "mcap")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.mcap")
	err = mcap.WriteFile(path, mcap.WriterOptions{}, func(w *mcap.Writer) error {
		channel, err := w.AddChannel("/battery", "json", 0, nil)
		if err != nil {
			return err
		}
		return w.Message(&mcap.Message{ChannelID: channel, LogTime: 1_500_000_000, Data: []byte(`{"volts": 24.1}`)})
	})
	if err != nil {
		log.Fatal(err)
	}
	d, err := mcap.Open(context.Background(), path, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	e, err := d.Episode(context.Background(), 0)
	if err != nil {
		log.Fatal(err)
	}
	s := e.Stream("/battery")
	fmt.Printf("%s: %d message, at %d ns\n", s.Columns[0].Name, s.Len(), s.Stats().First)
	// Output: volts: 1 message, at 1500000000 ns
}
