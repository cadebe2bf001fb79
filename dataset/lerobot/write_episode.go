package lerobot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// episodePlan is an episode that can be written: everything that could be wrong with it has been looked at.
type episodePlan struct {
	features  []*writeFeature  // its own, in the order of the dataset's; the standard ones last
	data      []parquet.Values // of each
	stats     []featureStats
	clips     []clip // of each, the videos' alone not empty
	rows      int
	tasks     []string // in the order in which they come
	taskOf    []int    // which of them each row has; nil if there is one
	shift     time.Duration
	inexact   int
	names     map[string]string // features by streams
	start     int64             // the first timestamp, ns
	left      []string          // what has no place
	splits    []string
	temporary []string // files that are removed when it is written
}

// plan looks at an episode, and reads its images.
func (w *Writer) plan(ctx context.Context, e *dataset.Episode, b Beside, p *episodePlan) error {
	p.tasks, p.names = []string{e.Attributes.Task}, map[string]string{}
	if p.tasks[0] == "" {
		p.tasks[0] = w.opt.Task
	}
	fail := func(name string, err *WriteError) error {
		err.Episode, err.Feature = w.report.Episodes, name
		return err
	}
	if err := p.clock(w.opt.FPS, e); err != nil {
		return fail(err.Feature, err)
	}
	tasks := b.Tasks
	if tasks == nil {
		tasks = w.opt.Tasks
	}
	for i := range e.Streams {
		s := &e.Streams[i]
		if s.Name == "task_index" && tasks != nil {
			if bad := p.rowTasks(s, tasks); bad != nil {
				return fail(s.Name, bad)
			}
			continue
		}
		name, bad := w.featureName(s.Name, b.Names)
		if bad != nil {
			return fail(s.Name, bad)
		}
		p.names[s.Name] = name
		if err := p.addStream(name, s); err != nil {
			return fail(name, err)
		}
	}
	if name, bad := p.addTimes(w, b.Times); bad != nil {
		return fail(name, bad)
	}
	for i := range e.Media {
		m := &e.Media[i]
		name, bad := w.featureName(m.Name, b.Names)
		if bad == nil && m.Source == nil {
			bad = &WriteError{Kind: dataset.ErrMissing, Got: "no source of its frames", Want: "one"}
		}
		if bad != nil {
			return fail(m.Name, bad)
		}
		p.names[m.Name] = name
		var err error
		switch source, ok := m.Source.(*frameSource); {
		case ok && (w.opt.Codec == "" || source.whole(p.rows)):
			err = p.addVideo(ctx, w, name, m, source)
		case w.opt.Codec != "" && !(w.opt.KeepImages && (m.Encoding == "png" || m.Encoding == "jpeg")):
			err = p.encodeVideo(ctx, w, name, m)
		default:
			err = p.addImages(ctx, name, m)
		}
		var failed *WriteError
		if errors.As(err, &failed) {
			return fail(name, failed)
		}
		if err != nil {
			return err // the end of ctx
		}
	}
	for _, task := range p.tasks {
		if !utf8.ValidString(task) {
			return fail("", &WriteError{Kind: dataset.ErrOption, Got: fmt.Sprintf("the task %q", task), Want: "UTF-8"})
		}
	}
	if err := p.arrange(w.features); err != nil {
		return fail(err.Feature, err)
	}
	p.addStandard(w)
	if err := p.summarise(); err != nil {
		return fail(err.Feature, err)
	}
	p.leave(e, b)
	return ctx.Err()
}

