package benchmark

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// FuseJob is a Fuse of several streams over the same time span onto T targets.
type FuseJob struct {
	B, T    int
	Streams []FuseShape `json:"streams"`
	Form
}

// FuseShape is a stream with S samples and D features.
type FuseShape struct{ S, D int }

var fuseSuite = suite{
	name: "fuse", about: "streams side by side, on one clock: linear, bf16 values, f32 times",
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
			j.Form.random(rng)
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

// Name returns Bx(SxD+SxD)->T, followed by options that differ from the default.
func (j *FuseJob) Name() string {
	return words(fmt.Sprintf("%dx(%s)->%d", j.B, j.list("+"), j.T), j.types(), j.rest())
}

func (j *FuseJob) list(between string) string {
	var parts []string
	for _, s := range j.Streams {
		parts = append(parts, fmt.Sprintf("%dx%d", s.S, s.D))
	}
	return strings.Join(parts, between)
}

func (j *FuseJob) Keys() []Key {
	return keysWith(keysOf("B", j.B, "T", j.T, "streams", j.list("+")), j.types(), j.rest())
}

func (j *FuseJob) check() error {
	err := errors.Join(within("B", j.B, 1, 1<<30), within("T", j.T, 1, 1<<30), within("streams", len(j.Streams), 1, ops.MaxStreams), j.Form.check())
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
	value, timestamp := j.sizes()
	b, t, d := int64(j.B), int64(j.T), int64(0)
	w := &work{limit: true, read: b * t * timestamp}
	each := b * t * timestamp
	for _, s := range j.Streams {
		each += b * int64(s.S) * (int64(s.D)*value + timestamp)
		d += int64(s.D)
	}
	w.written = b*t*d*value + j.masks(b*t*int64(len(j.Streams)))
	w.sets = r.sets(each + w.written)
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }

	rng := rand.New(rand.NewPCG(seed, 4))
	marks, err := j.targets(rng, j.B, j.T)
	if err != nil {
		return nil, err
	}
	targets, err := r.put(w, marks, nil)
	if err != nil {
		return fail(err)
	}
	var src, times []*tensor.Tensor
	for _, s := range j.Streams {
		host, err1 := values(rng, dtype, j.B, s.S, s.D)
		v, err1 := r.put(w, host, err1)
		ticks, err2 := j.timestamps(rng, j.B, s.S, "even")
		c, err2 := r.put(w, ticks, err2)
		if err := errors.Join(err1, err2); err != nil {
			return fail(err)
		}
		w.read += leastValues(&j.Form, []ops.Channel{{Hi: s.D}}, ticks, marks)*value + b*int64(s.S)*timestamp
		src, times = append(src, v), append(times, c)
	}
	dst, err1 := r.alloc(w, dtype, w.sets, j.B, j.T, int(d))
	valid, age, err2 := j.outputs(r, w, j.B, j.T, len(j.Streams))
	if err := errors.Join(err1, err2); err != nil {
		return fail(err)
	}
	w.outputs = present(dst, valid, age)
	err = r.plans(w, func(i int) (*ops.Plan, error) {
		args := ops.FuseArgs{Dst: at(dst, i), Valid: maybeAt(valid, i), Age: maybeAt(age, i), Targets: ops.At(at(targets, i))}
		for k := range src {
			args.Streams = append(args.Streams, ops.FuseStream{Src: at(src[k], i), SrcTimes: at(times[k], i), Options: ops.ResampleOptions{MaxGap: limitOfMillis(j.MaxGap)}})
		}
		return r.dev.PlanFuse(args, ops.FuseOptions{Launch: r.opt.Launch})
	})
	if err != nil {
		return fail(err)
	}
	return w, nil
}
