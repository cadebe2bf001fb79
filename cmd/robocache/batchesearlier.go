package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/loader"
)

// runOf is a hash of what the batches of a run hold, whatever their size and number of ranks: the datasets, the plan, and what comes of both.
func (d *drawing) runOf(plan *align.Plan) string {
	h := sha256.New()
	say := func(values ...any) { fmt.Fprintf(h, "%+v\n", values) }
	for _, s := range d.source.Stores {
		say(s.Name())
	}
	if len(d.source.Stores) == 0 {
		say(d.source.Data.Name())
	}
	success := "any"
	if s := plan.Filter.Success; s != nil {
		success = strconv.FormatBool(*s)
	}
	say(plan.Rate, plan.Range, plan.Snap, plan.Unordered, plan.Defaults, plan.Streams, plan.Windows, plan.Padding, plan.PadAfter, plan.Shuffle)
	say(plan.Filter.Split, plan.Filter.Task, success)
	r := d.group.Report()
	for _, s := range r.Streams {
		say(s.Name, s.Columns, s.Targets, s.DType)
	}
	for _, c := range r.Cameras {
		say(c.Name, c.Height, c.Width, c.Targets)
	}
	for _, m := range r.Mixture {
		say(m.Windows, m.Share)
	}
	say(r.Episodes, r.Windows, r.ShardWindows, r.MixShards)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// index says which batch of this run a step is, that begins at a state.
func (b *asking) index(begin loader.State, step int64, device int) batchIndex {
	rank, ranks := b.rank(device)
	return batchIndex{Shard: b.shardSteps, Version: 1, Step: step, Seed: begin.Seed, Epoch: begin.Epoch, Taken: begin.Taken, Rank: rank, World: ranks, Batch: b.Batch, Last: b.Last.String(), Run: b.run}
}

// earlier refuses a folder of --out with batches of another run, which would be mixed with those of this one. One that goes on from a state may have had
// batches of another size and another number of ranks. Batches of a run are numbered from 0 and get no others among them, so the first and the last of
// a folder stand for all.
func (b *asking) earlier(begin loader.State, goesOn bool) error {
	if b.out == "" {
		return nil
	}
	for device := range b.devices {
		files, err := b.files(b.folder(device))
		if err != nil {
			return err
		}
		for i, file := range files {
			if i > 0 && i < len(files)-1 {
				continue
			}
			if err := b.sameRun(file, begin, device, goesOn); err != nil {
				return err
			}
		}
	}
	if goesOn {
		return nil
	}
	_, ranks := b.rank(0)
	folders, err := filepath.Glob(filepath.Join(quoted(b.out), "rank-?????-of-?????"))
	if err != nil {
		return err
	}
	for _, folder := range append(folders, b.out) {
		of := 1
		_, _ = fmt.Sscanf(strings.TrimPrefix(filepath.Base(folder), "rank-"), "%d-of-%d", new(int), &of)
		if folder == b.out {
			of = 1
		}
		if of == ranks {
			continue
		}
		files, err := b.files(folder)
		if err != nil {
			return err
		}
		if len(files) > 0 {
			return b.anotherRun(files[0], "ranks", fmt.Sprint(ranks), fmt.Sprint(of))
		}
	}
	return nil
}

// sameRun checks that a file is a batch of this run.
func (b *asking) sameRun(file string, begin loader.State, device int, goesOn bool) error {
	of := batchOf
	if b.format.value == samplesFormat {
		of = firstBatch
	}
	had, err := of(file)
	if err != nil {
		return b.anotherRun(file, "batch", "a file that can be read", err.Error())
	}
	want := b.index(begin, had.Step, device)
	for _, c := range []struct {
		what, got, want string
		always          bool
	}{
		{"seed", fmt.Sprint(want.Seed), fmt.Sprint(had.Seed), true},
		{"batch", fmt.Sprint(want.Batch), fmt.Sprint(had.Batch), false},
		{"last", want.Last, had.Last, false},
		{"ranks", fmt.Sprint(want.World), fmt.Sprint(had.World), false},
		{"batches of a shard", fmt.Sprint(want.Shard), fmt.Sprint(had.Shard), false},
		{"plan or dataset", want.Run, had.Run, true},
	} {
		if c.got != c.want && (c.always || !goesOn) {
			return b.anotherRun(file, c.what, c.got, c.want)
		}
	}
	return nil
}

// batchOf is the batch that a file holds.
func batchOf(path string) (index batchIndex, err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return index, err
	}
	defer f.Close()
	if err := json.Unmarshal([]byte(f.Metadata()[batchKey]), &index); err != nil {
		return index, fmt.Errorf("metadata %s: %w", batchKey, err)
	}
	return index, nil
}

func (b *asking) anotherRun(file, what, got, had string) error {
	return usagef("--out: %s is a batch of another run: %s %s, where this one has %s; want another folder, or to go on from the --state of that run", file, what, had, got)
}

// files are the files of batches or samples in a folder, in the order of their names.
func (b *asking) files(folder string) (files []string, err error) {
	list, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unwritten(err)
	}
	for _, entry := range list {
		if b.isOutput(entry.Name()) {
			files = append(files, filepath.Join(folder, entry.Name()))
		}
	}
	return files, nil
}

// quoted is a path as a pattern of itself.
func quoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
