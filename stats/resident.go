package stats

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Resident computes the statistics of values [N,D] in f32, f16 or bf16 on a device. Values on the host are copied there. The result
// equals an [Accumulator]'s bit for bit. It runs [ops.Device.Tally] once for the mean and deviation, and twice more for the
// quantiles, minimum and maximum. Each run copies 16 kB per column and prefix to the host. Columns have no names.
func Resident(ctx context.Context, dev *ops.Device, values *tensor.Tensor, quantiles []float64) (columns []Column, err error) {
	if values == nil || values.Rank() != 2 {
		return nil, fmt.Errorf("stats: got values %v, want [N,D]", values)
	}
	if _, err := NewAccumulator(values.Dim(1), tensor.F32, quantiles); err != nil {
		return nil, err
	}
	r := &resident{ctx: ctx, dev: dev, values: values, width: values.Dim(1)}
	if r.width == 0 {
		return []Column{}, nil
	}
	defer func() { err = errors.Join(err, r.close()) }()
	counts, sums, err := r.tally(0, nil)
	if err != nil {
		return nil, err
	}
	columns = make([]Column, r.width)
	searches := make([]*summary.Ranks, r.width)
	for c := range columns {
		searches[c] = summary.NewRanks(counts[c*ops.TallyDigits:(c+1)*ops.TallyDigits], quantiles)
		o := &columns[c]
		o.Count, o.NotFinite = searches[c].Count()
		o.Mean, o.Std = summary.Moments(sums[c*ops.TallyBins*ops.TallyWords:(c+1)*ops.TallyBins*ops.TallyWords], o.Count)
	}
	for known := 11; known <= 22; known += 11 {
		if err := r.pass(known, searches); err != nil {
			return nil, err
		}
	}
	for c, s := range searches {
		columns[c].Min, columns[c].Max, columns[c].Quantiles = s.Values()
	}
	return columns, nil
}

// resident has the values on a device, and the tensors to close.
type resident struct {
	ctx    context.Context
	dev    *ops.Device
	values *tensor.Tensor
	width  int
	open   []*tensor.Tensor
}

func (r *resident) close() (err error) {
	for _, t := range r.open {
		err = errors.Join(err, t.Close())
	}
	r.open = nil
	return err
}

// upload copies numbers to a new device tensor, which close releases.
func (r *resident) upload(list []int64, shape ...int) (*tensor.Tensor, error) {
	host, err := tensor.Of(list, shape...)
	if err != nil {
		return nil, err
	}
	t, err := r.dev.Upload(r.ctx, host)
	if err == nil {
		r.open = append(r.open, t)
	}
	return t, err
}

// download returns a copy of a device tensor's numbers.
func (r *resident) download(t *tensor.Tensor) ([]int64, error) {
	host, err := tensor.New(tensor.I64, t.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := r.dev.Copy(r.ctx, host, t); err != nil {
		return nil, err
	}
	return tensor.Data[int64](host)
}

// tally runs Tally with prefixes [D,P] of `known` bits. counts has the number of values for each prefix and next digit. sums is nil
// except in the first pass.
func (r *resident) tally(known int, prefixes []int64) (counts, sums []int64, err error) {
	p := 1
	a := ops.TallyArgs{Src: r.values}
	if known > 0 {
		p = len(prefixes) / r.width
		if a.Prefixes, err = r.upload(prefixes, r.width, p); err != nil {
			return nil, nil, err
		}
	} else if a.Sums, err = r.upload(make([]int64, r.width*ops.TallyBins*ops.TallyWords), r.width, ops.TallyBins, ops.TallyWords); err != nil {
		return nil, nil, err
	}
	if a.Counts, err = r.upload(make([]int64, r.width*p*ops.TallyDigits), r.width, p, ops.TallyDigits); err != nil {
		return nil, nil, err
	}
	if err = r.dev.Tally(r.ctx, a, ops.TallyOptions{Known: known}); err != nil {
		return nil, nil, err
	}
	if counts, err = r.download(a.Counts); err == nil && a.Sums != nil {
		sums, err = r.download(a.Sums)
	}
	return counts, sums, errors.Join(err, r.close()) // close now, because many prefixes need many tensors
}

// pass narrows each search by the next 11 bits. A Tally takes at most MaxTallyPrefixes prefixes, so several may run.
func (r *resident) pass(known int, searches []*summary.Ranks) error {
	most := 0
	wanted := make([][]uint32, r.width)
	for c, s := range searches {
		wanted[c] = s.Prefixes()
		most = max(most, len(wanted[c]))
	}
	found := make([][]int64, r.width)
	for from := 0; from < most; from += ops.MaxTallyPrefixes {
		p := min(most-from, ops.MaxTallyPrefixes)
		prefixes := slices.Repeat([]int64{-1}, r.width*p)
		for c, list := range wanted {
			for k := from; k < min(from+p, len(list)); k++ {
				prefixes[c*p+k-from] = int64(list[k])
			}
		}
		counts, _, err := r.tally(known, prefixes)
		if err != nil {
			return err
		}
		for c, list := range wanted {
			n := max(min(p, len(list)-from), 0)
			found[c] = append(found[c], counts[c*p*ops.TallyDigits:(c*p+n)*ops.TallyDigits]...)
		}
	}
	for c, s := range searches {
		s.Next(found[c])
	}
	return nil
}
