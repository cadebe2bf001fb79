package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// batchKey is the text of the metadata that says which batch a file holds.
const batchKey = "robocache.batch"

// batchIndex is that text. Its JSON names are a contract.
type batchIndex struct {
	Version int    `json:"version"` // 1
	Step    int64  `json:"step"`
	Seed    uint64 `json:"seed"`
	Epoch   int64  `json:"epoch"`
	Taken   int64  `json:"taken"` // positions of the epoch before the batch: row i has the position taken + rank + world*i
	Rank    int    `json:"rank"`
	World   int    `json:"world"`
	Batch   int    `json:"batch"`                   // rows
	Last    string `json:"last"`                    // as --last
	Run     string `json:"run"`                     // the same of all batches of the same plan and datasets
	Shard   int    `json:"shard_batches,omitempty"` // batches of a file of samples
}

// rank is that of a device of this program, of so many ranks in all.
func (b *asking) rank(device int) (rank, ranks int) {
	return b.number*b.devices + device, b.world * b.devices
}

// folder is where a device's batches are written: --out itself of one that is alone.
func (b *asking) folder(device int) string {
	rank, ranks := b.rank(device)
	if ranks == 1 {
		return b.out
	}
	return filepath.Join(b.out, fmt.Sprintf("rank-%05d-of-%05d", rank, ranks))
}

func (b *asking) batchFile(step int64, device int) string {
	return filepath.Join(b.folder(device), batchName(step))
}

// isOutput reports whether that is the name of a file of batches, or of samples if these are asked for.
func (b *asking) isOutput(name string) bool {
	if b.format.value == samplesFormat {
		return isShardName(name)
	}
	return isBatchFile(name)
}

func batchName(step int64) string { return fmt.Sprintf("batch-%07d.safetensors", step) }

// isBatchFile reports whether that is the name of a batch.
func isBatchFile(name string) bool {
	number, found := strings.CutPrefix(strings.TrimSuffix(name, ".safetensors"), "batch-")
	step, err := strconv.ParseInt(number, 10, 64)
	return found && err == nil && name == batchName(step)
}

// outputs makes the folders of --out, finds what cannot be written before the work, and takes away what a killed program has left of the same files.
func (b *asking) outputs() error {
	if b.state != "" {
		path := stateFile(b.state, b.number, b.world)
		if err := writable(path); err != nil {
			return err
		}
		if err := atomicfile.Sweep(filepath.Dir(path), func(name string) bool { return name == filepath.Base(path) }); err != nil {
			return unwritten(err)
		}
	}
	if b.out == "" {
		return nil
	}
	if err := notURL(b.out); err != nil {
		return err
	}
	for device := range b.devices {
		if err := os.MkdirAll(b.folder(device), 0o777); err != nil {
			return unwritten(err)
		}
		if err := writable(b.batchFile(0, device)); err != nil {
			return err
		}
		if err := atomicfile.Sweep(b.folder(device), b.isOutput); err != nil {
			return unwritten(err)
		}
	}
	return nil
}

// file writes a batch of a device that is on the host, which began at a state, as a file of its own. Episodes get their numbers in the dataset.
func (b *asking) file(l *loader.Loader, host *loader.Batch, begin loader.State, step int64, device int) error {
	if b.out == "" || b.format.value == samplesFormat {
		return nil
	}
	index, err := json.Marshal(b.index(begin, step, device))
	if err != nil {
		return err
	}
	drawn, err := tensor.Data[int64](host.Episodes)
	if err != nil {
		return err
	}
	numbers, datasets := make([]int64, len(drawn)), make([]int64, len(drawn))
	for i, e := range drawn {
		numbers[i], datasets[i] = -1, -1
		if e >= 0 {
			_, number := l.Known(e)
			dataset, _ := l.StoreOf(e)
			numbers[i], datasets[i] = int64(number), int64(dataset)
		}
	}
	episodes, err := tensor.Of(numbers, len(numbers))
	if err != nil {
		return err
	}
	rows := []named{{"episodes", episodes}, {"ticks", host.Ticks}, {"anchors", host.Anchors}}
	if len(b.Paths) > 1 {
		list, err := tensor.Of(datasets, len(datasets))
		if err != nil {
			return err
		}
		rows = append(rows, named{"datasets", list})
	}
	for _, c := range host.Cameras {
		rows = append(rows, named{c.Name + ".frames", c.Frames}, named{c.Name + ".valid", c.Valid}, named{c.Name + ".pad", c.Pad})
	}
	return unwritten(safetensors.WriteFile(b.batchFile(step, device), func(w *safetensors.Writer) error {
		for i := range host.Streams {
			s := &host.Streams[i]
			var columns []string
			for _, c := range s.Columns {
				columns = append(columns, c.Name)
			}
			if err := w.AddStrings(s.Name+".columns", columns); err != nil {
				return err
			}
			for _, t := range []named{{s.Name + ".values", s.Values}, {s.Name + ".valid", s.Valid}, {s.Name + ".pad", s.Pad}} {
				if err := w.Add(t.name, t.t); err != nil {
					return err
				}
			}
		}
		for _, t := range rows {
			if err := w.Add(t.name, t.t); err != nil {
				return err
			}
		}
		return w.AddText(batchKey, string(index))
	}))
}

// named is a tensor with its name in a file.
type named struct {
	name string
	t    *tensor.Tensor
}