// clock finds the number of rows, and returns a *WriteError unless all streams are on one clock of fps.
func (p *episodePlan) clock(fps float64, e *dataset.Episode) *WriteError {
	type clock struct {
		name  string
		times []int64
	}
	var clocks []clock
	for i := range e.Streams {
		s := &e.Streams[i]
		if err := s.Check(); err != nil {
			return &WriteError{Feature: s.Name, Kind: dataset.ErrShape, Err: err}
		}
		clocks = append(clocks, clock{s.Name, s.Nanoseconds()})
	}
	for i := range e.Media {
		clocks = append(clocks, clock{e.Media[i].Name, e.Media[i].Times})
	}
	if len(clocks) == 0 {
		return &WriteError{Kind: dataset.ErrMissing, Got: "an episode without streams", Want: "at least one"}
	}
	if p.rows = len(clocks[0].times); p.rows == 0 {
		return &WriteError{Feature: clocks[0].name, Kind: dataset.ErrMissing, Got: "no rows", Want: "at least one"}
	}
	const align = ": align the recording to the dataset's rate first"
	start := clocks[0].times[0]
	p.start = start
	for _, c := range clocks {
		if len(c.times) != p.rows {
			return &WriteError{
				Feature: c.name, Kind: ErrNotAligned, Got: fmt.Sprintf("%d samples", len(c.times)),
				Want: fmt.Sprintf("%d, as %s has%s", p.rows, clocks[0].name, align),
			}
		}
		for i, t := range c.times {
			place := math.Round(float64(i) * 1e9 / fps)
			off := math.Abs(float64(t-start) - place)
			if !(off <= float64(tolerance)) || (t < start) != (t-start < 0) {
				want := fmt.Sprintf("%.0f ns after the first, within 0.1 ms, at %s rows a second", place, strconv.FormatFloat(fps, 'g', -1, 64))
				if e.Steps {
					want += "; its times count steps, because nobody said how many a second there are"
				}
				return &WriteError{
					Feature: c.name, Kind: ErrNotAligned, Got: fmt.Sprintf("sample %d at %d ns, %d ns after the first", i, t, t-start),
					Want: want + align,
				}
			}
			p.shift = max(p.shift, time.Duration(off))
		}
	}
	return nil
}

// addStream takes a stream's values.
func (p *episodePlan) addStream(name string, s *dataset.Stream) *WriteError {
	f, bad := newWriteFeature(name, s)
	if bad != nil {
		return bad
	}
	if s.Values.DType() == tensor.F32 && f.dtype == dtypeFloat32 {
		t, err := s.Values.Contiguous()
		if err != nil {
			return &WriteError{Kind: dataset.ErrMissing, Err: err}
		}
		list, err := tensor.Data[float32](t)
		if err != nil {
			return &WriteError{Kind: dataset.ErrMissing, Err: err}
		}
		for i, v := range list {
			if v-v != 0 {
				return notFinite(s, i, float64(v))
			}
		}
		p.inexact += s.Inexact
		p.addFloats(f, list)
		return nil
	}
	values, err := float64s(s.Values)
	if err != nil {
		return &WriteError{Kind: dataset.ErrMissing, Err: err}
	}
	if list := integers(s, values); list != nil && f.dtype == dtypeInt64 {
		p.addIntegers(f, list)
		return nil
	}
	for i, v := range values {
		if v-v != 0 {
			return notFinite(s, i, v)
		}
	}
	if bad := f.unheld(s, values); bad != nil {
		return bad
	}
	p.inexact += s.Inexact
	p.addNumbers(f, values)
	return nil
}

// unheld finds the first value that the feature's type has no room for.
func (f *writeFeature) unheld(s *dataset.Stream, values []float64) *WriteError {
	for i, v := range values {
		switch {
		case v-v != 0:
		case f.dtype == dtypeBool && v != 0 && v != 1:
			return &WriteError{Kind: dataset.ErrDType, Got: valueIn(s, i, v), Want: "0 or 1, as its type is bool"}
		case f.dtype == dtypeInt64 && (v != math.Trunc(v) || v < -1<<63 || v >= 1<<63):
			return &WriteError{Kind: dataset.ErrDType, Got: valueIn(s, i, v), Want: "a whole number of 64 bits, as its type is one"}
		}
	}
	return nil
}

// Unheld returns a *WriteError if a dataset has no place for a stream under any name: for a stream without columns, and for numbers beyond its type, such as
// unsigned ones from 2^63 on. NaN and infinities, which Add refuses, are none of these.
func Unheld(s *dataset.Stream) error {
	f, bad := newWriteFeature(s.Name, s)
	if bad == nil && f.dtype != dtypeBool && f.dtype != dtypeInt64 {
		return nil
	}
	if bad == nil {
		values, err := float64s(s.Values)
		if err != nil {
			return err
		}
		if integers(s, values) == nil || f.dtype != dtypeInt64 {
			bad = f.unheld(s, values)
		}
	}
	if bad != nil {
		bad.Episode, bad.Feature = -1, s.Name
		return bad
	}
	return nil
}

