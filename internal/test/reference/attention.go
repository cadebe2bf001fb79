package reference

import "math"

// Heads describes a multi-head attention. Pad reports whether a key is padding, which no query sees; nil means no padding. Factor is
// the dropout factor of probability number ((b*Heads+h)*queries+q)*keys+k; nil means 1.
type Heads struct {
	B, Heads int
	Causal   bool
	Pad      func(b, k int) bool
	Factor   func(i int) float64
}

// Attention returns softmax(q·kᵀ/sqrt(width))·v for each head. The first D columns of qs [B*queries, D or more] are the queries. The
// last 2*D columns of kvs [B*keys, 2*D or more] are the keys and the values; it may be the same matrix, with 3*D columns. A query that
// sees no key gets 0.
func (t *Tape) Attention(qs, kvs *Matrix, h Heads) *Matrix {
	d, queries, keys := qs.Columns, qs.Rows/h.B, kvs.Rows/h.B
	if qs == kvs {
		d /= 3
	}
	w, out := d/h.Heads, New(qs.Rows, d)
	scale := 1 / math.Sqrt(float64(w))
	probs := make([]float64, h.B*h.Heads*queries*keys)
	factor := func(i int) float64 {
		if h.Factor == nil {
			return 1
		}
		return h.Factor(i)
	}
	query := func(b, token, head, i int) int { return (b*queries+token)*qs.Columns + head*w + i }
	at := func(b, token, part, head, i int) int {
		return (b*keys+token+1)*kvs.Columns + (part-3)*d + head*w + i
	}
	each := func(f func(b, head, q int, p []float64, first int)) {
		for b := range h.B {
			for head := range h.Heads {
				for q := range queries {
					first := ((b*h.Heads+head)*queries + q) * keys
					f(b, head, q, probs[first:first+keys], first)
				}
			}
		}
	}
	each(func(b, head, q int, p []float64, first int) {
		most, sum := math.Inf(-1), 0.0
		for k := range p {
			p[k] = math.Inf(-1)
			if h.Causal && k > q || h.Pad != nil && h.Pad(b, k) {
				continue
			}
			p[k] = 0
			for i := range w {
				p[k] += qs.V[query(b, q, head, i)] * kvs.V[at(b, k, 1, head, i)] * scale
			}
			most = max(most, p[k])
		}
		for k := range p {
			if p[k] = math.Exp(p[k] - most); math.IsNaN(p[k]) { // NaN if the query sees no key
				p[k] = 0
			}
			sum += p[k]
		}
		for k := range p {
			if sum > 0 {
				p[k] /= sum
			}
			for i := range w {
				out.V[(b*queries+q)*d+head*w+i] += p[k] * factor(first+k) * kvs.V[at(b, k, 2, head, i)]
			}
		}
	})
	t.then(func() {
		each(func(b, head, q int, p []float64, first int) {
			dp, sum := make([]float64, keys), 0.0
			for k := range p {
				for i := range w {
					g := out.G[(b*queries+q)*d+head*w+i]
					dp[k] += g * kvs.V[at(b, k, 2, head, i)] * factor(first+k)
					kvs.G[at(b, k, 2, head, i)] += g * p[k] * factor(first+k)
				}
				sum += dp[k] * p[k]
			}
			for k := range p {
				ds := p[k] * (dp[k] - sum) * scale
				for i := range w {
					qs.G[query(b, q, head, i)] += ds * kvs.V[at(b, k, 1, head, i)]
					kvs.G[at(b, k, 1, head, i)] += ds * qs.V[query(b, q, head, i)]
				}
			}
		})
	})
	return out
}
