package cpu

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// resamplePlan is a Resample bound to host memory, for one clock type. It is also one stream in a Fuse.
type resamplePlan[C clock] struct {
	steppedPlan
	*backend.ResampleJob                      // the job in the form that is checked
	given                *backend.ResampleJob // the original job, for the names in errors
	limits               limits[C]
	src, dst             values
	times, targets       []C
	anchors              []int64 // for an anchored clock
	deltas               []int64
	valid, pad           []uint8
	age                  []C
	srcRows              rows
	dstRows              rows
	fused                fused[C]
	fault                *atomic.Uint64
	each                 int // targets per piece
	rowsEach             int // rows per check piece
	scratch              []*scratch
}

const (
	checkTile     = 1 << 15 // timestamps, or rows, per check piece
	selectedCheck = 64      // rows of a selection, checked together with their timestamps
)

// Resample plans the interpolation of one stream at new timestamps.
func (b *Backend) Resample(job *backend.ResampleJob) (backend.Plan, error) {
	switch job.ClockType() {
	case tensor.I64:
		return newCPUResample[int64](b, job)
	case tensor.F64:
		return newCPUResample[float64](b, job)
	}
	return newCPUResample[float32](b, job)
}

// clockElement is a clock type that is also a tensor's element type.
type clockElement interface {
	clock
	tensor.Element
}

func newCPUResample[C clockElement](b *Backend, job *backend.ResampleJob) (*resamplePlan[C], error) {
	p := &resamplePlan[C]{steppedPlan: steppedPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}, given: job, limits: newLimits[C](job), fault: new(atomic.Uint64)}
	p.by = p.steps
	job = job.Checked()
	p.ResampleJob = job
	var errs [11]error
	if job.Src != nil { // a Fuse stream may be missing
		p.src, errs[0] = newValues(job.Src)
		p.times, errs[2] = tensor.Elements[C](job.SrcTimes)
	}
	p.dst, errs[1] = newValues(job.Dst)
	if job.Targets.Times != nil {
		p.targets, errs[3] = tensor.Elements[C](job.Targets.Times)
	}
	if job.Targets.IsAnchored() {
		p.anchors, errs[7] = tensor.Elements[int64](job.Targets.Anchors)
		p.deltas, errs[8] = tensor.Elements[int64](job.Targets.Deltas)
	}
	if job.Pad != nil {
		p.pad, errs[9] = tensor.Elements[uint8](job.Pad)
	}
	if job.Valid != nil {
		p.valid, errs[4] = tensor.Elements[uint8](job.Valid)
	}
	if job.Age != nil {
		p.age, errs[5] = tensor.Elements[C](job.Age)
	}
	p.srcRows, errs[6] = newRows(job.B, job.S, job.SrcLengths, job.SrcOffsets)
	if job.SrcStarts != nil {
		p.srcRows.starts, errs[10] = tensor.Elements[int64](job.SrcStarts)
	}
	var err error
	p.dstRows, err = newRows(job.B, job.T, job.DstLengths, job.DstOffsets)
	if err = errors.Join(append(errs[:], err)...); err != nil {
		return nil, err
	}
	for range b.workers {
		p.scratch = append(p.scratch, newScratch(job.D, job.Channels))
	}
	p.each = targetsAPiece(job.Channels, job.D)
	p.work = task{pieces: (job.Rows() + p.each - 1) / p.each, do: p.tile}
	p.rowsEach = checkTile
	timestamps := job.Timestamps()
	if job.SrcStarts != nil {
		p.rowsEach, timestamps = selectedCheck, 0
	}
	p.checks = task{pieces: max((timestamps+checkTile-1)/checkTile, (job.B+p.rowsEach-1)/p.rowsEach), do: p.check}
	return p, nil
}

// steps runs the checks and then, if they find no fault, the work. It passes each task to do.
func (p *resamplePlan[C]) steps(do func(*task)) error {
	if p.Idle() {
		return nil
	}
	p.fault.Store(uint64(backend.NoFault))
	if p.Check {
		do(&p.checks)
	}
	if p.fault.Load() == uint64(backend.NoFault) && !p.Empty() {
		do(&p.work)
	}
	return p.given.FaultError(backend.Fault(p.fault.Load()), tensor.Elements[int64])
}

func (p *resamplePlan[C]) report(class backend.Fault, position int, reason backend.Fault) {
	lower(p.fault, backend.MakeFault(class, position, reason).InStream(p.fused.stream))
}

