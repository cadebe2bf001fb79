package ops

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// DrawArgs has the tensors for [Device.Draw]. The outputs come first. B is the number of windows in a batch, E of
// episodes, M of streams.
//
// A store is packed: for each stream, the samples from all episodes lie one after another, and Offsets holds the
// position where each episode begins. An episode has one window for each anchor. Its anchors are the ticks at Rate from
// the episode's beginning. Windows counts them as running sums. Example: for two episodes with 3 and 2 windows, Windows
// is [0 3 5]. All tensors are i64 and contiguous. Inputs may overlap each other.
type DrawArgs struct {
	Episodes *tensor.Tensor // [B], optional: the episode of each window, or -1 if the row has no window
	Ticks    *tensor.Tensor // [B], optional: the anchor's number in its episode, or -1 if the row has no window
	// Keys [B,2], optional, has the epoch and the position in it for each row, as [FramesArgs].Keys requires. Rows
	// without a window have theirs too: positions after the epoch's last one.
	Keys    *tensor.Tensor
	Anchors *tensor.Tensor // [B]: the anchor's time in nanoseconds, or 0 if the row has no window

	// Cursor [2] is the place in the order: the epoch, and the number of its positions that all ranks together have
	// taken; see [Cursor]. A run reads it, draws the next batch, and writes the place where the next run begins. Zeros
	// begin the first epoch.
	Cursor *tensor.Tensor

	Streams []DrawStream // 0 to MaxStreams

	Windows *tensor.Tensor // [E+1]: episode e has the windows Windows[e] to Windows[e+1]-1, none if both are equal
	Begins  *tensor.Tensor // [E]: the time of each episode's tick 0 in nanoseconds
}

// DrawStream locates the samples of the drawn episodes in one stream's packed values. A drawn episode may have no
// samples in a stream. Its fields, all *tensor.Tensor, are
//
//	Starts   [B], written: the first sample, Offsets[e]; 0 if the row has no window
//	Lengths  [B], written: the number of samples, Offsets[e+1]-Offsets[e]; 0 if the row has no window
//	Offsets  [E+1]
type DrawStream = backend.DrawStream

// DrawResult is the result of [Device.Draw], except for the cursor, which Draw updates in place. [DrawArgs] describes
// the tensors.
type DrawResult struct {
	Episodes, Ticks, Keys, Anchors *tensor.Tensor // the outputs from DrawArgs
	Streams                        []DrawStream   // Starts and Lengths [B] for each stream
}

// Cursor is a place in the order of draws: the epoch number (Epoch) and the number of positions already taken in it
// (Taken). A program needs only the cursor to continue from there. Example: {Epoch: 1, Taken: 64} after two batches of
// 32 windows in the second epoch.
type Cursor = backend.Cursor

// DrawOptions sets the order in which windows are drawn, and their distribution to ranks. Rate, Count and Batch are
// required.
//
// The windows of all episodes have the numbers 0 to Count-1. An epoch has positions 0 to Count-1, and the order assigns
// a window to each. Without Shuffle, position i is window i. With Shuffle, each epoch is a permutation of all windows.
// With ShardWindows and MixShards too, each part of the epoch needs only a small part of the store, as a store on a
// disk requires. With Sources, a mixture of datasets, an epoch draws each source in proportion to its weight.
// [DrawOptions.Window] gives the formulas.
//
// A batch takes the next Ranks*Batch positions for all ranks together: row i on rank r has position taken + r +
// Ranks*i. So a window depends on seed, epoch and position only. If a program resumes from a cursor with other Ranks or
// another Batch, the order continues unchanged.
type DrawOptions struct {
	Rate    float64 // the anchors' rate in Hz: tick j of an episode is at Begins[e] + floor(j*1e9/Rate + 0.5), as in [Uniform]
	Count   int     // n, the number of windows in all episodes: the last value in Windows. 1 to 2^62
	Batch   int     // B, the rows in each rank's batch
	Rank    int     // this program's number, 0 to Ranks-1
	Ranks   int     // programs that share the epoch, each with its own cursor at the same place; 0 means 1
	Last    LastBatch
	Shuffle bool
	Seed    uint64
	// ShardWindows is the number of consecutive windows in a shard, and MixShards is the number of shards that are
	// mixed at a time. An epoch takes the shards in a shuffled order, in groups of MixShards, and shuffles the windows
	// within each group. Set both to 0 to shuffle all windows of the epoch, or set both to at least 1 together with
	// Shuffle. Example: 1000 and 8 shuffle among 8000 windows at a time.
	ShardWindows, MixShards int
	// Sources are the datasets in a weighted mixture, at most MaxSources. Their windows follow each other in the store,
	// and their sum is Count. Positions is the number of windows that an epoch draws, 1 to 2^62; 0 means Count. Each
	// source has its own epochs: it repeats no window before all its windows have been drawn. Without sources the store
	// is one dataset. Sources cannot be combined with ShardWindows.
	Sources   []DrawSource
	Positions int
	// TrustTables skips the checks on Windows, Begins, Offsets and the cursor. If they are wrong, the drawn windows are
	// unspecified, but nothing outside the outputs is written.
	TrustTables bool
	// Launch is as for Resample, with one difference. Under LaunchInputsReady a Draw still waits for the earlier work
	// before it writes its outputs. So that work may still use these outputs, as the Fuse for the last batch does. The
	// cursor counts as an input: no other Draw with the same cursor may still run.
	Launch LaunchMode
}

// DrawSource is one dataset in a mixture. Windows, at least 1, is its number of windows. Weight is its share relative
// to the other weights; it is finite and not negative, and at least one source has a weight above 0. Example: weights 3
// and 1 draw three in four windows from the first.
type DrawSource = backend.DrawSource

