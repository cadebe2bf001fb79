package write

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/tensor"
)

// clock determines the row count. It returns an *Error if the streams are not on one clock with rate fps.
func (p *episodePlan) clock(fps float64, e *dataset.Episode) *Error {
	type clock struct {
		name  string
		times []int64
	}
	var clocks []clock
	for i := range e.Streams {
		s := &e.Streams[i]
		if err := s.Check(); err != nil {
			return &Error{Feature: s.Name, Kind: dataset.ErrShape, Err: err}
		}
		clocks = append(clocks, clock{s.Name, s.Nanoseconds()})
	}
	for i := range e.Media {
		clocks = append(clocks, clock{e.Media[i].Name, e.Media[i].Times})
	}
	if len(clocks) == 0 {
		return &Error{Kind: dataset.ErrMissing, Got: "an episode without streams", Want: "at least one"}
	}
	if p.rows = len(clocks[0].times); p.rows == 0 {
		return &Error{Feature: clocks[0].name, Kind: dataset.ErrMissing, Got: "no rows", Want: "at least one"}
	}
	const align = ": align the recording to the dataset's rate first"
	p.times = clocks[0].times
	start := p.times[0]
	p.start = start
	for _, c := range clocks {
		if len(c.times) != p.rows {
			return &Error{
				Feature: c.name, Kind: ErrNotAligned, Got: fmt.Sprintf("%d samples", len(c.times)),
				Want: fmt.Sprintf("%d, as %s has%s", p.rows, clocks[0].name, align),
			}
		}
		for i, t := range c.times {
			place := math.Round(float64(i) * 1e9 / fps)
			off := math.Abs(float64(t-start) - place)
			if !(off <= float64(layout.Tolerance)) || (t < start) != (t-start < 0) {
				want := fmt.Sprintf("%.0f ns after the first, within 0.1 ms, at %s rows a second", place, strconv.FormatFloat(fps, 'g', -1, 64))
				if e.Steps {
					want += "; its times count steps, because it has no rate"
				}
				return &Error{
					Feature: c.name, Kind: ErrNotAligned, Got: fmt.Sprintf("sample %d at %d ns, %d ns after the first", i, t, t-start),
					Want: want + align,
				}
			}
			p.shift = max(p.shift, time.Duration(off))
		}
	}
	return nil
}

// addStream adds a stream's values as a feature. It returns an *Error if a value is not finite, or does not fit LeRobot's type; else nil.
func (p *episodePlan) addStream(name string, s *dataset.Stream) *Error {
	f, bad := newFeature(name, s)
	if bad != nil {
		return bad
	}
	if s.Values.DType() == tensor.F32 && f.dtype == dtypeFloat32 {
		list, err := tensor.Packed[float32](s.Values)
		if err != nil {
			return &Error{Kind: dataset.ErrMissing, Err: err}
		}
		for i, v := range list {
			if v-v != 0 {
				return notFinite(s, i, float64(v))
			}
		}
		p.inexact += s.Inexact
		p.addNumbers(f, parquet.Values{Float32: list})
		return nil
	}
	values, err := float64s(s.Values)
	if err != nil {
		return &Error{Kind: dataset.ErrMissing, Err: err}
	}
	if list := integers(s, values); list != nil && f.dtype == dtypeInt64 {
		p.addNumbers(f, parquet.Values{Int64: list})
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
	p.addNumbers(f, f.data(values))
	return nil
}

// rowTasks sets each row's task from the stream "task_index". It returns an *Error if a number is no index in tasks, else nil.
func (p *episodePlan) rowTasks(s *dataset.Stream, tasks []string) *Error {
	values, err := tensor.Floats(s.Values)
	if err != nil {
		return &Error{Kind: dataset.ErrMissing, Err: err}
	}
	if len(s.Columns) != 1 {
		return &Error{Kind: dataset.ErrShape, Got: fmt.Sprintf("%d columns", len(s.Columns)), Want: "1"}
	}
	texts := make([]string, len(values))
	for i, v := range values {
		if !(v >= 0 && v < float64(len(tasks))) || v != math.Trunc(v) {
			return &Error{
				Kind: dataset.ErrNotFound, Got: fmt.Sprintf("task %g in row %d", v, i),
				Want: fmt.Sprintf("the number of one of the %d tasks", len(tasks)),
			}
		}
		texts[i] = tasks[int(v)]
	}
	p.setRowTasks(texts)
	return nil
}

// setRowTasks sets each row's task.
func (p *episodePlan) setRowTasks(rows []string) {
	p.tasks, p.taskOf = nil, nil
	for _, task := range rows {
		k := slices.Index(p.tasks, task)
		if k < 0 {
			k = len(p.tasks)
			p.tasks = append(p.tasks, task)
		}
		p.taskOf = append(p.taskOf, k)
	}
}

// addText adds a string feature. It returns an *Error unless it has a text for each row.
func (p *episodePlan) addText(t TextFeature) *Error {
	if len(t.Rows) != p.rows {
		return &Error{Kind: dataset.ErrShape, Got: fmt.Sprintf("%d texts", len(t.Rows)), Want: fmt.Sprintf("%d, one for each row", p.rows)}
	}
	p.features = append(p.features, plannedFeature{feature: &feature{name: t.Name, dtype: dtypeString, shape: []int{1}}, data: parquet.Values{Texts: t.Rows}})
	return nil
}

// addTimes adds columns of times, ns. If one cannot be added, it returns its name and an *Error; else "" and nil.
func (p *episodePlan) addTimes(opt *Options, times map[string][]int64) (name string, bad *Error) {
	for _, name := range slices.Sorted(maps.Keys(times)) {
		list := times[name]
		if len(list) != p.rows {
			return name, &Error{Kind: dataset.ErrShape, Got: fmt.Sprintf("%d times", len(list)), Want: fmt.Sprintf("%d, one for each row", p.rows)}
		}
		named, bad := opt.featureName(name, nil)
		if bad != nil {
			return name, bad
		}
		p.addNumbers(&feature{name: named, dtype: dtypeInt64, shape: []int{1}}, parquet.Values{Int64: list})
	}
	return "", nil
}

// summarise computes the numbers' statistics, for several features in parallel.
func (p *episodePlan) summarise() *Error {
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range p.features {
		if s := &p.features[i].stats; s.of != nil {
			free <- struct{}{}
			wait.Go(func() {
				s.columns, s.of = s.of(), nil
				<-free
			})
		}
	}
	wait.Wait()
	for _, f := range p.features {
		for k, c := range f.stats.columns {
			if math.IsNaN(c.Std) || math.IsInf(c.Std, 0) || math.IsInf(c.Mean, 0) {
				name := strconv.Itoa(k)
				if f.names != nil {
					name = f.names[k]
				}
				return &Error{
					Feature: f.name, Kind: ErrNotFinite, Got: fmt.Sprintf("column %s to %g: its squares are infinite in %s", name, c.Max, f.dtype),
					Want: "smaller numbers",
				}
			}
		}
	}
	return nil
}
