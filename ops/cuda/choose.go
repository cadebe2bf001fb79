package cuda

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/tensor"
)

// choice is the numbers of a launch that no result depends on: what a kernel takes of them, and by which a job is cut into blocks.
type choice struct {
	Each    int  // chunks of features that a thread moves; 0 of a kernel that moves none
	Items   int  // items that a thread makes, where features are made one by one; 0 of a kernel that makes none
	Tile    int  // targets that a block takes at most; 0 of a kernel for which it follows from the others
	Threads int  // a block
	Check   int  // stamps that a block checks, where there are blocks to spare
	Direct  bool // each thread for itself, by ptx/direct.cuh, where that takes the job: then Each does not matter
	Ahead   bool // samples are asked for before the stamps are known, by ptx/ahead.cuh, where that takes the job: the same

	Prefetch bool // rows are brought to the L2 cache before the stamps are known, by ptx/plain.cuh: of a job that is neither direct nor ahead, and needs most of its rows
}

// as is a kernel's choice as tables have it. Its threads are always the model's, and its items as many as Each, but in the model's own choice.
func (c choice) as(kernel string) tuned.Choice {
	return tuned.Choice{Variant: shape{direct: c.Direct, ahead: c.Ahead}.kernel(kernel), Each: c.Each, Tile: c.Tile, Check: c.Check, Prefetch: c.Prefetch}
}

// with is the model's choice with what a table says in its place, if the kernel takes that.
func (c choice) with(kernel string, t tuned.Choice) (choice, bool) {
	if t == c.as(kernel) {
		return c, true
	}
	if c.Each, c.Tile, c.Check, c.Prefetch = t.Each, t.Tile, t.Check, t.Prefetch; c.Items > 0 {
		c.Items = c.Each
	}
	c.Direct, c.Ahead = strings.Contains(t.Variant, "_direct_"), strings.Contains(t.Variant, "_ahead_")
	return c, c.as(kernel) == t && c.check(kernel) == nil
}

func log2(n int) int { return bits.Len(uint(n)) - 1 }

// takes is what the kernels' sources allow: the plain ones are compiled for so many chunks and threads, the odd ones for as many
// threads, the others loop over what they get, and all are bound to 128 threads at most.
type takes struct {
	each, items, tile, threads []int
	direct, ahead, prefetch    bool
}

var (
	plainTakes   = takes{each: []int{1, 2, mostEach}, threads: []int{plainThreads}, direct: true, prefetch: true}
	wholeTakes   = takes{each: plainTakes.each, threads: plainTakes.threads, direct: true, ahead: true, prefetch: true}
	oddTakes     = takes{tile: []int{8, 16, warp, 64, 128, 256, mostTile}, threads: []int{plainThreads}}
	runTakes     = takes{tile: oddTakes.tile, threads: oddTakes.threads, prefetch: true}
	chunksTake   = takes{each: []int{1, 2, 4, 8}, threads: []int{64, 128}}
	channelsTake = takes{tile: []int{4, 8, 16, warp, 64, 128, mostTile}, threads: []int{64, 128}}
	posesTake    = takes{tile: []int{warp, mostTile}, threads: []int{warp, 64, 128}}
	fuseTakes    = takes{each: []int{1, 2, 4, 8}, items: []int{1, 2, 4, 8}, threads: []int{64, 128}}
)

func takenBy(kernel string) *takes {
	switch {
	case strings.HasPrefix(kernel, "resample_plain_"):
		return &wholeTakes
	case strings.HasPrefix(kernel, "fuse_plain_"):
		return &plainTakes
	case strings.HasPrefix(kernel, "resample_run_"):
		return &runTakes
	case strings.HasPrefix(kernel, "resample_odd_"), strings.HasPrefix(kernel, "fuse_odd_"):
		return &oddTakes
	case strings.HasPrefix(kernel, "resample_poses_"):
		return &posesTake
	case strings.HasPrefix(kernel, "resample_channels_"), strings.HasPrefix(kernel, "resample_curves_"):
		return &channelsTake
	case kernel == "fuse":
		return &fuseTakes
	}
	return &chunksTake
}

var checkShares = []int{checkShare, 256, 512, 4096}

// oneTurn is the least of the shares for which each thread of a block has 16 bytes of stamps to check: blocks to spare are better than threads that
// wait for one read after the other.
func oneTurn(threads int, clock tensor.DType) int {
	if threads*chunk/clock.Size() <= 256 {
		return 256
	}
	return 512
}

// fills is how often a launch must fill the device for its blocks to stay as large as they can be. A launch by itself ends sooner if its
// work lies in many small blocks. Those whose inputs are ready overlap, so that what counts is the work in all: less in few large blocks.
func fills(ready bool) int {
	if ready {
		return 1
	}
	return 4
}

// model is the choice by the device's size, for a launch of so many chunks: four a thread, and fewer where the device would
// otherwise stand partly idle: half that, where blocks of four would not fill it as often as they should. Tiles are as the cut makes them.
func (b *backend) model(kernel string, chunks int, ready bool) choice {
	c := choice{Each: pieces, Items: pieces, Tile: mostTile, Threads: 128, Check: checkShare}
	for c.Each > 1 && chunks < c.Each*c.Threads*b.sms*fills(ready) {
		c.Each /= 2
	}
	// Launches by themselves that the device holds at once.
	held := directBlocks
	if strings.HasPrefix(kernel, "fuse_") {
		held = directFuseBlocks
	}
	c.Direct = !ready && chunks <= held*plainThreads*b.sms
	c.Ahead = !ready && !c.Direct && chunks <= mostAhead
	c.Prefetch = true
	// Streams with many stamps and narrow rows have few blocks of their own. Where the device holds all blocks at once those that check
	// are the last to end.
	if strings.HasPrefix(kernel, "fuse_plain_") {
		c.Check = checkShare / 2
		if c.Each < pieces {
			c.Each, c.Check = 2, checkShare/4
		}
	}
	return c.of(takenBy(kernel))
}

