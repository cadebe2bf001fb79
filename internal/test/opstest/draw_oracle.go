package opstest

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/robocache/robocache/ops"
)

// solveDrawing draws the case's batches by the documented rules, one row at a time. If a value is wrong, it returns the expected
// error instead.
func solveDrawing(c *drawing) (all []*batch, wrong *ops.ValueError) {
	if !c.Opts.TrustTables {
		if wrong = c.fault(); wrong != nil {
			return nil, wrong
		}
	}
	n, w := int64(c.Opts.Count), int64(c.Opts.Ranks)
	if c.Opts.Positions > 0 {
		n = int64(c.Opts.Positions)
	}
	if w == 0 {
		w = 1
	}
	all64 := w * int64(c.Opts.Batch)
	epoch, taken := c.From.Epoch, c.From.Taken
	for range c.Batches {
		left := n - taken
		if left <= 0 || left < all64 && c.Opts.Last == ops.LastDrop {
			epoch, taken = epoch+1, 0
		}
		b := &batch{Starts: make([][]int64, len(c.Samples)), Lengths: make([][]int64, len(c.Samples))}
		for i := range int64(c.Opts.Batch) {
			episode, tick, anchor := int64(-1), int64(-1), int64(0)
			p := taken + int64(c.Opts.Rank) + i*w
			if p < n {
				episode, tick = 0, p
				switch {
				case len(c.Opts.Sources) > 0:
					tick = mixed(&c.Opts, epoch, n, p)
				case c.Opts.Shuffle:
					tick = shuffled(&c.Opts, epoch, p)
				}
				for tick >= c.Counts[episode] {
					tick -= c.Counts[episode]
					episode++
				}
				anchor = c.Begins[episode] + int64(math.Min(math.Floor(float64(tick)*1e9/c.Opts.Rate+0.5), 1<<62))
			}
			b.Anchors = append(b.Anchors, anchor)
			if !c.Bare {
				b.Episodes, b.Ticks, b.Keys = append(b.Episodes, episode), append(b.Ticks, tick), append(b.Keys, epoch, p)
			}
			for m, samples := range c.Samples {
				start, length := int64(0), int64(0)
				if episode >= 0 {
					for _, before := range samples[:episode] {
						start += before
					}
					length = samples[episode]
				}
				b.Starts[m], b.Lengths[m] = append(b.Starts[m], start), append(b.Lengths[m], length)
			}
		}
		if taken += all64; taken > n {
			taken = n
		}
		b.Cursor = [2]int64{epoch, taken}
		all = append(all, b)
	}
	return all, nil
}

// shuffled returns the window at a position of an epoch, with the windows shuffled in groups of shards.
func shuffled(o *ops.DrawOptions, epoch, position int64) int64 {
	n, w, k := int64(o.Count), int64(o.ShardWindows), int64(o.MixShards)
	if w == 0 {
		return feistel(o.Seed, epoch, 0, n, position)
	}
	slot, begin, m := int64(0), int64(0), n
	if whole := n / w; k <= whole { // more than one group, or one complete group
		group := position / (k * w)
		slot, begin = group*k, group*k*w
		m = min(k*w, n-begin)
	}
	y := feistel(o.Seed, epoch, uint64(2+slot/k), m, position-begin)
	for ; y >= w; y -= w {
		slot++
	}
	shard := n / w
	if slot < shard {
		shard = feistel(o.Seed, epoch, 1, shard, slot)
	}
	return (feistel(o.Seed, epoch, 0, n, 0) + shard*w + y) % n
}