// rows holds the start and length of each row in a padded or packed tensor.
type rows struct {
	n, all  int // number of rows; padded length, or total length if packed
	lengths []int64
	offsets []int64
	starts  []int64 // with lengths: for a selection from a packed tensor
}

func newRows(b, n int, lengths, offsets *tensor.Tensor) (rows, error) {
	r := rows{n: b, all: n}
	var err error
	if lengths != nil {
		r.lengths, err = tensor.Elements[int64](lengths)
	} else if offsets != nil {
		r.offsets, err = tensor.Elements[int64](offsets)
	}
	return r, err
}

// row returns row b's start in a packed tensor (0 in a padded one) and its length. Values that do not fit the tensor are clamped.
func (r *rows) row(b int) (start, n int) {
	switch {
	case r.offsets != nil:
		lo := min(max(r.offsets[b], 0), int64(r.all))
		hi := min(max(r.offsets[b+1], lo), int64(r.all), lo+backend.MaxRow)
		return int(lo), int(hi - lo)
	case r.starts != nil:
		lo := min(max(r.starts[b], 0), int64(r.all))
		return int(lo), int(min(max(r.lengths[b], 0), int64(r.all)-lo, backend.MaxRow))
	case r.lengths != nil:
		return 0, int(min(max(r.lengths[b], 0), int64(r.all)))
	}
	return 0, r.all
}

// fits reports whether row b's length or offsets are in range and in order, and cover a packed tensor completely.
func (r *rows) fits(b int) bool {
	switch {
	case r.offsets != nil:
		lo, hi := r.offsets[b], r.offsets[b+1]
		return lo >= 0 && hi >= lo && hi <= int64(r.all) && hi-lo <= backend.MaxRow && (b > 0 || lo == 0) && (b < r.n-1 || hi == int64(r.all))
	case r.starts != nil:
		lo, n := r.starts[b], r.lengths[b]
		return lo >= 0 && lo <= int64(r.all) && n >= 0 && n <= int64(r.all)-lo && n <= backend.MaxRow
	case r.lengths != nil:
		return r.lengths[b] >= 0 && r.lengths[b] <= int64(r.all)
	}
	return true
}

// find returns the row of target i and the index in that row; -1 if no row holds it.
func (r *rows) find(i int) (b, index int) {
	if r.offsets == nil {
		return i / r.all, i % r.all
	}
	lo, hi := -1, r.n // invariant: offsets[lo] <= i
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; r.offsets[mid] <= int64(i) {
			lo = mid
		} else {
			hi = mid
		}
	}
	if lo < 0 {
		return -1, i
	}
	start, n := r.row(lo)
	if i-start >= n || i < start {
		return -1, i
	}
	return lo, i - start
}

// check checks one piece's row lengths and the source timestamps.
func (p *resamplePlan[C]) check(piece, _ int) {
	first := piece * p.rowsEach
	for b := first; b < min(first+p.rowsEach, p.B); b++ {
		_, samples := p.srcRows.row(b)
		_, targets := p.dstRows.row(b)
		switch {
		case !p.srcRows.fits(b):
			p.report(backend.FaultRows, b, backend.FaultSrcRows)
		case !p.dstRows.fits(b):
			p.report(backend.FaultRows, b, backend.FaultDstRows)
		case samples == 0 && targets > 0 && !p.fused.on:
			p.report(backend.FaultRows, b, backend.FaultNoSamples)
		}
	}
	if p.SrcStarts != nil {
		for b := first; b < min(first+p.rowsEach, p.B); b++ {
			start, n := p.srcRows.row(b)
			p.checkRuns(start, start, p.times[start:][:n], true)
		}
		return
	}
	p.checkTimestamps(piece*checkTile, min((piece+1)*checkTile, p.Timestamps()))
}

// checkTimestamp checks timestamp i, stored at index `at`. Unless it is the first in its row, it must not be less than the one before.
func (p *resamplePlan[C]) checkTimestamp(i, at int, first bool) {
	t := p.times[at]
	switch reason := badTime(t); {
	case reason != 0:
		p.report(backend.FaultTimes, i, reason)
	case !first && !(p.times[at-1] <= t) && p.times[at-1] == p.times[at-1] && !p.rowStart(i):
		p.report(backend.FaultTimes, i, backend.FaultUnsorted)
	}
}

// rowStart reports whether timestamp i is the first in a packed row.
func (p *resamplePlan[C]) rowStart(i int) bool {
	if p.SrcOffsets == nil {
		return false
	}
	_, k := p.srcRows.find(i)
	return k == 0
}

