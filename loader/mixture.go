package loader

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// Weighted is a store in a mixture, with its weight. Its windows are drawn in proportion to the weight: 2 draws twice as many as
// 1. If all weights are 0, an epoch draws every window once.
type Weighted struct {
	Store  *store.Store
	Weight float64
}

// NewMixture prepares a loader for several stores, which are on the device together. For the rest see [New]. All stores must have the
// streams of the plan, or of the first store if the plan names none, with the first store's columns, in any order, and its dtypes. With
// weights each store must have a window. Else the error is a *MixtureError. Statistics cover all stores' episodes. Batches number
// the episodes through all stores: [Loader.StoreOf] returns an episode's store.
//
// With weights an epoch has Options.EpochWindows windows. The weights divide them among the stores, and each store runs through full
// epochs of its own, by the rule of ops.DrawOptions.Window. The plan's shuffle is "windows" or "none"; "shards" is an *OptionError.
func NewMixture(ctx context.Context, device *ops.Device, list []Weighted, plan align.Plan, opt Options) (*Loader, error) {
	if len(list) < 1 || len(list) > ops.MaxSources {
		return nil, refuse("stores", fmt.Sprint(len(list)), fmt.Sprintf("1 to %d stores", ops.MaxSources))
	}
	if i := slices.IndexFunc(list, func(s Weighted) bool { return s.Store == nil }); i >= 0 {
		return nil, &MixtureError{i, "store", "none", "one that is open"}
	}
	plan = withStreams(plan, list[0].Store.Names())
	weighted := slices.ContainsFunc(list, func(s Weighted) bool { return s.Weight != 0 })
	switch {
	case (weighted || len(opt.EpisodeWeights) > 0) && plan.Shuffle == "shards":
		return nil, refuse("plan.shuffle", plan.Shuffle, "windows or none, with weights")
	case opt.EpochWindows < 0 || opt.EpochWindows > 0 && !weighted && len(opt.EpisodeWeights) == 0:
		return nil, refuse("EpochWindows", fmt.Sprint(opt.EpochWindows), "1 or more, for a weighted mixture, or 0 for as many as there are windows")
	}
	from := make(stores, len(list))
	for i, s := range list {
		from[i] = s.Store
		if !(s.Weight >= 0) || s.Weight-s.Weight != 0 {
			return nil, &MixtureError{i, "weight", fmt.Sprint(s.Weight), "a finite number, not below 0"}
		}
		if err := from.alike(i, &plan); err != nil {
			return nil, err
		}
	}
	if err := opt.checkEpisodes(len(list)); err != nil {
		return nil, err
	}
	for i, numbers := range opt.Episodes {
		if err := list[i].Store.CheckEpisodes(numbers); err != nil {
			return nil, err
		}
	}
	return open(ctx, device, plan, &opt, func(l *Loader, c *selection) error {
		c.from, c.keepsRows = from, true
		if err := l.choose(ctx, c); err != nil {
			return err
		}
		if err := l.mix(c, list, weighted); err != nil {
			return err
		}
		if err := l.count(); err != nil {
			return err
		}
		return from.Guard(func() error {
			for m := range l.parts {
				if err := c.pack(m, from); err != nil {
					return err
				}
			}
			if err := statistics(l.parts, opt.Statistics, c.packedPass(ctx, from)); err != nil {
				return err
			}
			return l.upload(ctx, c)
		})
	})
}

