package policy

import (
	"context"
	"fmt"
	"math"

	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

const (
	ridgeFolds = 8    // of cross-validation at most, an episode a fold where there are no more
	ridgeWidth = 1024 // inputs at most: its sums grow with their square
	ridgeMost  = 20000
)

// ridgeLambdas are those that it chooses from, for inputs of deviation 1.
func ridgeLambdas() (list []float64) {
	for i := range 11 {
		list = append(list, math.Pow(10, float64(i)/2))
	}
	return list
}

// Ridge is the skill of ridge regression on the policy's inputs, of all tokens side by side and each with deviation 1, to the same targets, for each horizon by
// itself. Cross-validation over the training episodes chooses lambda: the episodes are dealt out to 8 folds, and of each fold's windows the error is
// taken that a regression on the others leaves. It is computed in float64, from sums over the windows, of no more than about 20,000 of them.
func Ridge(ctx context.Context, c *Config, store *loader.Store) (Evaluation, error) {
	return ridge(ctx, c, store, nil)
}

// ridge is Ridge; visit, if it is not nil, has what it predicts for windows that are held out so many ticks ahead, in deviations from the last action.
func ridge(ctx context.Context, c *Config, store *loader.Store, visit func(w *Window, ticks int, y []float64)) (Evaluation, error) {
	out := Evaluation{Episodes: c.HoldOut}
	width := len(c.Inputs) * c.Recipe.History
	if width > ridgeWidth {
		return out, &OptionError{"Ridge", fmt.Sprintf("%d inputs", width), fmt.Sprintf("at most %d", ridgeWidth)}
	}
	device, err := ops.Open("cpu")
	if err != nil {
		return out, err
	}
	defer device.Close()
	horizons := c.Recipe.Horizons()
	folds := min(len(c.Trained), ridgeFolds)
	sums := make([][]*gram, len(horizons)) // of each fold, and of the held-out episodes
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

// predictBy visits the windows that are held out with what fits predict, by ticks.
func (c *Config) predictBy(ctx context.Context, device *ops.Device, store *loader.Store, fits map[int][]float64, visit func(w *Window, ticks int, y []float64)) error {
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

// chosen is the lambda that leaves the least error in the folds, and what it fits to all. Of one fold it is the middle one.
func chosen(folds []*gram) (float64, []float64, error) {
	all := newGram(folds[0].inputs, folds[0].outputs)
	for _, g := range folds {
		all.plus(g, 1)
	}
	lambdas := ridgeLambdas()
	best, least := lambdas[len(lambdas)/2], math.Inf(1)
	if len(folds) > 1 {
		for _, lambda := range lambdas {
			left := 0.0
			for _, g := range folds {
				rest := newGram(all.inputs, all.outputs)
				rest.plus(all, 1)
				rest.plus(g, -1)
				fit, err := rest.ridge(lambda)
				if err != nil {
					return 0, nil, err
				}
				left += g.squared(fit)
			}
			if left < least {
				best, least = lambda, left
			}
		}
	}
	fit, err := all.ridge(best)
	return best, fit, err
}

// gram are sums over windows: of z·zᵀ, of which the lower triangle counts, of z·yᵀ and of y², where z is 1 and then the inputs.
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
		to := g.zz[i*(g.inputs+1):]
		to[0] += v
		for j, u := range x[:i] {
			to[j+1] += v * u
		}
		out := g.zy[i*g.outputs:]
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

// at is an element of z·zᵀ.
func (g *gram) at(i, j int) float64 {
	if i < j {
		i, j = j, i
	}
	return g.zz[i*(g.inputs+1)+j]
}

// ridge is what minimises the squares plus lambda times the squares of the coefficients of inputs that have mean 0 and deviation 1, [Z,outputs] for inputs
// as they are. Inputs that do not vary have the coefficient 0.
func (g *gram) ridge(lambda float64) ([]float64, error) {
	n, out := g.inputs, g.outputs
	fit := make([]float64, (n+1)*out)
	if g.n == 0 {
		return fit, nil
	}
	var use []int
	var mean, std []float64
	for i := 1; i <= n; i++ {
		m := g.at(i, 0) / g.n
		if s := math.Sqrt(max(g.at(i, i)/g.n-m*m, 0)); s > constant {
			use, mean, std = append(use, i), append(mean, m), append(std, s)
		}
	}
	d := len(use)
	a, b := make([]float64, d*d), make([]float64, d*out)
	for i, p := range use {
		for j, q := range use[:i+1] {
			a[i*d+j] = (g.at(p, q) - g.n*mean[i]*mean[j]) / (std[i] * std[j])
		}
		a[i*d+i] += lambda
		for k := range out {
			b[i*out+k] = (g.zy[p*out+k] - mean[i]*g.zy[k]) / std[i]
		}
	}
	if err := cholesky(a, b, d, out); err != nil {
		return nil, err
	}
	for k := range out {
		fit[k] = g.zy[k] / g.n
		for i, p := range use {
			v := b[i*out+k] / std[i]
			fit[p*out+k] = v
			fit[k] -= v * mean[i]
		}
	}
	return fit, nil
}

// cholesky solves a·x = b in place of b: a is symmetric, positive definite and [d,d], of which the lower triangle counts and is lost.
func cholesky(a, b []float64, d, columns int) error {
	for i := range d {
		for j := range i + 1 {
			s := a[i*d+j]
			for k, v := range a[i*d : i*d+j] {
				s -= v * a[j*d+k]
			}
			switch {
			case j < i:
				a[i*d+j] = s / a[j*d+j]
			case s > 0:
				a[i*d+i] = math.Sqrt(s)
			default:
				return &OptionError{"Ridge", "inputs that are not finite, or depend on each other", "finite ones"}
			}
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

// squared is the sum of squares that a fit leaves in the windows of the sums.
func (g *gram) squared(fit []float64) float64 {
	left := g.yy
	for k := range g.outputs {
		for i := range g.inputs + 1 {
			v := fit[i*g.outputs+k]
			if v == 0 {
				continue
			}
			half := 0.0
			for j := range i {
				half += g.zz[i*(g.inputs+1)+j] * fit[j*g.outputs+k]
			}
			left += v * (2*half + g.zz[i*(g.inputs+1)+i]*v - 2*g.zy[i*g.outputs+k])
		}
	}
	return max(left, 0)
}
