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
// The windows of all episodes are numbered 0 to Count-1. An epoch takes them in an order of its own, by positions 0 to Count-1; with
// Shuffle that is the permutation of (Seed, epoch), see [DrawOptions.Window], else the order of their numbers. A batch of all ranks
// takes the next Ranks*Batch positions: row i of rank r has position taken + r + Ranks*i. So a window is a pure function of seed,
// epoch and position, and whoever goes on from a cursor with other Ranks or another Batch goes on in the same order.
type DrawOptions struct {
	Rate    float64 // of the anchors in Hz: tick j of an episode is at Begins[e] + floor(j*1e9/Rate + 0.5), as of a [Uniform] clock
	Count   int     // n, the windows of all episodes: what Windows ends with. 1 to 2^62
	Batch   int     // B, the rows of each rank's batch
	Rank    int     // this program's number among Ranks
	Ranks   int     // programs that share the epoch, each with a cursor of its own at the same place; 0 is 1
	Last    LastBatch
	Shuffle bool
	Seed    uint64
	// TrustTables leaves out the checks of Windows, Begins, Offsets and the cursor. What is drawn by wrong ones is unspecified; nothing
	// else is written.
	TrustTables bool
	// Launch is as for Resample. The tensors read and written include the cursor: no Draw of the same one may still run under
	// LaunchInputsReady.
	Launch LaunchMode
}

// order is the part of the options that says in which order windows come.
func (o *DrawOptions) order() *backend.DrawOrder {
	return &backend.DrawOrder{Count: o.Count, Batch: o.Batch, Rank: o.Rank, Ranks: o.Ranks, Last: o.Last, Shuffle: o.Shuffle, Seed: o.Seed}
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

// Window returns the number of the window at a position of an epoch, 0 to Count-1.
//
// The permutation is a Feistel network (Luby and Rackoff, 1988) on numbers of 2h bits, the smallest even number of bits, at least
// 2, with 2^2h >= Count. A round makes of the halves (l, r), l the upper one, (r, l ^ (mix(r ^ k) mod 2^h)). There are four
// rounds, and eight where Count is at most 4096: of halves of few bits four rounds show in how often two neighbours come to lie how
// far apart. A result of Count or more goes through the network again until one is smaller (cycle-walking: Black and Rogaway,
// Ciphers with arbitrary finite domains, 2002).
//
// mix is the 32-bit finalizer of MurmurHash3 (Appleby): x ^= x>>16, x *= 0x85ebca6b, x ^= x>>13, x *= 0xc2b2ae35, x ^= x>>16. Round i,
// from 0, has k = mix(mix(mix(mix(lo(Seed) + (i%4+1)*0x9e3779b9) ^ hi(Seed)) ^ lo(epoch)) ^ hi(epoch)) + (i/4)*0x9e3779b9, with lo and
// hi the halves of 64 bits. All arithmetic is modulo 2^32.
func (o DrawOptions) Window(epoch, position int64) int64 { return o.order().Window(epoch, position) }
