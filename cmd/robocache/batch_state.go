package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/loader"
)

// kept is a state file: the loader's state and its history. Its JSON names are a contract.
type kept struct {
	loader.State
	Step  *int64 `json:"step,omitempty"`  // number of the next batch
	Shard int64  `json:"shard,omitempty"` // number of the next file of samples
	Batch int    `json:"batch,omitempty"` // windows per step of the program
	Begun *spot  `json:"begun,omitempty"` // where the program that wrote it started: all earlier windows were drawn by then
}

// spot is a position in the order of windows, and the number of the next step there.
type spot struct {
	Epoch int64 `json:"epoch"`
	Taken int64 `json:"taken"`
	Step  int64 `json:"step"`
	Shard int64 `json:"shard,omitempty"` // number of the next file of samples
}

func (s *spot) compare(o *spot) int {
	return cmp.Or(cmp.Compare(s.Epoch, o.Epoch), cmp.Compare(s.Taken, o.Taken))
}

// spot returns the file's position. If the file has no step, its step is -1.
func (k *kept) spot() *spot {
	s := &spot{k.Epoch, k.Taken, -1, k.Shard}
	if k.Step != nil {
		s.Step = *k.Step
	}
	return s
}

// stateFile returns the path to a rank's state file: path itself if there is one rank, else path with the rank, "run-00001-of-00004.json".
func stateFile(path string, rank, world int) string {
	if world == 1 {
		return path
	}
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%05d-of-%05d%s", strings.TrimSuffix(path, ext), rank, world, ext)
}

// readState reads a state file. If it is missing, invalid or has a negative step, the error is an *inputError with the path.
func readState(path string) (*kept, error) {
	text, err := fault.ReadFile(path)
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

// goOn is the position where a rank continues, and the state file that it comes from.
type goOn struct {
	at, begun spot
	of        *kept  // the state file's content; nil if there is none
	file      string // its path
}

// lastSpot returns the position where a rank continues: the last position with all earlier windows drawn, according to the state files
// from any number of ranks. All windows before a program's start were drawn. If a program's ranks started at one position with one batch
// size, all windows before the slowest rank's position were drawn too, unless a rank has no file or a file from another start. If a rank
// sees only its own file, because each machine keeps its files, it continues at its own position. Without a state file, of is nil in the
// result.
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

// ranksOf returns the ranks with state files, by world size.
func ranksOf(path string) (map[int][]int, error) {
	list, err := fault.ReadDir(filepath.Dir(path))
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

// resume moves the loaders to the position in the state files. It returns that position, and begun, the position where the programs that
// reached it started. goesOn is false if there is no state file.
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
		if p.Step < 0 { // computed as if all earlier batches had the current size
			p.Step = p.Epoch*int64(g.Report().Batches) + p.Taken/(int64(b.Batch)*int64(b.devices)*int64(b.world))
		}
	}
	return last.at, last.begun, true, nil
}

// compare returns an error if another rank's state file has other episodes, because two ranks would then draw the same windows.
func (b *asking) compare(l *loader.Loader) error {
	worlds, err := ranksOf(b.state)
	for _, rank := range worlds[b.world] {
		name := stateFile(b.state, rank, b.world)
		k, err := readState(name)
		if err != nil {
			return err
		}
		if err := l.Check(k.State); err != nil {
			return &inputError{Path: name, Msg: fmt.Sprintf("rank %d draws from other episodes than rank %d", rank, b.number), Err: err}
		}
	}
	return err
}

// save writes the state file.
func (b *asking) save(s loader.State, step, shard int64, begun spot) error {
	if b.state == "" {
		return nil
	}
	text, err := schema.JSON(schema.State, kept{s, &step, shard, b.Batch * b.devices, &begun}, "")
	if err != nil {
		return err
	}
	return unwritten(atomicfile.WriteBytes(stateFile(b.state, b.number, b.world), text))
}
