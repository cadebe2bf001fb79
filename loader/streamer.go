package loader

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// sharding divides an epoch. windows is the number of windows in a shard, mix the number of shards in a group, and span the number of
// windows in a group.
type sharding struct{ windows, mix, span int64 }

// streamer is the feed for a streamed dataset. Workers read a group's shards into its slots while batches are drawn from
// the group before.
type streamer struct {
	device    *ops.Device
	order     ops.DrawOptions
	selection *selection
	shards    sharding
	clocks    []int             // parts with their own timestamps
	rooms     []int             // rows in a slot, by part
	slots     []store.Samples   // one a part: [rows,D] and [rows]; Times is nil if the part shares the timestamps of another
	queues    []*ops.Queue      // one a worker
	staging   [][]store.Samples // one a worker: memory that its shards are copied from; nil if the slots are on the host

	table, tableOn *tensor.Tensor // [3+2C,B]: episodes, ticks, anchors, then starts and lengths by clock and film; 2 rows more for keys
	rows           [][]int64      // of the table, on the host
	keys           []int64        // [B,2] in the table: see Loader.keys; nil if nothing is random
	films          []*film        // all their samples are on the device
	window, slot   []int64        // [B]

	at, after ops.Cursor   // after the last batch, and after the one in progress
	lostRows  []int        // rows of the batch without a window, because their episodes could not be read again
	reader    *groupReader // nil until the reading starts

	mu     sync.Mutex
	report *Report
	unread map[int]bool // episodes that could not be read again
	waits  struct{ shards, slots, reading, bytes, read atomic.Int64 }
}

// cut returns an epoch's shards. They are no larger than the epoch, and a group has no more shards than the epoch.
func (s *streamer) cut(windows, mix int64) sharding {
	n := int64(s.order.Count)
	w := min(windows, n)
	k := min(mix, (n-1)/w+1)
	return sharding{w, k, k * w}
}

// size returns the bytes in a part's row, with the timestamp if the part has its own.
func (s *streamer) size(m int) int {
	p := &s.selection.parts[m]
	n := p.width * p.packed.Size()
	if p.clock == m {
		n += tensor.I64.Size()
	}
	return n
}

// bytes returns a slot's bytes, by each part's rows.
func (s *streamer) bytes(rows []int) (n int) {
	for m, count := range rows {
		n += count * s.size(m)
	}
	return n
}

// episodeOf returns a window's episode.
func (s *streamer) episodeOf(w int64) int {
	return sort.Search(len(s.selection.numbers), func(e int) bool { return s.selection.windows[e+1] > w })
}

// capacities returns each part's rows in the largest shard, wherever it begins. A shard that begins at the last window of an
// episode spans the most episodes.
func (s *streamer) capacities(windows int64) []int {
	c := s.selection
	rows := make([]int, len(c.parts))
	n := int64(s.order.Count)
	for e := range c.numbers {
		last := c.windows[e+1] - 1
		if last < c.windows[e] {
			continue
		}
		first, count := s.run(last, min(windows, n))
		for m := range c.parts {
			rows[m] = max(rows[m], runLength(c.parts[m].offsets, first, count))
		}
	}
	return rows
}

// run returns the episodes that contain consecutive windows, from window from on: the first episode, and their count. Window 0 follows the
// last window.
func (s *streamer) run(from, windows int64) (first, count int) {
	n, all := int64(s.order.Count), len(s.selection.numbers)
	to := (from + windows - 1) % n
	first = s.episodeOf(from)
	count = s.episodeOf(to) - first + 1
	if to < from {
		count = min(count+all, all)
	}
	return first, count
}

// shard returns the shard at index slot of an epoch's shard order: its first window and its number of windows n. If the order has no such
// index, n is 0.
func (s *streamer) shard(epoch, slot int64) (first, n int64) {
	if s.order.Shuffle {
		return s.order.Shard(epoch, slot)
	}
	first = slot * s.shards.windows
	return first, max(min(s.shards.windows, int64(s.order.Count)-first), 0)
}

// RoomError means that the device has too little memory for the slots. Smaller shards, or fewer shards in a group, need less.
// FitWindows and FitMix would fit: MixShards is halved down to 1, and then ShardWindows is halved. They are 0 if neither fits.
type RoomError struct {
	ShardWindows, MixShards int
	Bytes                   int // the size of all slots
	FitWindows, FitMix      int // values for ShardWindows and MixShards that would fit
	Err                     error
}

func (e *RoomError) Error() string {
	want := "a device with more memory, or shorter episodes"
	if e.FitMix > 0 {
		want = fmt.Sprintf("%d mixed of %d windows", e.FitMix, e.FitWindows)
	}
	return fmt.Sprintf("loader: no room on the device for two groups with %d shards of %d windows, %d bytes: want %s: %v", e.MixShards, e.ShardWindows, e.Bytes, want, e.Err)
}

// Unwrap returns the device's error, an *ops.MemoryError.
func (e *RoomError) Unwrap() error { return e.Err }

// groupReader reads the next shard groups, two at a time.
type groupReader struct {
	s      *streamer
	ctx    context.Context
	stop   context.CancelFunc
	free   chan struct{}    // a token for each group of free slots
	groups chan *shardGroup // in order; they may not be read yet
	tasks  chan *slot
	open   []*shardGroup // groups that are taken and not released
	work   sync.WaitGroup
}

// shardGroup is a group's shards, in slots.
type shardGroup struct {
	epoch, number int64
	slots         []slot
	left          atomic.Int32  // slots that are not read yet
	ready         chan struct{} // closed when all are
}

// slot is a shard of a group, and its room on the device.
type slot struct {
	group        *shardGroup
	place        int // among all slots
	first, count int // the shard's episodes
	unread       []int
	err          error
}

// distance returns how many samples lie from the first sample of episode from to the first of episode to. Episode 0 follows the last.
func distance(offsets []int64, from, to int64) int64 {
	if to < from {
		return offsets[len(offsets)-1] - offsets[from] + offsets[to]
	}
	return offsets[to] - offsets[from]
}

// runLength returns how many samples count consecutive episodes have, from episode first on. Episode 0 follows the last.
func runLength(offsets []int64, first, count int) int {
	all := len(offsets) - 1
	end := first + count
	if end > all { // it wraps around
		return int(offsets[all] - offsets[first] + offsets[end-all])
	}
	return int(offsets[end] - offsets[first])
}
