package ops

import "github.com/robocache/robocache/tensor"

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
// have none.
type DrawStream struct {
	Starts  *tensor.Tensor // [B], written: the first sample, Offsets[e]; 0 where there is no window
	Lengths *tensor.Tensor // [B], written: the number of samples, Offsets[e+1]-Offsets[e]; 0 where there is no window
	Offsets *tensor.Tensor // [E+1]
}

// LastBatch says what becomes of the windows at the end of an epoch that do not fill a batch of every rank.
type LastBatch uint8

const (
	// DropLast leaves them out; [DrawOptions.Dropped] counts them.
	LastDrop LastBatch = iota
	// ShortLast draws them too. The rows of the last batch beyond them have no window; [DrawOptions.Missing] counts those.
	LastShort
	lastBatches
)

var lastBatchNames = [lastBatches]string{"drop", "short"}

// String returns drop or short.
func (l LastBatch) String() string { return nameOf(lastBatchNames[:], int(l), "last") }

// ParseLastBatch returns the rule of a name, as String writes it.
func ParseLastBatch(name string) (LastBatch, error) {
	return parse[LastBatch]("last batch", lastBatchNames[:], name)
}

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
