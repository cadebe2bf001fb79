package benchmark

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// ResampleJob is a Resample of B rows of S samples onto T targets of D features.
type ResampleJob struct {
	B, S, T, D int
	Values     string `json:"values,omitempty"` // bf16 unless given
	Times      string `json:"times,omitempty"`  // f32 unless given
	Kind       string `json:"kind,omitempty"`   // linear unless given
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

func (j *ResampleJob) Suite() string { return "resample" }

// Name is BxS->TxD, and what is not the default.
func (j *ResampleJob) Name() string {
	name := fmt.Sprintf("%dx%d->%dx%d", j.B, j.S, j.T, j.D)
	for _, s := range []string{j.Values, j.Times, j.Kind} {
		if s != "" {
			name += " " + s
		}
	}
	return name
}

func (j *ResampleJob) Keys() []Key {
	keys := keysOf("B", j.B, "S", j.S, "T", j.T, "D", j.D)
	for _, k := range []Key{{"values", j.Values}, {"times", j.Times}, {"kind", j.Kind}} {
		if k.Value != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

func (j *ResampleJob) check() error {
	_, err1 := valueType(j.Values)
	_, err2 := timeType(j.Times)
	_, err3 := j.kind()
	const most = 1 << 30
	return errors.Join(within("B", j.B, 1, most), within("S", j.S, 2, most), within("T", j.T, 1, most), within("D", j.D, 1, most),
		within("B*D*(S+T)", j.B*j.D*(j.S+j.T), 1, 1<<36), err1, err2, err3)
}

func (j *ResampleJob) kind() (ops.Kind, error) {
	if j.Kind == "" {
		return ops.Linear, nil
	}
	k, err := ops.ParseKind(j.Kind)
	if err != nil {
		return k, &InputError{"kind", fmt.Sprintf("%q", j.Kind), "a kind of Resample"}
	}
	return k, nil
}

func (j *ResampleJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	dtype, _ := valueType(j.Values)
	ticks, _ := timeType(j.Times)
	kind, _ := j.kind()
	value, stamp := int64(dtype.Size()), int64(ticks.Size())
	b, s, t, d := int64(j.B), int64(j.S), int64(j.T), int64(j.D)
	// Two rows a target are enough where there are fewer targets than rows; the stamps are all read, to be checked.
	w := &work{limit: true, read: min(b*s, 2*b*t)*d*value + b*(s+t)*stamp, written: b * t * d * value}
	w.sets = r.sets(b*d*(s+t)*value + b*(s+t)*stamp)
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }

	rng := rand.New(rand.NewPCG(seed, 2))
	var dev [4]*tensor.Tensor // values, stamps, targets, output
	for i, shape := range [][]int{{j.B, j.S, j.D}, {j.B, j.S}, {j.B, j.T}, {j.B, j.T, j.D}} {
		t := ticks
		if len(shape) == 3 {
			t = dtype
		}
		var err error
		if dev[i], err = r.alloc(w, t, append([]int{w.sets}, shape...)...); err != nil {
			return fail(err)
		}
	}
	src, err1 := values(rng, dtype, j.B, j.S, j.D)
	times, err2 := stamps(rng, ticks, j.B, j.S)
	targets, err3 := stamps(nil, ticks, j.B, j.T)
	if err := errors.Join(err1, err2, err3); err != nil {
		return fail(err)
	}
	if err := errors.Join(r.fill(dev[0], src), r.fill(dev[1], times), r.fill(dev[2], targets)); err != nil {
		return fail(err)
	}
	err := r.plans(w, func(i int) (ops.Plan, error) {
		return r.dev.PlanResample(ops.ResampleArgs{
			Dst: at(dev[3], i), Src: at(dev[0], i), SrcTimes: at(dev[1], i), Targets: ops.At(at(dev[2], i)),
		}, ops.ResampleOptions{Kind: kind, Launch: r.opt.Launch})
	})
	if err != nil {
		return fail(err)
	}
	return w, nil
}
