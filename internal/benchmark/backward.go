package benchmark

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// BackwardJob is the gradient of a linear ResampleJob with respect to its values: from B rows with T targets to B rows with S samples.
type BackwardJob struct {
	B, S, T, D int
	Values     string `json:"values,omitempty"` // dtype of both gradients; default bf16
	Times      string `json:"times,omitempty"`  // dtype of all times; default f32
}

var backwardSuite = suite{
	name: "backward", about: "the gradient of resampling with respect to values: linear, bf16",
	jobs: func() []Job {
		return []Job{
			&BackwardJob{B: 64, S: 1000, T: 500, D: 512, Times: "i64"},
			&BackwardJob{B: 256, S: 500, T: 250, D: 32, Times: "i64"},
			&BackwardJob{B: 256, S: 500, T: 250, D: 14, Values: "f32", Times: "i64"},
			&BackwardJob{B: 64, S: 500, T: 2000, D: 64, Times: "i64"},
		}
	},
	empty: func() Job { return &BackwardJob{} },
	random: func(rng *rand.Rand) Job {
		for {
			j := &BackwardJob{B: logUniform(rng, 1, 512), S: logUniform(rng, 2, 8192), T: logUniform(rng, 1, 8192), D: logUniform(rng, 1, 1024)}
			j.Values, j.Times = []string{"", "f16", "f32"}[rng.IntN(3)], []string{"", "i64", "f64"}[rng.IntN(3)]
			if j.B*j.D*(j.S+j.T) <= 1<<28 {
				return j
			}
		}
	},
}

func (j *BackwardJob) form() *Form { return &Form{Values: j.Values, Times: j.Times} }

func (j *BackwardJob) Suite() string { return "backward" }

// Name returns BxS<-TxD, followed by options that differ from the default.
func (j *BackwardJob) Name() string {
	return words(fmt.Sprintf("%dx%d<-%dx%d", j.B, j.S, j.T, j.D), j.form().types())
}

func (j *BackwardJob) Keys() []Key {
	return keysWith(keysOf("B", j.B, "S", j.S, "T", j.T, "D", j.D), j.form().types())
}

func (j *BackwardJob) check() error {
	const most = 1 << 30
	return errors.Join(within("B", j.B, 1, most), within("S", j.S, 2, most), within("T", j.T, 1, most), within("D", j.D, 1, most),
		within("B*D*(S+T)", j.B*j.D*(j.S+j.T), 1, 1<<36), j.form().check())
}

func (j *BackwardJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	f := j.form()
	dtype, _ := valueType(j.Values)
	value, timestamp := f.sizes()
	b, s, t, d := int64(j.B), int64(j.S), int64(j.T), int64(j.D)
	// Every gradient is read and written once. The timestamps on both sides are read too, because they are checked.
	w := &work{limit: true, read: b*t*d*value + b*(s+t)*timestamp, written: b * s * d * value}
	w.sets = r.sets(w.read + w.written)
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }

	rng := rand.New(rand.NewPCG(seed, 5))
	grad, err1 := values(rng, dtype, j.B, j.T, j.D)
	times, err2 := f.timestamps(rng, j.B, j.S, "jittered")
	targets, err3 := f.targets(rng, j.B, j.T)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	var dev [3]*tensor.Tensor
	for i, h := range []*tensor.Tensor{grad, times, targets} {
		var err error
		if dev[i], err = r.put(w, h, nil); err != nil {
			return fail(err)
		}
	}
	out, err := r.alloc(w, dtype, w.sets, j.B, j.S, j.D)
	if err != nil {
		return fail(err)
	}
	w.outputs = present(out)
	err = r.plans(w, func(i int) (*ops.Plan, error) {
		return r.dev.PlanResampleBackward(ops.ResampleBackwardArgs{SrcGrad: at(out, i), DstGrad: at(dev[0], i), SrcTimes: at(dev[1], i), Targets: ops.At(at(dev[2], i))},
			ops.ResampleOptions{Launch: r.opt.Launch})
	})
	if err != nil {
		return fail(err)
	}
	return w, nil
}
