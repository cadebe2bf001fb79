package policy

import (
	"context"
	"fmt"
	"math"

	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

const (
	ridgeFolds = 8    // at most, for cross-validation; fewer if there are fewer episodes
	ridgeWidth = 1024 // at most as many inputs, because the sums grow with their square
	ridgeMost  = 20000
)

// ridgeLambdas returns the candidates for lambda, for inputs with deviation 1.
func ridgeLambdas() (list []float64) {
	for i := range 11 {
		list = append(list, math.Pow(10, float64(i)/2))
	}
	return list
}

// Ridge returns the skill of ridge regression on the held-out episodes, as a baseline. It predicts the policy's targets from the
// policy's inputs, with the tokens side by side, and has a separate fit for each horizon. Inputs are scaled to standard deviation
// 1.
//
// Cross-validation over the training episodes chooses lambda: the episodes are dealt out to at most 8 folds, and each fold's
// error comes from a fit to the others. Sums are float64. If the training episodes have more than 20,000 windows, only every n-th
// of them is used, so that at most about 20,000 remain. More than 1024 inputs are an *OptionError.
func Ridge(ctx context.Context, c *Config, store *store.Store) (Evaluation, error) {
	return ridge(ctx, c, store, nil)
}

// ridge is Ridge. visit, if not nil, is called with its predictions for held-out windows at each horizon: differences to the last action,
// in deviations.
func ridge(ctx context.Context, c *Config, store *store.Store, visit func(w *Window, ticks int, y []float64)) (Evaluation, error) {
	out := Evaluation{Episodes: c.HoldOut}
	width := len(c.Inputs) * c.Recipe.History
	if width > ridgeWidth {
		return out, refuse("Ridge", fmt.Sprintf("%d inputs", width), fmt.Sprintf("at most %d", ridgeWidth))
	}
	device, err := ops.Open("cpu")
	if err != nil {
		return out, err
	}
	defer device.Close()
	horizons := c.Recipe.Horizons()
	folds := min(len(c.Trained), ridgeFolds)
	sums := make([][]*gram, len(horizons)) // one for each fold, then one for the held-out episodes
	for h := range sums {
		for range folds + 1 {
			sums[h] = append(sums[h], newGram(width, len(c.Targets)))
		}
	}
	add := func(episodes []int, fold func(w *Window) int) error {
		if len(episodes) == 0 {
			return nil
		}
		l, err := c.loader(ctx, device, store, episodes)
		if err != nil {
			return err
		}
		defer l.Close()
		x, y := make([]float64, width), make([]float64, len(c.Targets))
		every := 1 + l.Report().Windows/ridgeMost
		seen := 0
		return c.each(ctx, l, func(w *Window) error {
			if seen++; fold(w) < folds && seen%every != 0 {
				return nil
			}
			c.normalised(w, x)
			for h, k := range horizons {
				if !w.Counts[k-1] {
					continue
				}
				for j := range y {
					y[j] = (w.Actions[(k-1)*len(y)+j] - w.Last[j]) / c.Targets[j].Std
				}
				sums[h][fold(w)].add(x, y)
			}
			return ctx.Err()
		})
	}
	place := map[int]int{}
	for i, n := range c.Trained {
		place[n] = i % folds
	}
	if err := add(c.Trained, func(w *Window) int { return place[w.Episode] }); err != nil {
		return out, err
	}
	if err := add(c.HoldOut, func(*Window) int { return folds }); err != nil {
		return out, err
	}
	fits := map[int][]float64{}
	for h, k := range horizons {
		lambda, fit, err := chosen(sums[h][:folds])
		if err != nil {
			return out, err
		}
		fits[k] = fit
		held := sums[h][folds]
		n := held.n * float64(len(c.Targets))
		s := Skill{Ticks: k, Windows: int(held.n), Lambda: lambda}
		if n > 0 {
			s.MSE, s.Hold = held.squared(fit)/n, held.yy/n
		}
		out.Skills = append(out.Skills, s.of())
	}
	if visit == nil || len(c.HoldOut) == 0 {
		return out, nil
	}
	return out, c.predictBy(ctx, device, store, fits, visit)
}

// predictBy calls visit with the predictions for held-out windows. fits has the coefficients by horizon.
func (c *Config) predictBy(ctx context.Context, device *ops.Device, store *store.Store, fits map[int][]float64, visit func(w *Window, ticks int, y []float64)) error {
	l, err := c.loader(ctx, device, store, c.HoldOut)
	if err != nil {
		return err
	}
	defer l.Close()
	x, y := make([]float64, len(c.Inputs)*c.Recipe.History), make([]float64, len(c.Targets))
	return c.each(ctx, l, func(w *Window) error {
		c.normalised(w, x)
		for k, fit := range fits {
			if !w.Counts[k-1] {
				continue
			}
			copy(y, fit)
			for i, v := range x {
				for j := range y {
					y[j] += v * fit[(i+1)*len(y)+j]
				}
			}
			visit(w, k, y)
		}
		return ctx.Err()
	})
}

// chosen returns the lambda with the smallest error over the folds, and the coefficients fitted to all. With one fold, it is the middle
// candidate.
func chosen(folds []*gram) (float64, []float64, error) {
	all := newGram(folds[0].inputs, folds[0].outputs)
	for _, g := range folds {
		all.plus(g, 1)
	}
	lambdas := ridgeLambdas()
	best, least := lambdas[len(lambdas)/2], math.Inf(1)
	if len(folds) > 1 {
		left := make([]float64, len(lambdas))
		for _, g := range folds {
			rest := newGram(all.inputs, all.outputs)
			rest.plus(all, 1)
			rest.plus(g, -1)
			r := rest.regression()
			for i, lambda := range lambdas {
				fit, err := r.ridge(lambda)
				if err != nil {
					return 0, nil, err
				}
				left[i] += g.squared(fit)
			}
		}
		for i, lambda := range lambdas {
			if left[i] < least {
				best, least = lambda, left[i]
			}
		}
	}
	fit, err := all.regression().ridge(best)
	return best, fit, err
}

// gram has sums over windows: z·zᵀ (its lower triangle), z·yᵀ and y². z is 1 followed by the inputs, and y the outputs.
type gram struct {
	inputs, outputs int
	n, yy           float64
	zz              []float64 // [Z,Z]
	zy              []float64 // [Z,outputs]
}

func newGram(inputs, outputs int) *gram {
	z := inputs + 1
	return &gram{inputs: inputs, outputs: outputs, zz: make([]float64, z*z), zy: make([]float64, z*outputs)}
}

func (g *gram) add(x, y []float64) {
	g.n++
	row := func(i int, v float64) {
		if v == 0 {
			return
		}
		to, x := g.zz[i*(g.inputs+1):][:i+1], x[:i]
		to[0] += v
		to = to[1:][:len(x)]
		for j, u := range x {
			to[j] += v * u
		}
		out := g.zy[i*g.outputs:][:len(y)]
		for j, u := range y {
			out[j] += v * u
		}
	}
	row(0, 1)
	for i, v := range x {
		row(i+1, v)
	}
	for _, v := range y {
		g.yy += v * v
	}
}

func (g *gram) plus(o *gram, sign float64) {
	g.n, g.yy = g.n+sign*o.n, g.yy+sign*o.yy
	for i, v := range o.zz {
		g.zz[i] += sign * v
	}
	for i, v := range o.zy {
		g.zy[i] += sign * v
	}
}

// at returns an element of z·zᵀ.
func (g *gram) at(i, j int) float64 {
	if i < j {
		i, j = j, i
	}
	return g.zz[i*(g.inputs+1)+j]
}

// regression has the sums for inputs with mean 0 and deviation 1, without constant inputs.
type regression struct {
	*gram
	use       []int // the inputs that vary, counted from 1
	mean, std []float64
	a, b      []float64 // a is [D,D], its lower triangle, and b [D,outputs]
	room      [2][]float64
}

func (g *gram) regression() *regression {
	r := &regression{gram: g}
	for i := 1; i <= g.inputs && g.n > 0; i++ {
		m := g.at(i, 0) / g.n
		if s := math.Sqrt(max(g.at(i, i)/g.n-m*m, 0)); s > constant {
			r.use, r.mean, r.std = append(r.use, i), append(r.mean, m), append(r.std, s)
		}
	}
	d, out := len(r.use), g.outputs
	r.a, r.b = make([]float64, d*d), make([]float64, d*out)
	for i, p := range r.use {
		for j, q := range r.use[:i+1] {
			r.a[i*d+j] = (g.at(p, q) - g.n*r.mean[i]*r.mean[j]) / (r.std[i] * r.std[j])
		}
		for k := range out {
			r.b[i*out+k] = (g.zy[p*out+k] - r.mean[i]*g.zy[k]) / r.std[i]
		}
	}
	return r
}

// ridge minimises the squared error plus lambda times the squared coefficients for normalised inputs, without the constant term. It
// returns the coefficients [Z,outputs] converted to inputs that are not normalised; row 0 is the constant term. Constant inputs have 0.
func (r *regression) ridge(lambda float64) ([]float64, error) {
	out, d := r.outputs, len(r.use)
	fit := make([]float64, (r.inputs+1)*out)
	if r.n == 0 {
		return fit, nil
	}
	a, b := append(r.room[0][:0], r.a...), append(r.room[1][:0], r.b...)
	r.room = [2][]float64{a, b}
	for i := range d {
		a[i*d+i] += lambda
	}
	if err := cholesky(a, b, d, out); err != nil {
		return nil, err
	}
	for k := range out {
		fit[k] = r.zy[k] / r.n
		for i, p := range r.use {
			v := b[i*out+k] / r.std[i]
			fit[p*out+k] = v
			fit[k] -= v * r.mean[i]
		}
	}
	return fit, nil
}

// cholesky solves a·x = b and writes x to b. a is [d,d], symmetric and positive definite; only its lower triangle is read, and it is
// overwritten.
func cholesky(a, b []float64, d, columns int) error {
	for j := range d { // column by column, four rows at a time, because their sums are independent
		top := a[j*d:][:j]
		s := a[j*d+j]
		for _, v := range top {
			s -= v * v
		}
		if !(s > 0) {
			return refuse("Ridge", "inputs that are not finite, or depend on each other", "finite ones")
		}
		root := math.Sqrt(s)
		a[j*d+j] = root
		i := j + 1
		for ; i+4 <= d; i += 4 {
			r0, r1, r2, r3 := a[i*d:][:j+1], a[(i+1)*d:][:j+1], a[(i+2)*d:][:j+1], a[(i+3)*d:][:j+1]
			s0, s1, s2, s3 := r0[j], r1[j], r2[j], r3[j]
			for k, v := range top {
				s0 -= r0[k] * v
				s1 -= r1[k] * v
				s2 -= r2[k] * v
				s3 -= r3[k] * v
			}
			r0[j], r1[j], r2[j], r3[j] = s0/root, s1/root, s2/root, s3/root
		}
		for ; i < d; i++ {
			row := a[i*d:][:j+1]
			s := row[j]
			for k, v := range top {
				s -= row[k] * v
			}
			row[j] = s / root
		}
	}
	axpy := func(to, from int, v float64) {
		x := b[from*columns : (from+1)*columns]
		for k, u := range x {
			b[to*columns+k] -= v * u
		}
	}
	scale := func(i int) {
		for k := range columns {
			b[i*columns+k] /= a[i*d+i]
		}
	}
	for i := range d {
		for j := range i {
			axpy(i, j, a[i*d+j])
		}
		scale(i)
	}
	for i := d - 1; i >= 0; i-- {
		for j := i + 1; j < d; j++ {
			axpy(i, j, a[j*d+i])
		}
		scale(i)
	}
	return nil
}

// squared returns the squared error of a fit over the windows in the sums.
func (g *gram) squared(fit []float64) float64 {
	terms := make([]float64, g.outputs*(g.inputs+1)) // summed in the order of the outputs
	half := make([]float64, g.outputs)
	for i := range g.inputs + 1 {
		clear(half)
		row := g.zz[i*(g.inputs+1):][:i+1]
		for j, z := range row[:i] {
			for k, v := range fit[j*g.outputs:][:len(half)] {
				half[k] += z * v
			}
		}
		for k, h := range half {
			if v := fit[i*g.outputs+k]; v != 0 {
				terms[k*(g.inputs+1)+i] = v * (2*h + row[i]*v - 2*g.zy[i*g.outputs+k])
			}
		}
	}
	left := g.yy
	for _, t := range terms {
		left += t
	}
	return max(left, 0)
}
