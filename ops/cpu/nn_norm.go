package cpu

import (
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// rowSum adds up a row in the order of every LayerNorm: see backend.NormStats.
func rowSum(v []float32) float32 {
	if len(v)%panel != 0 {
		return plainSum(v)
	}
	return fast.sum(v)
}

// normed is a row's norm.
func normed(out, z []float32, mean, rstd float32, gamma, beta []float32) {
	fast.norm(out, z, gamma, beta, mean, rstd)
}

// statistics are the mean of a row and 1/sqrt(variance+eps); t is scratch.
func statistics(v, t []float32, eps float32) (mean, rstd float32) {
	n := float32(len(v))
	mean = rowSum(v) / n
	fast.squares(t, v, mean)
	variance := rowSum(t) / n
	return mean, 1 / float32(math.Sqrt(float64(variance+eps)))
}

// normBack turns the gradient g of a row's norm into that of the row z, and adds what the row gives to the gradients of gamma and beta, if they are wanted.
// s and t are scratch.
func normBack(g, z []float32, mean, rstd float32, gamma, dgamma, dbeta, s, t []float32) {
	fast.normParts(s, t, g, z, gamma, mean, rstd)
	if dgamma != nil {
		fast.normSums(dgamma, dbeta, g, z, mean, rstd)
	}
	n := float32(len(g))
	fast.normGrad(g, s, z, mean, rstd, rowSum(s)/n, rowSum(t)/n)
}

// quarters are the sums of the gradients of gamma or beta over a block of rows: those of each quarter of NormRows rows, width columns.
type quarters struct {
	sums  []float32
	width int
}

func newQuarters(width int) quarters { return quarters{make([]float32, 4*width), width} }

// of is the sum that row m adds to.
func (q quarters) of(m int) []float32 {
	i := m % backend.NormRows / (backend.NormRows / 4)
	return q.sums[i*q.width : (i+1)*q.width]
}

// take adds the quarters up into out, and begins anew.
func (q quarters) take(out []float32) {
	w := q.width
	for i := range out {
		out[i] = q.sums[i] + q.sums[w+i] + q.sums[2*w+i] + q.sums[3*w+i]
	}
	clear(q.sums)
}

// matrix is a tensor of rows.
type matrix[T tensor.Element] struct {
	data   []T
	stride int
}

// matrixOf takes a tensor of two dimensions; of nil it is empty.
func matrixOf[T tensor.Element](t *tensor.Tensor, errs *[]error) (m matrix[T]) {
	if t != nil {
		m = matrix[T]{elementsOf[T](t, errs), t.Stride(0)}
	}
	return m
}

func (m matrix[T]) there() bool { return m.data != nil }

// row is n elements of row i.
func (m matrix[T]) row(i, n int) []T { return m.data[i*m.stride:][:n] }

// norm is a backend.NormStats.
type norm struct {
	z                       matrix[float32]
	mean, rstd, gamma, beta []float32
}

// normOf takes what is there; of nil it is nil.
func normOf(s *backend.NormStats, errs *[]error) *norm {
	if s == nil {
		return nil
	}
	list := func(t *tensor.Tensor) []float32 { return elementsOf[float32](t, errs) }
	return &norm{matrixOf[float32](s.Z, errs), list(s.Mean), list(s.Rstd), list(s.Gamma), list(s.Beta)}
}
