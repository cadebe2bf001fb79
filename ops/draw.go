package ops

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// DrawArgs are the tensors of Draw. What is written comes first. B windows a batch, E episodes, M streams.
//
// A store is packed: the samples of all episodes lie one after the other, stream by stream, and Offsets say where each episode's
// begin. An episode has a window at each of its anchors, which are the ticks of Rate from its beginning on; Windows says how many by
// the sums of those before. All tensors are i64 and contiguous, inputs may overlap each other.
type DrawArgs struct {
	Episodes *tensor.Tensor // [B], optional: the episode of each window, -1 where there is none
	Ticks    *tensor.Tensor // [B], optional: the number of its anchor within the episode, -1 where there is none
	Anchors  *tensor.Tensor // [B]: the time of its anchor in nanoseconds, 0 where there is none

	// Cursor is [2]: the epoch, and how many of its positions all ranks together have taken; see [Cursor]. A run reads it, draws
	// what comes next, and writes where the run after it begins. Zeros begin the first epoch.
	Cursor *tensor.Tensor

	Streams []DrawStream // 0 to MaxStreams

	Windows *tensor.Tensor // [E+1]: episode e has the windows Windows[e] to Windows[e+1]-1, none if they are equal
	Begins  *tensor.Tensor // [E]: the time of each episode's tick 0 in nanoseconds
}

// DrawStream is a stream of the store: where the samples of the drawn episodes lie in its packed values. An episode that is drawn may
// have none. Its fields, all *tensor.Tensor, are
//
//	Starts   [B], written: the first sample, Offsets[e]; 0 where there is no window
//	Lengths  [B], written: the number of samples, Offsets[e+1]-Offsets[e]; 0 where there is no window
//	Offsets  [E+1]
type DrawStream = backend.DrawStream

// DrawResult is what Draw wrote, but for the cursor: see [DrawArgs].
type DrawResult struct {
	Episodes, Ticks, Anchors *tensor.Tensor // [B]
	Streams                  []DrawStream   // Starts and Lengths [B] of each
}

// Cursor is a place in the order of draws, as the tensor of that name has it: in an epoch (Epoch), behind so many of its positions (Taken). It is all
// that has to be kept to go on from there.
type Cursor = backend.Cursor

// DrawOptions says in which order windows are drawn, and how they are dealt out. Rate, Count and Batch must be given.
//
// The windows of all episodes are numbered 0 to Count-1. An epoch takes them in an order of its own, by positions 0 to Count-1: without
// Shuffle the order of their numbers; with it a permutation of all of them; and with ShardWindows and MixShards besides, an order in which
// each stretch of the epoch needs a small part of the store alone, as one that is read from a disk has to. Of a mixture of datasets, with
// Sources, an epoch draws as many windows of each as the weights have it. [DrawOptions.Window] has the rules.
//
// A batch of all ranks takes the next Ranks*Batch positions: row i of rank r has position taken + r + Ranks*i. So a window is a pure
// function of seed, epoch and position, and whoever goes on from a cursor with other Ranks or another Batch goes on in the same order.
type DrawOptions struct {
	Rate    float64 // of the anchors in Hz: tick j of an episode is at Begins[e] + floor(j*1e9/Rate + 0.5), as of a [Uniform] clock
	Count   int     // n, the windows of all episodes: what Windows ends with. 1 to 2^62
	Batch   int     // B, the rows of each rank's batch
	Rank    int     // this program's number among Ranks
	Ranks   int     // programs that share the epoch, each with a cursor of its own at the same place; 0 is 1
	Last    LastBatch
	Shuffle bool
	Seed    uint64
	// ShardWindows is how many windows that follow each other, as their episodes do, make a shard, and MixShards how many shards are drawn from at
	// a time: an epoch takes the shards in a shuffled order, so many together, and the windows of these in a shuffled order before any of the
	// next. Both are 0, for an epoch that shuffles all windows, or both at least 1, with Shuffle.
	ShardWindows, MixShards int
	// Sources are the datasets of a weighted mixture, at most MaxSources, whose windows follow each other in the store and are Count together.
	// Positions is how many windows an epoch then draws, 1 to 2^62; Count unless given. Each source is gone through in full epochs of its own:
	// none of its windows is drawn again before all have been. Without sources the store is one dataset. Not with ShardWindows.
	Sources   []DrawSource
	Positions int
	// TrustTables leaves out the checks of Windows, Begins, Offsets and the cursor. What is drawn by wrong ones is unspecified; nothing
	// else is written.
	TrustTables bool
	// Launch is as for Resample, but that under LaunchInputsReady a Draw waits for the work before it when it begins to write: that may still
	// read and write what the Draw writes, as the Fuse of the last batch does. The tensors read include the cursor: no Draw of the same one may
	// still run.
	Launch LaunchMode
}

// DrawSource is one of the datasets that a mixture is drawn from: Windows, at least 1, is how many it has, and Weight, finite and not below 0,
// how often it is drawn from, relative to the weights of the others, of which one at least is not 0.
type DrawSource = backend.DrawSource

// MaxSources is how many datasets a mixture can have.
const MaxSources = 64

// order is the part of the options that says in which order windows come.
func (o *DrawOptions) order() *backend.DrawOrder {
	return &backend.DrawOrder{Count: o.Count, Batch: o.Batch, Rank: o.Rank, Ranks: o.Ranks, Last: o.Last, Shuffle: o.Shuffle, Seed: o.Seed,
		ShardWindows: o.ShardWindows, MixShards: o.MixShards,
		Sources: o.Sources, Positions: o.Positions}
}