// float64s returns values as float64, without a copy where they are.
func float64s(t *tensor.Tensor) ([]float64, error) {
	if t.DType() != tensor.F64 {
		return tensor.Floats(t)
	}
	t, err := t.Contiguous()
	if err != nil {
		return nil, err
	}
	return tensor.Data[float64](t)
}

// integers returns the whole numbers that a stream's values are rounded from, nil if it has none, or values that were changed since.
func integers(s *dataset.Stream, values []float64) []int64 {
	if s.Integers == nil {
		return nil
	}
	list, err := tensor.Data[int64](s.Integers)
	if err != nil || len(list) != len(values) {
		return nil
	}
	for i, n := range list {
		if float64(n) != values[i] {
			return nil
		}
	}
	return list
}

// notFinite refuses value i of a stream, which is NaN or an infinity.
func notFinite(s *dataset.Stream, i int, v float64) *WriteError {
	return &WriteError{Kind: ErrNotFinite, Got: valueIn(s, i, v), Want: "finite numbers: fill or leave out such rows or columns first"}
}

// valueIn says which value of a stream one is.
func valueIn(s *dataset.Stream, i int, v float64) string {
	width := len(s.Columns)
	return fmt.Sprintf("%s in row %d, column %s", strconv.FormatFloat(v, 'g', -1, 64), i/width, s.Columns[i%width].Name)
}

// summarise computes the statistics of the numbers, of several features at a time.
func (p *episodePlan) summarise() *WriteError {
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range p.stats {
		if s := &p.stats[i]; s.of != nil {
			free <- struct{}{}
			wait.Go(func() {
				s.columns, s.of = s.of(), nil
				<-free
			})
		}
	}
	wait.Wait()
	for i, f := range p.features {
		for k, c := range p.stats[i].columns {
			if math.IsNaN(c.Std) || math.IsInf(c.Std, 0) || math.IsInf(c.Mean, 0) {
				name := strconv.Itoa(k)
				if f.names != nil {
					name = f.names[k]
				}
				return &WriteError{
					Feature: f.name, Kind: ErrNotFinite, Got: fmt.Sprintf("column %s to %g: its squares are infinite in %s", name, c.Max, f.dtype),
					Want: "smaller numbers",
				}
			}
		}
	}
	return nil
}

// rowTasks takes the tasks of an episode whose rows have several.
func (p *episodePlan) rowTasks(s *dataset.Stream, tasks []string) *WriteError {
	values, err := tensor.Floats(s.Values)
	if err != nil {
		return &WriteError{Kind: dataset.ErrMissing, Err: err}
	}
	if len(s.Columns) != 1 {
		return &WriteError{Kind: dataset.ErrShape, Got: fmt.Sprintf("%d columns", len(s.Columns)), Want: "1"}
	}
	p.tasks = nil
	for i, v := range values {
		if !(v >= 0 && v < float64(len(tasks))) || v != math.Trunc(v) {
			return &WriteError{
				Kind: dataset.ErrNotFound, Got: fmt.Sprintf("task %g in row %d", v, i),
				Want: fmt.Sprintf("the number of one of the %d tasks", len(tasks)),
			}
		}
		task := tasks[int(v)]
		k := slices.Index(p.tasks, task)
		if k < 0 {
			k = len(p.tasks)
			p.tasks = append(p.tasks, task)
		}
		p.taskOf = append(p.taskOf, k)
	}
	return nil
}

// addNumbers takes values [rows,width] and their statistics.
func (p *episodePlan) addNumbers(f *writeFeature, values []float64) {
	var d parquet.Values
	width := f.shape[0]
	stats := featureStats{frames: p.rows}
	switch f.dtype {
	case dtypeFloat32:
		p.addFloats(f, convert[float32](values))
		return
	case dtypeFloat64:
		d.Float64 = values
		stats.of = func() []summary.Column { return summary.Block(values, width) }
	case dtypeInt64:
		p.addIntegers(f, convert[int64](values))
		return
	case dtypeBool:
		d.Int64 = convert[int64](values)
		stats.of = func() []summary.Column { return summary.Block(convert[float32](values), width) }
	}
	p.features, p.data, p.stats = append(p.features, f), append(p.data, d), append(p.stats, stats)
	p.clips = append(p.clips, clip{})
}

