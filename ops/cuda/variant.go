package cuda

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// variant is one way to launch a Resample or a Fuse: a kernel, the jobs that it takes, and how a job becomes a launch of it. An operation
// has a list of them, and the first that takes a job and is preferred for it is launched. A Resample is the Fuse of one stream here.
type variant struct {
	name    string                                           // of the kernel
	takes   func(b *gpu, j *backend.FuseJob) (whyNot string) // what the kernel cannot do; "" where it is right to launch it
	prefers func(b *gpu, j *backend.FuseJob) (whyNot string) // where one further down the list is faster; nil is nowhere
	free    tuned.Freedom
	model   func(b *gpu, j *backend.FuseJob) tuned.Choice                    // by the device's size
	cut     func(b *gpu, j *backend.FuseJob, c tuned.Choice) []shape         // each stream into blocks
	params  func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) // and what the kernel is told
}

// parameters is a kernel's parameter, as package ptx generates it.
type parameters interface{ Bytes() []byte }

// shape is how a stream is cut into blocks.
type shape struct {
	threads, tile, blocks int
	chunks                int  // pieces that a target's features are made in
	each                  int  // of fuse_plain and resample_plain: chunks that a thread is compiled to move
	vector                int  // of general kernels: log2 of the elements a thread moves at once
	shared                int  // bytes of dynamic shared memory
	prefetch              bool // rows are brought to the L2 cache before the stamps are known: see plain.cuh
	dense                 bool // of channels: the rows of all targets follow each other in dst
}

const (
	threads = ptx.PlainThreads // of a block
	warp    = ptx.WarpSize
	chunk   = 16 // bytes that a thread moves at once
	pieces  = 4  // chunks that a thread moves, if there are enough
	// Stamps that a block checks, where there are blocks to spare: robocache tune found less for streams of many stamps and narrow rows.
	checkShare = 1024
)

// alone is a Resample as the Fuse of one stream.
func alone(j *backend.ResampleJob) *backend.FuseJob {
	r := *j
	r.ValidStep, r.AgeStep, r.PadStep = 1, 1, 1
	f := &backend.FuseJob{B: j.B, D: j.D, T: j.T, Clock: j.ClockType(), Check: j.Check, Launch: j.Launch, Parts: []backend.FusePart{{ResampleJob: &r}}}
	f.Dst, f.Valid, f.Age, f.Pad, f.Targets, f.DstLengths, f.DstOffsets = j.Dst, j.Valid, j.Age, j.Pad, j.Targets, j.DstLengths, j.DstOffsets
	return f
}

// first is the job's first stream, the only one of a Resample.
func first(j *backend.FuseJob) *backend.ResampleJob { return j.Parts[0].ResampleJob }

// perStream makes a test of a stream one of a job.
func perStream(why func(j *backend.ResampleJob) string) func(*gpu, *backend.FuseJob) string {
	return func(_ *gpu, j *backend.FuseJob) string {
		for _, p := range j.Parts {
			if not := why(p.ResampleJob); not != "" {
				return not
			}
		}
		return ""
	}
}

// upTo adds to what a variant takes that there are no more than so many streams.
func upTo(most int, takes func(*gpu, *backend.FuseJob) string) func(*gpu, *backend.FuseJob) string {
	return func(b *gpu, j *backend.FuseJob) string {
		if len(j.Parts) > most {
			return fmt.Sprintf("more than %d streams", most)
		}
		return takes(b, j)
	}
}

// decision is how a plan's launch was chosen.
type decision struct {
	list          []*variant
	job           *backend.FuseJob
	class         tuned.Class
	choice, model tuned.Choice
	tuned         bool
}

// whyNot says why a variant is not launched by the model for a job; "" if it can be.
func (v *variant) whyNot(b *gpu, j *backend.FuseJob) string {
	why := v.takes(b, j)
	if why == "" && v.prefers != nil {
		why = v.prefers(b, j)
	}
	return why
}

