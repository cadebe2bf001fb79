package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strconv"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/loader"
)

// normalised is what a stream of the batches was normalised with: y = (x-shift)*scale, then not beyond clip, so x = y/scale + shift. Each list has an
// entry for each column. Its JSON names are a contract.
type normalised struct {
	Name    string   `json:"name"`
	Rule    string   `json:"rule"`   // of the plan
	Names   []string `json:"names"`  // of the columns
	Counts  []int    `json:"counts"` // samples, without those that are not finite
	Mean    []number `json:"mean"`
	Std     []number `json:"std"`
	Min     []number `json:"min"`
	Max     []number `json:"max"`
	Q01     []number `json:"q01,omitempty"` // quantiles, where the rule needs them
	Q10     []number `json:"q10,omitempty"`
	Q90     []number `json:"q90,omitempty"`
	Q99     []number `json:"q99,omitempty"`
	Shift   []number `json:"shift"`
	Scale   []number `json:"scale"`
	ClipMin []number `json:"clip_min,omitempty"` // where the rule clips; null in a column that it leaves alone
	ClipMax []number `json:"clip_max,omitempty"`
}

// number is null in JSON where it is not finite.
type number float64

// MarshalJSON writes it.
func (n number) MarshalJSON() ([]byte, error) {
	if v := float64(n); v-v != 0 {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

func numbers(list []float32) []number {
	out := make([]number, len(list))
	for i, v := range list {
		out[i] = number(v)
	}
	return out
}

// normalisedBy lists the streams that a loader normalises.
func normalisedBy(l *loader.Loader) []normalised {
	list := []normalised{}
	for i := range l.Batch().Streams {
		s := &l.Batch().Streams[i]
		by := l.Normalisation(s.Name)
		if by == nil {
			continue
		}
		n := normalised{Name: s.Name, Rule: by.Rule, Shift: numbers(by.Shift), Scale: numbers(by.Scale), ClipMin: numbers(by.Min), ClipMax: numbers(by.Max)}
		for k, c := range l.Stats(s.Name) {
			n.Names, n.Counts = append(n.Names, s.Columns[k].Name), append(n.Counts, c.Count)
			for _, to := range []struct {
				list  *[]number
				value float64
			}{{&n.Mean, c.Mean}, {&n.Std, c.Std}, {&n.Min, c.Min}, {&n.Max, c.Max}} {
				*to.list = append(*to.list, number(to.value))
			}
			if by.Quantiles {
				n.Q01, n.Q10, n.Q90, n.Q99 = append(n.Q01, number(c.Q01)), append(n.Q10, number(c.Q10)), append(n.Q90, number(c.Q90)), append(n.Q99, number(c.Q99))
			}
		}
		list = append(list, n)
	}
	return list
}

// statisticsFile is what a folder of batches has of them, all folders the same.
const statisticsFile = "statistics.json"

// statistics writes them to the folders of --out, if something is normalised, and takes away what a killed program has left of them.
func (d *drawing) statistics() error {
	if d.batching.out == "" || len(d.out.Normalised) == 0 {
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
