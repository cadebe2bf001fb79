package main

import (
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/robocache/robocache/internal/atomicfile"
)

// statisticsFile is what a folder of batches has of them, all folders the same.
const statisticsFile = "statistics.json"

// statistics writes them to the folders of --out, if something is normalised.
func (d *drawing) statistics() error {
	if d.asking.out == "" || len(d.out.Normalised) == 0 {
		return nil
	}
	return d.beside(statisticsFile, map[string]any{"version": 1, "normalised": d.out.Normalised})
}

// beside writes a file of JSON to the folders of --out, and takes away what a killed program has left of it.
func (d *drawing) beside(file string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	for device := range d.devices {
		folder := d.folder(device)
		if err := atomicfile.Sweep(folder, func(name string) bool { return name == file }); err != nil {
			return unwritten(err)
		}
		err := atomicfile.WriteFile(filepath.Join(folder, file), func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
		if err != nil {
			return unwritten(err)
		}
	}
	return nil
}
