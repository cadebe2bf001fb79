package benchmark

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// FuseJob is a Fuse of several streams, evenly spaced over the same seconds, onto T targets.
type FuseJob struct {
	B, T    int
	Streams []FuseShape `json:"streams"`
	Values  string      `json:"values,omitempty"` // of the streams and the result; bf16 unless given
	Times   string      `json:"times,omitempty"`  // f32 unless given
}

// FuseShape is a stream of S samples of D features.
type FuseShape struct{ S, D int }

var fuseSuite = suite{
	name: "fuse", about: "several streams onto one clock, side by side: linear, bf16 values, f32 times",
	jobs: func() []Job {
		return []Job{
			&FuseJob{B: 256, T: 128, Streams: []FuseShape{{100, 512}, {200, 128}, {300, 64}}},
			&FuseJob{B: 32, T: 250, Streams: []FuseShape{{150, 512}, {500, 14}, {1000, 6}}},
			&FuseJob{B: 4, T: 50, Streams: []FuseShape{{30, 512}, {100, 64}, {200, 12}}},
		}
	},
	empty: func() Job { return &FuseJob{} },
	random: func(rng *rand.Rand) Job {
		for {
			j := &FuseJob{B: logUniform(rng, 1, 256), T: logUniform(rng, 1, 4096)}
			size := 0
			for range 1 + rng.IntN(6) {
				s := FuseShape{S: logUniform(rng, 2, 4096), D: logUniform(rng, 1, 512)}
				j.Streams = append(j.Streams, s)
				size += j.B * s.D * (s.S + j.T)
			}
			if size <= 1<<28 {
				return j
			}
		}
	},
}

func (j *FuseJob) Suite() string { return "fuse" }

// Name is Bx(SxD+SxD)->T, and what is not the default.
func (j *FuseJob) Name() string {
	name := fmt.Sprintf("%dx(%s)->%d", j.B, j.list("+"), j.T)
	for _, s := range []string{j.Values, j.Times} {
		if s != "" {
			name += " " + s
		}
	}
	return name
}

func (j *FuseJob) list(between string) string {
	var parts []string
	for _, s := range j.Streams {
		parts = append(parts, fmt.Sprintf("%dx%d", s.S, s.D))
	}
	return strings.Join(parts, between)
}

func (j *FuseJob) Keys() []Key {
	keys := keysOf("B", j.B, "T", j.T, "streams", j.list("+"))
	for _, k := range []Key{{"values", j.Values}, {"times", j.Times}} {
		if k.Value != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

func (j *FuseJob) check() error {
	_, err1 := valueType(j.Values)
	_, err2 := timeType(j.Times)
	err := errors.Join(within("B", j.B, 1, 1<<30), within("T", j.T, 1, 1<<30), within("streams", len(j.Streams), 1, ops.MaxStreams), err1, err2)
	for i, s := range j.Streams {
		where := fmt.Sprintf("stream %d, ", i)
		err = errors.Join(err, within(where+"S", s.S, 2, 1<<30), within(where+"D", s.D, 1, 1<<30), within(where+"B*D*(S+T)", j.B*s.D*(s.S+j.T), 1, 1<<36))
	}
	return err
}

func (j *FuseJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	dtype, _ := valueType(j.Values)
	ticks, _ := timeType(j.Times)
	value, stamp := int64(dtype.Size()), int64(ticks.Size())
	b, t, d := int64(j.B), int64(j.T), int64(0)
	w := &work{limit: true, read: b * t * stamp}
	each := b * t * stamp
	for _, s := range j.Streams {
		rows := b * int64(s.S)
		w.read += min(rows, 2*b*t)*int64(s.D)*value + rows*stamp
		each += rows * (int64(s.D)*value + stamp)
		d += int64(s.D)
	}
	w.written = b * t * d * value
	w.sets = r.sets(each + w.written)
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }

	rng := rand.New(rand.NewPCG(seed, 4))
	put := func(host *tensor.Tensor, err error) (*tensor.Tensor, error) {
		if err != nil {
			return nil, err
		}
		dev, err := r.alloc(w, host.DType(), append([]int{w.sets}, host.Shape()...)...)
		if err != nil {
			return nil, err
		}
		return dev, r.fill(dev, host)
	}
	var src, times []*tensor.Tensor
	for _, s := range j.Streams {
		v, err1 := put(values(rng, dtype, j.B, s.S, s.D))
		c, err2 := put(stamps(nil, ticks, j.B, s.S))
		if err := errors.Join(err1, err2); err != nil {
			return fail(err)
		}
		src, times = append(src, v), append(times, c)
	}
	targets, err := put(stamps(nil, ticks, j.B, j.T))
	if err != nil {
		return fail(err)
	}
	dst, err := r.alloc(w, dtype, w.sets, j.B, j.T, int(d))
	if err != nil {
		return fail(err)
	}
	err = r.plans(w, func(i int) (ops.Plan, error) {
		args := ops.FuseArgs{Dst: at(dst, i), Targets: ops.At(at(targets, i))}
		for k := range src {
			args.Streams = append(args.Streams, ops.FuseStream{Src: at(src[k], i), SrcTimes: at(times[k], i)})
		}
		return r.dev.PlanFuse(args, ops.FuseOptions{Launch: r.opt.Launch})
	})
	if err != nil {
		return fail(err)
	}
	return w, nil
}
