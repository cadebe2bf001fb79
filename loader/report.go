package loader

import (
	"time"

	"github.com/robocache/robocache/dataset"
)

// Report describes the episodes and streams that a loader draws from.
type Report struct {
	Episodes int `json:"episodes"` // drawn episodes
	Windows  int `json:"windows"`  // of an epoch
	Batches  int `json:"batches"`  // of an epoch, on every rank
	Dropped  int `json:"dropped"`  // windows that no rank draws in an epoch
	Missing  int `json:"missing"`  // rows without a window in an epoch's last batch, of all ranks
	Filtered int `json:"filtered"` // episodes that the plan's filter leaves out
	// Unanchored counts the ticks without a window, because the window would reach too far after the episode: see align.Plan.Anchors.
	Unanchored   int                   `json:"ticks_without_window"`
	Notes        dataset.Notes         `json:"-"` // about episodes and streams that are left out; Subject is the episode's name
	Lacking      []Lacking             `json:"-"` // episodes without samples of a stream
	EpisodeNotes []dataset.EpisodeNote `json:"-"` // of recordings, about the streams and about damage
	Streams      []StreamsReport       `json:"streams"`
	Cameras      []CameraReport        `json:"cameras"`
	FrameCache   FrameCache            `json:"frame_cache"`
	Bytes        int                   `json:"bytes"` // on the device: the store's part and the batch

	Mixture []MixtureReport `json:"mixture"` // if there are several stores, or a weight

	ShardWindows int        `json:"shard_windows,omitempty"` // if the order has shards
	MixShards    int        `json:"mix_shards,omitempty"`
	Streaming    *Streaming `json:"streaming,omitempty"` // of a loader that streams
}

// StreamsReport describes a stream in the batches.
type StreamsReport struct {
	Name    string `json:"name"`
	Columns int    `json:"columns"`
	Targets int    `json:"targets"` // of a window
	Samples int    `json:"samples"`
	DType   string `json:"dtype"`
	Stray   int    `json:"stray_samples"`
	Empty   int    `json:"empty"`           // episodes without samples of it
	InGaps  int    `json:"windows_in_gaps"` // windows in an epoch whose anchors lie in gaps of its samples: dataset.Stats.Limit
	// Unlimited is set if neither a MaxGap nor a Tolerance makes values in gaps not valid.
	Unlimited bool `json:"-"`
	// NotFinite counts the samples with NaN or an infinite value, which are drawn as they are; nil if a store's samples are not
	// read in advance.
	NotFinite *int `json:"not_finite,omitempty"`
}

// Streaming reports streaming's memory and losses.
type Streaming struct {
	Slots     int `json:"slots"`          // shards on the device: two groups
	SlotBytes int `json:"slot_bytes"`     // size of the largest shard
	Pinned    int `json:"pinned_bytes"`   // on the host: the memory that shards are copied from
	Workers   int `json:"workers"`        // goroutines that read shards
	Unread    int `json:"unread_windows"` // rows without a window, because their episode could not be read again
}

// Waits are the times that a loader has waited since it was opened. If Next waits for frames, decoding is the bottleneck. If Next waits
// for shards, reading is: use more workers, a faster disk or a packed store. If workers wait for slots, the batches' consumer is.
type Waits struct {
	Frames  time.Duration // of Next, for frames of cameras
	Shards  time.Duration // of Next, for shards
	Slots   time.Duration // of all workers, for a free slot
	Reading time.Duration // of all workers, reading shards and copying them to the device
	Bytes   int64         // bytes read: samples and timestamps as they are on the device
	Read    int64         // shards read
}

// MixtureReport describes a store in a mixture.
type MixtureReport struct {
	Name     string  `json:"name"`     // of the dataset
	Episodes int     `json:"episodes"` // drawn episodes
	Windows  int     `json:"windows"`
	Weight   float64 `json:"weight"`
	Share    int     `json:"share"`  // the store's windows in an epoch
	Epochs   float64 `json:"epochs"` // how often an epoch draws each window: Share/Windows
}
