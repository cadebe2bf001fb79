package loader

import (
	"time"

	"github.com/robocache/robocache/dataset"
)

// Report describes the episodes and streams that a loader draws from.
type Report struct {
	Episodes int `json:"episodes"` // how many episodes are drawn from
	Windows  int `json:"windows"`  // windows in an epoch
	Batches  int `json:"batches"`  // batches in an epoch, on each rank
	Dropped  int `json:"dropped"`  // windows in an epoch that no rank draws
	Missing  int `json:"missing"`  // rows without a window in the last batch of an epoch, over all ranks
	Filtered int `json:"filtered"` // episodes that the plan's filter leaves out
	// Unanchored counts the ticks without a window, because the window would reach too far after the episode: see align.Plan.Anchors.
	Unanchored   int                   `json:"ticks_without_window"`
	Trimmed      int                   `json:"ticks_dropped"` // ticks that Options.DropFirst and DropLast leave out
	Notes        dataset.Notes         `json:"-"`             // about episodes and streams that are left out; Subject is the episode's name
	Lacking      []Lacking             `json:"-"`             // episodes without samples in a stream
	EpisodeNotes []dataset.EpisodeNote `json:"-"`             // the recordings' notes about the drawn streams and about damage
	Streams      []StreamsReport       `json:"streams"`
	Cameras      []CameraReport        `json:"cameras"`
	Bytes        int                   `json:"bytes"` // bytes on the device: the store's drawn part and the batch

	Mixture []MixtureReport `json:"mixture"`         // one for each store, if there are several or one has a weight
	Weights []WeightReport  `json:"episode_weights"` // one for each weight in each dataset, with Options.EpisodeWeights

	ShardWindows int        `json:"shard_windows,omitempty"` // set if the order has shards
	MixShards    int        `json:"mix_shards,omitempty"`
	Streaming    *Streaming `json:"streaming,omitempty"` // set if the loader streams
}

// StreamsReport describes a stream in the batches.
type StreamsReport struct {
	Name    string `json:"name"`
	Columns int    `json:"columns"`
	Targets int    `json:"targets"` // target times in a window
	Samples int    `json:"samples"`
	DType   string `json:"dtype"`
	Stray   int    `json:"stray_samples"`
	Empty   int    `json:"empty"`           // drawn episodes without samples in the stream
	InGaps  int    `json:"windows_in_gaps"` // windows in an epoch with an anchor in a gap, which is a step above dataset.Stats.Limit
	// Unlimited is set if neither a MaxGap nor a Tolerance makes values in gaps not valid.
	Unlimited bool `json:"-"`
	// NotFinite counts the samples with NaN or an infinite value, which are drawn as they are; nil if a store's samples are not
	// read in advance.
	NotFinite *int `json:"not_finite,omitempty"`
}

// Streaming has the memory and the losses of a loader that streams.
type Streaming struct {
	Slots     int `json:"slots"`          // shards that fit on the device: two groups
	SlotBytes int `json:"slot_bytes"`     // the size of the largest shard in bytes
	Pinned    int `json:"pinned_bytes"`   // bytes of host memory from which shards are copied to the device
	Workers   int `json:"workers"`        // goroutines that read shards
	Unread    int `json:"unread_windows"` // rows without a window, because reading their episode again failed
}

// Waits are the times that a loader has waited since it was opened. If Next waits for frames, decoding is the bottleneck. If Next
// waits for shards, reading is the bottleneck: use more workers, a faster disk or a packed store. If workers wait for slots, the
// bottleneck is the program that uses the batches.
type Waits struct {
	Frames  time.Duration // Next's wait for camera frames
	Shards  time.Duration // Next's wait for shards
	Slots   time.Duration // the wait for a free slot, summed over all workers
	Reading time.Duration // the time to read shards and copy them to the device, summed over all workers
	Bytes   int64         // bytes read: samples and timestamps in their form on the device
	Read    int64         // how many shards were read
}

// MixtureState is a source in a weighted mixture: its number of windows, and its share of an epoch in windows.
type MixtureState struct {
	Windows int `json:"windows"`
	Share   int `json:"share"`
}

// WeightReport describes the drawn episodes with one weight.
type WeightReport struct {
	Dataset  int     `json:"dataset"`
	Weight   float64 `json:"weight"`
	Episodes int     `json:"episodes"`
	Windows  int     `json:"windows"`
	Share    int     `json:"share"`  // how many windows an epoch draws from them
	Epochs   float64 `json:"epochs"` // how often an epoch draws each of their windows
}

// MixtureReport describes a store in a mixture.
type MixtureReport struct {
	Name     string  `json:"name"`     // the dataset's name
	Episodes int     `json:"episodes"` // how many of its episodes are drawn from
	Windows  int     `json:"windows"`
	Weight   float64 `json:"weight"`
	Share    int     `json:"share"`  // how many windows an epoch draws from the store
	Epochs   float64 `json:"epochs"` // how often an epoch draws each of its windows: Share/Windows
}
