package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/inorder"
)

// Shard makes one shard of the output, counted from 0, and returns its report. The report is also written to the output as
// convert.json or convert-00003-of-00008.json, unless the output is one file. The bytes of a shard do not depend on the other
// shards, so several programs may make them in any order.
//
// If the shard was made before, completely or in part, its complete pieces are kept if the options and the inputs are the same. A
// journal next to the output lists them. If the inputs changed, or if a piece of a finished shard is missing, the whole shard is
// made again. With several shards, an input file counts as changed if its hash differs from the report, or, without a hash, if it
// was modified later. Inputs with other names or sizes are an *OptionError, and so is an output with foreign files. If two programs
// make the same shard, the second returns a *BusyError; if files cannot be locked, one of them returns an error.
//
// If an episode breaks its format, or the plan or the target cannot use it, it is skipped and listed, unless Options.Reading is
// strict. If all are skipped, the error is a *NothingError. Any other failure is an error, for example a missing input
// (*EpisodeError) or a full disk (*fs.PathError). Complete pieces and the journal remain, so the next call continues; if no piece
// is complete, nothing remains.
func (c *Conversion) Shard(ctx context.Context, shard int) (*Report, error) {
	if shard < 0 || shard >= c.opt.Shards {
		return nil, refuse("shard", fmt.Sprint(shard), fmt.Sprintf("0 to %d", c.opt.Shards-1))
	}
	w := &work{Conversion: c, place: placeOf(c.out, c.traits, c.single, shard, c.opt.Shards), first: c.begins[shard], end: c.begins[shard+1]}
	w.report = Report{Head: c.head, Streams: []StreamAccount{}, Pieces: []PieceReport{}}
	w.report.Shard = shard
	unlock, err := w.alone()
	if err != nil {
		return nil, err
	}
	defer unlock()
	w.problems()
	if w.report.Inputs, err = hashed(ctx, c.inputs, c.opt.Name, shard, c.opt.Shards); err != nil {
		return nil, err
	}
	if done, err := w.resume(ctx); err != nil || done != nil {
		return done, err
	}
	journal, err := w.begin(opening{w.report.Head, w.report.Inputs}, w.entries)
	if err != nil {
		return nil, errors.Join(err, w.giveUp())
	}
	w.keep = journal.keep
	err = w.make(ctx, journal)
	if closing := journal.close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, errors.Join(err, w.giveUp())
	}
	return &w.report, w.finish(ctx, journal)
}

// problems adds notes about the problems of whole inputs, for the inputs with episodes in the shard.
func (w *work) problems() {
	for i := range w.inputs {
		in := &w.inputs[i]
		if first, end := max(in.first, w.first), min(in.first+in.from.Len(), w.end); first < end {
			for _, n := range in.info.Problems() {
				w.report.Notes.Join(dataset.EpisodeNote{Note: n, Number: first, Episodes: end - first})
			}
		}
	}
}

