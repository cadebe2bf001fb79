package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/fault"
)

// work is the state of a shard while it is converted.
type work struct {
	*Conversion
	place
	first, end int // its episodes
	entries    []entry
	report     Report
	progress   Progress
	keep       func() // journal.keep
}

// pieces returns how many pieces the shard has.
func (w *work) pieces() int {
	if w.traits.Whole {
		return 1
	}
	return w.end - w.first
}

// name returns the name of a piece in the output; empty for the output itself.
func (w *work) name(piece int) string {
	switch {
	case w.whole:
		return ""
	case w.traits.Whole:
		return fmt.Sprintf("shard-%05d-of-%05d%s", w.shard, w.shards, w.traits.Ext)
	}
	return fmt.Sprintf("episode-%06d%s", w.first+piece, w.traits.Ext)
}

// episodesOf returns the episodes of a piece.
func (w *work) episodesOf(piece int) (first, end int) {
	if w.traits.Whole {
		return w.first, w.end
	}
	return w.first + piece, w.first + piece + 1
}

func (w *work) remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// hash sets the size and the hash of a complete piece.
func (w *work) hash(ctx context.Context, n *entry) error {
	if n.Report.Path == "" && !n.Report.converted() {
		return nil
	}
	return hash(ctx, w.path(&n.Report), &n.Report)
}

// tell reports the shard's progress.
func (w *work) tell(n *entry, before bool) {
	w.progress.Done += len(n.Report.Episodes)
	if before {
		w.progress.Before += len(n.Report.Episodes)
	}
	for i := range n.Streams {
		w.progress.Samples += n.Streams[i].Read
	}
	if w.opt.Progress != nil {
		w.opt.Progress(w.progress)
	}
}

// giveUp removes the journal and the empty folder of a shard that failed, if no piece is complete, because a later conversion could not
// continue from them.
func (w *work) giveUp() error {
	if w.journal == "" {
		return nil
	}
	if w.whole {
		if list, err := fault.ReadDir(w.out); dataset.IsSystem(err) || len(list) > 0 {
			return err // the journal stays, because it is of use
		}
		return w.remove(w.journal)
	}
	for piece := range w.pieces() {
		if _, err := fault.Lstat(filepath.Join(w.out, w.name(piece))); err == nil || dataset.IsSystem(err) {
			return err
		}
	}
	_ = os.Remove(w.out) // unless other shards are in it
	return w.remove(w.journal)
}

// there returns an error if a piece is missing or the journal was replaced. That happens if another program began to make the same
// shard, because it removes files that its journal lacks.
func (w *work) there(j *journal) error {
	if j.f != nil {
		now, err := fault.Stat(w.journal)
		if dataset.IsSystem(err) {
			return err
		}
		if err != nil || !os.SameFile(now, j.is) {
			return &fs.PathError{Op: "convert", Path: w.at, Err: errors.New("another program makes the same shard, or its journal was removed")}
		}
	}
	for i := range w.report.Pieces {
		if r := &w.report.Pieces[i]; r.converted() {
			if _, err := fault.Stat(w.path(r)); err != nil {
				return err
			}
		}
	}
	return nil
}
