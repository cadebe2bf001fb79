package cuda

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// variant is one implementation of Resample or Fuse: a kernel, the jobs that it takes, and how a job becomes a launch of it. An operation
// has a list of them, and the first that takes a job and is preferred for it is launched. A Resample is the Fuse of one stream here.
type variant struct {
	name      string                                           // of the kernel
	supports  func(b *gpu, j *backend.FuseJob) (whyNot string) // what the kernel cannot do; "" where it is right to launch it
	prefers   func(b *gpu, j *backend.FuseJob) (whyNot string) // where one further down the list is faster; nil is nowhere
	tunable   tuned.SearchSpace
	heuristic func(b *gpu, j *backend.FuseJob) tuned.Policy                    // the default policy, by the device's size
	configure func(b *gpu, j *backend.FuseJob, c tuned.Policy) []shape         // divides each stream into blocks
	params    func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) // the kernel's parameter
}

// parameters is a kernel's parameter, as package ptx generates it.
type parameters interface{ Bytes() []byte }

// shape is the grid configuration of a stream: how it is divided into blocks.
type shape struct {
	threads, tile, blocks int
	chunks                int  // pieces that a target's features are made in
	unitsPerThread        int  // of fuse_fast and resample_fast: chunks that a thread is compiled to move
	vector                int  // of general kernels: log2 of the elements a thread moves at once
	shared                int  // bytes of dynamic shared memory
	prefetch              bool // rows are brought to the L2 cache before the timestamps are known: see fast.cuh
	dense                 bool // of channels: the rows of all targets follow each other in dst
}

const (
	threads = ptx.FastThreads // of a block
	warp    = ptx.WarpSize
	chunk   = 16 // bytes that a thread moves at once
	pieces  = 4  // chunks that a thread moves, if there are enough
	// Timestamps that a block checks, where there are blocks to spare: robocache tune found less for streams of many timestamps and narrow rows.
	checkPerBlock = 1024
)

// singleStream is a Resample as the Fuse of one stream.
func singleStream(j *backend.ResampleJob) *backend.FuseJob {
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
func upTo(most int, supports func(*gpu, *backend.FuseJob) string) func(*gpu, *backend.FuseJob) string {
	return func(b *gpu, j *backend.FuseJob) string {
		if len(j.Parts) > most {
			return fmt.Sprintf("more than %d streams", most)
		}
		return supports(b, j)
	}
}

func log2(n int) int { return bits.Len(uint(n)) - 1 }

func inputsReady(j *backend.FuseJob) bool { return j.Launch == backend.LaunchInputsReady }

// targetWaves is how often a launch must fill the device for its blocks to stay as large as they can be. A launch by itself ends sooner if its
// work lies in many small blocks. Those whose inputs are ready overlap, so that what counts is the work in all: less in few large blocks.
func targetWaves(ready bool) int {
	if ready {
		return 1
	}
	return 4
}

// unitsPerThreadFor is how many of so many chunks a thread moves: four, and fewer where the device would otherwise stand partly idle.
func (b *gpu) unitsPerThreadFor(chunks int, ready bool) int {
	unitsPerThread := pieces
	for unitsPerThread > 1 && chunks < unitsPerThread*threads*b.sms*targetWaves(ready) {
		unitsPerThread /= 2
	}
	return unitsPerThread
}

// checkPerTurn is the least number of timestamps per block for which each thread of a block has 16 bytes of timestamps to check: blocks to spare are better than threads that
// wait for one read after the other.
func checkPerTurn(threads int, clock tensor.DType) int {
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

// grid gives a stream's shape its blocks, and more that only check timestamps where the targets are few and the timestamps many.
func (b *gpu) grid(j *backend.ResampleJob, share int, s shape) shape {
	s.blocks = (j.Rows() + s.tile - 1) / s.tile
	if j.Check {
		s.blocks = max(s.blocks, b.checkers(j, share))
	}
	return s
}

// checkers is how many blocks check a job's timestamps, and its rows, each so many timestamps.
func (b *gpu) checkers(j *backend.ResampleJob, share int) int {
	work := (j.Timestamps() + share - 1) / share
	if j.SrcStarts != nil {
		work = j.B // a selection's rows, and their timestamps, are shared out by the row
	}
	return max(1, min(work, 8*b.sms))
}

// firstBlocks are where the streams' blocks begin in the grid, one stream's after the other's, and beyond the streams no block.
func firstBlocks[S interface{ count() int }](shapes []S) (list [ptx.MaxStreams]uint32) {
	block := 0
	for m := range list {
		list[m] = math.MaxUint32
		if m < len(shapes) {
			list[m] = uint32(block)
			block += shapes[m].count()
		}
	}
	return list
}

// plan is an operation bound to device memory: one launch.
type plan struct {
	device.Base
	b       *gpu
	table   *cudadrv.DeviceMem
	chosen  *decision                 // on the launch; nil if it only checks
	explain func(backend.Fault) error // what a fault means
}

// decision is how a plan's launch was chosen.
type decision struct {
	list              []*variant
	job               *backend.FuseJob
	key               tuned.Key
	policy, heuristic tuned.Policy
	tuned             bool
}
