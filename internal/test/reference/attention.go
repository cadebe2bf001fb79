package reference

import "math"

// Heads describes a multi-head attention. Pad reports whether a key is padding, which no query sees; nil means no padding. Factor is
// the dropout factor of probability number ((b*Heads+h)*T+q)*T+k; nil means 1.
type Heads struct {
	B, T, Heads int
	Causal      bool
	Pad         func(b, k int) bool
	Factor      func(i int) float64
}

// Attention returns softmax(q·kᵀ/sqrt(width))·v for each head. qkv is [B*T, 3*D] with the columns of the queries, the keys and the
// values. A query that sees no key gets 0.
func (t *Tape) Attention(qkv *Matrix, h Heads) *Matrix {
	d := qkv.Columns / 3
	w, out := d/h.Heads, New(qkv.Rows, d)
	scale := 1 / math.Sqrt(float64(w))
	probs := make([]float64, h.B*h.Heads*h.T*h.T)
	factor := func(i int) float64 {
		if h.Factor == nil {
			return 1
		}
		return h.Factor(i)
	}
	at := func(b, token, part, head, i int) int { return (b*h.T+token)*3*d + part*d + head*w + i }
	each := func(f func(b, head, q int, p []float64, first int)) {
		for b := range h.B {
			for head := range h.Heads {
				for q := range h.T {
					first := ((b*h.Heads+head)*h.T + q) * h.T
					f(b, head, q, probs[first:first+h.T], first)
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
				p[k] += qkv.V[at(b, q, 0, head, i)] * qkv.V[at(b, k, 1, head, i)] * scale
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
				out.V[(b*h.T+q)*d+head*w+i] += p[k] * factor(first+k) * qkv.V[at(b, k, 2, head, i)]
			}
		}
	})
	t.then(func() {
		each(func(b, head, q int, p []float64, first int) {
			dp, sum := make([]float64, h.T), 0.0
			for k := range p {
				for i := range w {
					g := out.G[(b*h.T+q)*d+head*w+i]
					dp[k] += g * qkv.V[at(b, k, 2, head, i)] * factor(first+k)
					qkv.G[at(b, k, 2, head, i)] += g * p[k] * factor(first+k)
				}
				sum += dp[k] * p[k]
			}
			for k := range p {
				ds := p[k] * (dp[k] - sum) * scale
				for i := range w {
					qkv.G[at(b, q, 0, head, i)] += ds * qkv.V[at(b, k, 1, head, i)]
					qkv.G[at(b, k, 1, head, i)] += ds * qkv.V[at(b, q, 0, head, i)]
				}
			}
		})
	})
	return out
}
