package cpu

import (
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// backwardPlan is a ResampleBackward or FuseBackward bound to host memory.
type backwardPlan[C clockElement] struct {
	steppedPlan
	job   *backend.BackwardJob
	fault atomic.Uint64
}

// gradient is one stream in a backwardPlan. It is a Resample plan in which src is the gradient to write and dst the gradient to read.
type gradient[C clockElement] struct {
	*resamplePlan[C]
	scale        []float32 // nil, or length D
	each, tiles  int       // samples per piece, and pieces per padded row
	sums         []gradientSums
	checks, work task
}

// gradientSums holds a worker's sums for the samples in a piece. One slice is used, for the type in which the gradient is computed.
type gradientSums struct {
	narrow []float32
	wide   []float64
}

const gradientTile = 1 << 14 // sums per piece, unless a single sample has more

// Backward plans the gradients for a Resample or a Fuse.
func (b *Backend) Backward(job *backend.BackwardJob) (backend.Plan, error) {
	switch job.Forward.Clock {
	case tensor.I64:
		return newCPUBackward[int64](b, job)
	case tensor.F64:
		return newCPUBackward[float64](b, job)
	}
	return newCPUBackward[float32](b, job)
}

func newCPUBackward[C clockElement](b *Backend, job *backend.BackwardJob) (backend.Plan, error) {
	p := &backwardPlan[C]{steppedPlan: steppedPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}, job: job}
	p.by = p.steps
	var checks, work []*task
	for m, part := range job.Forward.Parts {
		r, err := newCPUResample[C](b, part.ResampleJob)
		if err != nil {
			return nil, err
		}
		r.fault = &p.fault
		r.fused = fused[C]{on: !job.Alone, stream: m, offset: lengthIn[C](part.Offset)}
		s := newCPUGradient(b, r, part.Scale)
		checks, work = append(checks, &s.checks), append(work, &s.work)
	}
	p.checks.all(checks)
	p.work.all(work)
	return p, nil
}

func newCPUGradient[C clockElement](b *Backend, r *resamplePlan[C], scale []float32) *gradient[C] {
	s := &gradient[C]{resamplePlan: r, scale: scale}
	if s.Check || s.Edge == backend.EdgeError {
		s.checks = task{pieces: (max(s.Timestamps(), s.B, s.Rows()) + checkTile - 1) / checkTile, do: s.check}
	}
	if s.Src == nil || s.Src.Len() == 0 {
		return s
	}
	s.each = min(max(gradientTile/s.D, 1), s.S)
	s.tiles = (s.S + s.each - 1) / s.each
	s.work = task{pieces: s.tiles, do: s.tile}
	if s.SrcOffsets == nil {
		s.work.pieces *= s.B
	}
	for range b.workers {
		var sums gradientSums
		if s.src.wide {
			sums.wide = make([]float64, s.each*s.D)
		} else {
			sums.narrow = make([]float32, s.each*s.D)
		}
		s.sums = append(s.sums, sums)
	}
	return s
}

// steps runs the checks and then, if they find no fault, the work. It passes each task to do.
func (p *backwardPlan[C]) steps(do func(*task)) error {
	p.fault.Store(uint64(backend.NoFault))
	if p.checks.pieces > 0 {
		do(&p.checks)
	}
	if p.fault.Load() == uint64(backend.NoFault) {
		do(&p.work)
	}
	return p.job.FaultError(backend.Fault(p.fault.Load()), tensor.Elements[int64])
}

// check checks one piece's rows, timestamps and targets.
func (s *gradient[C]) check(piece, worker int) {
	if s.Check {
		s.resamplePlan.check(piece, worker)
	}
	lo := piece * checkTile
	for i := lo; i < min(lo+checkTile, s.Rows()); i++ {
		s.checkTarget(i)
	}
}

// checkTarget checks target i, counted over all rows, if its row has samples.
func (s *gradient[C]) checkTarget(i int) {
	b, k := s.dstRows.find(i)
	if b < 0 {
		return
	}
	first, count := s.dstRows.row(b)
	start, n := s.srcRows.row(b)
	if k >= count || n == 0 {
		return
	}
	given := s.given(b, first, k)
	x := given - s.fused.offset
	if s.Check {
		if _, ok := any(x).(int64); ok && (badTime(given) != 0 || badTime(x) != 0) {
			s.report(backend.FaultTargets, i, backend.FaultTimeRange)
		}
		if before := s.given(b, first, max(k-1, 0)); given == given && !(before <= given) {
			s.report(backend.FaultTargets, i, backend.FaultUnsorted)
		}
	}
	if s.Edge == backend.EdgeError {
		times := s.times[b*s.TimesBatch+start:][:n]
		if l := locate(times, x, 0, &s.limits); l.place == below || l.place == above {
			s.report(backend.FaultTargets, i, backend.FaultOutOfRange)
		}
	}
}

// given returns target k's time in row b on the common clock. first is the row's position among packed targets.
func (s *gradient[C]) given(b, first, k int) C {
	switch {
	case s.targets == nil:
		return tick[C](&s.Targets, k)
	case s.DstOffsets != nil:
		return s.targets[first+k]
	}
	return s.targets[b*s.TargetBatch+k]
}

// tile computes the gradients for one piece's samples.
func (s *gradient[C]) tile(piece, worker int) {
	if s.SrcOffsets == nil {
		lo := piece % s.tiles * s.each
		s.samples(piece/s.tiles, lo, min(lo+s.each, s.S), worker)
		return
	}
	end := min((piece+1)*s.each, s.S)
	for i := piece * s.each; i < end; {
		b, k := s.srcRows.find(i)
		if b < 0 { // trusted offsets leave this sample out
			s.src.fill(i*s.SrcStep, s.D, 0, s.scratch[worker])
			i++
			continue
		}
		_, n := s.srcRows.row(b)
		hi := min(n, k+end-i)
		s.samples(b, k, hi, worker)
		i += hi - k
	}
}

