package policy

import (
	"context"
	"errors"
	"slices"

	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
)

// evaluated is the number of windows in a batch that is compared.
const evaluated = 64

// Skill is the quality of the predictions at one horizon, Ticks. The package comment has the formula. Its JSON names are a
// contract.
type Skill struct {
	Ticks   int     `json:"ticks"`
	Windows int     `json:"windows"` // the number of windows with a recorded action at the horizon
	MSE     float64 `json:"mse"`
	Hold    float64 `json:"mse_hold"`
	Skill   float64 `json:"skill"`
	Lambda  float64 `json:"lambda,omitempty"` // the chosen lambda, if a ridge made the predictions
	// Columns has the skill for each action column. It is empty for a ridge.
	Columns []ColumnSkill `json:"columns,omitempty"`
}

// ColumnSkill is the skill for one action column. Skill does not depend on Std, because Std cancels in the quotient.
type ColumnSkill struct {
	Name  string  `json:"name"`
	Std   float64 `json:"std"` // the divisor of this column's errors in Skill.MSE
	MSE   float64 `json:"mse"` // squared, in the column's unit
	Hold  float64 `json:"mse_hold"`
	Skill float64 `json:"skill"`
}

// of sets Skill. It is 0 if nothing moves.
func (s Skill) of() Skill {
	if s.Skill = 0; s.Hold > 0 {
		s.Skill = 1 - s.MSE/s.Hold
	}
	return s
}

// Evaluation is the skill on some episodes, at each horizon.
type Evaluation struct {
	Episodes []int   `json:"episodes"` // the numbers of the episodes
	Skills   []Skill `json:"skills"`
	// Loss is the mean squared error over all ticks with a recorded action, in squared standard deviations as in training; 0 for a
	// ridge, and if there are none.
	Loss float64 `json:"loss,omitempty"`
}

// At returns the skill at a horizon in ticks, or 0 if there is none.
func (e *Evaluation) At(ticks int) float64 {
	for _, s := range e.Skills {
		if s.Ticks == ticks {
			return s.Skill
		}
	}
	return 0
}

// tally adds up the errors at each horizon.
type tally struct {
	c      *Config
	skills []Skill
	errors moments // squared errors, in squared standard deviations
}

func newTally(c *Config) *tally {
	t := &tally{c: c}
	for _, k := range c.Recipe.Horizons() {
		s := Skill{Ticks: k}
		for _, y := range c.Targets {
			s.Columns = append(s.Columns, ColumnSkill{Name: y.Name, Std: y.Std})
		}
		t.skills = append(t.skills, s)
	}
	return t
}

// add adds a window and its predicted chunk [C,A].
func (t *tally) add(w *Window, chunk []float64) {
	a := len(t.c.Targets)
	for i, v := range chunk {
		if w.Counts[i/a] {
			e := (v - w.Actions[i]) / t.c.Targets[i%a].Std
			t.errors.add(e * e)
		}
	}
	for i := range t.skills {
		s := &t.skills[i]
		if !w.Counts[s.Ticks-1] {
			continue
		}
		s.Windows++
		for j := range a {
			at, std := (s.Ticks-1)*a+j, t.c.Targets[j].Std
			e, h := chunk[at]-w.Actions[at], w.Last[j]-w.Actions[at]
			s.Columns[j].MSE += e * e
			s.Columns[j].Hold += h * h
			e, h = e/std, h/std
			s.MSE += e * e
			s.Hold += h * h
		}
	}
}

func (t *tally) done(episodes []int) Evaluation {
	e := Evaluation{Episodes: episodes}
	e.Loss, _ = t.errors.stats()
	for _, s := range t.skills {
		if n := float64(s.Windows * len(t.c.Targets)); n > 0 {
			s.MSE, s.Hold = s.MSE/n, s.Hold/n
		}
		s.Columns = slices.Clone(s.Columns)
		for j := range s.Columns {
			y := &s.Columns[j]
			if n := float64(s.Windows); n > 0 {
				y.MSE, y.Hold = y.MSE/n, y.Hold/n
			}
			y.Skill = Skill{MSE: y.MSE, Hold: y.Hold}.of().Skill
		}
		e.Skills = append(e.Skills, s.of())
	}
	return e
}

// evaluate compares a model's predictions with the recorded actions in some episodes of a store. visit, if not nil, is called with each
// window and its predicted chunk [C,A], in the action's unit. Both are reused.
func evaluate(ctx context.Context, c *Config, m *nn.Model, store *store.Store, episodes []int, visit func(w *Window, chunk []float64) error) (_ Evaluation, err error) {
	t := newTally(c)
	if len(episodes) == 0 {
		return t.done([]int{}), nil
	}
	l, err := c.loader(ctx, m.Device(), store, episodes)
	if err != nil {
		return Evaluation{}, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := c.fits(l); err != nil {
		return Evaluation{}, err
	}
	n, err := newNetwork(ctx, c, m, evaluated, sourcesOf(c, l.Batch()), l.Run)
	if err != nil {
		return Evaluation{}, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	w, chunk := c.newWindow(), make([]float64, c.Recipe.Chunk*len(c.Targets))
	for range l.Report().Batches {
		if err := ctx.Err(); err != nil {
			return Evaluation{}, err
		}
		predicted, err := n.predict(ctx)
		if err != nil {
			return Evaluation{}, err
		}
		h, err := c.hostOf(ctx, l, l.Batch())
		if err != nil {
			return Evaluation{}, err
		}
		for row := range evaluated {
			there, err := h.window(row, w)
			if err != nil {
				return Evaluation{}, err
			}
			if !there || !w.Known {
				continue
			}
			if err := c.actions(n.row(predicted, row), w.Last, chunk); err != nil {
				return Evaluation{}, err
			}
			t.add(w, chunk)
			if visit != nil {
				if err := visit(w, chunk); err != nil {
					return Evaluation{}, err
				}
			}
		}
	}
	return t.done(episodes), nil
}

// Mean returns the skill on the held-out episodes if the prediction for every tick is the mean action of the training episodes.
func Mean(ctx context.Context, c *Config, store *store.Store) (_ Evaluation, err error) {
	device, err := ops.Open("cpu")
	if err != nil {
		return Evaluation{}, err
	}
	defer device.Close()
	each := func(episodes []int, visit func(w *Window) error) error {
		l, err := c.loader(ctx, device, store, episodes)
		if err != nil {
			return err
		}
		defer l.Close()
		return c.each(ctx, l, visit)
	}
	a := len(c.Targets)
	sums, t, chunk := make([]moments, a), newTally(c), make([]float64, c.Recipe.Chunk*a)
	err = each(c.Trained, func(w *Window) error {
		for j := range a {
			sums[j].add(w.Last[j])
		}
		return nil
	})
	for i := range chunk {
		chunk[i], _ = sums[i%a].stats()
	}
	if err == nil && len(c.HoldOut) > 0 {
		err = each(c.HoldOut, func(w *Window) error { t.add(w, chunk); return nil })
	}
	return t.done(c.HoldOut), err
}

// actions converts a predicted chunk to the action's unit. A value that is not finite is a *PredictionError.
func (c *Config) actions(predicted []float32, last, chunk []float64) error {
	for i := range chunk {
		y := &c.Targets[i%len(c.Targets)]
		chunk[i] = float64(predicted[i])*y.Std + y.Mean
		if y.Relative >= 0 {
			chunk[i] += last[y.Relative]
		}
		if !finite(chunk[i]) {
			return &PredictionError{Column: y.Name, Got: chunk[i]}
		}
	}
	return nil
}
