package backend

import "math/bits"

// DrawOrder sets the order in which windows are drawn, and their distribution to ranks. It is a part of
// ops.DrawOptions.
type DrawOrder struct {
	Count, Batch, Rank, Ranks int
	Last                      LastBatch
	Shuffle                   bool
	Seed                      uint64
	ShardWindows, MixShards   int // both 0, or both at least 1
	Sources                   []DrawSource
	Positions                 int     // positions in an epoch of a mixture; 0 means Count
	Mixture                   []Share // the result of Shares, if it was computed before
}

// positions returns the number of positions in an epoch.
func (o *DrawOrder) positions() int64 {
	if o.Positions > 0 {
		return int64(o.Positions)
	}
	return int64(o.Count)
}

// Cursor is a place in the order of draws: an epoch, and the number of positions already taken in it. A program needs
// only the cursor to continue from there. The tensor ops.DrawArgs.Cursor has the same two numbers.
type Cursor struct{ Epoch, Taken int64 }

// step returns the number of positions in a batch for all ranks together.
func (o *DrawOrder) step() int64 { return int64(o.Batch) * int64(max(o.Ranks, 1)) }

// Batches returns the number of batches in an epoch, which is the same for every rank. Count and Batch must be at least
// 1.
func (o *DrawOrder) Batches() int {
	n, step := o.positions(), o.step()
	if o.Last == LastDrop {
		return int(n / step)
	}
	return int((n-1)/step) + 1
}

// Dropped returns the number of windows that no rank draws in an epoch under LastDrop, because they do not fill a
// batch.
func (o *DrawOrder) Dropped() int {
	if o.Last == LastShort {
		return 0
	}
	return int(o.positions() % o.step())
}

// Missing returns the number of rows without a window in an epoch's last batch under LastShort, for all ranks together.
func (o *DrawOrder) Missing() int {
	if o.Last == LastDrop {
		return 0
	}
	return int((o.step() - o.positions()%o.step()) % o.step())
}

// Next returns the cursor where the next batch begins, and the cursor after that batch. If this epoch has no more
// batches, the batch begins in the next epoch.
func (o *DrawOrder) Next(c Cursor) (begin, after Cursor) {
	n, step := o.positions(), o.step()
	if o.Last == LastDrop && c.Taken > n-step || c.Taken >= n {
		c = Cursor{c.Epoch + 1, 0}
	}
	left := n - c.Taken
	return c, Cursor{c.Epoch, c.Taken + min(step, left)}
}

// Position returns the position for row i in the batch that begins at a cursor. It returns false if the epoch has no
// position for this row.
func (o *DrawOrder) Position(begin Cursor, i int) (int64, bool) {
	p := begin.Taken + int64(o.Rank) + int64(max(o.Ranks, 1))*int64(i)
	return p, p >= 0 && p < o.positions()
}

// Window returns the number of the window at a position in an epoch, 0 to Count-1. DrawOptions.Window in package ops
// gives the formulas.
func (o *DrawOrder) Window(epoch, position int64) int64 {
	e := o.Epoch(epoch)
	return e.Window(position)
}

// Epoch is the order within one epoch. It is faster than DrawOrder if many windows are needed.
type Epoch struct {
	*DrawOrder
	number     int64
	length     int64 // number of positions
	seed, keys Keys
	shards     Sharding
	ofAll      Keys  // round keys for the permutation of the shards
	first      int64 // the window at which the first shard begins
}

// Epoch returns the order within an epoch.
func (o *DrawOrder) Epoch(epoch int64) Epoch {
	if len(o.Sources) > 0 && o.Mixture == nil {
		o.Mixture = o.Shares()
	}
	e := Epoch{DrawOrder: o, number: epoch, length: o.positions()}
	if !o.Shuffle {
		return e
	}
	e.seed = seedKeys(o.Seed)
	e.keys = e.seed.lane(uint64(epoch))
	if o.ShardWindows > 0 {
		e.shards = o.Sharding()
		e.ofAll = e.keys.lane(laneShards)
		e.first = permute(&e.keys, int64(o.Count), 0)
	}
	return e
}

// Window returns the window at a position in the epoch.
func (e *Epoch) Window(position int64) int64 {
	if e.ShardWindows == 0 {
		return e.unsharded(position)
	}
	var g Group
	window, _ := e.Place(&g, position)
	return window
}

// unsharded returns the window at a position if the order has no shards.
func (e *Epoch) unsharded(position int64) int64 {
	if e.Shuffle {
		position = permute(&e.keys, e.length, position)
	}
	if e.Mixture != nil {
		position = e.drawn(position)
	}
	return position
}

// Group caches values that the positions in one group of shards share. A slot is the place of a shard in the epoch's order. The zero
// value is an empty cache.
type Group struct {
	keys             Keys
	number, begin, n int64
	known            [16]struct{ behind, shard int64 } // recent slots, by their last 4 bits; behind is slot+1, 0 if empty
}

