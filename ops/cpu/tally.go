package cpu

import (
	"errors"
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// tallyPlan is a Tally bound to host memory. A piece of work is one column.
type tallyPlan struct {
	steppedPlan
	*backend.TallyJob
	counts, sums, prefixes []int64
	value                  func(at int) uint32 // the bits of an element of Src, as float32
}

// Tally plans the counts and sums per column for the exact statistics in package stats.
func (b *Backend) Tally(job *backend.TallyJob) (backend.Plan, error) {
	p := &tallyPlan{steppedPlan: steppedPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}, TallyJob: job}
	p.by = func(do func(*task)) error {
		do(&p.work)
		return nil
	}
	var errs []error
	p.counts, p.sums, p.prefixes = elementsOf[int64](job.Counts, &errs), elementsOf[int64](job.Sums, &errs), elementsOf[int64](job.Prefixes, &errs)
	switch job.Src.DType() {
	case tensor.F16:
		list := elementsOf[tensor.Float16](job.Src, &errs)
		p.value = func(at int) uint32 { return math.Float32bits(list[at].F32()) }
	case tensor.BF16:
		list := elementsOf[tensor.BFloat16](job.Src, &errs)
		p.value = func(at int) uint32 { return uint32(list[at]) << 16 }
	default:
		list := elementsOf[float32](job.Src, &errs)
		p.value = func(at int) uint32 { return math.Float32bits(list[at]) }
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p.work = task{pieces: job.D, do: p.column}
	return p, nil
}

// column tallies column d.
func (p *tallyPlan) column(d, _ int) {
	step := p.Src.Stride(0)
	counts := p.counts[d*p.P*backend.TallyDigits : (d+1)*p.P*backend.TallyDigits]
	if p.Known == 0 {
		sums := p.sums[d*backend.TallyBins*backend.TallyWords:]
		for i := range p.N {
			b := p.value(i*step + d)
			counts[b>>21]++
			m := int64(b & (1<<23 - 1))
			if b>>23&0xff != 0 {
				m |= 1 << 23
			}
			bin := sums[b>>23*backend.TallyWords:]
			bin[0] += m
			bin[1] += m * m & (1<<24 - 1)
			bin[2] += m * m >> 24
		}
		return
	}
	prefixes := p.prefixes[d*p.P : (d+1)*p.P]
	for i := range p.N {
		b := p.value(i*step + d)
		for k, prefix := range prefixes {
			if int64(b>>(32-p.Known)) == prefix {
				counts[k*backend.TallyDigits+int(b>>p.Shift()&(1<<p.Width()-1))]++
				break
			}
		}
	}
}
