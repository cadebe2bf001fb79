package cuda

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/robocache/robocache/ops"
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

func sortOf(kind ops.Kind) int {
	switch {
	case kind <= ops.Nearest:
		return moved
	case kind == ops.Slerp:
		return slerps
	case kind == ops.Angle:
		return angles
	case kind == ops.Pchip || kind == ops.CatmullRom || kind == ops.Hermite:
		return cubics
	}
	return others
}

// channelsKernel is the kernel of a channel table: resample_curves has what resample_channels has, and the others.
func channelsKernel(job *ops.ResampleJob) string {
	if s := countItems(job.Channels); s.of[cubics]+s.of[others] > 0 {
		return "resample_curves_" + job.Src.DType().String()
	}
	return "resample_channels_" + job.Src.DType().String()
}

func countItems(channels []ops.Channel) (s itemSorts) {
	for _, c := range channels {
		s.of[sortOf(c.Kind)] += (c.Hi - c.Lo) / c.Kind.Width()
		s.beside = s.beside || c.Kind == ops.Pchip || c.Kind == ops.CatmullRom
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

// halves are the sorts as channels.cuh reads them: the numbers, what divides by all but the first, and the shifts with the rest.
func (s *itemSorts) halves(run int) []uint32 {
	var list, magics []uint32
	shifts := uint32(run) << 20
	for i, n := range s.of {
		list = append(list, uint32(n))
		if i > 0 {
			magic, shift := divider(n, math.MaxInt32)
			if magic == 0 {
				shift = 0
			}
			magics, shifts = append(magics, magic), shifts|shift<<(5*(i-1))
		}
	}
	if s.beside {
		shifts |= 1 << 31
	}
	return append(append(list, magics...), shifts)
}

// What a thread takes to make cubics, in what it takes to find one's value between samples that it has worked on: to begin a run of
// targets, and to load a bracket's samples and work out the slopes there.
const (
	runCost     = 0.5
	bracketCost = 4
	mostRun     = 16
)

// run is how many targets of a cubic a thread of a block of so many targets makes in a row, where each is so many samples on: more have
// a bracket's slopes in common, fewer keep all threads busy.
func (s *itemSorts) run(threads, tile int, pace float64) int {
	best, least := 1, math.Inf(1)
	for n := 1; n <= min(tile, mostRun); n++ {
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
func sortedChannels(channels []ops.Channel) []ops.Channel {
	list := slices.Clone(channels)
	slices.SortStableFunc(list, func(a, b ops.Channel) int {
		return cmp.Or(sortOf(a.Kind)-sortOf(b.Kind), int(a.Kind)-int(b.Kind))
	})
	return list
}

// itemTable is the items as channels.cuh reads them, sorted, and how many of each sort there are.
func itemTable(channels []ops.Channel, clock tensor.DType) (data []byte, s itemSorts) {
	for _, c := range sortedChannels(channels) {
		number := math.Float64bits(c.Period)
		// An item's features are neighbours, but for a value and its velocity.
		end, step := c.Hi, c.Kind.Width()
		switch {
		case c.Kind.Windowed():
			number = limitBits(c.Window, clock)
		case c.Kind == ops.Hermite:
			end, step = (c.Lo+c.Hi)/2, 1
			number = uint64(end - c.Lo)
		}
		for d := c.Lo; d < end; d += step {
			data = binary.LittleEndian.AppendUint64(data, number)
			data = binary.LittleEndian.AppendUint32(data, uint32(d))
			data = binary.LittleEndian.AppendUint32(data, uint32(c.Kind))
		}
	}
	return data, countItems(channels)
}
