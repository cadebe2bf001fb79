package cpu

import (
	"errors"
	"math"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// foldWidth is the thread count in a GPU block that adds squares. The CPU adds in the same order.
const foldWidth = 256

// rankGradients holds the gradients of all ranks.
type rankGradients struct {
	ranks [][]float32
	scale float32
}

func gradientsOf(list []*tensor.Tensor, scale float32, errs *[]error) rankGradients {
	g := rankGradients{scale: scale}
	for _, t := range list {
		g.ranks = append(g.ranks, elementsOf[float32](t, errs))
	}
	return g
}

// add writes the scaled sum over all ranks' gradients to out, for elements from at on.
func (g *rankGradients) add(out []float32, at int) {
	copy(out, g.ranks[0][at:])
	for _, rank := range g.ranks[1:] {
		addTo(out, rank[at:][:len(out)])
	}
	for i := range out {
		out[i] *= g.scale
	}
}

// fold adds the sums of foldWidth threads pairwise, halving their number each time.
func fold(sums *[foldWidth]float32) float32 {
	for half := foldWidth / 2; half > 0; half /= 2 {
		for t := range half {
			sums[t] += sums[t+half]
		}
	}
	return sums[0]
}

// GradientNorm plans the sum over the gradients from all ranks, and the squares that AdamW needs for clipping.
func (b *Backend) GradientNorm(job *backend.GradientNormJob) (backend.Plan, error) {
	var errs []error
	p := gradientsOf(job.Gradients, job.Scale, &errs)
	sum := elementsOf[float32](job.Sum, &errs)
	var squares [][]float32
	for _, s := range job.Squares {
		squares = append(squares, elementsOf[float32](s, &errs))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	first := job.From / backend.NormChunk
	work := &task{pieces: (job.To+backend.NormChunk-1)/backend.NormChunk - first, do: func(piece, _ int) {
		at := (first + piece) * backend.NormChunk
		out := sum[at:min(at+backend.NormChunk, job.To)]
		p.add(out, at)
		var threads [foldWidth]float32
		for i, g := range out {
			threads[i/4%foldWidth] += float32(g * g)
		}
		of := fold(&threads)
		for _, s := range squares {
			s[first+piece] = of
		}
	}}
	return &nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b, tasks: []*task{work}}, nil
}

// adamW is an AdamW job bound to host memory.
type adamW struct {
	job           *backend.AdamWJob
	gradients     rankGradients
	params, m, v  []float32
	average       []float32
	working       [][]tensor.BFloat16
	copies        [][]float32
	schedule      matrix[float32]
	state         []int64
	squares, norm []float32
	pieces        []adamWPiece
	numbers       adamWNumbers
	share         float32 // of the parameter in its average
	still         bool    // nothing is written, because the state is bad
}

// adamWNumbers holds the values in the formula of backend.AdamWJob that all elements share. clip, keep (named decay there), step and
// root are for the current step.
type adamWNumbers struct{ clip, take1, take2, beta2, keep, step, root, eps float32 }

// adamWPiece holds the memory for one piece.
type adamWPiece struct {
	gradient [backend.NormChunk]float32
	bad      bool // an element was skipped
}

// AdamW plans one step with the optimiser AdamW.
func (b *Backend) AdamW(job *backend.AdamWJob) (backend.Plan, error) {
	var errs []error
	list := func(t *tensor.Tensor) []float32 { return elementsOf[float32](t, &errs) }
	p := &adamW{job: job, gradients: gradientsOf(job.Gradients, job.Scale, &errs), params: list(job.Params), m: list(job.M), v: list(job.V), average: list(job.Average), schedule: matrixOf[float32](job.Schedule, &errs),
		state: elementsOf[int64](job.State, &errs), squares: list(job.Squares), norm: list(job.Norm),
		numbers: adamWNumbers{take1: float32(1 - job.Beta1), take2: float32(1 - job.Beta2), beta2: float32(job.Beta2), eps: job.Eps}}
	for _, t := range job.Working {
		p.working = append(p.working, elementsOf[tensor.BFloat16](t, &errs))
	}
	for _, t := range job.Copies {
		p.copies = append(p.copies, list(t))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p.pieces = make([]adamWPiece, (job.To-job.From+backend.NormChunk-1)/backend.NormChunk)
	return &nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b, begin: p.begin, tasks: []*task{{pieces: len(p.pieces), do: p.piece}}, end: p.end}, nil
}

// begin reads the state and, if there are squares, computes the norm.
func (p *adamW) begin() {
	p.numbers.clip = 1
	if p.still = p.state[backend.StateBad] != 0; p.still {
		return
	}
	if p.squares != nil && !p.measure() {
		p.still = true
		p.spoil()
		return
	}
	row := p.schedule.row(int(min(max(p.state[backend.StateStep]/int64(p.job.Batches), 1), int64(p.job.Schedule.Dim(0))))-1, 4)
	p.numbers.step, p.numbers.root, p.numbers.keep, p.share = row[0], row[1], row[2], row[3]
}

// measure writes the norm and reports whether it is finite.
func (p *adamW) measure() bool {
	var threads [foldWidth]float32
	for i, s := range p.squares {
		threads[i%foldWidth] += s
	}
	norm := fp32.Sqrt(fold(&threads))
	p.norm[0] = norm
	if p.job.MaxNorm > 0 {
		p.numbers.clip = min(p.job.MaxNorm/(norm+1e-6), 1)
	}
	return finite(norm)
}

// spoil records in the state that the step was bad.
func (p *adamW) spoil() { p.state[backend.StateBad] = max(p.state[backend.StateStep], 1) }

func finite(x float32) bool { return math.Float32bits(x)&0x7f800000 != 0x7f800000 }

func (p *adamW) piece(i, _ int) {
	if p.still {
		return
	}
	piece := &p.pieces[i]
	at := p.job.From + i*backend.NormChunk
	g := piece.gradient[:min(backend.NormChunk, p.job.To-at)]
	p.gradients.add(g, at)
	params, m, v, whole := p.params[at:][:len(g)], p.m[at:][:len(g)], p.v[at:][:len(g)], len(g)/panel*panel
	piece.bad = whole > 0 && fast.adamW(params[:whole], m, v, g, &p.numbers)
	piece.bad = plainAdamW(params[whole:], m[whole:], v[whole:], g[whole:], &p.numbers) || piece.bad
	if p.average != nil {
		for i, a := range p.average[at:][:len(g)] {
			p.average[at+i] = a + float32(p.share*(params[i]-a))
		}
	}
	for _, w := range p.working {
		for i, x := range params {
			w[at+i] = tensor.BF16FromF32(x)
		}
	}
	for _, c := range p.copies {
		copy(c[at:], params)
	}
}

// plainAdamW does a step for the elements. If a gradient is not finite, it leaves the element unchanged and returns true.
func plainAdamW(params, m, v, g []float32, by *adamWNumbers) (bad bool) {
	for i := range params {
		g := g[i] * by.clip
		if !finite(g) {
			bad = true
			continue
		}
		m[i] += float32(by.take1 * (g - m[i]))
		v[i] = float32(v[i]*by.beta2) + float32(float32(by.take2*g)*g)
		params[i] = float32(params[i]*by.keep) - float32(by.step*(m[i]/(fp32.Sqrt(v[i])/by.root+by.eps)))
	}
	return bad
}

// end records skipped elements in the state. They are not an error for this job, because the caller reads the state.
func (p *adamW) end() error {
	for i := range p.pieces {
		if !p.still && p.pieces[i].bad {
			p.spoil()
		}
	}
	return nil
}
