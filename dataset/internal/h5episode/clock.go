package h5episode

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/dataset/internal/clockname"
	"github.com/robocache/robocache/tensor"
)

// clock is timestamps in a dataset, or in a field of compounds.
type clock struct {
	path  string
	group string         // the data at this path and below it has this clock
	times *tensor.Tensor // [S], as a Stream has them
	used  bool
}

// clockNamed returns the clock at a path, without its times, or nil: "joint/time" is the clock of joint, "q_time" and "time/q" of
// q.
func clockNamed(name, unit string) (c *clock, exponent int, known bool) {
	dir, base := path.Split(name)
	unit, _, _ = strings.Cut(unit, " ") // seconds since a date
	for i := range base {
		if i > 0 && (base[i-1] != '_' || len(base)-i < 2) {
			continue
		}
		if exponent, known, ok := clockname.Of(base[i:], unit); ok {
			return &clock{path: name, group: path.Join(dir, strings.TrimRight(base[:i], "_"))}, exponent, known
		}
	}
	if exponent, known, ok := clockname.Of(path.Base(dir), unit); ok {
		return &clock{path: name, group: path.Join(dir, "..", base)}, exponent, known
	}
	return nil, 0, false
}

// findClocks reads the clocks of the episode's datasets, and the rate that datasets of its steps state.
func (r *Reader) findClocks() error {
	look := func(name string, v *hdf5.Values) (*clock, error) {
		said := r.Episode.Attributes.Other
		c, exponent, known := clockNamed(name, said[name+"/units"]+said[name+"/unit"])
		if c == nil {
			return nil, nil
		}
		n, err := tensor.NumElements(v.Shape()...)
		if _, ok := v.Type().DType(); err != nil || n != v.Len() || n < 2 || !ok || v.Type().Kind == hdf5.Array {
			return nil, nil
		}
		if err := r.take(name, n, 24); err != nil {
			return nil, err
		}
		values, err := v.Read()
		if err != nil {
			return nil, err
		}
		if c.times, err = clockname.Times(values, exponent, known); c.times == nil || err != nil {
			return nil, err
		}
		r.clocks = append(r.clocks, c)
		return c, nil
	}
	for i, it := range r.items {
		var err error
		if it.d.Type().Kind != hdf5.Compound {
			r.items[i].clock, err = look(it.path, &it.d.Values)
		}
		for _, f := range it.d.Type().Fields {
			if field, none := it.d.Field(f.Name); none == nil && err == nil {
				_, err = look(it.path+"/"+f.Name, field)
			}
		}
		if err != nil && !ignorable(err) { // the dataset's own error comes again where it is read
			return err
		}
		if rate := r.rateOf(it.path, it.d.Len()); r.inStep(it.d.Len()) && r.rates["."] == 0 && rate > 0 {
			r.rates["."] = rate
		}
	}
	for i, c := range r.clocks {
		if first := nanoseconds(c.times)[0]; i == 0 || first < r.start {
			r.start = first
		}
	}
	return nil
}

// inStep reports whether n rows are the episode's steps, or the steps and one observation after the last.
func (r *Reader) inStep(n int) bool { return n == r.steps || r.acted && n == r.steps+1 }

// rateOf returns the rate in the attributes of a dataset with n rows, or in its group's attributes if it is the longest dataset
// there; 0 if there is none.
func (r *Reader) rateOf(name string, n int) float64 {
	dir := path.Dir(name)
	if r.rates[name] == 0 && dir != "." && n == r.longest[dir] {
		name = dir
	}
	return r.rates[name]
}

// pace is the timing of rows: a clock, or a rate.
type pace struct {
	clock   *clock
	assumed bool // the clock is of other data with as many rows
	rows    int
	rate    float64 // Hz; 0 if nothing states it
}

// paceOf returns the timing of n rows: their own clock, or the clock of the nearest group around them, or a rate from an attribute.
// The note is the reason if there is none.
func (r *Reader) paceOf(name string, n int) (p pace, why dataset.Note) {
	const exact = 1 << 20
	best := -1
	for _, c := range r.clocks {
		m, score := c.times.Len(), 0
		if c.group == "" || strings.HasPrefix(name+"/", c.group+"/") {
			score = 1 + len(c.group)
		}
		if m == n {
			score += exact
		} else if !r.inStep(m) || !r.inStep(n) {
			continue
		}
		if c.path != name && score > best {
			best, p = score, pace{clock: c, assumed: score%exact == 0, rows: n}
		}
	}
	if p.clock != nil {
		return p, why
	}
	p = pace{rows: n, rate: r.rateOf(name, n)}
	switch {
	case p.rate > 0:
	case !r.inStep(n):
		why.Code, why.Of = dataset.CodeStepCount, r.steps
	default:
		if p.rate = cmp.Or(r.rates["."], r.set.About.Rate); p.rate == 0 && len(r.clocks) > 0 {
			c := r.clocks[0]
			why = dataset.Note{Code: dataset.CodeClockMismatch, Detail: dataset.Detail{Got: name, Names: []string{name + ".times"}, Want: c.path, Of: c.times.Len()}}
		}
	}
	return p, why
}

// clock returns the timestamps of rows: one fewer if the last row has none.
func (r *Reader) clock(name string, p pace) (*tensor.Tensor, error) {
	if c := p.clock; c != nil {
		c.used = true
		if p.assumed {
			r.leave(name, p.rows, dataset.CodeClockAssumed, dataset.Detail{Got: c.path})
		}
		if c.times.Len() < p.rows {
			r.leave(name, 1, dataset.CodeTimeless, dataset.Detail{})
		}
		return c.times.Slice(0, 0, min(p.rows, c.times.Len()))
	}
	if times := r.times[p]; times != nil {
		return times, nil
	}
	if err := r.take(name, p.rows, 8); err != nil {
		return nil, err
	}
	list, err := dataset.StepTimes(p.rows, p.rate)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i] += r.start
	}
	r.Steps = r.Steps || p.rate == 0
	r.times[p], err = tensor.Of(list, p.rows)
	return r.times[p], err
}

// RateOf returns the rate that attributes, or the JSON of env_args, state, Hz; 0 if they do not.
func RateOf(said Said) float64 {
	if len(said) == 0 {
		return 0
	}
	for _, name := range []string{"fps", "FPS", "hz", "rate", "frequency", "sample_rate", "sampling_rate", "frame_rate", "control_freq", "control_frequency"} {
		if rate, _ := said.Number(name); dataset.IsRate(rate) {
			return rate
		}
	}
	var args struct {
		Kwargs struct {
			Rate float64 `json:"control_freq"`
		} `json:"env_kwargs"`
		Sim struct {
			Dt         float64 `json:"dt"` // s
			Decimation float64 `json:"decimation"`
		} `json:"sim_args"`
	}
	_ = json.Unmarshal([]byte(said["env_args"]), &args) // text that is not JSON has no rate
	if step := args.Sim.Dt * args.Sim.Decimation; step != 0 {
		return 1 / step
	}
	return args.Kwargs.Rate
}