// mixed returns the window at a position of an epoch of a mixture with weights that are multiples of 1/1024.
func mixed(o *ops.DrawOptions, epoch, n, position int64) int64 {
	all := uint64(0)
	for _, s := range o.Sources {
		all += uint64(s.Weight * 1024)
	}
	type part struct{ draws, rest uint64 }
	parts, left := make([]part, len(o.Sources)), uint64(n)
	for d, s := range o.Sources {
		hi, lo := bits.Mul64(uint64(n), uint64(s.Weight*1024))
		parts[d].draws, parts[d].rest = bits.Div64(hi, lo, all)
		left -= parts[d].draws
	}
	for ; left > 0; left-- {
		most := 0
		for d := range parts {
			if parts[d].rest > parts[most].rest {
				most = d
			}
		}
		parts[most].draws, parts[most].rest = parts[most].draws+1, 0
	}
	if o.Shuffle {
		position = feistel(o.Seed, epoch, 0, n, position)
	}
	first, number := int64(0), uint64(position)
	for d, s := range o.Sources {
		if number < parts[d].draws {
			number += uint64(epoch) * parts[d].draws
			own, at := int64(number/uint64(s.Windows)), int64(number%uint64(s.Windows))
			if o.Shuffle {
				at = feistel(o.Seed, own, 1<<32+uint64(d), int64(s.Windows), at)
			}
			return first + at
		}
		number -= parts[d].draws
		first += int64(s.Windows)
	}
	panic("no source has the number")
}

// feistel returns the number at a position in a permutation of 0..n-1, with arithmetic on unbounded integers.
func feistel(seed uint64, epoch int64, lane uint64, n, position int64) int64 {
	const word = 1 << 32
	mix := func(x uint64) uint64 {
		for _, step := range [][2]uint64{{1 << 16, 0x85ebca6b}, {1 << 13, 0xc2b2ae35}, {1 << 16, 1}} {
			x = (x ^ x/step[0]) * step[1] % word
		}
		return x
	}
	side := uint64(2)
	for side < 1<<31 && side*side < uint64(n) {
		side *= 2
	}
	rounds := uint64(4)
	if n <= 4096 {
		rounds = 8
	}
	x := uint64(position)
	for again := true; again; again = x >= uint64(n) {
		l, r := x/side, x%side
		for i := range rounds {
			key := (seed + (i%4+1)*0x9e3779b9) % word
			parts := []uint64{seed / word, uint64(epoch) % word, uint64(epoch) / word}
			if lane > 0 {
				parts = append(parts, lane%word, lane/word)
			}
			for _, part := range parts {
				key = mix(key) ^ part
			}
			key = (mix(key) + i/4*0x9e3779b9) % word
			l, r = r, l^mix(r^key)%side
		}
		x = l*side + r
	}
	return int64(x)
}

// fault returns the error for the first wrong value by class, stream and episode, or nil.
func (c *drawing) fault() *ops.ValueError {
	wrong := func(arg string, row, index int, kind error) *ops.ValueError {
		return &ops.ValueError{Op: "Draw", Arg: arg, Row: row, Index: index, Kind: kind}
	}
	for i, v := range []int64{c.From.Epoch, c.From.Taken} {
		if v < 0 {
			return wrong("Cursor", 0, i, ops.ErrCursor)
		}
	}
	table := func(arg string, a *array, end int64) *ops.ValueError {
		last := a.len() - 2
		for e := range last + 1 {
			lo, hi := a.int(a.at(e)), a.int(a.at(e+1))
			if lo < 0 || hi < lo || hi > end || hi-lo > math.MaxInt32 || e == 0 && lo != 0 || e == last && hi != end {
				return wrong(arg, e, 0, ops.ErrRows)
			}
		}
		return nil
	}
	if e := table("Windows", c.Windows, int64(c.Opts.Count)); e != nil {
		return e
	}
	for e, begin := range c.Begins {
		// In float64, a sum that exceeds 2^62 by less than 512 rounds to 2^62, so it is no error. The cases exceed it by more, or
		// equal it.
		ends := []float64{float64(begin)}
		if n := c.Windows.int(e+1) - c.Windows.int(e); n > 0 {
			ends = append(ends, float64(begin)+math.Min(math.Floor(float64(n-1)*1e9/c.Opts.Rate+0.5), 1<<62))
		}
		for _, x := range ends {
			if math.Abs(x) > 1<<62 || begin == 1<<62+1 {
				return wrong("Begins", e, 0, ops.ErrTimeRange)
			}
		}
	}
	for m, a := range c.Offsets {
		if e := table(fmt.Sprintf("Streams[%d].Offsets", m), a, a.int(a.at(a.len()-1))); e != nil {
			return e
		}
	}
	return nil
}
