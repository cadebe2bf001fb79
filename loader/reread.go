package loader

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/prepared"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// ChangedError means that an episode has changed since the loader was opened. Example: What "samples of action", Got "90", Want
// "100".
type ChangedError struct{ What, Got, Want string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("loader: changed since the loader was opened: %s: got %s, want %s", e.What, e.Got, e.Want)
}

// Unwrap returns dataset.ErrCorrupt.
func (e *ChangedError) Unwrap() error { return dataset.ErrCorrupt }

// hashTimes returns a hash of timestamps [S].
func hashTimes(t *tensor.Tensor) (h uint64, err error) {
	times, err := tensor.Data[int64](t)
	for _, x := range times {
		h = mixHash(h, uint64(x))
	}
	return h + uint64(len(times)), err
}

func mixHash(h, x uint64) uint64 { return bits.RotateLeft64((h^x)*0x9e3779b97f4a7c15, 29) }

// sameTimes reports whether two streams have the same timestamps.
func sameTimes(a, b *tensor.Tensor) bool {
	if a == b || a.Len() != b.Len() {
		return a == b
	}
	mine, err := tensor.Data[int64](a)
	theirs, failed := tensor.Data[int64](b)
	return err == nil && failed == nil && slices.Equal(mine, theirs)
}

// columnOf returns the index, in a recorded stream, of a prepared stream's first column; -1 if the prepared stream is not a view of
// consecutive columns with all samples. For a stream without samples it is 0.
func columnOf(recorded *dataset.Stream, prepared *dataset.Stream) int {
	switch {
	case recorded.Len() != prepared.Len():
		return -1
	case prepared.Len() == 0:
		return 0
	}
	memory, lo, hi := recorded.Times.Extent()
	if m, l, h := prepared.Times.Extent(); m != memory || l != lo || h != hi {
		return -1
	}
	memory, lo, _ = recorded.Values.Extent()
	m, l, _ := prepared.Values.Extent()
	if m != memory || prepared.Values.Stride(0) != recorded.Values.Stride(0) || prepared.Values.Stride(1) != 1 {
		return -1
	}
	return (l - lo) / recorded.Values.DType().Size()
}

// recordedAs returns a recording's stream by name. If the recording lacks it, the result is an empty stream without columns.
func recordedAs(e *dataset.Episode, name string) *dataset.Stream {
	if s := e.Stream(name); s != nil {
		return s
	}
	return &dataset.Stream{}
}

// readAgain reads an episode again, and calls visit for each part with samples. If the episode has changed since the first pass, the error
// is a *ChangedError in a *dataset.EpisodeError.
func (c *selection) readAgain(ctx context.Context, e int, visit func(m int, rows *store.Samples) error) error {
	number := c.numbers[e]
	return c.from.GuardEpisode(number, func() error {
		recorded, _, err := c.from.Read(ctx, number)
		if err != nil {
			return err
		}
		rows, err := c.reread(e, recorded)
		if err != nil {
			return &dataset.EpisodeError{Episode: c.entries[e].number, Err: err}
		}
		for m := range rows {
			if rows[m].Values == nil { // it has no samples
				continue
			}
			if err := visit(m, &rows[m]); err != nil {
				return err
			}
		}
		return nil
	})
}

// reread returns each part's samples in an episode that was read again. If they differ from the first pass, the error is a
// *ChangedError.
func (c *selection) reread(e int, recorded *dataset.Episode) ([]store.Samples, error) {
	rows := make([]store.Samples, len(c.parts))
	var prepared *prepared.Recording
	if !c.entries[e].whole {
		var err error
		if prepared, err = c.preparer.Prepare(recorded); err != nil {
			return nil, err
		}
		if err := fits(prepared, c.parts); err != nil {
			return nil, err
		}
	}
	var times uint64
	for m := range rows {
		p, r := &c.parts[m], &rows[m]
		var from *dataset.Stream
		if prepared != nil {
			from = &prepared.Streams[m].Stream
		} else {
			from = recordedAs(recorded, p.from)
		}
		got, want := from.Len(), int(p.offsets[e+1]-p.offsets[e])
		switch {
		case got != want:
			return nil, &ChangedError{"samples of " + p.from, fmt.Sprint(got), fmt.Sprint(want)}
		case got == 0:
			times = mixHash(times, 0)
			continue
		case from.Values.DType() != p.packed:
			return nil, &ChangedError{"values of " + p.from, from.Values.DType().String(), p.packed.String()}
		}
		r.Values, r.Times = from.Values, from.Times
		if at, width := max(p.column, 0), from.Values.Dim(1); width != p.width {
			if width < at+p.width {
				return nil, &ChangedError{"columns of " + p.from, fmt.Sprint(width), fmt.Sprintf("%d or more", at+p.width)}
			}
			var err error
			if r.Values, err = from.Values.Slice(1, at, at+p.width); err != nil {
				return nil, err
			}
		}
		hash, err := hashTimes(r.Times)
		if err != nil {
			return nil, err
		}
		times = mixHash(times, hash)
	}
	if times != c.entries[e].times {
		return nil, &ChangedError{"timestamps", fmt.Sprintf("a hash of %016x", times), fmt.Sprintf("%016x", c.entries[e].times)}
	}
	return rows, nil
}