// Batches returns the number of batches of an epoch, the same for every rank. Count and Batch are at least 1.
func (o DrawOptions) Batches() int { return o.order().Batches() }

// Dropped returns how many windows no rank draws in an epoch: those that fill no batch, under LastDrop.
func (o DrawOptions) Dropped() int { return o.order().Dropped() }

// Missing returns how many rows of an epoch's last batch, those of all ranks together, have no window: under LastShort.
func (o DrawOptions) Missing() int { return o.order().Missing() }

// Next returns where the batch that is drawn next begins, which is in the next epoch where this one has no more, and the cursor behind
// it.
func (o DrawOptions) Next(c Cursor) (begin, after Cursor) { return o.order().Next(c) }

// Position returns the position of row i in the batch that begins at a cursor; false where the epoch has none for it.
func (o DrawOptions) Position(begin Cursor, i int) (int64, bool) { return o.order().Position(begin, i) }

// Window returns the number of the window at a position of an epoch, 0 to Count-1. Without Shuffle it is the position. Position and options are
// such as Draw takes.
//
// With Shuffle it is P(Count, 0, position). P(n, lane, x) is a permutation of the numbers 0 to n-1, a Feistel network (Luby and Rackoff,
// 1988) on numbers of 2h bits, the smallest even number of bits, at least 2, with 2^2h >= n. A round makes of the halves (l, r), l the
// upper one, (r, l ^ (mix(r ^ k) mod 2^h)). There are four rounds, and eight where n is at most 4096: of halves of few bits four rounds
// show in how often two neighbours come to lie how far apart. A result of n or more goes through the network again until one is smaller
// (cycle-walking: Black and Rogaway, Ciphers with arbitrary finite domains, 2002).
//
// mix is the 32-bit finalizer of MurmurHash3 (Appleby): x ^= x>>16, x *= 0x85ebca6b, x ^= x>>13, x *= 0xc2b2ae35, x ^= x>>16. Round i,
// from 0, has k = K + (i/4)*0x9e3779b9, where K is mix(mix(mix(mix(lo(Seed) + (i%4+1)*0x9e3779b9) ^ hi(Seed)) ^ lo(epoch)) ^ hi(epoch)) on
// lane 0, and mix(mix(that ^ lo(lane)) ^ hi(lane)) on any other, with lo and hi the halves of 64 bits. All of this is modulo 2^32.
//
// With ShardWindows w and MixShards k, shards are counted from window f = P(Count, 0, 0) on, so that each epoch has its own: shard s is the
// windows (f + s*w + i) mod Count for i from 0 to w-1. There are W = Count/w whole shards (/ rounds down) and, where Count is not a
// multiple of w, shard W with the Count mod w windows left. Whole shard P(W, 1, j) comes in slot j of the epoch, and the short one in slot W,
// the last. Group g is the shards in the slots g*k to g*k+k-1, as far as there are such: it has the positions from g*k*w on, as
// many as its shards have windows, m. Position g*k*w + x has the window i of the shard in slot g*k + y/w, with y = P(m, 2+g, x) and i = y mod w.
//
// With Sources, source d, from 0, has s[d] of an epoch's N positions, see [DrawOptions.Shares]: of the numbers 0 to N-1 the first s[0] are
// source 0's, the next s[1] source 1's, and so on. The position has number v = P(N, 0, position), or v = position without Shuffle. Let v be
// the j-th of source d's, from 0. Of all that is drawn from this source in all epochs that is number a = epoch*s[d] + j, modulo 2^64, which is
// place x = a mod n of the source's own epoch a/n, where n is how many windows it has. It is the source's window P(n, 2^32+d, x), with a/n for
// the epoch, or its window x without Shuffle.
func (o DrawOptions) Window(epoch, position int64) int64 { return o.order().Window(epoch, position) }

// Shard returns the shard in a slot of an epoch's order, see [DrawOptions.Window]: it has n windows, from first on, and window 0 comes
// behind window Count-1. With n = 0 there is no such slot, or the order is not one of shards.
func (o DrawOptions) Shard(epoch, slot int64) (first, n int64) {
	e := o.order().Epoch(epoch)
	return e.Shard(slot)
}

// Shares returns how many of an epoch's N positions each source of a mixture has: the whole part of N*Weight/(sum of the weights), exactly, and one
// more for as many sources as it takes to make N, those with the largest fractional parts, of equal ones the earlier (the method of largest
// remainders).
func (o DrawOptions) Shares() []int {
	var list []int
	for _, s := range o.order().Shares() {
		list = append(list, int(s.Draws))
	}
	return list
}

// Rows writes the windows of rows of the batch that begins at a cursor, from one on as many as the lists are long, and the slots of their shards, see
// [DrawOptions.Shard]; both -1 for a row that has none.
func (o DrawOptions) Rows(begin Cursor, from int, windows, slots []int64) {
	e := o.order().Epoch(begin.Epoch)
	var g backend.Group
	for i := range windows {
		windows[i], slots[i] = -1, -1
		if p, drawn := e.Position(begin, from+i); drawn {
			windows[i], slots[i] = e.Place(&g, p)
		}
	}
}