// samples computes the gradients for samples lo to hi-1 in row b. Samples after the row's length get 0.
func (s *gradient[C]) samples(b, lo, hi, worker int) {
	sums, sc := &s.sums[worker], s.scratch[worker]
	clear(sums.narrow)
	clear(sums.wide)
	start, n := s.srcRows.row(b)
	first, count := s.dstRows.row(b)
	if lo < n {
		times := s.times[b*s.TimesBatch+start:][:n]
		at := func(i int) C { return s.given(b, first, i) - s.fused.offset }
		from, to := s.touching(times, lo, min(hi, n), count, at)
		guess := lo
		for i := from; i < to; i++ {
			l := locate(times, at(i), guess, &s.limits)
			guess = l.k
			g := b*s.DstBatch + i*s.DstStep
			if s.DstOffsets != nil {
				g = (first + i) * s.DstStep
			}
			s.scatter(&l, g, lo, min(hi, n), sums, sc)
		}
	}
	out := b*s.SrcBatch + start*s.SrcStep
	for k := lo; k < hi; k++ {
		if s.src.wide {
			s.src.put64(out+k*s.SrcStep, sums.wide[(k-lo)*s.D:][:s.D])
		} else {
			s.src.put32(out+k*s.SrcStep, sums.narrow[(k-lo)*s.D:][:s.D])
		}
	}
}

// touching returns a target range that includes every target with a contribution to samples lo to hi-1 (at least one sample). It starts
// with the bracket that ends at lo, and ends with the bracket that begins at hi-1. With EdgeExtrapolate, targets before the first
// sample contribute to the first bracket's two samples, and targets after the last sample to the last bracket's.
func (s *gradient[C]) touching(t []C, lo, hi, count int, at func(i int) C) (from, to int) {
	after := func(x C) int { // returns the first target after x
		return firstWhere(count, func(i int) bool { return !(at(i) <= x) })
	}
	to = count
	if k := firstAtOrAfter(t, t[lo]) - 1; k >= 0 && !(s.Edge == backend.EdgeExtrapolate && t[k] == t[0]) {
		from = after(t[k])
	}
	if hi < len(t) && !(s.Edge == backend.EdgeExtrapolate && t[hi] == t[len(t)-1]) {
		to = after(t[hi])
	}
	return from, to
}

// scatter adds a target's contribution to the sums for samples lo to hi-1. The target's gradient is at element g.
func (s *gradient[C]) scatter(l *located, g, lo, hi int, sums *gradientSums, sc *scratch) {
	outside := l.place == below || l.place == above && s.Edge != backend.EdgeHold
	fills := s.Edge == backend.EdgeFill || s.Edge == backend.EdgeHold
	if l.place == nowhere || outside && fills || l.gap && s.FillGaps {
		return
	}
	narrow, wide := s.gradient(g, sc)
	for i := range s.Channels {
		c := &s.Channels[i]
		k, two := s.takes(c.Interp, l)
		for side := range 2 {
			weight := l.a
			switch {
			case side == 1 && !two, k+side < lo, k+side >= hi:
				continue
			case side == 0 && s.src.wide:
				weight = 1 - l.a
			case side == 0:
				weight = float64(1 - float32(l.a))
			}
			at := (k+side-lo)*s.D + c.Lo
			switch {
			case s.src.wide:
				addWeighted(sums.wide[at:][:c.Hi-c.Lo], wide[c.Lo:], weight, two)
			default:
				addWeighted(sums.narrow[at:][:c.Hi-c.Lo], narrow[c.Lo:], float32(weight), two)
			}
		}
	}
}

// takes returns the sample that a target reads; two reports whether it also reads the next one.
func (s *gradient[C]) takes(kind backend.Interp, l *located) (k int, two bool) {
	switch {
	case kind == backend.InterpLinear && l.place == inside:
		return l.k, true
	case kind == backend.InterpLinear && s.Edge == backend.EdgeExtrapolate && l.line:
		return l.base, true
	case l.place == inside && (kind == backend.InterpNext || kind == backend.InterpNearest && l.later):
		return l.k + 1, false
	}
	return l.k, false
}

// gradient returns a target's gradient, multiplied by the scale, in the type used for the sums.
func (s *gradient[C]) gradient(at int, sc *scratch) (narrow []float32, wide []float64) {
	if s.src.wide && s.scale == nil {
		s.dst.floats(sc.wide[:s.D], at)
		return nil, sc.wide
	}
	if s.dst.wide {
		s.dst.floats(sc.wide[:s.D], at)
		narrow = sc.out[:s.D]
		for d, x := range sc.wide[:s.D] {
			narrow[d] = float32(x)
		}
	} else {
		narrow = s.dst.narrow(sc.a, at, s.D)
	}
	for d, x := range s.scale {
		sc.out[d] = x * narrow[d]
	}
	if s.scale != nil {
		narrow = sc.out[:s.D]
	}
	if s.src.wide {
		for d, x := range narrow {
			sc.wide[d] = float64(x)
		}
	}
	return narrow, sc.wide
}

// addWeighted adds g to sum. If weighted is true, it multiplies each number by weight first. Each step rounds separately.
func addWeighted[W float32 | float64](sum, g []W, weight W, weighted bool) {
	g = g[:len(sum)]
	if !weighted {
		for i, x := range g {
			sum[i] += x
		}
		return
	}
	for i, x := range g {
		sum[i] += W(weight * x)
	}
}
