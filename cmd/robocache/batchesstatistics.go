package main

import (
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/robocache/robocache/internal/atomicfile"
)

// statisticsFile is what a folder of batches has of them, all folders the same.
const statisticsFile = "statistics.json"

// statistics writes them to the folders of --out, if something is normalised, and takes away what a killed program has left of them.
func (d *drawing) statistics() error {
	if d.asking.out == "" || len(d.out.Normalised) == 0 {
		return nil
	}
	text, err := json.MarshalIndent(map[string]any{"version": 1, "normalised": d.out.Normalised}, "", "  ")
	if err != nil {
		return err
	}
	for device := range d.devices {
		folder := d.folder(device)
		if err := atomicfile.Sweep(folder, func(name string) bool { return name == statisticsFile }); err != nil {
			return unwritten(err)
		}
		err := atomicfile.WriteFile(filepath.Join(folder, statisticsFile), func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
		if err != nil {
			return unwritten(err)
		}
	}
	return nil
}
