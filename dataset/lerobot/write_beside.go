package lerobot

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/orderjson"
)

// Beside is what an episode has that is no stream.
type Beside struct {
	// Splits are the parts of the dataset that the episode is in. Where no episode is in any, all are in "train". LeRobot has ranges of episodes: a split
	// whose episodes do not follow each other is left out, and the report says so.
	Splits []string
	// Times are columns of whole numbers by their names, one for each row: times in nanoseconds, which a stream's float64 has no room for. LeRobot's own
	// timestamp is i/FPS whatever was recorded; this is where the times of the recording may be kept.
	Times map[string][]int64
	// Tasks are WriteOptions.Tasks for this episode alone: datasets that are merged have lists of their own.
	Tasks []string
	// Names goes before WriteOptions.Names.
	Names map[string]string
}

// AddWith is Add, with what is beside the streams.
func (w *Writer) AddWith(ctx context.Context, e *dataset.Episode, b Beside) error {
	if err := w.usable(); err != nil {
		return err
	}
	if e == nil {
		return &WriteError{Episode: w.report.Episodes, Kind: dataset.ErrMissing, Got: "nil", Want: "an episode"}
	}
	p := &episodePlan{splits: b.Splits}
	defer p.clean()
	if err := w.plan(ctx, e, b, p); err != nil {
		return err
	}
	if err := w.write(ctx, p); err != nil {
		w.err = err
		return err
	}
	return nil
}

// addTimes takes columns of times.
func (p *episodePlan) addTimes(w *Writer, times map[string][]int64) (name string, bad *WriteError) {
	for _, name := range slices.Sorted(maps.Keys(times)) {
		list := times[name]
		if len(list) != p.rows {
			return name, &WriteError{Kind: dataset.ErrShape, Got: fmt.Sprintf("%d times", len(list)), Want: fmt.Sprintf("%d, one for each row", p.rows)}
		}
		named, bad := w.featureName(name, nil)
		if bad != nil {
			return name, bad
		}
		p.addIntegers(&writeFeature{name: named, dtype: dtypeInt64, shape: []int{1}}, list)
	}
	return "", nil
}

// part is a split, and where in the dataset the run of its episodes is.
type part struct {
	name           string
	from, to, size int
}

// split notes the parts that the next episode is in.
func (w *Writer) split(names []string) {
	for _, name := range names {
		at := slices.IndexFunc(w.parts, func(p part) bool { return p.name == name })
		if at < 0 {
			at, w.parts = len(w.parts), append(w.parts, part{name: name, from: w.report.Episodes})
		}
		w.parts[at].to = w.report.Episodes + 1
		w.parts[at].size++
	}
}

// splits returns what info.json says of the parts.
func (w *Writer) splits() orderjson.Object {
	if len(w.parts) == 0 {
		return orderjson.Of("train", fmt.Sprintf("0:%d", w.report.Episodes))
	}
	list := orderjson.Object{}
	for _, p := range w.parts {
		if p.size == p.to-p.from {
			list.Add(p.name, fmt.Sprintf("%d:%d", p.from, p.to))
		}
	}
	return list
}

// leaveSplits notes the parts that LeRobot cannot have.
func (w *Writer) leaveSplits() {
	for _, p := range w.parts {
		if p.size != p.to-p.from {
			w.report.Notes.Add(dataset.Note{Code: dataset.CodeSplitOrder, Subject: "split " + p.name, Count: p.size, Detail: dataset.Detail{Want: fmt.Sprintf("%d to %d", p.from, p.to-1)}})
		}
	}
}