// badTime returns the reason why t is not a valid time, or 0.
func badTime[C clock](t C) backend.Fault {
	switch x := any(t).(type) {
	case int64:
		if x > backend.MaxTime || x < -backend.MaxTime {
			return backend.FaultTimeRange
		}
	default:
		if t-t != 0 {
			return backend.FaultNotFinite
		}
	}
	return 0
}

// target computes all features of target i, counted over all rows. It returns the sample that it found.
func (p *resamplePlan[C]) target(i, guess int, s *scratch) int {
	b, t := p.dstRows.find(i)
	outRow, outIndex := b, t
	if p.DstOffsets != nil {
		outRow, outIndex = 0, i
	}
	out := outRow*p.DstBatch + outIndex*p.DstStep
	start, n, targets := 0, 0, 0 // for a packed target that is in no row
	if b >= 0 {
		start, n = p.srcRows.row(b)
		_, targets = p.dstRows.row(b)
	}
	if n == 0 || t >= targets {
		p.mark(outRow, outIndex, 0, 0, 1)
		p.dst.fill(out, p.D, p.Fill, s)
		return 0
	}
	times := p.times[b*p.TimesBatch+start:][:n]
	x, far := p.timeOf(t, outRow, outIndex)
	if _, ok := any(x).(int64); p.Check && (far || ok && (badTime(x) != 0 || badTime(x-p.fused.offset) != 0)) {
		p.report(backend.FaultTargets, i, backend.FaultTimeRange)
	}
	x -= p.fused.offset
	l := locate(times, x, guess, &p.limits)
	outside := p.outside(&l)
	ok, past := uint8(1), uint8(0)
	if l.gap || outside || l.place == nowhere {
		ok = 0
	}
	if l.place == below || l.place == above {
		past = 1
	}
	p.mark(outRow, outIndex, ok, x-times[l.k], past)
	from := b*p.SrcBatch + (start+l.k)*p.SrcStep
	switch {
	case outside && p.Edge == backend.EdgeError:
		p.report(backend.FaultTargets, i, backend.FaultOutOfRange)
		return l.k
	case p.filled(&l):
		p.dst.fill(out, p.D, p.Fill, s)
		return l.k
	}
	dst, at := p.dst, out
	if p.fused.affine() {
		dst, at = s.row, 0
	}
	switch {
	case l.place == nowhere:
		dst.fill(at, p.D, math.NaN(), s)
	case l.place == exact && !p.limits.hasWindow:
		dst.copyFrom(at, p.src, from, p.D, s.a)
	default:
		row := b*p.SrcBatch + start*p.SrcStep
		for c := range p.Channels {
			p.channel(&p.Channels[c], &l, times, x, row, dst, at, s)
		}
	}
	if p.fused.affine() {
		p.dst.put32(out, p.fused.apply(s.row.data.([]float32)))
	}
	return l.k
}

// outside reports whether a target is outside the samples, so that Edge decides its value.
func (p *resamplePlan[C]) outside(l *located) bool {
	return l.place == below || l.place == above && p.Edge != backend.EdgeHold
}

// filled reports whether a target gets the fill value.
func (p *resamplePlan[C]) filled(l *located) bool {
	fills := p.Edge == backend.EdgeFill || p.Edge == backend.EdgeHold && l.place == below
	return fills && (p.outside(l) || l.place == nowhere) || l.gap && p.FillGaps
}

// timeOf returns target t's time in its row. The tensor holds it at index in row outRow. far reports whether an anchor and a delta
// give a time outside the range.
func (p *resamplePlan[C]) timeOf(t, outRow, index int) (x C, far bool) {
	switch {
	case p.targets != nil:
		return p.targets[outRow*p.TargetBatch+index], false
	case p.anchors != nil:
		anchor, delta := p.anchors[outRow], p.deltas[t]
		sum := anchor + delta
		return lengthIn[C](time.Duration(sum)), badTime(anchor) != 0 || badTime(delta) != 0 || badTime(sum) != 0
	}
	return tick[C](&p.Targets, t), false
}

// mark writes a target's outputs other than features: pad, valid and age.
func (p *resamplePlan[C]) mark(row, index int, ok uint8, age C, past uint8) {
	if p.pad != nil {
		p.pad[row*p.PadBatch+index*p.PadStep] = past
	}
	if p.valid != nil {
		p.valid[row*p.ValidBatch+index*p.ValidStep] = ok
	}
	if p.age != nil {
		p.age[row*p.AgeBatch+index*p.AgeStep] = age
	}
}
