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

// sharding is how an epoch is cut.
type sharding struct{ windows, mix, span int64 }

// streamer is the feed of a dataset that is read meanwhile. Workers read the shards of a group into its slots while the group before is drawn from.
type streamer struct {
	device    *ops.Device
	order     ops.DrawOptions
	selection *selection
	shards    sharding
	clocks    []int             // the parts that have timestamps of their own
	rooms     []int             // the rows of each part that a slot has
	slots     []store.Samples   // of each part: where its samples go, [rows,D] and [rows]; Times is nil if the part has the timestamps of another
	queues    []*ops.Queue      // of each worker
	staging   [][]store.Samples // of each worker, from which its shards are copied; nil where the slots are on the host

	table, tableOn *tensor.Tensor // [3+2C,B]: episodes, ticks, anchors, and of each clock starts and lengths, on the host and on the device
	rows           [][]int64      // of the table
	window, slot   []int64        // [B]

	at, after ops.Cursor   // behind the last batch that was made, and behind the one that is
	lostRows  []int        // rows without a window of the batch that is made, since their episodes could not be read again
	reader    *groupReader // nil until it begins

	mu     sync.Mutex
	report *Report
	unread map[int]bool // episodes that could not be read again
	waits  struct{ shards, slots, reading, bytes, read atomic.Int64 }
}

// cut is how an epoch is cut into shards of so many windows, so many mixed at a time: no larger and no more than there are.
func (s *streamer) cut(windows, mix int64) sharding {
	n := int64(s.order.Count)
	w := min(windows, n)
	k := min(mix, (n-1)/w+1)
	return sharding{w, k, k * w}
}

// size is the bytes of a row of a part, with its timestamp where that is its own.
func (s *streamer) size(m int) int {
	p := &s.selection.parts[m]
	n := p.width * p.packed.Size()
	if p.clock == m {
		n += tensor.I64.Size()
	}
	return n
}

// bytes is what so many rows of each part need.
func (s *streamer) bytes(rows []int) (n int) {
	for m, count := range rows {
		n += count * s.size(m)
	}
	return n
}

// episodeOf returns the episode of a window.
func (s *streamer) episodeOf(w int64) int {
	return sort.Search(len(s.selection.numbers), func(e int) bool { return s.selection.windows[e+1] > w })
}

// capacities returns how many rows of each part the largest shard of so many windows has, wherever it begins: a run of episodes that begins with the
// last window of one has the most that can begin in it.
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

// run returns the episodes of so many windows from one on, window 0 behind the last: the first and how many.
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

// shard returns the shard in a slot of an epoch's order, none with n of 0.
func (s *streamer) shard(epoch, slot int64) (first, n int64) {
	if s.order.Shuffle {
		return s.order.Shard(epoch, slot)
	}
	first = slot * s.shards.windows
	return first, max(min(s.shards.windows, int64(s.order.Count)-first), 0)
}

// RoomError says that the device has not the memory for the slots. Fewer shards mixed at a time, or smaller ones, need less: the greatest MixShards
// of these ShardWindows, halved and halved again, for which there is the room, or the greatest ShardWindows of one; 0 if there is for neither.
type RoomError struct {
	ShardWindows, MixShards int
	Bytes                   int // of all slots
	FitWindows, FitMix      int // for which there is the room
	Err                     error
}

func (e *RoomError) Error() string {
	want := "a device with more memory, or shorter episodes"
	if e.FitMix > 0 {
		want = fmt.Sprintf("%d mixed of %d windows", e.FitMix, e.FitWindows)
	}
	return fmt.Sprintf("loader: no room on the device for the slots of two groups of %d shards of %d windows, %d bytes: want %s: %v", e.MixShards, e.ShardWindows, e.Bytes, want, e.Err)
}

// Unwrap returns the device's own error, an *ops.MemoryError.
func (e *RoomError) Unwrap() error { return e.Err }

// groupReader reads the groups of shards that come, two at a time.
type groupReader struct {
	s      *streamer
	ctx    context.Context
	stop   context.CancelFunc
	free   chan struct{}    // a group's slots are
	groups chan *shardGroup // that are read or will be, in order
	tasks  chan *slot
	open   []*shardGroup // of the groups, what was taken and not released
	work   sync.WaitGroup
}

// shardGroup is a group of shards in slots.
type shardGroup struct {
	epoch, number int64
	slots         []slot
	left          atomic.Int32  // slots that are not read yet
	ready         chan struct{} // closed when all are
}

// slot is a shard of a group, and where it is.
type slot struct {
	group        *shardGroup
	place        int // among all slots
	first, count int // the episodes of its run
	unread       []int
	err          error
}

// distance is how many samples lie between the beginnings of two episodes, where the first comes behind the last.
func distance(offsets []int64, from, to int64) int64 {
	if to < from {
		return offsets[len(offsets)-1] - offsets[from] + offsets[to]
	}
	return offsets[to] - offsets[from]
}

// runLength is how many samples a run of episodes has.
func runLength(offsets []int64, first, count int) int {
	all := len(offsets) - 1
	end := first + count
	if end > all { // and begins anew
		return int(offsets[all] - offsets[first] + offsets[end-all])
	}
	return int(offsets[end] - offsets[first])
}
