package cuda

import (
	"cmp"
	"math"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// The sorts of items, in the order in which a warp takes them.
const (
	slerps = iota
	moved  // linear, previous, next and nearest
	angles
	cubics // pchip, Catmull-Rom and Hermite
	others
	sortsOfItems
)

// itemSorts is how many items of each sort a target has.
type itemSorts struct {
	of     [sortsOfItems]int
	beside bool // whether an item looks at the brackets beside a target's
}

func sortOf(kind backend.Interp) int {
	switch {
	case kind <= backend.InterpNearest:
		return moved
	case kind == backend.InterpSlerp:
		return slerps
	case kind == backend.InterpAngle:
		return angles
	case kind == backend.InterpPchip || kind == backend.InterpCatmullRom || kind == backend.InterpHermite:
		return cubics
	}
	return others
}

func countItems(channels []backend.Channel) (s itemSorts) {
	for _, c := range channels {
		s.of[sortOf(c.Interp)] += (c.Hi - c.Lo) / c.Interp.Width()
		s.beside = s.beside || c.Interp == backend.InterpPchip || c.Interp == backend.InterpCatmullRom
	}
	return s
}

// items is how many a target has.
func (s *itemSorts) items() (n int) {
	for _, k := range s.of {
		n += k
	}
	return n
}

// sorts are the numbers as channels.cuh reads them, with what divides by them; run is how many targets of a cubic a thread makes in a row.
func (s *itemSorts) sorts(run int) ptx.Sorts {
	magic := func(n int) (uint32, uint32) {
		magic, shift := divider(n, math.MaxInt32)
		if magic == 0 {
			shift = 0
		}
		return magic, shift
	}
	out := ptx.Sorts{Slerps: uint32(s.of[slerps]), Moved: uint32(s.of[moved]), Angles: uint32(s.of[angles]), Cubics: uint32(s.of[cubics]), Others: uint32(s.of[others])}
	f := ptx.SortsShifts{Run: uint32(run), Beside: s.beside}
	out.MovedMagic, f.MovedShift = magic(s.of[moved])
	out.AnglesMagic, f.AnglesShift = magic(s.of[angles])
	out.CubicsMagic, f.CubicsShift = magic(s.of[cubics])
	out.OthersMagic, f.OthersShift = magic(s.of[others])
	out.Shifts = f.Word()
	return out
}

// What a thread takes to make cubics, in what it takes to find one's value between samples that it has worked on: to begin a run of
// targets, and to load a bracket's samples and work out the slopes there.
const (
	runCost      = 0.5
	bracketCost  = 4
	mostCubicRun = 16
)

// run is how many targets of a cubic a thread of a block of so many targets makes in a row, where each is so many samples on: more have
// a bracket's slopes in common, fewer keep all threads busy.
func (s *itemSorts) run(threads, tile int, pace float64) int {
	best, least := 1, math.Inf(1)
	for n := 1; n <= min(tile, mostCubicRun); n++ {
		pieces := (tile + n - 1) / n * s.of[cubics]
		brackets := 1 + float64(n-1)*min(1, pace)
		if pace == 0 {
			brackets = float64(n)
		}
		cost := float64((pieces+threads-1)/threads) * (runCost + float64(n) + brackets*bracketCost)
		if cost < least {
			best, least = n, cost
		}
	}
	return best
}

// sortedChannels are the channels in the order of their sorts, and of their kinds.
func sortedChannels(channels []backend.Channel) []backend.Channel {
	list := slices.Clone(channels)
	slices.SortStableFunc(list, func(a, b backend.Channel) int {
		return cmp.Or(sortOf(a.Interp)-sortOf(b.Interp), int(a.Interp)-int(b.Interp))
	})
	return list
}

// itemTable is the items of a job's channels as channels.cuh reads them, sorted.
func itemTable(j *backend.ResampleJob, channels []backend.Channel, clock tensor.DType) []byte {
	var list []ptx.Item
	for _, c := range sortedChannels(channels) {
		number := math.Float64bits(c.Period)
		// An item's features are neighbours, but for a value and its velocity.
		end, step := c.Hi, c.Interp.Width()
		switch {
		case c.Interp.Windowed():
			number = lengthBits(j.WindowFrom(c.Window), clock)
		case c.Interp == backend.InterpHermite:
			end, step = (c.Lo+c.Hi)/2, 1
			number = uint64(end - c.Lo)
		}
		for d := c.Lo; d < end; d += step {
			list = append(list, ptx.Item{Number: number, Feature: uint32(d), Kind: uint32(c.Interp)})
		}
	}
	return packed(list)
}

// Measured for RATIONALE, "Why are the items of a channel table sorted?".
const (
	leastStaged  = 8  // targets of a block for which rows are made short enough to be put together in shared memory
	mostItems    = 8  // items that a thread makes
	mostCubics   = 64 // where some are cubics
	mostItemTile = 64 // targets of a block by the model there
	itemBlocks   = 8  // blocks that a multiprocessor holds
	fuseItems    = 4  // items that a thread of fuse makes, whose rows are not put together
)

// cutItems cuts a stream whose features are made item by item: blocks of a power of two of targets, no more than `most`.
func (b *gpu) cutItems(j *backend.ResampleJob, channels []backend.Channel, share, most int, fused bool) shape {
	sorts := countItems(channels)
	s := shape{threads: threads, chunks: sorts.items()}
	if fused {
		most = min(fuseItems*threads/s.chunks, ptx.FuseItemTile)
	} else {
		each := mostItems
		if sorts.of[cubics] > 0 {
			each = mostCubics
		}
		if most > ptx.ItemTile {
			most = b.itemTile(j.Rows(), s.threads, sorts)
		}
		most = min(most, max(each*s.threads/s.chunks, ptx.MovedAtOnce))
		row := j.D * j.Dst.DType().Size()
		s.dense = j.DstStep == j.D && (j.DstOffsets != nil || j.B == 1 || j.DstBatch == j.T*j.D)
		if most*row > ptx.MaxStaged && leastStaged*row <= ptx.MaxStaged {
			most = ptx.MaxStaged / row
		}
	}
	s.tile = 1 << log2(max(most, 1))
	return b.grid(j, share, s)
}

// itemTile is how many targets a block has by the model: the fewest for which the device holds all blocks at once. Where all is moved
// or turned, which takes each target by itself, they are no fewer than a warp if each multiprocessor has a block.
func (b *gpu) itemTile(rows, threads int, sorts itemSorts) int {
	tile, most := leastStaged, mostItemTile
	if sorts.of[cubics] > 0 {
		most = ptx.ItemTile // they have a bracket's slopes in common
		if sorts.items()*tile/2 >= threads {
			tile /= 2
		}
	}
	if sorts.of[cubics]+sorts.of[others] == 0 {
		for ; tile < warp && rows > tile*b.sms; tile *= 2 {
		}
	}
	for ; tile < most && rows > tile*itemBlocks*b.sms; tile *= 2 {
	}
	return tile
}