// Place returns the window at a position in the epoch, and the slot of its shard, or slot 0 if the order has no shards.
// It caches the position's group in g, so the next call is faster if its position is in the same group.
func (e *Epoch) Place(g *Group, position int64) (window, slot int64) {
	if e.ShardWindows == 0 {
		return e.unsharded(position), 0
	}
	s := &e.shards
	if uint64(position-g.begin) >= uint64(g.n) {
		g.number = position / s.Span
		g.begin = g.number * s.Span
		g.n = min(s.Span, int64(e.Count)-g.begin)
		g.keys = e.keys.lane(laneGroups + uint64(g.number))
	}
	in := permute(&g.keys, g.n, position-g.begin)
	slot = g.number*s.Mix + in/s.Windows
	known := &g.known[slot%int64(len(g.known))]
	if known.behind != slot+1 {
		known.behind, known.shard = slot+1, e.shardAt(slot)
	}
	return e.counted(known.shard*s.Windows + in%s.Windows), slot
}

// shardAt returns the number of the shard in a slot of the order.
func (e *Epoch) shardAt(slot int64) int64 {
	if slot >= e.shards.Whole { // the last shard, which is shorter than the others
		return e.shards.Whole
	}
	return permute(&e.ofAll, e.shards.Whole, slot)
}

// counted returns the window that is i windows after the first shard's first window, modulo the epoch's windows.
func (e *Epoch) counted(i int64) int64 {
	if left := int64(e.Count) - e.first; i >= left {
		return i - left
	}
	return e.first + i
}

// Shard returns the shard in a slot of the epoch's order: n windows, beginning with window first. Window 0 follows the
// last window. If the slot does not exist, n is 0.
func (e *Epoch) Shard(slot int64) (first, n int64) {
	s := &e.shards
	if s.Windows == 0 || slot < 0 || slot > s.Whole {
		return 0, 0
	}
	begin := e.shardAt(slot) * s.Windows
	if n = min(s.Windows, int64(e.Count)-begin); n == 0 {
		return 0, 0
	}
	return e.counted(begin), n
}

// Sharding is the division of an epoch into shards. A shard is limited to the epoch's windows, and a group to the
// number of shards. These limits do not change the order, but keep all numbers below 2^63.
type Sharding struct {
	Windows int64 // windows in a whole shard
	Whole   int64 // number of whole shards
	Mix     int64 // shards in a group
	Span    int64 // positions in a group
}

// Sharding returns the division of an epoch into shards. ShardWindows must be at least 1.
func (o *DrawOrder) Sharding() Sharding {
	n := int64(o.Count)
	w := min(int64(o.ShardWindows), n)
	k := min(int64(o.MixShards), (n-1)/w+1)
	return Sharding{w, n / w, k, k * w}
}

// laneShards, laneGroups and laneSources are lane numbers, which distinguish the permutations of one epoch. Lane 0 permutes all
// windows, laneShards the shards, laneGroups+g the positions in group g, and laneSources+d the windows in source d of a mixture.
const laneShards, laneGroups, laneSources = 1, 2, 1 << 32

const feistelKeys = 4

// Keys are the round keys of a permutation.
type Keys [feistelKeys]uint32

// feistelStep is added to the key from one round to the next, so that the rounds' keys differ.
const feistelStep = 0x9e3779b9

func feistelMix(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x85ebca6b
	x ^= x >> 13
	x *= 0xc2b2ae35
	return x ^ x>>16
}

// seedKeys returns the part of the round keys that does not depend on the epoch.
func seedKeys(seed uint64) (k Keys) {
	for i := range k {
		k[i] = feistelMix(feistelMix(uint32(seed)+uint32(i+1)*feistelStep) ^ uint32(seed>>32))
	}
	return k
}

// lane mixes 64 more bits into the keys.
func (k *Keys) lane(x uint64) (to Keys) {
	for i := range k {
		to[i] = feistelMix(feistelMix(k[i]^uint32(x)) ^ uint32(x>>32))
	}
	return to
}

// feistelWide is the largest n for which a permutation of n numbers has eight rounds. Larger ones have four.
const feistelWide = 1 << 12

// halfBits returns the bits in each half of a number below n for its permutation, and roundsOf the number of rounds.
func halfBits(n int64) int { return max((bits.Len64(uint64(n-1))+1)/2, 1) }

func roundsOf(n int64) int {
	if n <= feistelWide {
		return 8
	}
	return 4
}

// permute returns the image of a number below n under the permutation of 0 to n-1.
func permute(keys *Keys, n, number int64) int64 {
	h, rounds := halfBits(n), roundsOf(n)
	mask := uint32(1)<<h - 1
	x := uint64(number)
	for {
		l, r := uint32(x>>h), uint32(x)&mask
		for i := range rounds {
			k := keys[i%feistelKeys] + uint32(i/feistelKeys)*feistelStep
			l, r = r, l^feistelMix(r^k)&mask
		}
		if x = uint64(l)<<h | uint64(r); x < uint64(n) {
			return int64(x)
		}
	}
}