// MaxSources is the largest number of datasets in a mixture.
const MaxSources = 64

// order returns the options that determine the order of the windows.
func (o *DrawOptions) order() *backend.DrawOrder {
	return &backend.DrawOrder{Count: o.Count, Batch: o.Batch, Rank: o.Rank, Ranks: o.Ranks, Last: o.Last, Shuffle: o.Shuffle, Seed: o.Seed,
		ShardWindows: o.ShardWindows, MixShards: o.MixShards,
		Sources: o.Sources, Positions: o.Positions}
}

// Batches returns the number of batches in an epoch, which is the same for every rank. Count and Batch must be at least
// 1.
func (o DrawOptions) Batches() int { return o.order().Batches() }

// Dropped returns the number of windows that no rank draws in an epoch under LastDrop, because they do not fill a
// batch.
func (o DrawOptions) Dropped() int { return o.order().Dropped() }

// Missing returns the number of rows without a window in an epoch's last batch under LastShort, for all ranks together.
func (o DrawOptions) Missing() int { return o.order().Missing() }

// Next returns the cursor where the next batch begins, and the cursor after that batch. If this epoch has no more
// batches, the batch begins in the next epoch.
func (o DrawOptions) Next(c Cursor) (begin, after Cursor) { return o.order().Next(c) }

// Position returns the position for row i in the batch that begins at a cursor. It returns false if the epoch has no
// position for this row.
func (o DrawOptions) Position(begin Cursor, i int) (int64, bool) { return o.order().Position(begin, i) }

// Window returns the number of the window at a position in an epoch, 0 to Count-1. Without Shuffle it is the position
// itself. The position and options must be valid for Draw.
//
// With Shuffle it is P(Count, 0, position). P(n, lane, x) is a permutation of the numbers 0 to n-1. It is a Feistel
// network (Luby and Rackoff, 1988) on numbers with 2h bits, where 2h is the smallest even number, at least 2, with 2^2h
// >= n. A round turns the halves (l, r), l the upper one, into (r, l ^ (mix(r ^ k) mod 2^h)). There are four rounds, or
// eight if n is at most 4096, because four rounds on halves with few bits leave a visible pattern in the distances
// between neighbours. If the result is n or more, it goes through the network again until it is smaller (cycle-walking:
// Black and Rogaway, Ciphers with arbitrary finite domains, 2002).
//
// mix is the 32-bit finalizer from MurmurHash3 (Appleby): x ^= x>>16, x *= 0x85ebca6b, x ^= x>>13, x *= 0xc2b2ae35, x
// ^= x>>16. Round i, from 0, has k = K + (i/4)*0x9e3779b9, where K is mix(mix(mix(mix(lo(Seed) + (i%4+1)*0x9e3779b9) ^
// hi(Seed)) ^ lo(epoch)) ^ hi(epoch)) on lane 0. On any other lane K is mix(mix(K0 ^ lo(lane)) ^ hi(lane)), where K0 is
// the K on lane 0. lo and hi are the halves of 64 bits. All of this is modulo 2^32.
//
// With ShardWindows w and MixShards k, shards are counted from window f = P(Count, 0, 0), so that each epoch has its
// own shards. Shard s has the windows (f + s*w + i) mod Count for i from 0 to w-1. There are W = Count/w whole shards
// (/ rounds down). If Count is not a multiple of w, shard W has the remaining Count mod w windows. Slot j of the epoch
// holds the whole shard P(W, 1, j), and the last slot, W, holds the short shard. Group g has the shards in the slots
// g*k to g*k+k-1, or fewer at the end. Its positions begin at g*k*w, and their number m is the number of windows in its
// shards. With y = P(m, 2+g, x), position g*k*w + x holds window y mod w of the shard in slot g*k + y/w.
//
// With Sources, source d, from 0, has s[d] of an epoch's N positions, see [DrawOptions.Shares]. Among the numbers 0 to
// N-1, the first s[0] belong to source 0, the next s[1] to source 1, and so on. The position has the number v = P(N, 0,
// position), or v = position without Shuffle. Let v be number j, from 0, within source d. Counted over all epochs, it
// is draw a = epoch*s[d] + j from this source, modulo 2^64. If the source has n windows, this is place x = a mod n in
// the source's own epoch a/n. The window is the source's window P(n, 2^32+d, x), with a/n as the epoch, or its window x
// without Shuffle.
func (o DrawOptions) Window(epoch, position int64) int64 { return o.order().Window(epoch, position) }

// Shard returns the shard in a slot of an epoch's order, see [DrawOptions.Window]: n windows, beginning with window
// first. Window 0 follows window Count-1. If the slot does not exist or the order has no shards, n is 0.
func (o DrawOptions) Shard(epoch, slot int64) (first, n int64) {
	e := o.order().Epoch(epoch)
	return e.Shard(slot)
}

// Shares returns the number of positions that each source has in an epoch with N positions. It is the whole part of
// N*Weight/(sum of all weights), computed exactly. The positions left over go one each to the sources with the largest
// fractional parts, and to the earlier source in a tie (the method of largest remainders). Example: weights 2 and 1
// with N = 10 give 7 and 3.
func (o DrawOptions) Shares() []int {
	var list []int
	for _, s := range o.order().Shares() {
		list = append(list, int(s.Draws))
	}
	return list
}

// Rows fills windows and slots for consecutive rows in the batch that begins at a cursor, beginning with row from. Both
// lists have the same length. slots holds the slots of the windows' shards, see [DrawOptions.Shard]. A row without a
// window gets -1 in both.
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
