package opstest

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// tallyCall is a Tally with 4 rows and 3 columns.
type tallyCall struct {
	maker
	args ops.TallyArgs
	opts ops.TallyOptions
}

// tallyMisuses returns the wrong calls of Tally, for the first pass and for later passes.
func tallyMisuses() []*misuses[tallyCall] {
	of := func(known int) *misuses[tallyCall] {
		return &misuses[tallyCall]{
			op: "Tally",
			good: func(m maker, c *tallyCall) {
				c.maker, c.args, c.opts = m, ops.TallyArgs{Src: m.new(tensor.F32, 4, 3)}, ops.TallyOptions{Known: known}
				if known == 0 {
					c.args.Counts, c.args.Sums = c.new(tensor.I64, 3, 1, 2048), c.new(tensor.I64, 3, 512, 3)
					return
				}
				c.args.Counts, c.args.Prefixes = c.new(tensor.I64, 3, 2, 2048), c.new(tensor.I64, 3, 2)
			},
			places: func(c *tallyCall) []place {
				if known == 0 {
					return []place{{"Src", &c.args.Src}, {"Counts", &c.args.Counts}, {"Sums", &c.args.Sums}}
				}
				return []place{{"Prefixes", &c.args.Prefixes}, {"Counts", &c.args.Counts}}
			},
			free: []string{"Src"}, needed: []string{"Src", "Counts", "Sums", "Prefixes"},
			plan: func(dev *ops.Device, c *tallyCall) error { _, err := dev.PlanTally(c.args, c.opts); return err },
			call: func(dev *ops.Device, c *tallyCall) error { return dev.Tally(context.Background(), c.args, c.opts) },
		}
	}
	first, second, third := of(0), of(11), of(22)
	add := func(x *misuses[tallyCall], name, arg string, kind error, spoil func(*tallyCall)) {
		x.wrong = append(x.wrong, wrong[tallyCall]{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	for _, known := range []int{-1, 1, 10, 12, 32, 33} {
		add(first, fmt.Sprint(known, " bits known"), "Options.Known", ops.ErrOption, func(c *tallyCall) { c.opts.Known = known })
	}
	add(first, "values of f64", "Src", ops.ErrDType, func(c *tallyCall) { c.args.Src = c.new(tensor.F64, 4, 3) })
	add(second, "17 prefixes", "Prefixes", ops.ErrShape, func(c *tallyCall) { c.args.Prefixes = c.new(tensor.I64, 3, 17) })
	add(first, "prefixes of nothing", "Prefixes", ops.ErrOption, func(c *tallyCall) { c.args.Prefixes = c.new(tensor.I64, 3, 2) })
	add(second, "sums in a later pass", "Sums", ops.ErrOption, func(c *tallyCall) { c.args.Sums = c.new(tensor.I64, 3, 512, 3) })
	add(first, "outputs in one memory", "Sums", ops.ErrOverlap, func(c *tallyCall) {
		c.args.Sums = tensor.Must(c.args.Counts.AsStrided([]int{3, 512, 3}, []int{1536, 3, 1}, 0))
	})
	add(second, "prefixes in the counts", "Counts", ops.ErrOverlap, func(c *tallyCall) {
		c.args.Prefixes = tensor.Must(c.args.Counts.AsStrided([]int{3, 2}, []int{2, 1}, 5))
	})
	return []*misuses[tallyCall]{first, second, third}
}
