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

// Form is what resample and fuse jobs can vary beside their shape.
type Form struct {
	Values  string  `json:"values,omitempty"`     // the dtype of sources and outputs; bf16 unless given
	Times   string  `json:"times,omitempty"`      // the dtype of all times; f32 unless given
	Clock   string  `json:"clock,omitempty"`      // of the sources: even, jittered or gapped; jittered in resample jobs, even in fuse jobs unless given
	MaxGap  float64 `json:"max_gap_ms,omitempty"` // targets inside longer brackets are invalid; no limit unless given
	Shuffle bool    `json:"shuffle,omitempty"`    // each row's targets are out of order
	Valid   bool    `json:"valid,omitempty"`      // the mask is written
	Age     bool    `json:"age,omitempty"`        // the ages are written
}

var clocks = []string{"even", "jittered", "gapped"}

// tag is a part of a job's form that is not the default: as benchstat wants it, and as a name has it.
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

// oneOf refuses a name that is given and not of the list.
func oneOf(where, name string, list ...string) error {
	for _, l := range append(list, "") {
		if name == l {
			return nil
		}
	}
	return &InputError{where, fmt.Sprintf("%q", name), strings.Join(list, ", ")}
}

// millis refuses a length of time that is negative or longer than an hour.
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

// sizes are the bytes of a value and of a timestamp.
func (f *Form) sizes() (value, timestamp int64) {
	v, _ := valueType(f.Values)
	t, _ := timeType(f.Times)
	return int64(v.Size()), int64(t.Size())
}

// masks are the bytes of mask and age of so many targets.
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

// timestamps are the source timestamps of b rows, on the clock given or else on that one.
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

// targets are those of b rows: evenly spaced, in order or shuffled, each row on its own.
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

// outputs are the tensors of mask and age, if the form has them, of sets of that shape.
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

// random draws a form.
func (f *Form) random(rng *rand.Rand) {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	*f = Form{Values: pick("", "f16", "f32"), Times: pick("", "i64", "f64"), Clock: pick("", "", "gapped"), Shuffle: rng.IntN(8) == 0}
	if f.Clock == "gapped" && rng.IntN(2) == 0 {
		f.MaxGap = 100
	}
	f.Valid = rng.IntN(4) == 0
	f.Age = f.Valid && rng.IntN(2) == 0
}

// put copies host data to every set of a tensor on the device.
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

// maybeAt is set i of a tensor of sets, nil of none.
func maybeAt(t *tensor.Tensor, i int) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return at(t, i)
}

// present are those of the tensors that are there.
func present(list ...*tensor.Tensor) []*tensor.Tensor {
	return slices.DeleteFunc(list, func(t *tensor.Tensor) bool { return t == nil })
}
