package backend

import (
	"math/big"
	"slices"
)

// DrawSource is one dataset in a mixture.
type DrawSource struct {
	Windows int     // the number of its windows; windows are numbered through all sources in order
	Weight  float64 // relative to the other weights
}

// Share is a source's part of an epoch.
type Share struct {
	First, Windows int64 // the source's windows are First to First+Windows-1
	Begin, Draws   int64 // the numbers Begin to Begin+Draws-1 among the epoch's draws belong to the source
}

// Shares returns each source's part of an epoch, or nil without sources. ops.DrawOptions.Shares gives the rule.
func (o *DrawOrder) Shares() []Share {
	if len(o.Sources) == 0 {
		return nil
	}
	n, all := new(big.Rat).SetInt64(o.positions()), new(big.Rat)
	weights := make([]*big.Rat, len(o.Sources))
	for d, s := range o.Sources {
		weights[d] = new(big.Rat).SetFloat64(s.Weight)
		all.Add(all, weights[d])
	}
	shares, rest, left := make([]Share, len(o.Sources)), weights, o.positions()
	for d, w := range weights {
		share := w.Mul(w, n).Quo(w, all)
		whole := new(big.Int).Quo(share.Num(), share.Denom())
		rest[d] = share.Sub(share, new(big.Rat).SetInt(whole))
		shares[d] = Share{Windows: int64(o.Sources[d].Windows), Draws: whole.Int64()}
		left -= shares[d].Draws
	}
	byRest := make([]int, len(shares))
	for d := range byRest {
		byRest[d] = d
	}
	slices.SortStableFunc(byRest, func(a, b int) int { return rest[b].Cmp(rest[a]) })
	for _, d := range byRest[:left] {
		shares[d].Draws++
	}
	for d := 1; d < len(shares); d++ {
		before := &shares[d-1]
		shares[d].First, shares[d].Begin = before.First+before.Windows, before.Begin+before.Draws
	}
	return shares
}

// drawn returns the window for a number among the epoch's draws from all sources.
func (e *Epoch) drawn(virtual int64) int64 {
	d := len(e.Mixture) - 1
	for e.Mixture[d].Begin > virtual {
		d--
	}
	s := &e.Mixture[d]
	place := uint64(e.number)*uint64(s.Draws) + uint64(virtual-s.Begin)
	own, at := place/uint64(s.Windows), int64(place%uint64(s.Windows))
	if e.Shuffle {
		keys := e.seed.lane(own)
		keys = keys.lane(laneSources + uint64(d))
		at = permute(&keys, s.Windows, at)
	}
	return s.First + at
}
