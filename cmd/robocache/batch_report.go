package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// batched is the batches report.
type batched struct {
	Input  string   `json:"input"`
	Inputs []string `json:"inputs"`           // all datasets
	Output string   `json:"output,omitempty"` // the folder of --out
	loader.Report
	Hz       float64              `json:"hz"` // the windows' clock rate
	Devices  []deviceInfo         `json:"devices"`
	Skipped  []serve.Skipped      `json:"skipped"`  // episodes that cannot be read
	Problems []inspection.Problem `json:"problems"` // of the datasets as a whole
	Rounded  int                  `json:"rounded"`  // values that do not fit the store's dtype
	rounded  []string             // the streams with such values
	skipped  dataset.Notes
	Steps    int     `json:"steps"` // batches per device
	Drawn    int     `json:"windows_drawn"`
	Undrawn  int     `json:"windows_dropped"` // windows of complete epochs that no rank has drawn
	Unfilled int     `json:"rows_missing"`    // rows without a window
	Padded   int     `json:"padded"`          // targets outside the episode, in the windows drawn
	Invalid  int     `json:"invalid"`         // targets that are not valid, padded or not
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"windows_per_second"`
	Read     float64 `json:"read_seconds"`
	spent
	Reading *reading `json:"reading,omitempty"` // nil without --streaming
	Bound   string   `json:"bound_by"`          // the largest share of the time, as a sentence
	// Normalised has the statistics that normalised the streams. A policy needs them to invert that.
	Normalised []batching.Normalised `json:"normalised"`
	ByEpisode  []episodeWindows      `json:"by_episode"`
	State      loader.State          `json:"state"`
	Ended      bool                  `json:"ended_by_signal"`
	noteList
}

// on returns the devices' names for a line of text.
func (out *batched) on() string {
	var names []string
	for _, d := range out.Devices {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// of sets the report's counts about the datasets. stores is empty if the dataset is streamed.
func (out *batched) of(stores []*store.Store, g *loader.Group) {
	l := g.Loaders()[0]
	out.Report = batching.Listed(g.Report())
	if out.ByEpisode != nil {
		return
	}
	out.Skipped = []serve.Skipped{}
	for i, s := range stores {
		for k, skipped := range serve.SkippedOf(s.Skipped) {
			n := s.Skipped[k]
			if len(stores) > 1 {
				skipped.Reason = out.Inputs[i] + ": " + skipped.Reason
				n.Cause = fmt.Errorf("%s: %w", out.Inputs[i], n.Cause)
			}
			out.Skipped, out.skipped = append(out.Skipped, skipped), append(out.skipped, n)
		}
		for _, p := range s.Streams {
			if out.Rounded += p.Rounded; p.Rounded > 0 {
				out.rounded = append(out.rounded, fmt.Sprintf("%s %d", p.Name, p.Rounded))
			}
		}
	}
	out.Normalised = batching.NormalisedBy(l, nil)
	out.ByEpisode = make([]episodeWindows, out.Episodes)
	for i := range out.ByEpisode {
		name, number := l.Known(int64(i))
		dataset, _ := l.StoreOf(int64(i))
		out.ByEpisode[i] = episodeWindows{Dataset: dataset, Number: number, Name: name, Windows: l.Windows(int64(i))}
	}
}

// count adds the counts for a batch's windows.
func (out *batched) count(b *loader.Batch) error {
	episodes, err := tensor.Data[int64](b.Episodes)
	if err != nil {
		return err
	}
	for _, e := range episodes {
		if e < 0 {
			out.Unfilled++
			continue
		}
		out.Drawn++
		out.ByEpisode[e].Drawn++
	}
	var masks [][2]*tensor.Tensor
	for _, s := range b.Streams {
		masks = append(masks, [2]*tensor.Tensor{s.Valid, s.Pad})
	}
	for _, c := range b.Cameras {
		masks = append(masks, [2]*tensor.Tensor{c.Valid, c.Pad})
	}
	for _, m := range masks {
		valid, err := tensor.Data[uint8](m[0])
		if err != nil {
			return err
		}
		pad, err := tensor.Data[uint8](m[1])
		if err != nil {
			return err
		}
		t := m[0].Dim(1)
		for row, e := range episodes {
			if e < 0 {
				continue
			}
			padded, invalid := 0, 0
			for k := row * t; k < (row+1)*t; k++ {
				padded += int(pad[k])
				invalid += 1 - int(valid[k])
			}
			out.Padded += padded
			out.Invalid += invalid
			out.ByEpisode[e].Padded += padded
			out.ByEpisode[e].Invalid += invalid
		}
	}
	return nil
}

// writeMixture prints each dataset's share.
func (out *batched) writeMixture(w io.Writer) {
	for i, m := range out.Mixture {
		weight := ""
		if m.Weight > 0 {
			weight = fmt.Sprintf(", weight %g", m.Weight)
		}
		fmt.Fprintf(w, "%s: %d of an epoch's windows%s: each of its %d is drawn %.3g times\n", out.Inputs[i], m.Share, weight, m.Windows, m.Epochs)
	}
	for _, k := range out.Weights {
		fmt.Fprintf(w, "%s with weight %g: %d of an epoch's windows: each of its %d is drawn %.3g times\n", episodes(k.Episodes), k.Weight, k.Share, k.Windows, k.Epochs)
	}
}

// episodeWindows has the counts for an episode's windows.
type episodeWindows struct {
	Dataset int    `json:"dataset"` // with several datasets, from 0
	Number  int    `json:"number"`  // in the dataset
	Name    string `json:"name"`
	Windows int    `json:"windows"` // windows in the episode
	Drawn   int    `json:"drawn"`
	Dropped int    `json:"dropped"`
	Padded  int    `json:"padded"`
	Invalid int    `json:"invalid"`
}

// reading has a streaming loader's counts.
type reading struct {
	Shards  int64   `json:"shards"` // shards read
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`              // reading time, summed over the workers
	Waited  float64 `json:"slots_waited_seconds"` // time until a slot on the device was free, summed over the workers
}

// write prints the counts.
func (r *reading) write(w io.Writer) {
	if r == nil || r.Seconds+r.Waited == 0 {
		return
	}
	fmt.Fprintf(w, "read %d shards, %.1f MiB; readers waited for free slots %.0f %% of their time\n", r.Shards, float64(r.Bytes)/(1<<20), 100*r.Waited/(r.Seconds+r.Waited))
}
