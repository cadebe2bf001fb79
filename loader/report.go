package loader

import (
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
)

// Report says what a loader draws from.
type Report struct {
	Episodes int `json:"episodes"` // that windows are drawn from
	Windows  int `json:"windows"`  // of an epoch
	Batches  int `json:"batches"`  // of an epoch, for every rank
	Dropped  int `json:"dropped"`  // windows that no rank draws in an epoch
	Missing  int `json:"missing"`  // rows of an epoch's last batch that hold no window, of all ranks
	Filtered int `json:"filtered"` // episodes that the plan's filter leaves out
	// Unanchored are the ticks of the episodes without a window, since it would reach too far beyond the end: see align.Plan.Anchors.
	Unanchored   int                   `json:"ticks_without_window"`
	Notes        dataset.Notes         `json:"-"` // of episodes and streams that could not be taken; Subject is the name of the episode
	Lacking      []Lacking             `json:"-"` // episodes without samples of a stream
	EpisodeNotes []dataset.EpisodeNote `json:"-"` // notes of recordings that bear on the streams, and about damage
	Streams      []StreamsReport       `json:"streams"`
	Cameras      []CameraReport        `json:"cameras"`
	FrameCache   FrameCache            `json:"frame_cache"`
	Bytes        int                   `json:"bytes"` // on the device: what is drawn from, and the batch

	Mixture []MixtureReport `json:"mixture"` // of a loader that draws from several stores, or with a weight

	ShardWindows int        `json:"shard_windows,omitempty"` // of an order of shards
	MixShards    int        `json:"mix_shards,omitempty"`
	Streaming    *Streaming `json:"streaming,omitempty"` // of a loader that reads meanwhile
}

// StreamsReport is a stream of the batches.
type StreamsReport struct {
	Name    string `json:"name"`
	Columns int    `json:"columns"`
	Targets int    `json:"targets"` // of a window
	Samples int    `json:"samples"`
	DType   string `json:"dtype"`
	Stray   int    `json:"stray_samples"`
	Empty   int    `json:"empty"` // episodes without samples of it
	// NotFinite are the samples with a value that is not finite, which are drawn as they are; nil of a store that is read meanwhile, and was not looked at.
	NotFinite *int `json:"not_finite,omitempty"`
}

// Streaming is what a loader that reads meanwhile holds, and what became of what it read.
type Streaming struct {
	Slots     int `json:"slots"`          // shards that there is room for on the device: two groups of those that are mixed
	SlotBytes int `json:"slot_bytes"`     // of each: what the largest shard needs
	Pinned    int `json:"pinned_bytes"`   // on the host, from which shards are copied to the device
	Workers   int `json:"workers"`        // goroutines that read shards
	Unread    int `json:"unread_windows"` // rows given without a window, since their episode could not be read again
}

// Waits says what a loader that reads or decodes meanwhile has waited for, since it was opened. Where Next waits for frames, decoding is the
// bottleneck; where it waits for shards, reading is: more workers, a faster disk or a packed store help. Where workers wait for slots it is what
// batches are used for.
type Waits struct {
	Frames  time.Duration // Next, for frames of cameras to be decoded
	Shards  time.Duration // Next, for shards to be read
	Slots   time.Duration // all workers together, for shards that may be read, since a slot is free
	Reading time.Duration // all workers together, reading shards and copying them to the device
	Bytes   int64         // that were read: samples and timestamps as they are on the device
	Read    int64         // shards that were read
}

// Report says what the loader draws from.
func (l *Loader) Report() Report {
	if s, streaming := l.feed.(*streamer); streaming { // whose workers add to it
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	r := l.report
	if r.Streaming != nil {
		now := *r.Streaming
		r.Streaming, r.Notes = &now, slices.Clone(r.Notes)
	}
	if l.filmer != nil {
		l.filmer.mu.Lock()
		defer l.filmer.mu.Unlock()
		r.Cameras = slices.Clone(r.Cameras)
		if l.filmer.cache != nil {
			r.FrameCache = l.filmer.cache.said()
		}
		for i := range r.Cameras {
			r.Cameras[i].Bad, r.Cameras[i].FirstBad = l.filmer.bad[i].count, l.filmer.bad[i].first
		}
	}
	return r
}

// Waits says what a loader that reads or decodes meanwhile has waited for; nothing of one that does neither.
func (l *Loader) Waits() Waits {
	var frames time.Duration
	if l.filmer != nil {
		frames = time.Duration(l.filmer.waited.Load())
	}
	s, streaming := l.feed.(*streamer)
	if !streaming {
		return Waits{Frames: frames}
	}
	w := &s.waits
	return Waits{frames, time.Duration(w.shards.Load()), time.Duration(w.slots.Load()), time.Duration(w.reading.Load()), w.bytes.Load(), w.read.Load()}
}