// addFloats is addNumbers of float32 as it is.
func (p *episodePlan) addFloats(f *writeFeature, values []float32) {
	stats := featureStats{frames: p.rows, of: func() []summary.Column { return summary.Block(values, f.shape[0]) }}
	p.features, p.data, p.stats = append(p.features, f), append(p.data, parquet.Values{Float32: values}), append(p.stats, stats)
	p.clips = append(p.clips, clip{})
}

// addIntegers is addNumbers of whole numbers, which float64 need not hold.
func (p *episodePlan) addIntegers(f *writeFeature, list []int64) {
	stats := featureStats{frames: p.rows, of: func() []summary.Column { return summary.Block(convert[float64](list), f.shape[0]) }}
	p.features, p.data, p.stats = append(p.features, f), append(p.data, parquet.Values{Int64: list}), append(p.stats, stats)
	p.clips = append(p.clips, clip{})
}

type number64 interface{ float32 | float64 | int64 }

func convert[To, From number64](values []From) []To {
	out := make([]To, len(values))
	for i, v := range values {
		out[i] = To(v)
	}
	return out
}

// arrange puts the features into the order of the dataset's, if it has some, and returns a *WriteError unless they are the same.
func (p *episodePlan) arrange(want []*writeFeature) *WriteError {
	seen := map[string]int{}
	for i, f := range p.features {
		if _, twice := seen[f.name]; twice {
			return &WriteError{Feature: f.name, Kind: dataset.ErrOption, Got: "two streams of that name", Want: "one"}
		}
		seen[f.name] = i
	}
	if want == nil {
		return nil
	}
	want = want[:len(want)-len(standard)]
	var order []int
	for _, f := range want {
		i, ok := seen[f.name]
		if !ok {
			return &WriteError{Feature: f.name, Kind: dataset.ErrMissing, Got: "no such stream", Want: "what the first episode has"}
		}
		if bad := f.same(p.features[i]); bad != nil {
			bad.Feature = f.name
			return bad
		}
		delete(seen, f.name)
		order = append(order, i)
	}
	for _, f := range p.features {
		if _, more := seen[f.name]; more {
			return &WriteError{Feature: f.name, Kind: dataset.ErrShape, Got: "a stream that the first episode does not have", Want: "what that has"}
		}
	}
	p.features, p.data, p.stats, p.clips = pick(p.features, order), pick(p.data, order), pick(p.stats, order), pick(p.clips, order)
	return nil
}

func pick[T any](list []T, at []int) []T {
	out := make([]T, len(at))
	for i, k := range at {
		out[i] = list[k]
	}
	return out
}

// addStandard makes the columns that every dataset has.
func (p *episodePlan) addStandard(w *Writer) {
	numbers := w.taskNumbers(p.tasks)
	for _, f := range standardFeatures() {
		if f.dtype == dtypeFloat32 {
			seconds := make([]float32, p.rows)
			for i := range seconds {
				seconds[i] = float32(float64(i) / w.opt.FPS)
			}
			p.addFloats(f, seconds)
			continue
		}
		values := make([]int64, p.rows)
		for i := range values {
			switch f.name {
			case "frame_index":
				values[i] = int64(i)
			case "episode_index":
				values[i] = int64(w.report.Episodes)
			case "index":
				values[i] = int64(w.report.Frames + i)
			case "task_index":
				values[i] = int64(numbers[0])
				if p.taskOf != nil {
					values[i] = int64(numbers[p.taskOf[i]])
				}
			}
		}
		p.addIntegers(f, values)
	}
}

// leave notes what the episode has and the format has no place for.
func (p *episodePlan) leave(e *dataset.Episode, b Beside) {
	if p.start != 0 && len(b.Times) == 0 {
		p.left = append(p.left, "the time of the first row")
	}
	if e.Attributes.Success != nil {
		p.left = append(p.left, "success")
	}
	for name := range e.Attributes.Other {
		if name != "episode_index" { // of the dataset that it was read from
			p.left = append(p.left, name)
		}
	}
	sort.Strings(p.left)
}
