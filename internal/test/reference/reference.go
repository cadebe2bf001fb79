package reference

import "math"

// Matrix is [Rows,Columns] in row-major order, together with the gradient of the loss with respect to each element.
type Matrix struct {
	Rows, Columns int
	V, G          []float64
}

// New returns a matrix of zeros.
func New(rows, columns int) *Matrix {
	return &Matrix{rows, columns, make([]float64, rows*columns), make([]float64, rows*columns)}
}

// Of returns a matrix with the values v, which it does not copy.
func Of(rows, columns int, v []float64) *Matrix {
	return &Matrix{rows, columns, v, make([]float64, len(v))}
}

// Tape records the operations of a forward pass, so that Backward can compute the gradients.
type Tape struct{ back []func() }

func (t *Tape) then(f func()) { t.back = append(t.back, f) }

// Backward computes the gradients of all matrices with respect to the last computed loss.
func (t *Tape) Backward() {
	for i := len(t.back) - 1; i >= 0; i-- {
		t.back[i]()
	}
}

// Linear returns x·wᵀ + b. If b is nil, it returns x·wᵀ.
func (t *Tape) Linear(x, w, b *Matrix) *Matrix {
	y := New(x.Rows, w.Rows)
	for i := range y.Rows {
		for j := range y.Columns {
			s := 0.0
			for k := range x.Columns {
				s += x.V[i*x.Columns+k] * w.V[j*x.Columns+k]
			}
			if b != nil {
				s += b.V[j]
			}
			y.V[i*y.Columns+j] = s
		}
	}
	t.then(func() {
		for i := range y.Rows {
			for j := range y.Columns {
				g := y.G[i*y.Columns+j]
				for k := range x.Columns {
					x.G[i*x.Columns+k] += g * w.V[j*x.Columns+k]
					w.G[j*x.Columns+k] += g * x.V[i*x.Columns+k]
				}
				if b != nil {
					b.G[j] += g
				}
			}
		}
	})
	return y
}

// Add returns x + y. If y has fewer rows than x, its rows are repeated.
func (t *Tape) Add(x, y *Matrix) *Matrix {
	return t.AddRows(x, y, func(i int) int { return i % y.Rows })
}

// AddRows returns x with row at(i) of a table added to each row i.
func (t *Tape) AddRows(x, table *Matrix, at func(i int) int) *Matrix {
	z := New(x.Rows, x.Columns)
	each := func(f func(i, j int)) {
		for i := range x.Rows {
			for k := range x.Columns {
				f(i*x.Columns+k, at(i)*x.Columns+k)
			}
		}
	}
	each(func(i, j int) { z.V[i] = x.V[i] + table.V[j] })
	t.then(func() {
		each(func(i, j int) { x.G[i] += z.G[i]; table.G[j] += z.G[i] })
	})
	return z
}

// Map returns f(x) for each element. slope is the derivative of f.
func (t *Tape) Map(x *Matrix, f, slope func(float64) float64) *Matrix {
	y := New(x.Rows, x.Columns)
	for i, v := range x.V {
		y.V[i] = f(v)
	}
	t.then(func() {
		for i, v := range x.V {
			x.G[i] += y.G[i] * slope(v)
		}
	})
	return y
}

// ReLU returns max(x, 0) for each element.
func (t *Tape) ReLU(x *Matrix) *Matrix {
	return t.Map(x, func(v float64) float64 { return max(v, 0) }, func(v float64) float64 {
		if v > 0 {
			return 1
		}
		return 0
	})
}

// GELU returns x·Φ(x) for each element, where Φ is the distribution function of the standard normal distribution.
func (t *Tape) GELU(x *Matrix) *Matrix {
	phi := func(v float64) float64 { return (1 + math.Erf(v/math.Sqrt2)) / 2 }
	return t.Map(x, func(v float64) float64 { return v * phi(v) },
		func(v float64) float64 { return phi(v) + v*math.Exp(-v*v/2)/math.Sqrt(2*math.Pi) })
}

// Times returns x with element i multiplied by factor(i), as dropout does.
func (t *Tape) Times(x *Matrix, factor func(i int) float64) *Matrix {
	y := New(x.Rows, x.Columns)
	for i, v := range x.V {
		y.V[i] = v * factor(i)
	}
	t.then(func() {
		for i := range x.V {
			x.G[i] += y.G[i] * factor(i)
		}
	})
	return y
}

// Norm returns the LayerNorm of each row.
func (t *Tape) Norm(x, gamma, beta *Matrix, eps float64) *Matrix {
	y, n := New(x.Rows, x.Columns), x.Columns
	hats, rstds := make([]float64, len(x.V)), make([]float64, x.Rows)
	for i := range x.Rows {
		row := x.V[i*n : i*n+n]
		mean, variance := 0.0, 0.0
		for _, v := range row {
			mean += v / float64(n)
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(n)
		}
		rstds[i] = 1 / math.Sqrt(variance+eps)
		for k, v := range row {
			hats[i*n+k] = (v - mean) * rstds[i]
			y.V[i*n+k] = hats[i*n+k]*gamma.V[k] + beta.V[k]
		}
	}
	t.then(func() {
		for i := range x.Rows {
			g, hat := y.G[i*n:i*n+n], hats[i*n:i*n+n]
			meanH, meanHX := 0.0, 0.0
			for k := range n {
				gamma.G[k] += g[k] * hat[k]
				beta.G[k] += g[k]
				meanH += g[k] * gamma.V[k] / float64(n)
				meanHX += g[k] * gamma.V[k] * hat[k] / float64(n)
			}
			for k := range n {
				x.G[i*n+k] += rstds[i] * (g[k]*gamma.V[k] - meanH - hat[k]*meanHX)
			}
		}
	})
	return y
}

// Last returns the last of each group of `tokens` rows.
func (t *Tape) Last(x *Matrix, tokens int) *Matrix {
	y, n := New(x.Rows/tokens, x.Columns), x.Columns
	for i := range y.Rows {
		copy(y.V[i*n:i*n+n], x.V[(i*tokens+tokens-1)*n:])
	}
	t.then(func() {
		for i := range y.Rows {
			for k := range n {
				x.G[(i*tokens+tokens-1)*n+k] += y.G[i*n+k]
			}
		}
	})
	return y
}

// Flatten joins each group of `tokens` rows into one row.
func (t *Tape) Flatten(x *Matrix, tokens int) *Matrix {
	return &Matrix{x.Rows / tokens, x.Columns * tokens, x.V, x.G}
}
