package lerobot

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/parquet"
)

// maxUnseen is the largest declared row count that is accepted before a column with these rows was read.
const maxUnseen = 1 << 22

// clock sets the rows' timestamps in ns, and checks the bookkeeping columns.
func (r *reader) clock(ctx context.Context, f *parquet.File) error {
	var frames []int64
	for _, name := range []string{"episode_index", "index", "frame_index"} {
		if f.Column(name) == nil {
			continue
		}
		v, err := r.values(ctx, name)
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		list, ok := wholes(v)
		if !ok {
			if err := r.damage(dataset.Note{Code: dataset.CodeIndexNotWhole, Subject: name, Count: 1}, name, ""); err != nil {
				return err
			}
			continue
		}
		if name == "frame_index" {
			frames = list
		}
		if err := r.counts(name, list); err != nil {
			return err
		}
	}
	var stamps []float64
	typ := ""
	if c := f.Column("timestamp"); c != nil {
		v, err := r.values(ctx, "timestamp")
		if err != nil {
			return err
		}
		if v != nil {
			typ = c.Type
			list, ok := single(v)
			if stamps = list; !ok || slices.ContainsFunc(list, func(t float64) bool { return !(math.Abs(t) < 1<<62/1e9) }) {
				stamps = nil
				if err := r.damage(dataset.Note{Code: dataset.CodeTimestampUnusable, Count: 1}, "timestamp",
					"a finite number in each row"); err != nil {
					return err
				}
			}
		}
	}
	if !r.good && r.rows > maxUnseen {
		return formatError(dataset.ErrTooLarge, r.e.Attributes.Source, -1, "episode rows without any index column that can be read",
			strconv.Itoa(r.rows), "at most "+strconv.Itoa(maxUnseen))
	}
	r.stamps = stamps
	if r.set.info.Clock == clockCaptured {
		list, err := r.capturedOf(ctx, clockCaptured)
		if err != nil {
			return err
		}
		r.captured = list
	}
	return r.setTimes(frames, stamps, typ)
}

// capturedOf returns a column of times in nanoseconds; nil if it is missing or cannot be used.
func (r *reader) capturedOf(ctx context.Context, name string) ([]int64, error) {
	if !r.set.header.captures(name) {
		return nil, nil
	}
	v, err := r.values(ctx, name)
	if v == nil || err != nil {
		return nil, err
	}
	list, ok := wholes(v)
	if !ok || slices.ContainsFunc(list, func(t int64) bool { return t < -1<<62 || t > 1<<62 }) {
		return nil, nil
	}
	return list, nil
}

// frameTimes returns the times of a camera's frames, one per row: the recorded times if they are the selected clock and exist.
func (r *reader) frameTimes(ctx context.Context, camera string) ([]int64, error) {
	if r.set.info.Clock == clockCaptured {
		if list, err := r.capturedOf(ctx, clockCaptured+"."+camera); list != nil || err != nil {
			return list, err
		}
	}
	return r.times, nil
}

// counts checks that a bookkeeping column counts up as expected.
func (r *reader) counts(name string, list []int64) error {
	wrong, at := 0, -1
	first := int64(-1) // the first row's index in the dataset, unless compareIndex compared it
	if run := r.of.runs[0]; name == "index" && r.set.header.major > 2 {
		f, err := r.file(run)
		if err != nil {
			return err
		}
		if _, _, ok := f.Column(name).Bounds(int(run.group)); !ok {
			first = run.at
		}
	}
	for i, n := range list {
		bad := false
		switch name {
		case "episode_index":
			bad = n != r.of.number
		case "frame_index":
			bad = i == 0 && n != 0 || i > 0 && n != list[i-1]+1
		case "index":
			bad = i > 0 && n != list[i-1]+1 || i == 0 && first >= 0 && n != first
		}
		if bad {
			if wrong++; at < 0 {
				at = i
			}
		}
	}
	code := map[string]dataset.Code{
		"episode_index": dataset.CodeEpisodeIndex,
		"frame_index":   dataset.CodeFrameIndex,
		"index":         dataset.CodeRowIndex,
	}[name]
	if at < 0 {
		return nil
	}
	return r.damage(dataset.Note{Code: code, Count: wrong, Row: dataset.At(at)}, fmt.Sprintf("%d in row %d", list[at], at), "")
}

