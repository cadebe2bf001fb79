package cpu

import (
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// rowSum adds a row in the order that all LayerNorms use: see backend.NormStats.
func rowSum(v []float32) float32 {
	if len(v)%panel != 0 {
		return plainSum(v)
	}
	return fast.sum(v)
}

// normed writes a row's norm to out.
func normed(out, z []float32, mean, rstd float32, gamma, beta []float32) {
	fast.norm(out, z, gamma, beta, mean, rstd)
}

// statistics returns the mean of a row and 1/sqrt(variance+eps). t is scratch memory.
func statistics(v, t []float32, eps float32) (mean, rstd float32) {
	n := float32(len(v))
	mean = rowSum(v) / n
	fast.squares(t, v, mean)
	variance := rowSum(t) / n
	return mean, 1 / float32(math.Sqrt(float64(variance+eps)))
}

// normBack replaces g, the gradient of a row's norm, by the gradient of the row z. If dgamma is not nil, it adds the row's contribution
// to the gradients of gamma and beta. s and t are scratch memory.
func normBack(g, z []float32, mean, rstd float32, gamma, dgamma, dbeta, s, t []float32) {
	fast.normParts(s, t, g, z, gamma, mean, rstd)
	if dgamma != nil {
		fast.normSums(dgamma, dbeta, g, z, mean, rstd)
	}
	n := float32(len(g))
	fast.normGrad(g, s, z, mean, rstd, rowSum(s)/n, rowSum(t)/n)
}

// quarters holds partial sums of gamma's or beta's gradients over a block of rows: one sum of width columns for each quarter of
// NormRows rows.
type quarters struct {
	sums  []float32
	width int
}

func newQuarters(width int) quarters { return quarters{make([]float32, 4*width), width} }

// of returns the partial sum for row m.
func (q quarters) of(m int) []float32 {
	i := m % backend.NormRows / (backend.NormRows / 4)
	return q.sums[i*q.width : (i+1)*q.width]
}

// take adds the quarters to out and clears them.
func (q quarters) take(out []float32) {
	w := q.width
	for i := range out {
		out[i] = q.sums[i] + q.sums[w+i] + q.sums[2*w+i] + q.sums[3*w+i]
	}
	clear(q.sums)
}

// matrix is a 2-D tensor in host memory.
type matrix[T tensor.Element] struct {
	data   []T
	stride int
}

// matrixOf converts a 2-D tensor. For nil it returns an empty matrix.
func matrixOf[T tensor.Element](t *tensor.Tensor, errs *[]error) (m matrix[T]) {
	if t != nil {
		m = matrix[T]{elementsOf[T](t, errs), t.Stride(0)}
	}
	return m
}

func (m matrix[T]) there() bool { return m.data != nil }

// row returns the first n elements of row i.
func (m matrix[T]) row(i, n int) []T { return m.data[i*m.stride:][:n] }

// norm is a backend.NormStats bound to host memory.
type norm struct {
	z                       matrix[float32]
	mean, rstd, gamma, beta []float32
}

// normOf converts the statistics. For nil it returns nil.
func normOf(s *backend.NormStats, errs *[]error) *norm {
	if s == nil {
		return nil
	}
	list := func(t *tensor.Tensor) []float32 { return elementsOf[float32](t, errs) }
	return &norm{matrixOf[float32](s.Z, errs), list(s.Mean), list(s.Rstd), list(s.Gamma), list(s.Beta)}
}
