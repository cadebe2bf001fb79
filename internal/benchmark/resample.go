package benchmark

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// ResampleJob is a Resample from B rows with S samples onto T targets with D features.
type ResampleJob struct {
	B, S, T, D int
	Form
	Kind     string         `json:"kind,omitempty"`      // for all features; default linear
	Channels []ChannelShape `json:"channels,omitempty"`  // instead of Kind: in order, they are the D features
	Window   float64        `json:"window_ms,omitempty"` // for kinds that reduce a window

	suite string // default resample
}

// ChannelShape is D features with one kind.
type ChannelShape struct {
	Kind string `json:"kind"`
	D    int
}

var resampleSuite = suite{
	name: "resample", about: "one operation's plan: linear, bf16 values, f32 times",
	jobs: func() []Job {
		var out []Job
		for _, d := range [][4]int{{64, 4096, 1024, 32}, {32, 500, 250, 256}, {256, 500, 250, 32}, {64, 1000, 500, 512}, {256, 4096, 4096, 256},
			{8, 250, 128, 128}, {4, 100, 50, 32}} {
			out = append(out, &ResampleJob{B: d[0], S: d[1], T: d[2], D: d[3]})
		}
		return out
	},
	empty: func() Job { return &ResampleJob{} },
	random: func(rng *rand.Rand) Job {
		for {
			j := &ResampleJob{B: logUniform(rng, 1, 512), S: logUniform(rng, 2, 8192), T: logUniform(rng, 1, 8192), D: logUniform(rng, 1, 1024)}
			if j.B*j.D*(j.S+j.T) <= 1<<28 {
				return j
			}
		}
	},
}

func (j *ResampleJob) Suite() string { return cmp.Or(j.suite, "resample") }

// Name returns BxS->TxD, followed by options that differ from the default.
func (j *ResampleJob) Name() string {
	return words(fmt.Sprintf("%dx%d->%dx%d", j.B, j.S, j.T, j.D), j.types(), j.kinds(), j.rest())
}

func (j *ResampleJob) Keys() []Key {
	return keysWith(keysOf("B", j.B, "S", j.S, "T", j.T, "D", j.D), j.types(), j.kinds(), j.rest())
}

// kinds returns the interpolation's tags, if it is not linear.
func (j *ResampleJob) kinds() []tag {
	var out []tag
	if j.Kind != "" {
		out = append(out, tag{Key{"kind", j.Kind}, j.Kind})
	}
	var parts []string
	for _, c := range j.Channels {
		parts = append(parts, fmt.Sprintf("%s:%d", c.Kind, c.D))
	}
	if list := strings.Join(parts, "+"); list != "" {
		out = append(out, tag{Key{"channels", list}, list})
	}
	if j.Window != 0 {
		ms := fmt.Sprintf("%gms", j.Window)
		out = append(out, tag{Key{"window", ms}, "window:" + ms})
	}
	return out
}

func (j *ResampleJob) check() error {
	const most = 1 << 30
	err := errors.Join(within("B", j.B, 1, most), within("S", j.S, 2, most), within("T", j.T, 1, most), within("D", j.D, 1, most),
		within("B*D*(S+T)", j.B*j.D*(j.S+j.T), 1, 1<<36), j.Form.check(), millis("window_ms", j.Window))
	if err == nil {
		_, err = j.channels()
	}
	return err
}

// channels returns the job's channels in the operation's form: one for all features, unless several are given.
func (j *ResampleJob) channels() ([]ops.Channel, error) {
	list := j.Channels
	if len(list) == 0 {
		list = []ChannelShape{{cmp.Or(j.Kind, ops.InterpLinear.String()), j.D}}
	} else if j.Kind != "" {
		return nil, &InputError{"kind", fmt.Sprintf("%q beside channels", j.Kind), "one of them"}
	}
	var out []ops.Channel
	at, windowed := 0, false
	for i, c := range list {
		where := "kind"
		if len(j.Channels) > 0 {
			where = fmt.Sprintf("channel %d", i)
		}
		kind, err := ops.ParseInterp(c.Kind)
		switch {
		case err != nil:
			return nil, &InputError{where, fmt.Sprintf("%q", c.Kind), "a kind of Resample"}
		case c.D < 1 || c.D%kind.Width() != 0:
			return nil, &InputError{where, fmt.Sprintf("%d features of %v", c.D, kind), fmt.Sprintf("a multiple of %d", kind.Width())}
		case kind.Windowed() && j.Window == 0:
			return nil, &InputError{"window_ms", "0", fmt.Sprintf("more, for %v", kind)}
		}
		windowed = windowed || kind.Windowed()
		out = append(out, ops.Channel{Lo: at, Hi: at + c.D, Interp: kind, Window: limitOfMillis(j.Window)})
		at += c.D
	}
	switch {
	case at != j.D:
		return nil, &InputError{"channels", fmt.Sprintf("%d features", at), fmt.Sprintf("D of them, %d", j.D)}
	case !windowed && j.Window != 0:
		return nil, &InputError{"window_ms", fmt.Sprint(j.Window), "0, with no kind that reduces a window"}
	}
	return out, nil
}

func (j *ResampleJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	dtype, _ := valueType(j.Values)
	channels, _ := j.channels()
	value, timestamp := j.sizes()
	b, s, t, d := int64(j.B), int64(j.S), int64(j.T), int64(j.D)
	w := &work{limit: true, written: b*t*d*value + j.masks(b*t)}
	w.sets = r.sets(b*d*s*value + b*(s+t)*timestamp + w.written)
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }

	rng := rand.New(rand.NewPCG(seed, 2))
	host, err1 := channelValues(rng, dtype, channels, j.B, j.S)
	times, err2 := j.timestamps(rng, j.B, j.S, "jittered")
	targets, err3 := j.targets(rng, j.B, j.T)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	// All timestamps are read, because they are checked.
	w.read = leastValues(&j.Form, channels, times, targets)*value + b*(s+t)*timestamp
	var dev [3]*tensor.Tensor
	for i, h := range []*tensor.Tensor{host, times, targets} {
		var err error
		if dev[i], err = r.put(w, h, nil); err != nil {
			return fail(err)
		}
	}
	dst, err1 := r.alloc(w, dtype, w.sets, j.B, j.T, j.D)
	valid, age, err2 := j.outputs(r, w, j.B, j.T)
	if err := errors.Join(err1, err2); err != nil {
		return fail(err)
	}
	w.outputs = present(dst, valid, age)
	opt := ops.ResampleOptions{Channels: channels, MaxGap: limitOfMillis(j.MaxGap), Launch: r.opt.Launch}
	err := r.plans(w, func(i int) (*ops.Plan, error) {
		return r.dev.PlanResample(ops.ResampleArgs{
			Dst: at(dst, i), Valid: maybeAt(valid, i), Age: maybeAt(age, i), Src: at(dev[0], i), SrcTimes: at(dev[1], i), Targets: ops.At(at(dev[2], i)),
		}, opt)
	})
	if err != nil {
		return fail(err)
	}
	return w, nil
}
