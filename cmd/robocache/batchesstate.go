package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/loader"
)

// kept is what a state file holds: the loader's state, and how many batches led to it. Its JSON names are a contract.
type kept struct {
	loader.State
	Step *int64 `json:"step,omitempty"` // of the batch that comes next
}

// before compares places in the order.
func (k *kept) before(o *kept) bool {
	return cmp.Or(cmp.Compare(k.Epoch, o.Epoch), cmp.Compare(k.Taken, o.Taken)) < 0
}

// stateFile is the state file of a rank: the name itself of one that is alone, else with the rank before its ending, "run-00001-of-00004.json".
func stateFile(path string, rank, world int) string {
	if world == 1 {
		return path
	}
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%05d-of-%05d%s", strings.TrimSuffix(path, ext), rank, world, ext)
}

// readState reads one; nil if it is not there.
func readState(path string) (*kept, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return nil, readError(path, err)
	}
	return &k, nil
}

// lastState returns the place that the ranks which wrote state files have reached together, and the file that says so; nil if there is none. Of ranks that
// ran at a time the one that is furthest behind counts, and if one of them has no file they have none. Of several such runs, with other numbers of ranks,
// the furthest counts.
func lastState(path string) (last *kept, file string, err error) {
	worlds := []int{1}
	ext := filepath.Ext(path)
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, "", unwritten(err)
	}
	stem := strings.TrimSuffix(filepath.Base(path), ext)
	for _, entry := range list {
		var rank, world int
		name := entry.Name()
		if _, err := fmt.Sscanf(strings.TrimPrefix(name, stem), "-%05d-of-%05d", &rank, &world); err == nil && rank == 0 && world > 1 && name == filepath.Base(stateFile(path, rank, world)) {
			worlds = append(worlds, world)
		}
	}
	for _, world := range worlds {
		k, from, err := together(path, world)
		if err != nil {
			return nil, "", err
		}
		if k != nil && (last == nil || last.before(k)) {
			last, file = k, from
		}
	}
	return last, file, nil
}

// together is the place of the rank of so many that is furthest behind; nil if one has no file.
func together(path string, world int) (last *kept, file string, err error) {
	for rank := range world {
		name := stateFile(path, rank, world)
		k, err := readState(name)
		if k == nil || err != nil {
			return nil, "", err
		}
		if last == nil || k.before(last) {
			last, file = k, name
		}
	}
	return last, file, nil
}

// resume goes on from the state files, if there are any, and returns the number of the step that comes next.
func (b *batching) resume(ctx context.Context, l *loader.Loader) (step int64, err error) {
	if b.state == "" {
		return 0, nil
	}
	k, file, err := lastState(b.state)
	if k == nil || err != nil {
		return 0, err
	}
	if err := l.Resume(ctx, k.State); err != nil {
		return 0, &inputError{Path: file, Err: err}
	}
	switch {
	case k.Step == nil: // a state that a program has kept: as if all batches before had been of this size
		return k.Epoch*int64(l.Report().Batches) + k.Taken/int64(b.batch*b.world), nil
	case *k.Step < 0:
		return 0, &inputError{Path: file, Msg: fmt.Sprintf("step: got %d, want 0 or more", *k.Step)}
	}
	return *k.Step, nil
}

// save writes the state file.
func (b *batching) save(s loader.State, step int64) error {
	if b.state == "" {
		return nil
	}
	text, err := json.Marshal(kept{s, &step})
	if err != nil {
		return err
	}
	return unwritten(atomicfile.WriteFile(stateFile(b.state, b.number, b.world), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	}))
}