// choose decides on a job: by the tuned table if it has the class, else by the list. It is the one place where that is done.
func (p *plan) choose(list []*variant, j *backend.FuseJob) (*variant, []shape) {
	v := list[slices.IndexFunc(list, func(v *variant) bool { return v.whyNot(p.b, j) == "" })]
	d := &decision{list: list, job: j, model: v.model(p.b, j)}
	d.model.Variant = v.name
	shapes := v.cut(p.b, j, d.model)
	d.model.Prefetch = prefetches(shapes)
	d.class, d.choice = classOf(j, v.name, shapes), d.model
	p.chosen = d
	if c, ok := p.b.table.Load().Lookup(d.class); ok {
		if other, cut := d.made(p.b, c); other != nil {
			d.choice, d.tuned = c, true
			return other, cut
		}
	}
	return v, shapes
}

// made is a choice's variant and what it makes of the job; nil if it cannot be.
func (d *decision) made(b *gpu, c tuned.Choice) (*variant, []shape) {
	i := slices.IndexFunc(d.list, func(v *variant) bool { return v.name == c.Variant })
	if i < 0 || d.list[i].takes(b, d.job) != "" || c != d.model && !d.list[i].free.Allows(c) {
		return nil, nil
	}
	shapes := d.list[i].cut(b, d.job, c)
	if blocksOf(shapes) > math.MaxInt32 {
		return nil, nil
	}
	return d.list[i], shapes
}

// candidates are the model's choice, and then those that give other launches than it and each other.
func (d *decision) candidates(b *gpu) []tuned.Choice {
	_, shapes := d.made(b, d.model)
	list, seen := []tuned.Choice{d.model}, map[string][][]shape{d.model.Variant: {shapes}}
	for _, v := range d.list {
		for _, c := range v.free.All(v.name) {
			made, shapes := d.made(b, c)
			if made == nil || slices.ContainsFunc(seen[v.name], func(s []shape) bool { return slices.Equal(s, shapes) }) {
				continue
			}
			list, seen[v.name] = append(list, c), append(seen[v.name], shapes)
		}
	}
	return list
}

func classOf(j *backend.FuseJob, name string, shapes []shape) tuned.Class {
	pieces, stamps := 0, 0
	for i, part := range j.Parts {
		pieces += shapes[i].chunks
		if j.Check && part.SrcTimes != nil {
			stamps += part.Timestamps()
		}
	}
	return tuned.Class{Variant: name, Bytes: log2(j.D * j.Dst.DType().Size()), Pieces: log2(pieces), Targets: log2(j.Rows()), Stamps: log2(stamps), Ready: ready(j)}
}

func log2(n int) int { return bits.Len(uint(n)) - 1 }

func ready(j *backend.FuseJob) bool { return j.Launch == backend.LaunchInputsReady }

// fills is how often a launch must fill the device for its blocks to stay as large as they can be. A launch by itself ends sooner if its
// work lies in many small blocks. Those whose inputs are ready overlap, so that what counts is the work in all: less in few large blocks.
func fills(ready bool) int {
	if ready {
		return 1
	}
	return 4
}

// eachOf is how many of so many chunks a thread moves: four, and fewer where the device would otherwise stand partly idle.
func (b *gpu) eachOf(chunks int, ready bool) int {
	each := pieces
	for each > 1 && chunks < each*threads*b.sms*fills(ready) {
		each /= 2
	}
	return each
}

// oneTurn is the least of the shares for which each thread of a block has 16 bytes of stamps to check: blocks to spare are better than threads that
// wait for one read after the other.
func oneTurn(threads int, clock tensor.DType) int {
	if threads*chunk/clock.Size() <= 256 {
		return 256
	}
	return 512
}

func blocksOf(shapes []shape) (n int) {
	for _, s := range shapes {
		n += s.blocks
	}
	return n
}

func prefetches(shapes []shape) bool {
	return slices.ContainsFunc(shapes, func(s shape) bool { return s.prefetch })
}

// grid gives a stream's shape its blocks, and more that only check stamps where the targets are few and the stamps many.
func (b *gpu) grid(j *backend.ResampleJob, share int, s shape) shape {
	s.blocks = (j.Rows() + s.tile - 1) / s.tile
	if j.Check {
		s.blocks = max(s.blocks, b.checkers(j, share))
	}
	return s
}

// checkers is how many blocks check a job's stamps, and its rows, each so many stamps.
func (b *gpu) checkers(j *backend.ResampleJob, share int) int {
	work := (j.Timestamps() + share - 1) / share
	if j.SrcStarts != nil {
		work = j.B // a selection's rows, and their stamps, are shared out by the row
	}
	return max(1, min(work, 8*b.sms))
}
