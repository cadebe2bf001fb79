package convert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/tensor"
)

// ExtraStreamError reports an episode with a stream or camera that the first episode lacks, so the dataset would lose it.
type ExtraStreamError struct {
	Streams []string // names in the recording
	Episode string
	Number  int // the episode's number
	First   string
}

func (e *ExtraStreamError) Error() string {
	return fmt.Sprintf("convert: episode %d, %s, has %s, which the first episode, %s, has not: want to leave that out or to skip such episodes "+
		"(LeRobotOptions.Extra), or a plan with streams that all have", e.Number, e.Episode, strings.Join(e.Streams, ", "), e.First)
}

// Unwrap returns dataset.ErrMissing.
func (e *ExtraStreamError) Unwrap() error { return dataset.ErrMissing }

// compare compares an episode's streams with the first episode's. If this episode lost a stream, the error is a *LostError in a
// *RefusedError. If earlier ones lost a stream that this one has, it is a *SpoiledError. For any other additional stream
// LeRobotOptions.Extra decides: "drop" removes it from own, with a note in kept; "error" is an *ExtraStreamError; with "skip" the writer
// refuses the episode later.
func (l *leRobotWriter) compare(e *Episode, own *dataset.Episode, names map[string]string, kept *Kept) error {
	if l.has == nil {
		return nil
	}
	has := map[string]bool{}
	var found []string
	look := func(name string) {
		feature := cmp.Or(names[name], name)
		if has[feature] = true; l.has[feature] == "" {
			found = append(found, name)
		}
	}
	for i := range own.Streams {
		look(own.Streams[i].Name)
	}
	for i := range own.Media {
		look(own.Media[i].Name)
	}
	var lacks []string
	for _, feature := range slices.Sorted(maps.Keys(l.has)) {
		if !has[feature] {
			lacks = append(lacks, l.has[feature])
		}
	}
	if err := lostAmong(e.Lost, lacks); err != nil {
		return &RefusedError{err}
	}
	if l.opt.Extra != "drop" {
		if err := l.spoiled(e, found); err != nil {
			return err
		}
	}
	if len(found) == 0 || l.opt.Extra == "skip" { // the writer refuses the episode
		return nil
	}
	if l.opt.Extra == "error" {
		return &ExtraStreamError{Streams: found, Episode: e.Name, Number: e.Number, First: l.first}
	}
	drop := func(name string, n int) bool {
		if !slices.Contains(found, name) {
			return false
		}
		delete(kept.Samples, name)
		kept.leave(name, n, dataset.Note{Code: dataset.CodeNotInFirst})
		return true
	}
	own.Streams = slices.DeleteFunc(own.Streams, func(s dataset.Stream) bool { return drop(s.Name, s.Len()) })
	own.Media = slices.DeleteFunc(own.Media, func(m dataset.Media) bool { return drop(m.Name, m.Len()) })
	return nil
}

// spoiled returns a *SpoiledError about the written episodes that lost a stream, because this episode has it: a stream that the
// first episode lacks, or a stream that is left out because its numbers are not finite, if they are finite here.
func (l *leRobotWriter) spoiled(e *Episode, found []string) error {
	for name := range l.left {
		if _, lost := e.Lost[name]; !lost && e.Stream(name) != nil {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return nil
	}
	spoiled := &SpoiledError{map[int]error{}}
	for _, before := range l.lossy {
		if err := lostAmong(before.lost, found); err != nil {
			spoiled.Episodes[before.number] = err
		}
	}
	if len(spoiled.Episodes) == 0 {
		return nil
	}
	return spoiled
}

// unheld finds the first episode's streams that LeRobot cannot hold, and adds the reasons to l.left. They are left out of all episodes.
func (l *leRobotWriter) unheld(e *Episode) error {
	for i := range e.Streams {
		s := &e.Streams[i]
		if l.needs(s.Name) || l.left[s.Name].Code != "" {
			continue
		}
		var bad *lerobotwrite.Error
		switch err := lerobotwrite.CheckStream(s); {
		case errors.As(err, &bad):
			l.left[s.Name] = dataset.Note{Code: dataset.CodeUnheld, Detail: dataset.Detail{Unit: "LeRobot", Got: bad.Got, Want: bad.Want}}
		case err != nil:
			return err
		}
	}
	return nil
}

// notFinite finds streams with NaN or infinite values and adds the reasons to e.Lost. In the first episode such streams are added to
// l.left, and are left out of all episodes. In later episodes it checks only the streams in l.left.
func (l *leRobotWriter) notFinite(e *Episode) error {
	first := l.left == nil
	if first {
		l.left = map[string]dataset.Note{}
	}
	for _, s := range e.Streams {
		if l.needs(s.Name) || !first && l.left[s.Name].Code == "" {
			continue
		}
		i, v, err := firstNotFinite(s.Values)
		if err != nil {
			return err
		}
		if i < 0 {
			continue
		}
		e.Lost[s.Name] = dataset.Note{Code: dataset.CodeNotFiniteValue, Subject: s.Name, Row: dataset.At(i / len(s.Columns)),
			Detail: dataset.Detail{Got: fmt.Sprintf("%g", v), Want: s.Columns[i%len(s.Columns)].Name}}
		if first {
			l.left[s.Name] = e.Lost[s.Name]
		}
	}
	return nil
}

// firstNotFinite returns the index and the value of a tensor's first NaN or infinity; the index is -1 if there is none. It copies a few
// rows at a time, because a stream may take much of the memory.
func firstNotFinite(t *tensor.Tensor) (i int, v float64, err error) {
	const some = 1024
	for row := 0; row < t.Dim(0); row += some {
		part, err := t.Slice(0, row, min(row+some, t.Dim(0)))
		if err != nil {
			return 0, 0, err
		}
		values, err := tensor.Floats(part)
		if err != nil {
			return 0, 0, err
		}
		if k := slices.IndexFunc(values, func(v float64) bool { return v-v != 0 }); k >= 0 {
			return row*(len(values)/part.Dim(0)) + k, values[k], nil
		}
	}
	return -1, 0, nil
}
