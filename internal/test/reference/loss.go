package reference

import "math"

// MSE returns the mean of (y - target)² over the elements for which counts returns true. If counts is nil, all elements count.
func (t *Tape) MSE(y *Matrix, target []float64, counts func(i int) bool) float64 {
	return t.mean(y, target, counts, func(d float64) (float64, float64) { return d * d, 2 * d })
}

// L1 returns the mean of |y - target| over the elements for which counts returns true. If counts is nil, all elements count.
func (t *Tape) L1(y *Matrix, target []float64, counts func(i int) bool) float64 {
	return t.mean(y, target, counts, func(d float64) (float64, float64) {
		switch {
		case d > 0:
			return d, 1
		case d < 0:
			return -d, -1
		}
		return 0, 0
	})
}

func (t *Tape) mean(y *Matrix, target []float64, counts func(i int) bool, f func(d float64) (loss, slope float64)) float64 {
	sum, n := 0.0, 0.0
	for i, v := range y.V {
		if counts == nil || counts(i) {
			loss, _ := f(v - target[i])
			sum, n = sum+loss, n+1
		}
	}
	if n == 0 {
		return 0
	}
	t.then(func() {
		for i, v := range y.V {
			if counts == nil || counts(i) {
				_, slope := f(v - target[i])
				y.G[i] += slope / n
			}
		}
	})
	return sum / n
}

// CrossEntropy returns the mean of -log softmax(y)[class] over the rows. Rows with class -1 do not count.
func (t *Tape) CrossEntropy(y *Matrix, class []int) float64 {
	sum, n := 0.0, 0.0
	probs := make([]float64, len(y.V))
	for i, c := range class {
		row, p := y.V[i*y.Columns:(i+1)*y.Columns], probs[i*y.Columns:(i+1)*y.Columns]
		most, total := math.Inf(-1), 0.0
		for _, v := range row {
			most = max(most, v)
		}
		for k, v := range row {
			p[k] = math.Exp(v - most)
			total += p[k]
		}
		for k := range p {
			p[k] /= total
		}
		if c >= 0 {
			sum, n = sum-math.Log(p[c]), n+1
		}
	}
	if n == 0 {
		return 0
	}
	t.then(func() {
		for i, c := range class {
			for k := range y.Columns {
				if c >= 0 {
					y.G[i*y.Columns+k] += probs[i*y.Columns+k] / n
				}
				if k == c {
					y.G[i*y.Columns+k] -= 1 / n
				}
			}
		}
	})
	return sum / n
}

// AdamW has the settings of the optimiser AdamW.
type AdamW struct{ Rate, Beta1, Beta2, Eps, Decay float64 }

// Step returns a parameter p and its moments m and v after the optimiser's step number step (the first is 1), with the gradient g.
func (a AdamW) Step(step int, p, m, v, g float64) (float64, float64, float64) {
	p -= a.Rate * a.Decay * p
	m = a.Beta1*m + (1-a.Beta1)*g
	v = a.Beta2*v + (1-a.Beta2)*g*g
	one, two := 1-math.Pow(a.Beta1, float64(step)), 1-math.Pow(a.Beta2, float64(step))
	return p - a.Rate*(m/one)/(math.Sqrt(v/two)+a.Eps), m, v
}
