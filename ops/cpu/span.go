package cpu

import "github.com/robocache/robocache/ops/backend"

// The two parts of a Resample that take most time: checking the timestamps, and computing the targets of a row in order.
const (
	pieceCost = 1 << 16 // cost of a piece, in copied features: about 20 us
	batchMost = 64      // targets interpolated in one call
)

// targetsAPiece counts the targets per piece.
func targetsAPiece(channels []backend.Channel, d int) int {
	cost := 64 + d // finding the target, and copying its features
	for _, c := range channels {
		if c.Interp > backend.InterpNearest {
			cost += 31 * (c.Hi - c.Lo)
		}
	}
	return max(pieceCost/cost, 1)
}

// checkTimestamps checks timestamps lo to hi-1, counted over all rows.
func (p *resamplePlan[C]) checkTimestamps(lo, hi int) {
	for lo < hi {
		b, k := 0, lo
		if p.SrcOffsets == nil {
			b, k = lo/p.S, lo%p.S
		}
		part := min(hi-lo, p.S-k)
		n := part
		if p.SrcLengths != nil {
			n = int(min(max(p.srcRows.lengths[b]-int64(k), 0), int64(n)))
		}
		p.checkRuns(lo, b*p.TimesBatch+k, p.times[b*p.TimesBatch+k:][:n], k == 0)
		lo += part
	}
}

// checkRuns checks timestamps t. The first one is timestamp i, stored at `at`; first reports whether it begins a row.
func (p *resamplePlan[C]) checkRuns(i, at int, t []C, first bool) {
	for k := 0; k < len(t); {
		// Check the timestamp after each ascending run, and both ends of the run. If the ends are valid times, so are the timestamps
		// between them.
		end := k + ascending(t[k:])
		p.checkTimestamp(i+k, at+k, first && k == 0)
		if end-1 > k && (badTime(t[k]) != 0 || badTime(t[end-1]) != 0) {
			for n := k; n < end; n++ {
				p.checkTimestamp(i+n, at+n, first && n == 0)
			}
		}
		k = end
	}
}

// ascending counts the timestamps at the start that do not decrease, at least 1. A NaN ends them.
func ascending[C clock](t []C) int {
	last := t[0]
	for i, x := range t[1:] {
		if !(last <= x) {
			return i + 1
		}
		last = x
	}
	return len(t)
}

// tile computes one piece's targets.
func (p *resamplePlan[C]) tile(piece, worker int) {
	s, guess := p.scratch[worker], 0
	i, end := piece*p.each, min((piece+1)*p.each, p.Rows())
	if p.plain() {
		p.span(i, end, s)
		return
	}
	s.cubic.from = -1 // the cache may hold values from another run
	for ; i < end; i++ {
		guess = p.target(i, guess, s)
	}
}

// plain reports whether all features share one interpolation that copies or blends two samples without conversion, and no sample can be
// outside the tolerance.
func (p *resamplePlan[C]) plain() bool {
	if len(p.Channels) != 1 || p.fused.affine() {
		return false
	}
	kind := p.Channels[0].Interp
	return kind == backend.InterpLinear || kind <= backend.InterpNearest && !p.limits.hasTolerance
}

// span computes targets lo to hi-1 of a plain job, counted over all rows. It handles targets inside a bracket itself, and calls target
// for the others.
func (p *resamplePlan[C]) span(lo, hi int, s *scratch) {
	for lo < hi {
		b, t := p.dstRows.find(lo)
		if b < 0 {
			p.target(lo, 0, s)
			lo++
			continue
		}
		_, targets := p.dstRows.row(b)
		start, n := p.srcRows.row(b)
		if n < 2 || t >= targets {
			p.target(lo, 0, s)
			lo++
			continue
		}
		count := min(hi-lo, targets-t)
		p.rowSpan(lo, b, t, count, start, n, s)
		lo += count
	}
}

// rowSpan computes count targets of row b, starting with the row's target t, which is target i over all rows. The row has n >= 2
// samples.
func (p *resamplePlan[C]) rowSpan(i, b, t, count, start, n int, s *scratch) {
	outRow, outIndex := b, t
	if p.DstOffsets != nil {
		outRow, outIndex = 0, i
	}
	times := p.times[b*p.TimesBatch+start:][:n]
	first, last := times[0], times[n-1]
	row := b*p.SrcBatch + start*p.SrcStep
	out := outRow*p.DstBatch + outIndex*p.DstStep
	kind, marked := p.Channels[0].Interp, p.valid != nil || p.age != nil || p.pad != nil
	offset := p.fused.offset
	k, step := 0, 0 // the last sample found, and its distance from the one before
	for j := range count {
		x, far := p.timeOf(t+j, outRow, outIndex+j)
		if offset != 0 || far {
			if far || badTime(x) != 0 {
				p.target(i+j, k, s)
				continue
			}
			x -= offset
		}
		if !(first <= x && x < last) {
			p.target(i+j, k, s)
			continue
		}
		// Targets are usually evenly spaced, so the last step predicts the next sample. The bounds also hold if timestamps are out of
		// order.
		guess := min(max(k+step, 0), n-2)
		if !(times[guess] <= x && x < times[guess+1]) {
			guess = min(lastAtOrBefore(times, x, guess), n-2)
		}
		step, k = guess-k, guess
		dx, h := x-times[k], times[k+1]-times[k]
		near := p.limits.hasSnap && dx != 0 && min(dx, times[k+1]-x) <= p.limits.snap
		if h < dx || near || p.limits.hasGap && h > p.limits.gap { // h < dx: an int64 difference of at least 2^63 overflows
			p.target(i+j, k, s)
			continue
		}
		if marked {
			p.mark(outRow, outIndex+j, 1, dx, 0)
		}
		from, to := row+k*p.SrcStep, out+j*p.DstStep
		switch {
		case kind == backend.InterpLinear && dx != 0:
			s.items = append(s.items, lerpItem{from, to, float64(dx) / float64(h)})
			if len(s.items) == batchMost {
				p.flush(s)
			}
			continue
		case dx != 0 && (kind == backend.InterpNext || kind == backend.InterpNearest && dx > times[k+1]-x):
			from += p.SrcStep
		}
		p.dst.copyFrom(to, p.src, from, p.D, s.a)
	}
	p.flush(s)
}

// flush computes the features of the deferred targets.
func (p *resamplePlan[C]) flush(s *scratch) {
	p.dst.lerpRows(p.src, s.items, p.SrcStep, p.D, s)
	s.items = s.items[:0]
}