// cap is a cut of no more targets a block than the choice's.
func (c choice) cap(s shape) shape {
	s.tile = min(s.tile, c.Tile)
	return s
}

// of drops the numbers that a kernel does not have.
func (c choice) of(t *takes) choice {
	if t.each == nil {
		c.Each = 0
	}
	if t.items == nil {
		c.Items = 0
	}
	if t.tile == nil {
		c.Tile = 0
	}
	c.Direct, c.Ahead, c.Prefetch = c.Direct && t.direct, c.Ahead && t.ahead, c.Prefetch && t.prefetch
	return c
}

// check says what a kernel does not take of a choice.
func (c choice) check(kernel string) error {
	t := takenBy(kernel)
	for _, n := range []struct {
		name string
		got  int
		list []int
	}{{"each", c.Each, t.each}, {"items", c.Items, t.items}, {"tile", c.Tile, t.tile}, {"threads", c.Threads, t.threads}, {"check", c.Check, checkShares}} {
		if n.list == nil && n.got != 0 || n.list != nil && !slices.Contains(n.list, n.got) {
			return fmt.Errorf("%s: got %s %d, want one of %v", kernel, n.name, n.got, n.list)
		}
	}
	if c.Direct && !t.direct {
		return fmt.Errorf("%s: got direct, which only resample_plain and fuse_plain are", kernel)
	}
	if c.Ahead && !t.ahead {
		return fmt.Errorf("%s: got ahead, which only resample_plain is", kernel)
	}
	if c.Prefetch && !t.prefetch {
		return fmt.Errorf("%s: got prefetch, which only resample_plain, resample_run and fuse_plain do", kernel)
	}
	if c.Direct && c.Ahead {
		return fmt.Errorf("%s: got direct and ahead, want one of them at most", kernel)
	}
	return nil
}

// all lists the choices that a kernel takes.
func (t *takes) all() (list []choice) {
	or := func(l []int) []int {
		if l == nil {
			return []int{0}
		}
		return l
	}
	for _, threads := range t.threads {
		for _, each := range or(t.each) {
			for _, items := range or(t.items) {
				for _, tile := range or(t.tile) {
					for _, check := range checkShares {
						c := choice{Each: each, Items: items, Tile: tile, Threads: threads, Check: check}
						list = append(list, c)
						if c.Prefetch = true; t.prefetch {
							list = append(list, c)
						}
						if c.Prefetch, c.Direct = false, true; t.direct && each == 1 {
							list = append(list, c)
						}
						if c.Direct, c.Ahead = false, true; t.ahead && each == 1 {
							list = append(list, c)
						}
					}
				}
			}
		}
	}
	return list
}

// decision is how a plan's launch was chosen.
type decision struct {
	class         tuned.Class
	choice, model choice
	tuned         bool
	cut           func(choice) []shape
}

// careful is the decision on a launch that guesses nothing, in place of one that is made ahead or prefetches.
func (d *decision) careful() *decision {
	c := *d
	c.choice, c.tuned = d.model, false
	c.choice.Ahead, c.choice.Prefetch = false, false
	return &c
}

// choose decides on a job: by the tuned table if it has the class, else by the model. It is the one place where that is done. A choice says direct,
// ahead or prefetch only if the cut is.
func (p *plan) choose(class tuned.Class, model choice, cut func(choice) []shape) []shape {
	made := func(c choice) (choice, []shape) {
		shapes := cut(c)
		c.Direct, c.Ahead, c.Prefetch = shapes[0].direct, shapes[0].ahead, slices.ContainsFunc(shapes, func(s shape) bool { return s.prefetch })
		return c, shapes
	}
	model, shapes := made(model)
	p.chosen = &decision{class: class, choice: model, model: model, cut: cut}
	if t, ok := p.b.table.Load().Lookup(class); ok {
		if c, takes := model.with(class.Variant, t); takes {
			if c, cut := made(c); blocksOf(cut) <= math.MaxInt32 {
				p.chosen.choice, p.chosen.tuned = c, true
				return cut
			}
		}
	}
	return shapes
}

func blocksOf(shapes []shape) (n int) {
	for _, s := range shapes {
		n += s.blocks
	}
	return n
}

// candidates are the model's choice, and then those that give other launches than it and each other.
func (d *decision) candidates() []tuned.Choice {
	list := []tuned.Choice{d.model.as(d.class.Variant)}
	seen := []([]shape){d.cut(d.model)}
	for _, c := range takenBy(d.class.Variant).all() {
		if c.Threads != d.model.Threads || c.Items > 0 && c.Items != c.Each || c.as(d.class.Variant) == list[0] {
			continue
		}
		shapes := d.cut(c)
		if blocksOf(shapes) > math.MaxInt32 || slices.ContainsFunc(seen, func(s []shape) bool { return slices.Equal(s, shapes) }) {
			continue
		}
		list, seen = append(list, c.as(d.class.Variant)), append(seen, shapes)
	}
	return list
}