// setTimes sets the clock.
func (r *reader) setTimes(frames []int64, stamps []float64, typ string) (err error) {
	info := &r.set.info
	counted := r.counted(frames, info.Rate)
	if info.RateFrom == "caller" && info.Clock == clockFrames && r.set.header.fps > 0 {
		r.shown = r.counted(frames, r.set.header.fps)
	}
	switch {
	case info.Rate == 0 && stamps == nil:
		r.e.Steps = true
		r.times = counted
		return nil
	case info.Clock == clockCaptured:
		r.shown = r.counted(frames, cmp.Or(r.set.header.fps, info.Rate))
		if r.times = r.captured; r.times == nil {
			r.times = counted
			return r.damage(dataset.Note{Code: dataset.CodeTimesCounted, Count: 1}, "no column capture_time that can be used", "one")
		}
		return nil
	case info.Clock == clockStamps && stamps == nil:
		r.times = counted
		return r.damage(dataset.Note{Code: dataset.CodeTimesCounted, Count: 1}, "no column timestamp that can be used", "one")
	case info.Rate == 0 || info.Clock == clockStamps:
		r.times = nanoseconds(stamps)
		return nil
	}
	r.times = counted
	if stamps == nil || info.RateFrom == "caller" || r.set.opt.Clock == clockFrames {
		return nil
	}
	wrong, at := 0, 0
	isSteady, low, high := true, math.Inf(1), math.Inf(-1)
	for i, t := range stamps {
		want := float64(counted[i]) / 1e9
		if departs(t, want, typ) {
			if wrong++; wrong == 1 {
				at = i
			}
		}
		off := t - want
		low, high = min(low, off), max(high, off)
		if i > 0 {
			isSteady = isSteady && !departs(t, stamps[i-1]+want-float64(counted[i-1])/1e9, typ)
		}
	}
	if wrong == 0 {
		return nil
	}
	n := dataset.Note{Code: dataset.CodeFrameTimeOwn, Count: wrong, Row: dataset.At(at),
		Detail: dataset.Detail{Got: fmt.Sprint(stamps[at]), Want: fmt.Sprint(float64(counted[at]) / 1e9), Unit: "s", Names: info.Clocks}}
	for i := 1; i < len(stamps); i++ {
		if stamps[i] <= stamps[i-1] {
			n.Code = dataset.CodeFrameTimeUnsorted
		}
	}
	if own := nanoseconds(stamps); n.Code == dataset.CodeFrameTimeOwn && (isSteady || !departs(low, (low+high)/2, "")) {
		n.Code, r.shown = dataset.CodeFrameTimeSteps, own
		first := own[0] - counted[0]
		for i := range counted {
			counted[i] += first
		}
	} else if n.Code == dataset.CodeFrameTimeOwn {
		r.times = own
	}
	r.e.Notes.Add(n)
	return nil
}

// counted returns the times in ns computed from frame numbers, or from row numbers if there is no frame_index. Without a rate a frame
// takes a second.
func (r *reader) counted(frames []int64, rate float64) []int64 {
	if rate == 0 {
		rate = 1
	}
	times := make([]int64, r.rows)
	for i := range times {
		n := float64(i)
		if frames != nil {
			n = float64(frames[i])
		}
		times[i] = int64(min(max(math.Round(n*1e9/rate), -1<<62), 1<<62))
	}
	return times
}

func nanoseconds(stamps []float64) []int64 {
	times := make([]int64, len(stamps))
	for i, t := range stamps {
		times[i] = int64(math.Round(t * 1e9))
	}
	return times
}
