package loader

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Options set how batches are drawn. Batch is required. The JSON names are the arguments of the Python package.
type Options struct {
	Batch int    `json:"batch"` // B: the number of windows in one rank's batch
	Seed  uint64 `json:"seed"`
	// Rank is this program's number among the Ranks that share each epoch; Ranks 0 means 1.
	Rank  int `json:"rank"`
	Ranks int `json:"world"`
	// Last applies if an epoch's last windows do not fill a batch of all ranks: they are dropped, or the batch has rows without a
	// window.
	Last  ops.LastBatch `json:"last"`
	DType tensor.DType  `json:"dtype"` // the dtype of the values, unless the plan sets one; 0 is the store's dtype
	Age   bool          `json:"age"`   // adds the age of each target's sample: see ops.ResampleArgs
	// Apart gives each stream contiguous tensors of its own. Else streams with the same window share a tensor, which one launch makes.
	Apart bool `json:"-"`
	// AllNotes puts the recordings' notes about data that the plan does not draw into Report.EpisodeNotes, too: those about other streams,
	// cameras and clouds, and those about data that the reader left out.
	AllNotes bool `json:"-"`
	// Strict makes an episode that the plan cannot take an error. Else the episode is left out and listed in the report.
	Strict bool `json:"strict"`
	// ShardWindows and MixShards apply to the plan's shuffle "shards", see ops.DrawOptions: a shard has ShardWindows consecutive
	// windows, and MixShards shards are mixed at a time. They define the order, together with seed and epoch, so a loader that resumes
	// needs the same values. 0 means 4096 and 16.
	ShardWindows int `json:"shard_windows"`
	MixShards    int `json:"mix_shards"`
	// DropFirst and DropLast are how many ticks at the begin and at the end of each episode are no anchors: drop_n_first_frames and
	// drop_n_last_frames of LeRobot's EpisodeAwareSampler. Batch.Ticks counts from the first anchor.
	DropFirst int `json:"drop_first"`
	DropLast  int `json:"drop_last"`
	// EpisodeWeights, one map a dataset, are weights by episode number: how often a window of the episode is drawn relative to the
	// dataset's other windows. Other episodes have weight 1. The episodes with one weight are a source of ops.DrawOptions, so there are
	// at most ops.MaxSources different weights in all datasets. Example: {3: 2} draws episode 3 twice as often. The plan's shuffle is
	// "windows" or "none", where the episodes are in the order of their weights. A streaming loader has no weights.
	EpisodeWeights []map[int]float64 `json:"episode_weights"`
	// EpochWindows is how many windows an epoch draws with weights, see [NewMixture]; 0 means as many as the stores have.
	EpochWindows int `json:"epoch_windows"`
	// Episodes are the episode numbers to draw from, ascending, one list a dataset; a nil or missing list takes all episodes.
	Episodes [][]int `json:"episodes"`
	// Statistics, by stream, replace the stream's own: for example those that a policy was trained with.
	Statistics map[string]Statistics `json:"-"`
	// Cameras are a batch's cameras; none by default. Their frames are decoded while batches are drawn, so with cameras the stores
	// of [New] must stay open.
	Cameras []Camera `json:"cameras"`
	// Workers is the number of goroutines that read episodes, and also the number that decode frames. 0 means one for each
	// processor.
	Workers int `json:"workers"`
	// FrameLevel is the place for the cameras' frames. If it is empty, each camera gets the first level in FrameLevels with room for all
	// frames that windows can have. FrameMemory is that room in bytes; 0 means half the free memory.
	FrameLevel  FrameLevel `json:"frame_level"`
	FrameMemory int64      `json:"frame_memory"`
	// FramesOn is the device that decodes and resizes frames; nil is the loader's own.
	FramesOn *ops.Device `json:"-"`
	// Keeper gets all cameras' frames; see [Loader.FillNext]. Then the loader keeps no frames and makes no batches.
	Keeper Keeper `json:"-"`
	// Unfilled means that the program fills [Loader.FrameStore] itself, before it draws batches that need the frames.
	Unfilled bool `json:"-"`
	// Unmade means that batches have stored frames instead of Frames, on the CPU. The program makes the frames from them, perhaps on a GPU, with
	// [Loader.PlanFrames]. See [StoredFrames].
	Unmade bool `json:"-"`
}

const (
	shardWindows = 4096
	mixShards    = 16
)

// maxWeight is the largest episode weight, so that no product with a number of windows overflows.
const maxWeight = 1e12

// checkEpisodes returns an *OptionError if Episodes or EpisodeWeights have lists for more than n datasets, or if there are numbers that do
// not ascend, or weights out of range.
func (o *Options) checkEpisodes(n int) error {
	if len(o.EpisodeWeights) > n {
		return refuse("EpisodeWeights", fmt.Sprintf("%d maps", len(o.EpisodeWeights)), fmt.Sprintf("one for each dataset, at most %d", n))
	}
	for _, weights := range o.EpisodeWeights {
		for number, w := range weights {
			if !(w >= 0 && w <= maxWeight) {
				return refuse("EpisodeWeights", fmt.Sprintf("%g for episode %d", w, number), fmt.Sprintf("0 to %g", maxWeight))
			}
		}
	}
	if len(o.Episodes) > n {
		return refuse("Episodes", fmt.Sprintf("those of %d datasets", len(o.Episodes)), fmt.Sprintf("of %d", n))
	}
	for _, numbers := range o.Episodes {
		if !slices.IsSorted(numbers) {
			return refuse("Episodes", "numbers in another order", "numbers that ascend")
		}
	}
	return nil
}