// resume takes over the complete pieces of an earlier conversion, and removes the rest. If the shard is already complete, it returns its
// report; otherwise the report is nil.
func (w *work) resume(ctx context.Context) (*Report, error) {
	before, err := w.before()
	if err != nil {
		return nil, err
	}
	same := before != nil && before.head == text(w.report.Head)
	if !same && !w.own { // it reads a part of every existing shard
		if err := w.foreign(w.report.Head); err != nil {
			return nil, err
		}
	}
	w.own = true
	if same && w.whole { // removes an incomplete report, which is no part of the piece
		err := atomicfile.Sweep(w.out, func(name string) bool { return name == filepath.Base(w.marker) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	w.progress.Of = w.end - w.first
	if same && before.inputs == hashes(w.report.Inputs) {
		if r := before.finished; r != nil {
			stand, err := w.standing(ctx, len(r.Pieces), func(i int) *PieceReport { return &r.Pieces[i] })
			if err != nil {
				return nil, err
			}
			if len(stand) == len(r.Pieces) {
				r.Before = len(r.Pieces)
				return r, errors.Join(w.remove(w.journal), r.check(w.end-w.first))
			}
		}
		stand, err := w.standing(ctx, len(before.entries), func(i int) *PieceReport { return &before.entries[i].Report })
		if err != nil {
			return nil, err
		}
		for _, i := range stand {
			n := &before.entries[i]
			if n.Report.SHA256 == "" { // of no episode, or it was just whole
				if err := w.hash(ctx, n); err != nil {
					return nil, err
				}
			}
			w.entries = append(w.entries, *n)
			w.tell(n, true)
		}
	}
	w.report.Before = len(w.entries)
	if err := w.clear(); err != nil {
		return nil, errors.Join(err, w.giveUp())
	}
	return nil, nil
}

// standing returns the indexes of the pieces that exist as they were written: see place.stands.
func (w *work) standing(ctx context.Context, n int, piece func(i int) *PieceReport) (list []int, err error) {
	ahead := 4 * w.opt.Workers
	for i, stands := range inorder.Each(ctx, n, w.opt.Workers, ahead, func(bool) int { return ahead }, func(ctx context.Context, i int) bool {
		return w.stands(ctx, piece(i))
	}) {
		if stands {
			list = append(list, i)
		}
	}
	return list, ctx.Err()
}

// clear makes the output's folders and removes the rest of this shard: the remains of a killed conversion, and pieces of inputs that
// changed, because their episodes may be skipped now.
func (w *work) clear() error {
	parent := filepath.Dir(filepath.Clean(w.out))
	if err := atomicfile.MkdirAll(parent); err != nil {
		return err
	}
	names := map[string]bool{filepath.Base(w.out): true, filepath.Base(w.journal): true}
	own := func(name string) bool { return names[name] }
	if err := atomicfile.Sweep(parent, own); err != nil {
		return err
	}
	target, err := atomicfile.Follow(filepath.Clean(w.out))
	if err != nil {
		return err
	}
	if beside := filepath.Dir(target); beside != parent { // the output is a link, and temporary files lie next to its target
		err := atomicfile.Sweep(beside, func(name string) bool { return name == filepath.Base(target) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if w.whole {
		return nil
	}
	if err := atomicfile.MkdirAll(w.out); err != nil {
		return err
	}
	names = map[string]bool{filepath.Base(w.marker): true}
	stands := map[string]bool{}
	for i := range w.entries {
		stands[w.entries[i].Report.Path] = true
	}
	for piece := range w.pieces() {
		names[w.name(piece)] = true
	}
	if err := atomicfile.Sweep(w.out, own); err != nil {
		return err
	}
	for piece := range w.pieces() {
		if name := w.name(piece); !stands[name] { // it was made of other inputs, or is not whole
			if err := os.RemoveAll(filepath.Join(w.out, name)); err != nil {
				return err
			}
		}
	}
	return w.remove(w.marker)
}

// finish checks the whole account and the files that it lists, and writes the report.
func (w *work) finish(ctx context.Context, j *journal) error {
	if err := errors.Join(unchanged(ctx, w.inputs), w.there(j)); err != nil {
		return err
	}
	if err := w.report.check(w.end - w.first); err != nil {
		return err
	}
	if err := w.report.nothing(); err != nil && w.shards == 1 {
		if !w.whole {
			os.Remove(w.out) // which is empty
		}
		return errors.Join(err, w.remove(w.journal))
	}
	if w.marker == "" {
		return nil
	}
	err := atomicfile.MkdirAll(w.out)
	if err == nil {
		err = atomicfile.WriteFile(w.marker, func(out io.Writer) error {
			b, err := json.MarshalIndent(&w.report, "", " ")
			if err != nil {
				return err
			}
			_, err = out.Write(append(b, '\n'))
			return err
		})
	}
	if err != nil {
		return err
	}
	return w.remove(w.journal)
}
