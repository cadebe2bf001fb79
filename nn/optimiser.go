package nn

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Training has the settings by which a step changes the parameters: AdamW on all of them (Loshchilov and Hutter 2019, in torch's
// form).
type Training struct {
	Schedule    Schedule
	Beta1       float64 // the decay of the gradients' mean; 0 means 0.9
	Beta2       float64 // the decay of the mean of squared gradients; 0 means 0.999
	Eps         float64 // the smallest divisor; 0 means 1e-8
	WeightDecay float64 // by default 0; torch.optim.AdamW has 0.01
	// MaxNorm limits the norm over all gradients. If the norm is greater, all gradients are scaled down to it, as by
	// torch.nn.utils.clip_grad_norm_. 0 is no limit.
	MaxNorm float64
	Seed    uint64 // the seed for dropout
	// EMA is the power p of the decay 1-s^-p, at most 0.9999, of the parameters' moving average in step s, counted from 1. After step
	// 2^20 the decay stays. Example: 0.75. 0 is no average. See [Group.Average].
	EMA float64 `json:",omitempty"`
	// Batches is the number of batches in a step; 0 is 1. The gradient is the mean of the batches' gradients, which are computed one
	// after another, so a step needs the memory of one batch. The loss of a step is the mean too.
	Batches int `json:",omitempty"`
	// NCCL lets NVIDIA's library NCCL add up the gradients in a Group. It is for GPUs that cannot access each other's memory. The
	// order of its sums is its own. Without it the devices add up the gradients themselves, in a fixed order.
	NCCL bool
}

// Decay is the shape of the learning rate's decrease after the warm-up.
type Decay uint8

// The decays: none, half a cosine, or a straight line. The rate falls from Schedule.Rate to Schedule.Least at step Schedule.Steps
// and then stays.
const (
	Constant Decay = iota
	Cosine
	LinearDecay
)

// Schedule is the learning rate by step. It rises linearly from 0 and reaches Rate at step WarmUp. Then it falls by Decay.
// Example: {Rate: 3e-3, WarmUp: 20, Decay: Cosine, Steps: 300}.
type Schedule struct {
	Rate   float64
	WarmUp int
	Decay  Decay
	Steps  int     // the step at the end of the decay; Constant ignores it
	Least  float64 // the rate from Steps on
}

// At returns the rate at a step. Steps are counted from 1.
func (s Schedule) At(step int) float64 {
	if step < s.WarmUp {
		return s.Rate * float64(step) / float64(s.WarmUp)
	}
	if s.Decay == Constant {
		return s.Rate
	}
	part := min(float64(step-s.WarmUp)/float64(max(s.Steps-s.WarmUp, 1)), 1)
	if s.Decay == Cosine {
		part = (1 - math.Cos(math.Pi*part)) / 2
	}
	return s.Rate + (s.Least-s.Rate)*part
}

// maxSteps limits the length of a schedule, and maxBatches the batches in a step, because all are in one graph.
const maxSteps, maxBatches = 1 << 24, 256

// leastShare is the smallest share of a parameter in its moving average, and lastShare the step after which the share stays.
const leastShare, lastShare = 1e-4, 1 << 20

// share returns the parameter's share in its moving average at a step, or 0 without an average.
func (t *Training) share(step int) float64 {
	if t.EMA == 0 {
		return 0
	}
	return max(math.Pow(float64(min(step, lastShare)), -t.EMA), leastShare)
}

// batches returns the number of batches in a step.
func (t *Training) batches() int { return max(t.Batches, 1) }

// check fills in the defaults and returns an *Error for an invalid setting.
func (t *Training) check() error {
	fail := func(arg string, got any, want string) error {
		return &Error{Op: "NewStep", Arg: "Train." + arg, Kind: ops.ErrOption, Got: fmt.Sprint(got), Want: want}
	}
	preset := func(v *float64, to float64) {
		if *v == 0 {
			*v = to
		}
	}
	preset(&t.Beta1, 0.9)
	preset(&t.Beta2, 0.999)
	preset(&t.Eps, 1e-8)
	s := &t.Schedule
	positive := func(v float64) bool { return v > 0 && finite(float32(v)) }
	switch {
	case !positive(s.Rate):
		return fail("Schedule.Rate", s.Rate, "a rate above 0")
	case !(s.Least >= 0 && s.Least <= s.Rate):
		return fail("Schedule.Least", s.Least, "0 to Rate")
	case s.WarmUp < 0 || s.WarmUp > maxSteps:
		return fail("Schedule.WarmUp", s.WarmUp, fmt.Sprintf("0 to %d", maxSteps))
	case s.Decay > LinearDecay:
		return fail("Schedule.Decay", s.Decay, "Constant, Cosine or LinearDecay")
	case s.Decay != Constant && (s.Steps < 1 || s.Steps > maxSteps || s.Steps < s.WarmUp):
		return fail("Schedule.Steps", s.Steps, fmt.Sprintf("1 to %d steps, and no fewer than WarmUp", maxSteps))
	case !(t.Beta1 > 0 && t.Beta1 < 1):
		return fail("Beta1", t.Beta1, "above 0 and below 1")
	case !(t.Beta2 > 0 && t.Beta2 <= 0.99999):
		return fail("Beta2", t.Beta2, "above 0, at most 0.99999")
	case !positive(t.Eps):
		return fail("Eps", t.Eps, "above 0")
	case !(t.WeightDecay >= 0 && finite(float32(t.WeightDecay))):
		return fail("WeightDecay", t.WeightDecay, "0 or more")
	case !(t.MaxNorm >= 0 && finite(float32(t.MaxNorm))):
		return fail("MaxNorm", t.MaxNorm, "0 or more")
	case !(t.EMA >= 0 && t.EMA <= 1):
		return fail("EMA", t.EMA, "0 to 1")
	case t.Batches < 0 || t.Batches > maxBatches:
		return fail("Batches", t.Batches, fmt.Sprintf("0 to %d", maxBatches))
	}
	return nil
}

// table returns the schedule for AdamWJob. It is so long that its last row applies to every later step.
func (t *Training) table() (*tensor.Tensor, error) {
	var rows []float32
	last := max(t.Schedule.WarmUp, 1)
	if t.Schedule.Decay != Constant {
		last = t.Schedule.Steps
	}
	one, two := 0., 0. // they rise to 1, and powers take most of the time in a long schedule
	for step := 1; ; step++ {
		rate := t.Schedule.At(step)
		if one < 1 {
			one = 1 - math.Pow(t.Beta1, float64(step))
		}
		if two < 1 {
			two = 1 - math.Pow(t.Beta2, float64(step))
		}
		share := t.share(step)
		rows = append(rows, float32(rate/one), float32(math.Sqrt(two)), float32(1-rate*t.WeightDecay), float32(share))
		if step >= last && float32(one) == 1 && float32(two) == 1 && (t.EMA == 0 || share == leastShare || step >= lastShare) {
			return tensor.Of(rows, step, 4)
		}
	}
}
