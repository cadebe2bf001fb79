package cuda

import (
	"cmp"
	"math"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// An item is a group of features that are interpolated together, such as a quaternion. A warp computes items in this order of
// categories.
const (
	slerps = iota
	moved  // linear, previous, next and nearest
	angles
	cubics // pchip, Catmull-Rom and Hermite
	others
	numCategories
)

// itemCategories counts the items per target in each category.
type itemCategories struct {
	of     [numCategories]int
	beside bool // whether an item also reads the brackets next to a target's bracket
}

func categoryOf(kind backend.Interp) int {
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

func countItems(channels []backend.Channel) (s itemCategories) {
	for _, c := range channels {
		s.of[categoryOf(c.Interp)] += (c.Hi - c.Lo) / c.Interp.Width()
		s.beside = s.beside || c.Interp == backend.InterpPchip || c.Interp == backend.InterpCatmullRom
	}
	return s
}

// items counts the items per target.
func (s *itemCategories) items() (n int) {
	for _, k := range s.of {
		n += k
	}
	return n
}

// categories returns the counts in the form that channels.cuh reads, with factors for dividing by them. cubicTargets is the number of
// consecutive targets of one cubic that a thread computes.
func (s *itemCategories) categories(cubicTargets int) ptx.ItemCategories {
	magic := func(n int) (uint32, uint32) {
		magic, shift := divider(n, math.MaxInt32)
		if magic == 0 {
			shift = 0
		}
		return magic, shift
	}
	out := ptx.ItemCategories{Slerps: uint32(s.of[slerps]), Moved: uint32(s.of[moved]), Angles: uint32(s.of[angles]), Cubics: uint32(s.of[cubics]), Others: uint32(s.of[others])}
	f := ptx.ItemCategoriesShifts{CubicTargets: uint32(cubicTargets), Beside: s.beside}
	out.MovedMagic, f.MovedShift = magic(s.of[moved])
	out.AnglesMagic, f.AnglesShift = magic(s.of[angles])
	out.CubicsMagic, f.CubicsShift = magic(s.of[cubics])
	out.OthersMagic, f.OthersShift = magic(s.of[others])
	out.Shifts = f.Word()
	return out
}

// Costs of cubics for a thread, relative to one interpolated value in a bracket that is already loaded: starting a range of targets,
// and loading a bracket with its slopes.
const (
	rangeCost       = 0.5
	bracketCost     = 4
	maxCubicTargets = 16
)

// cubicTargets returns how many consecutive targets of one cubic a thread computes. More targets share a bracket's slopes;
// fewer keep all threads busy.
func (s *itemCategories) cubicTargets(threads, tile int, samplesPerTarget float64) int {
	best, least := 1, math.Inf(1)
	for n := 1; n <= min(tile, maxCubicTargets); n++ {
		pieces := (tile + n - 1) / n * s.of[cubics]
		brackets := 1 + float64(n-1)*min(1, samplesPerTarget)
		if samplesPerTarget == 0 {
			brackets = float64(n)
		}
		cost := float64((pieces+threads-1)/threads) * (rangeCost + float64(n) + brackets*bracketCost)
		if cost < least {
			best, least = n, cost
		}
	}
	return best
}

// sortedChannels returns the channels ordered by category, then by interpolation.
func sortedChannels(channels []backend.Channel) []backend.Channel {
	list := slices.Clone(channels)
	slices.SortStableFunc(list, func(a, b backend.Channel) int {
		return cmp.Or(categoryOf(a.Interp)-categoryOf(b.Interp), int(a.Interp)-int(b.Interp))
	})
	return list
}

// itemTable encodes the items of a job's channels, sorted, as channels.cuh reads them.
func itemTable(j *backend.ResampleJob, channels []backend.Channel, clock tensor.DType) []byte {
	var list []ptx.Item
	for _, c := range sortedChannels(channels) {
		number := math.Float64bits(c.Period)
		// An item has consecutive features, except that Hermite pairs a value with its velocity.
		end, step := c.Hi, c.Interp.Width()
		switch {
		case c.Interp.Windowed():
			number = lengthBits(j.WindowFrom(c.Window), clock)
		case c.Interp == backend.InterpHermite:
			end, step = (c.Lo+c.Hi)/2, 1
			number = uint64(end - c.Lo)
		}
		for d := c.Lo; d < end; d += step {
			list = append(list, ptx.Item{Number: number, Feature: uint32(d), Interpolation: uint32(c.Interp)})
		}
	}
	return packed(list)
}

// Measured in bench/history/thread-per-row.md.
const (
	minStagedTargets   = 8  // rows are staged in shared memory if at least this many targets of a block fit there
	maxItemsPerThread  = 8  // items per thread
	maxCubicsPerThread = 64 // items per thread if some are cubics
	maxItemTile        = 64 // most targets per block by the heuristic without cubics
	itemBlocks         = 8  // blocks that a multiprocessor holds
	fuseItemsPerThread = 4  // items per thread in fuse, which does not stage rows
)

// configureItems divides a stream that is computed item by item. The number of targets per block is a power of two, at most `most`.
func (b *gpu) configureItems(j *backend.ResampleJob, channels []backend.Channel, share, most int, fused bool) shape {
	categories := countItems(channels)
	s := shape{threads: threads, chunks: categories.items()}
	if fused {
		most = min(fuseItemsPerThread*threads/s.chunks, ptx.FuseItemTile)
	} else {
		itemsPerThread := maxItemsPerThread
		if categories.of[cubics] > 0 {
			itemsPerThread = maxCubicsPerThread
		}
		if most > ptx.ItemTile {
			most = b.itemTile(j.Rows(), s.threads, categories)
		}
		most = min(most, max(itemsPerThread*s.threads/s.chunks, ptx.MovedAtOnce))
		row := j.D * j.Dst.DType().Size()
		s.dense = j.DstStep == j.D && (j.DstOffsets != nil || j.B == 1 || j.DstBatch == j.T*j.D)
		if most*row > ptx.MaxStaged && minStagedTargets*row <= ptx.MaxStaged {
			most = ptx.MaxStaged / row
		}
	}
	s.tile = 1 << log2(max(most, 1))
	return b.grid(j, share, s)
}

// itemTile returns the targets per block by the heuristic: the fewest for which the device holds all blocks at once. Without cubics and
// window items it is at least a warp, if each multiprocessor still gets a block.
func (b *gpu) itemTile(rows, threads int, categories itemCategories) int {
	tile, most := minStagedTargets, maxItemTile
	if categories.of[cubics] > 0 {
		most = ptx.ItemTile // because their targets share a bracket's slopes
		if categories.items()*tile/2 >= threads {
			tile /= 2
		}
	}
	if categories.of[cubics]+categories.of[others] == 0 {
		for ; tile < warp && rows > tile*b.sms; tile *= 2 {
		}
	}
	for ; tile < most && rows > tile*itemBlocks*b.sms; tile *= 2 {
	}
	return tile
}
