package loader

import (
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Options say how batches are drawn. Batch must be given. The names in JSON are those of the Python package's arguments.
type Options struct {
	Batch int    `json:"batch"` // B, the windows of a batch of one rank
	Seed  uint64 `json:"seed"`
	// Rank is this program's number among Ranks that share each epoch; Ranks 0 is 1.
	Rank  int `json:"rank"`
	Ranks int `json:"world"`
	// Last says what becomes of the windows at the end of an epoch that fill no batch of all ranks: dropped, or given with rows that hold no window.
	Last  ops.LastBatch `json:"last"`
	DType tensor.DType  `json:"dtype"` // of the values, where the plan does not say; the store's unless given
	Age   bool          `json:"age"`   // also gives each target's age: see ops.ResampleArgs
	// Apart gives each stream tensors of its own, which are contiguous; else streams with the same window lie side by side, made by one launch.
	Apart bool `json:"-"`
	// Strict makes an episode that the plan cannot take an error; else it is left out and listed in the report.
	Strict bool `json:"strict"`
	// ShardWindows and MixShards are those of the plan's shuffle "shards", see ops.DrawOptions: how many windows that follow each other make a shard,
	// and how many shards are mixed at a time. Together with seed and epoch they are the order, so who goes on from a state has the same. 4096 and 16
	// unless given.
	ShardWindows int `json:"shard_windows"`
	MixShards    int `json:"mix_shards"`
	// EpochWindows is how many windows an epoch of a weighted mixture draws, see [NewMixture]; as many as there are unless given.
	EpochWindows int `json:"epoch_windows"`
	// Episodes are the numbers, ascending, of the episodes to draw from, of each dataset in its order; all of one that has nil or nothing there.
	Episodes [][]int `json:"episodes"`
	// Statistics are those of other recordings, by stream, which normalise it in place of its own: those that a policy was trained with.
	Statistics map[string]Statistics `json:"-"`
	// Cameras are those whose frames a batch has; none unless given. Frames are decoded meanwhile, so with them the stores of [New] stay open as long as
	// the loader is, too.
	Cameras []Camera `json:"cameras"`
	// Workers is how many goroutines read episodes, and how many decode frames; as many as there are processors unless given.
	Workers int `json:"workers"`
	// FrameCache is how many bytes of decoded frames are kept at most, as large as Cameras have them: of videos, which are decoded in stretches, as
	// to begin is what costs most, and of other frames if all fit. A gigabyte, or an eighth of the memory that there is if that is less, unless given;
	// -1 keeps none.
	FrameCache int64 `json:"frame_cache"`

	frames *frameCache // of the loaders of a group
}

const (
	shardWindows = 4096
	mixShards    = 16
)
