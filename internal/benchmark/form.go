package benchmark

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Form holds the options that resample and fuse jobs share besides their shape.
type Form struct {
	Values  string  `json:"values,omitempty"`     // dtype of sources and outputs; default bf16
	Times   string  `json:"times,omitempty"`      // dtype of all times; default f32
	Clock   string  `json:"clock,omitempty"`      // source clock: even (default of fuse jobs), jittered (default of resample jobs) or gapped
	MaxGap  float64 `json:"max_gap_ms,omitempty"` // targets inside longer brackets are invalid; default no limit
	Shuffle bool    `json:"shuffle,omitempty"`    // each row's targets are out of order
	Valid   bool    `json:"valid,omitempty"`      // write the mask
	Age     bool    `json:"age,omitempty"`        // write the ages
}

var clocks = []string{"even", "jittered", "gapped"}

// tag is an option that differs from the default: the benchstat key, and the word in a job's name.
type tag struct {
	Key
	word string
}

func (f *Form) types() []tag {
	var out []tag
	for _, k := range []Key{{"values", f.Values}, {"times", f.Times}} {
		if k.Value != "" {
			out = append(out, tag{k, k.Value})
		}
	}
	return out
}

func (f *Form) rest() []tag {
	var out []tag
	if f.Clock != "" {
		out = append(out, tag{Key{"clock", f.Clock}, f.Clock})
	}
	if f.MaxGap != 0 {
		ms := fmt.Sprintf("%gms", f.MaxGap)
		out = append(out, tag{Key{"max_gap", ms}, "max-gap:" + ms})
	}
	for _, b := range []struct {
		name, word string
		on         bool
	}{{"shuffle", "shuffled", f.Shuffle}, {"valid", "valid", f.Valid}, {"age", "age", f.Age}} {
		if b.on {
			out = append(out, tag{Key{b.name, "true"}, b.word})
		}
	}
	return out
}

func words(name string, tags ...[]tag) string {
	for _, list := range tags {
		for _, t := range list {
			name += " " + t.word
		}
	}
	return name
}

func keysWith(keys []Key, tags ...[]tag) []Key {
	for _, list := range tags {
		for _, t := range list {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

func (f *Form) check() error {
	_, err1 := valueType(f.Values)
	_, err2 := timeType(f.Times)
	err3 := oneOf("clock", f.Clock, clocks...)
	return errors.Join(err1, err2, err3, millis("max_gap_ms", f.MaxGap))
}

// oneOf returns an error if a name is not empty and not in the list.
func oneOf(where, name string, list ...string) error {
	for _, l := range append(list, "") {
		if name == l {
			return nil
		}
	}
	return &InputError{where, fmt.Sprintf("%q", name), strings.Join(list, ", ")}
}

// millis returns an error if a duration is negative or longer than an hour.
func millis(where string, v float64) error {
	if !(v >= 0 && v <= 3.6e6) {
		return &InputError{where, fmt.Sprint(v), "0 to 3600000 milliseconds"}
	}
	return nil
}

func limitOfMillis(ms float64) ops.Limit {
	if ms == 0 {
		return ops.Limit{}
	}
	return ops.Within(time.Duration(ms * 1e6))
}

// sizes returns the bytes per value and per timestamp.
func (f *Form) sizes() (value, timestamp int64) {
	v, _ := valueType(f.Values)
	t, _ := timeType(f.Times)
	return int64(v.Size()), int64(t.Size())
}

// masks returns the bytes for mask and age outputs.
func (f *Form) masks(targets int64) (n int64) {
	_, timestamp := f.sizes()
	if f.Valid {
		n += targets
	}
	if f.Age {
		n += targets * timestamp
	}
	return n
}

// timestamps returns source timestamps for b rows. They use the form's clock, or the clock or if it has none.
func (f *Form) timestamps(rng *rand.Rand, b, s int, or string) (*tensor.Tensor, error) {
	ticks, _ := timeType(f.Times)
	switch cmp.Or(f.Clock, or) {
	case "even":
		return timestamps(nil, ticks, b, s)
	case "gapped":
		return gapped(rng, ticks, b, s)
	}
	return timestamps(rng, ticks, b, s)
}

// targets returns targets for b rows: evenly spaced, in order or shuffled for each row.
func (f *Form) targets(rng *rand.Rand, b, t int) (*tensor.Tensor, error) {
	ticks, _ := timeType(f.Times)
	if !f.Shuffle {
		return timestamps(nil, ticks, b, t)
	}
	step := span / float64(max(t-1, 1))
	var order []int
	return clock(ticks, []int{b, t}, func(i int) float64 {
		if i%t == 0 {
			order = rng.Perm(t)
		}
		return float64(order[i%t]) * step
	})
}

// outputs allocates the mask and age tensors that the form requires, with the given shape per set.
func (f *Form) outputs(r *rig, w *work, shape ...int) (valid, age *tensor.Tensor, err error) {
	shape = append([]int{w.sets}, shape...)
	if f.Valid {
		if valid, err = r.alloc(w, tensor.U8, shape...); err != nil {
			return nil, nil, err
		}
	}
	if f.Age {
		ticks, _ := timeType(f.Times)
		age, err = r.alloc(w, ticks, shape...)
	}
	return valid, age, err
}

// random fills the form with random options.
func (f *Form) random(rng *rand.Rand) {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	*f = Form{Values: pick("", "f16", "f32"), Times: pick("", "i64", "f64"), Clock: pick("", "", "gapped"), Shuffle: rng.IntN(8) == 0}
	if f.Clock == "gapped" && rng.IntN(2) == 0 {
		f.MaxGap = 100
	}
	f.Valid = rng.IntN(4) == 0
	f.Age = f.Valid && rng.IntN(2) == 0
}

// put copies host data to every set in a new device tensor.
func (r *rig) put(w *work, host *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	dev, err := r.alloc(w, host.DType(), append([]int{w.sets}, host.Shape()...)...)
	if err != nil {
		return nil, err
	}
	return dev, r.fill(dev, host)
}

// maybeAt returns set i, or nil if t is nil.
func maybeAt(t *tensor.Tensor, i int) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return at(t, i)
}

// present returns the tensors that are not nil.
func present(list ...*tensor.Tensor) []*tensor.Tensor {
	return slices.DeleteFunc(list, func(t *tensor.Tensor) bool { return t == nil })
}
