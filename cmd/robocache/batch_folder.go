package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// inputs returns all paths that batches reads, except the state.
func (b *asking) inputs() []string {
	return slices.Concat(b.Paths, b.Definitions, []string{b.PlanFile, b.Fresh})
}

// lock locks this program's outputs against other programs. Their folders must exist.
func (b *asking) lock() (unlock func(), err error) {
	var paths []string
	if b.state != "" {
		paths = append(paths, stateFile(b.state, b.number, b.world))
	}
	for device := range b.devices {
		if b.out != "" {
			paths = append(paths, b.folder(device))
		}
	}
	var locks []func()
	unlock = func() {
		for _, u := range locks {
			u()
		}
	}
	for _, path := range paths {
		one, err := alone(path, "batches")
		if err != nil {
			unlock()
			return nil, err
		}
		locks = append(locks, one)
	}
	return unlock, nil
}

// outputs makes the folders in --out, checks that they can be written, and removes temporary files that killed programs left.
func (b *asking) outputs() error {
	if b.state != "" {
		path := stateFile(b.state, b.number, b.world)
		if err := writable(b.inputs(), output{flag: "--state", path: path}); err != nil {
			return err
		}
		if err := atomicfile.Sweep(filepath.Dir(path), func(name string) bool { return name == filepath.Base(path) }); err != nil {
			return unwritten(err)
		}
	}
	if b.out == "" {
		return nil
	}
	out := output{flag: "--out", path: b.out, folder: true}
	if err := writable(b.inputs(), out); err != nil {
		return err
	}
	if err := unmixed(out, b.isOwn); err != nil {
		return err
	}
	for device := range b.devices {
		if err := atomicfile.MkdirAll(b.folder(device)); err != nil {
			return unwritten(err)
		}
		if err := writable(nil, output{path: b.batchFile(0, device)}); err != nil {
			return err
		}
		if err := atomicfile.Sweep(b.folder(device), b.isOutput); err != nil {
			return unwritten(err)
		}
	}
	return nil
}

// isOwn reports whether a name is an entry that batches makes in --out, or that of the state file.
func (b *asking) isOwn(name string) bool {
	others := []string{statisticsFile, samplesFile, filepath.Base(stateFile(b.state, b.number, b.world))}
	return b.isOutput(name) || folderRanks(name) > 0 || slices.Contains(others, name)
}

// file writes a batch on the host to a file. begin is the state before the batch. Episodes are numbered as in the dataset.
func (b *asking) file(l *loader.Loader, host *loader.Batch, begin loader.State, step int64, device int) error {
	if b.out == "" || b.format.Value == samplesFormat {
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
			if err := w.AddStrings(s.Name+".columns", columns.Names(s.Columns)); err != nil {
				return err
			}
			list := []named{{s.Name + ".values", s.Values}, {s.Name + ".valid", s.Valid}, {s.Name + ".pad", s.Pad}, {s.Name + ".grid", s.Grid}}
			if err := addArrays(w, list); err != nil {
				return err
			}
		}
		if err := addArrays(w, rows); err != nil {
			return err
		}
		return w.AddText(batchKey, string(index))
	}))
}

// earlier returns an error if a folder in --out has batches from another run, because the runs would be mixed. It checks the folders for
// this rank count, also other ranks', which may have drawn from other episodes. Unless the run continues, it also checks folders for other
// counts. After a resume, the earlier batches may have another size. Only a folder's first and last batch are checked, because a run
// numbers its batches in sequence.
func (b *asking) earlier(begin loader.State, goesOn bool) error {
	if b.out == "" {
		return nil
	}
	list, err := fault.ReadDir(b.out)
	if err != nil {
		return unwritten(err)
	}
	folders := map[string]int{b.out: 1} // with the rank count
	for _, entry := range list {
		if of := folderRanks(entry.Name()); of > 0 {
			folders[filepath.Join(b.out, entry.Name())] = of
		}
	}
	_, ranks := b.rank(0)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if folders[folder] != ranks && goesOn {
			continue
		}
		files, err := b.files(folder)
		if err != nil {
			return err
		}
		for i, file := range files {
			if folders[folder] != ranks {
				return b.anotherRun(file, "ranks", fmt.Sprint(ranks), fmt.Sprint(folders[folder]))
			}
			if i > 0 && i < len(files)-1 {
				continue
			}
			if err := b.sameRun(file, begin, goesOn); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameRun returns an error unless a file is a batch from this run.
func (b *asking) sameRun(file string, begin loader.State, goesOn bool) error {
	of := batchOf
	if b.format.Value == samplesFormat {
		of = firstBatch
	}
	had, err := of(file)
	if dataset.IsSystem(err) {
		return readError(file, err)
	}
	if err != nil {
		return b.anotherRun(file, "batch", "a file that can be read", err.Error())
	}
	want := b.index(begin, had.Step, 0)
	for _, c := range []struct {
		what, got, want string
		always          bool
	}{
		{"seed", fmt.Sprint(want.Seed), fmt.Sprint(had.Seed), true},
		{"batch", fmt.Sprint(want.Batch), fmt.Sprint(had.Batch), false},
		{"last", want.Last, had.Last, false},
		{"ranks", fmt.Sprint(want.World), fmt.Sprint(had.World), false},
		{"batches in a shard", fmt.Sprint(want.Shard), fmt.Sprint(had.Shard), false},
		{"plan or dataset", want.Run, had.Run, true},
	} {
		if c.got != c.want && (c.always || !goesOn) {
			return b.anotherRun(file, c.what, c.got, c.want)
		}
	}
	return nil
}

func (b *asking) anotherRun(file, what, got, had string) error {
	return usagef("--out: %s is a batch from another run: %s %s, where this one has %s; want another folder, or that run's --state", file, what, had, got)
}