// mix assigns the selected episodes to their stores, and sets each store's share of an epoch.
func (l *Loader) mix(c *selection, list []Weighted, weighted bool) error {
	l.numbers = slices.Clone(l.numbers)
	var of []int // the store of each source
	first := 0   // number of the store's first episode, through all stores
	for i, s := range list {
		begin, classes := len(l.stores), c.classes(i)
		for at := begin; at < len(l.numbers) && l.numbers[at] < first+s.Store.Len(); at++ {
			l.numbers[at] -= first
			l.stores = append(l.stores, i)
		}
		first += s.Store.Len()
		windows := int(l.windows[len(l.stores)] - l.windows[begin])
		r := MixtureReport{Name: s.Store.Name(), Episodes: len(l.stores) - begin, Windows: windows, Weight: s.Weight}
		if weighted && r.Windows == 0 {
			return &MixtureError{i, "windows", "none", "a window at least to draw"}
		}
		r.Share = r.Windows
		l.report.Mixture = append(l.report.Mixture, r)
		if !weighted && classes == nil {
			continue
		}
		l.report.Mixture[i].Share = 0
		if classes == nil {
			classes = []WeightReport{{Windows: r.Windows, Weight: 1}}
		} else {
			l.report.Weights = append(l.report.Weights, classes...)
		}
		all := 0.0
		for _, k := range classes {
			all += k.Weight * float64(k.Windows)
		}
		for _, k := range classes {
			source := ops.DrawSource{Windows: k.Windows, Weight: k.Weight * float64(k.Windows)}
			if weighted {
				source.Weight = s.Weight * (source.Weight / max(all, math.SmallestNonzeroFloat64))
			}
			l.order.Sources, of = append(l.order.Sources, source), append(of, i)
		}
		if weighted && s.Weight > 0 && all == 0 {
			return refuse("EpisodeWeights", fmt.Sprintf("0 for every window in dataset %d", i), "a weight above 0")
		}
	}
	switch n := len(l.order.Sources); {
	case n > ops.MaxSources:
		return refuse("EpisodeWeights", fmt.Sprintf("%d different weights in all datasets", n), fmt.Sprintf("at most %d", ops.MaxSources))
	case n > 0 && !slices.ContainsFunc(l.order.Sources, func(s ops.DrawSource) bool { return s.Weight > 0 }):
		return refuse("EpisodeWeights", "0 for all windows", "a weight above 0")
	}
	l.order.Positions = c.opt.EpochWindows
	for i, share := range l.order.Shares() {
		l.report.Mixture[of[i]].Share += share
		l.mixture = append(l.mixture, MixtureState{l.order.Sources[i].Windows, share})
		if l.report.Weights != nil {
			k := &l.report.Weights[i]
			k.Share, k.Epochs = share, float64(share)/float64(k.Windows)
		}
	}
	for i := range l.report.Mixture {
		r := &l.report.Mixture[i]
		r.Epochs = float64(r.Share) / float64(max(r.Windows, 1))
	}
	if len(list) == 1 && !weighted {
		l.report.Mixture = nil // because the report has its numbers already
	}
	return nil
}

// classes counts a store's selected episodes by their weights, in the order of their windows; nil without EpisodeWeights. A weight without
// windows is left out.
func (c *selection) classes(store int) (list []WeightReport) {
	if len(c.opt.EpisodeWeights) == 0 {
		return nil
	}
	for e, i := range c.numbers {
		n := int(c.windows[e+1] - c.windows[e])
		if at, _ := c.from.Place(i); at != store || n == 0 {
			continue
		}
		w := c.weight(i)
		if k := len(list); k == 0 || list[k-1].Weight != w {
			list = append(list, WeightReport{Dataset: store, Weight: w})
		}
		last := &list[len(list)-1]
		last.Episodes, last.Windows = last.Episodes+1, last.Windows+n
	}
	return list
}

// New prepares a loader that keeps a store on the device. It selects episodes and streams by the plan, copies them to the device, and
// plans a batch's launches. A plan without streams takes all streams. A stream without a window has one target, the anchor. Errors
// of the plan are those of [align.Prepare]. An invalid option is an *OptionError. A plan that leaves no window is an *EmptyError. On
// the CPU a store in Go's memory shares its tensors with the loader; all other stores are copied. If the device has too little memory,
// the error is an *ops.MemoryError: see [NewStreaming].
func New(ctx context.Context, device *ops.Device, store *store.Store, plan align.Plan, opt Options) (*Loader, error) {
	return NewMixture(ctx, device, []Weighted{{Store: store}}, plan, opt)
}
