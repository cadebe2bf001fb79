package loader

import (
	"context"
	"fmt"
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
	case weighted && plan.Shuffle == "shards":
		return nil, refuse("plan.shuffle", plan.Shuffle, "windows or none, for a weighted mixture")
	case opt.EpochWindows < 0 || opt.EpochWindows > 0 && !weighted:
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
		if err := l.mix(list, weighted, opt.EpochWindows); err != nil {
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
func (l *Loader) mix(list []Weighted, weighted bool, positions int) error {
	l.numbers = slices.Clone(l.numbers)
	first := 0 // number of the store's first episode, through all stores
	for i, s := range list {
		begin := len(l.stores)
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
		if weighted {
			l.order.Sources = append(l.order.Sources, ops.DrawSource{Windows: r.Windows, Weight: r.Weight})
		}
	}
	l.order.Positions = positions
	for i, share := range l.order.Shares() {
		l.report.Mixture[i].Share = share
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

// New prepares a loader that keeps a store on the device. It selects episodes and streams by the plan, copies them to the device, and
// plans a batch's launches. A plan without streams takes all streams. A stream without a window has one target, the anchor. Errors
// of the plan are those of [align.Prepare]. An invalid option is an *OptionError. A plan that leaves no window is an *EmptyError. On
// the CPU a store in Go's memory shares its tensors with the loader; all other stores are copied. If the device has too little memory,
// the error is an *ops.MemoryError: see [NewStreaming].
func New(ctx context.Context, device *ops.Device, store *store.Store, plan align.Plan, opt Options) (*Loader, error) {
	return NewMixture(ctx, device, []Weighted{{Store: store}}, plan, opt)
}
