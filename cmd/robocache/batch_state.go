package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/loader"
)

// kept is what a state file holds: the loader's state, and what led to it. Its JSON names are a contract.
type kept struct {
	loader.State
	Step  *int64 `json:"step,omitempty"`  // of the batch that comes next
	Shard int64  `json:"shard,omitempty"` // number of the file of samples that comes next
	Batch int    `json:"batch,omitempty"` // windows of a step of the program
	Begun *spot  `json:"begun,omitempty"` // where the program that wrote it began: all that comes before was drawn by then
}

// spot is a place in the order, and the number of the step that comes next there.
type spot struct {
	Epoch int64 `json:"epoch"`
	Taken int64 `json:"taken"`
	Step  int64 `json:"step"`
	Shard int64 `json:"shard,omitempty"` // and of the file of samples
}

func (s *spot) compare(o *spot) int {
	return cmp.Or(cmp.Compare(s.Epoch, o.Epoch), cmp.Compare(s.Taken, o.Taken))
}

// spot is the file's place. A state that a program has kept has no step, which is -1 here.
func (k *kept) spot() *spot {
	s := &spot{k.Epoch, k.Taken, -1, k.Shard}
	if k.Step != nil {
		s.Step = *k.Step
	}
	return s
}

// stateFile is the state file of a rank: the name itself of one that is alone, else with the rank before its ending, "run-00001-of-00004.json".
func stateFile(path string, rank, world int) string {
	if world == 1 {
		return path
	}
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%05d-of-%05d%s", strings.TrimSuffix(path, ext), rank, world, ext)
}

// readState reads one.
func readState(path string) (*kept, error) {
	text, err := os.ReadFile(path)
	var k kept
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err == nil && (k.Step != nil && *k.Step < 0 || k.Begun != nil && k.Begun.Step < 0) {
		err = errors.New("step: got less than 0")
	}
	if err != nil {
		return nil, readError(path, err)
	}
	return &k, nil
}

// goOn is where a rank goes on.
type goOn struct {
	at, begun spot
	of        *kept  // what says so; nil where there is nothing to go on from
	file      string // that it is in
}

// lastSpot is where a rank goes on: the furthest place before which all was drawn, as the state files of any number of ranks say.
//
// All that comes before the place where a program began was drawn. So was all that comes before the place of the rank that is furthest behind, of ranks
// that began at the same place with batches of the same size; but not if one of them has no file, or has one that it wrote when it began elsewhere. A rank
// that sees no file but its own, as where each keeps its files to itself, goes on from its own place: what is before it, it has drawn.
func lastSpot(path string, me, of int) (goOn, error) {
	var last goOn
	worlds, err := ranksOf(path)
	if err != nil {
		return last, err
	}
	take := func(s *spot, k *kept, from string) {
		if s != nil && (last.of == nil || s.compare(&last.at) > 0) {
			last = goOn{*s, *s, k, from}
		}
	}
	var own *kept
	for _, world := range slices.Sorted(maps.Keys(worlds)) {
		var first *kept
		var behind *spot
		ranks := worlds[world]
		together := len(ranks) == world
		for _, rank := range ranks {
			name := stateFile(path, rank, world)
			k, err := readState(name)
			if err != nil {
				return last, err
			}
			take(k.Begun, k, name)
			if first == nil {
				first = k
			}
			together = together && (world == 1 || k.Begun != nil && first.Begun != nil && *k.Begun == *first.Begun && k.Batch == first.Batch)
			if at := k.spot(); behind == nil || at.compare(behind) < 0 {
				behind = at
			}
		}
		if together {
			take(behind, first, stateFile(path, 0, world))
		}
		if world == of && len(ranks) == 1 && ranks[0] == me {
			own = first
		}
	}
	if own != nil && own.Begun != nil && own.Begun.compare(&last.at) == 0 {
		last = goOn{*own.spot(), *own.Begun, own, stateFile(path, me, of)}
	}
	return last, nil
}

// ranksOf are the ranks that have written state files, by how many there were.
func ranksOf(path string) (map[int][]int, error) {
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, readError(filepath.Dir(path), err)
	}
	worlds := map[int][]int{}
	stem := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for _, entry := range list {
		rank, world := 0, 1
		name := entry.Name()
		_, _ = fmt.Sscanf(strings.TrimPrefix(name, stem), "-%d-of-%d", &rank, &world)
		if world >= 1 && rank >= 0 && rank < world && name == filepath.Base(stateFile(path, rank, world)) {
			worlds[world] = append(worlds[world], rank)
		}
	}
	return worlds, nil
}

// resume goes on from the state files, if there are any, and returns where that is, and where those who went there began.
func (b *asking) resume(ctx context.Context, g *loader.Group) (at, begun spot, goesOn bool, err error) {
	if b.state == "" {
		return at, begun, false, nil
	}
	last, err := lastSpot(b.state, b.number, b.world)
	if last.of == nil || err != nil {
		return at, begun, false, err
	}
	s := last.of.State
	s.Epoch, s.Taken = last.at.Epoch, last.at.Taken
	if err := g.Resume(ctx, s); err != nil {
		return at, begun, false, &inputError{Path: last.file, Err: err}
	}
	for _, p := range []*spot{&last.at, &last.begun} {
		if p.Step < 0 { // as if all batches before had been of the size of now
			p.Step = p.Epoch*int64(g.Report().Batches) + p.Taken/(int64(b.Batch)*int64(b.devices)*int64(b.world))
		}
	}
	return last.at, last.begun, true, nil
}

// save writes the state file.
func (b *asking) save(s loader.State, step, shard int64, begun spot) error {
	if b.state == "" {
		return nil
	}
	text, err := json.Marshal(kept{s, &step, shard, b.Batch * b.devices, &begun})
	if err != nil {
		return err
	}
	return unwritten(atomicfile.WriteFile(stateFile(b.state, b.number, b.world), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	}))
}
