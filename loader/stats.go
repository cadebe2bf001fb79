package loader

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/stats"
	"github.com/robocache/robocache/tensor"
)

// visitor takes a part's values [N,D]. It may be called from several goroutines.
type visitor func(part int, values *tensor.Tensor) error

// check returns an *OptionError unless the statistics match a part.
func (s *Statistics) check(p *part) error {
	arg := "Statistics[" + p.name + "]"
	names := columns.Names(p.columns)
	own := p.normalise
	switch {
	case s.Rule != "" && own != "" && own != "none" && s.Rule != own:
		return refuse(arg, "those for the rule "+strconv.Quote(s.Rule), fmt.Sprintf("of %q, as the plan has it", own))
	case s.Columns != nil && !slices.Equal(s.Columns, names):
		return refuse(arg, fmt.Sprintf("those of the columns %q", s.Columns), fmt.Sprintf("of %q", names))
	}
	for _, list := range []struct {
		name string
		n    int
		must bool
	}{{"shift", len(s.Shift), s.Shift != nil}, {"scale", len(s.Scale), s.Shift != nil}, {"clip_min", len(s.ClipMin), s.ClipMin != nil}, {"clip_max", len(s.ClipMax), s.ClipMin != nil},
		{"statistics", len(s.Stats), s.Stats != nil || s.Shift == nil}} {
		if list.must && list.n != len(names) {
			return refuse(arg, fmt.Sprintf("%s with %d columns", list.name, list.n), fmt.Sprintf("%d, as the stream has", len(names)))
		}
	}
	for i := range s.Shift {
		if shift, scale := s.Shift[i], s.Scale[i]; shift-shift != 0 || scale-scale != 0 || scale == 0 {
			return refuse(arg, fmt.Sprintf("shift %g, scale %g in column %s", shift, scale, names[i]), "finite numbers, and a scale that is not 0")
		}
	}
	for i := range s.ClipMin {
		if lo, hi := s.ClipMin[i], s.ClipMax[i]; !(lo <= hi) {
			return refuse(arg, fmt.Sprintf("clip_min %g, clip_max %g in column %s", lo, hi, names[i]), "the lower one first")
		}
	}
	return nil
}

// affine returns the normalisation of a part from given statistics; nil without a rule. If the rule
// needs a value that is not finite, the error is an *OptionError.
func (s *Statistics) affine(p *part) (*affine, error) {
	if s.Shift != nil {
		return &affine{cmp.Or(s.Rule, p.normalise), s.Shift, s.Scale, s.ClipMin, s.ClipMax}, nil
	}
	a := normalise(p.normalise, s.Stats)
	if a == nil {
		return nil, nil
	}
	for i := range a.shift {
		if v := a.shift[i] + a.scale[i]; v-v != 0 {
			return nil, refuse("Statistics["+p.name+"]", "no finite numbers, which the rule "+strconv.Quote(p.normalise)+" needs, in column "+p.columns[i].Name,
				"mean and std, min and max, or the quantiles q01 to q99, by the rule; or shift and scale")
		}
	}
	return a, nil
}

// statistics sets the statistics and each part's normalisation. A pass visits all samples of all parts. The rules need no pass,
// one pass, or with quantiles the passes of [stats.Accumulator].
func statistics(parts []part, given map[string]Statistics, pass func(visitor) error) error {
	for name, s := range given {
		m := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if m < 0 {
			return refuse("Statistics["+name+"]", "for a stream that is not taken", "for streams in the batches")
		}
		if err := s.check(&parts[m]); err != nil {
			return err
		}
	}
	sums := make([]*stats.Accumulator, len(parts))
	for m := range parts {
		p := &parts[m]
		rule, there := normalisations[p.normalise]
		if _, known := given[p.name]; known || !there {
			continue
		}
		var shares []float64
		if rule.quantiles {
			shares = quantiles
		}
		var err error
		if sums[m], err = stats.NewAccumulator(p.width, p.packed, shares); err != nil {
			return err
		}
	}
	open := slices.Clone(sums) // the parts that need the next pass
	for slices.ContainsFunc(open, func(a *stats.Accumulator) bool { return a != nil }) {
		err := pass(func(m int, values *tensor.Tensor) error {
			if open[m] == nil {
				return nil
			}
			return open[m].Add(values)
		})
		if err != nil {
			return err
		}
		for m, a := range open {
			if a == nil {
				continue
			}
			if more, err := a.Next(); err != nil {
				return err
			} else if !more {
				open[m] = nil
			}
		}
	}
	for m := range parts {
		p := &parts[m]
		if sums[m] != nil {
			p.stats = columnStats(sums[m])
		}
		s, known := given[p.name]
		if p.affine = normalise(p.normalise, p.stats); known {
			var err error
			if p.affine, err = s.affine(p); err != nil {
				return err
			}
			p.stats = slices.Clone(s.Stats)
		}
		if p.affine != nil && p.isDouble {
			return refuse("DType", "float64 with stream "+p.name+", which is normalised", "float32, in which values are normalised, or float64 without normalising")
		}
	}
	return nil
}

// quantiles are the shares of ColumnStats.
var quantiles = []float64{.01, .1, .9, .99}

func columnStats(a *stats.Accumulator) []ColumnStats {
	var list []ColumnStats
	for _, c := range a.Columns() {
		s := ColumnStats{}
		if c.Count > 0 {
			s = ColumnStats{Count: int(c.Count), Mean: c.Mean, Std: c.Std, Min: c.Min, Max: c.Max}
			if len(c.Quantiles) > 0 {
				s.Q01, s.Q10, s.Q90, s.Q99 = c.Quantiles[0], c.Quantiles[1], c.Quantiles[2], c.Quantiles[3]
			}
		}
		list = append(list, s)
	}
	return list
}

// packedPass returns a pass over the packed values.
func (c *selection) packedPass(ctx context.Context, from stores) func(visitor) error {
	const rows = 1 << 14 // rows of a piece
	parts := c.parts
	var pieces [][2]int
	for m := range parts {
		for at := 0; at < parts[m].values.Dim(0); at += rows {
			pieces = append(pieces, [2]int{m, at})
		}
	}
	return func(visit visitor) error {
		for _, err := range inorder.Each(ctx, len(pieces), c.opt.Workers, manyAhead, func(error) int { return manyAhead }, func(_ context.Context, i int) error {
			m, at := pieces[i][0], pieces[i][1]
			v := parts[m].values
			piece, err := v.Slice(0, at, min(at+rows, v.Dim(0)))
			if err != nil {
				return err
			}
			return from.Guard(func() error { return visit(m, piece) })
		}) {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
		}
		return nil
	}
}

// pass visits the selected episodes' samples, which it reads again.
func (c *selection) pass(ctx context.Context, visit visitor) error {
	read := func(ctx context.Context, e int) error {
		return c.readAgain(ctx, e, func(m int, rows *store.Samples) error { return visit(m, rows.Values) })
	}
	for _, err := range inorder.Each(ctx, len(c.numbers), c.opt.Workers, manyAhead, func(error) int { return manyAhead }, read) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}
