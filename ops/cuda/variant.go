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

// variant is one implementation of Resample or Fuse: a kernel, the jobs that it supports, and the conversion from a job to a launch.
// Each operation has a list of variants. The first variant that supports a job and is preferred for it is launched. A Resample is
// handled as a Fuse with one stream.
type variant struct {
	name      string                                           // the kernel's name
	supports  func(b *gpu, j *backend.FuseJob) (whyNot string) // a reason if the kernel cannot run the job; "" if it can
	prefers   func(b *gpu, j *backend.FuseJob) (whyNot string) // a reason if a later variant in the list is faster; nil if none ever is
	tunable   tuned.SearchSpace
	heuristic func(b *gpu, j *backend.FuseJob) tuned.Policy                    // the default policy for the device's size
	configure func(b *gpu, j *backend.FuseJob, c tuned.Policy) []shape         // divides each stream into blocks
	params    func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) // returns the kernel's parameter
}

// parameters is a kernel's parameter struct, generated in package ptx.
type parameters interface{ Bytes() []byte }

// shape is a stream's grid configuration.
type shape struct {
	threads, tile, blocks int
	chunks                int  // pieces in which a target's features are computed
	unitsPerThread        int  // for fuse_fast and resample_fast: chunks per thread that the kernel is compiled for
	vector                int  // for general kernels: log2 of the elements that a thread moves together
	shared                int  // dynamic shared memory bytes
	prefetch              bool // rows are fetched to the L2 cache before the timestamps are known: see fast.cuh
	dense                 bool // for channels: all targets' rows are contiguous in dst
}

const (
	threads = ptx.FastThreads // threads per block
	warp    = ptx.WarpSize
	chunk   = 16 // bytes that a thread moves at once
	pieces  = 4  // chunks per thread, if there are enough chunks
	// Timestamps that a block checks if blocks can be added. robocache tune chose fewer for streams with many timestamps and narrow
	// rows.
	checkPerBlock = 1024
)

// singleStream converts a Resample to a Fuse with one stream.
func singleStream(j *backend.ResampleJob) *backend.FuseJob {
	r := *j
	r.ValidStep, r.AgeStep, r.PadStep = 1, 1, 1
	f := &backend.FuseJob{B: j.B, D: j.D, T: j.T, Clock: j.ClockType(), Check: j.Check, Launch: j.Launch, Parts: []backend.FusePart{{ResampleJob: &r}}}
	f.Dst, f.Valid, f.Age, f.Pad, f.Targets, f.DstLengths, f.DstOffsets = j.Dst, j.Valid, j.Age, j.Pad, j.Targets, j.DstLengths, j.DstOffsets
	return f
}

// first returns the job's first stream, the only one in a Resample.
func first(j *backend.FuseJob) *backend.ResampleJob { return j.Parts[0].ResampleJob }

// perStream converts a check of one stream to a check of every stream in a job.
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

// upTo restricts a variant to jobs with at most `most` streams.
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

// targetWaves returns how often a launch must fill the device before blocks get their full size. A single launch ends sooner with many
// small blocks. Launches with ready inputs overlap, so that only total work counts, which is less in a few large blocks.
func targetWaves(ready bool) int {
	if ready {
		return 1
	}
	return 4
}

// unitsPerThreadFor returns the chunks that each thread moves: four, or fewer if the device would otherwise be partly idle.
func (b *gpu) unitsPerThreadFor(chunks int, ready bool) int {
	unitsPerThread := pieces
	for unitsPerThread > 1 && chunks < unitsPerThread*threads*b.sms*targetWaves(ready) {
		unitsPerThread /= 2
	}
	return unitsPerThread
}

// checkPerTurn returns the minimum timestamps per block so that each thread checks 16 bytes. Extra blocks cost less than threads that
// wait for several reads in sequence.
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

// grid sets the block count in a stream's shape. If there are few targets and many timestamps, it adds blocks that only check
// timestamps.
func (b *gpu) grid(j *backend.ResampleJob, share int, s shape) shape {
	s.blocks = (j.Rows() + s.tile - 1) / s.tile
	if j.Check {
		s.blocks = max(s.blocks, b.checkers(j, share))
	}
	return s
}

// checkers counts the blocks that check a job's timestamps and rows, if each block checks `share` timestamps.
func (b *gpu) checkers(j *backend.ResampleJob, share int) int {
	work := (j.Timestamps() + share - 1) / share
	if j.SrcStarts != nil {
		work = j.B // the blocks divide a selection's timestamps by row
	}
	return max(1, min(work, 8*b.sms))
}

// firstBlocks returns the first block of each stream in the grid. Streams follow each other; unused entries hold MaxUint32.
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

// plan is an operation bound to device memory, usually as one launch.
type plan struct {
	device.Base
	b       *gpu
	table   *cudadrv.DeviceMem
	chosen  *decision                 // the launch decision; nil if the launch only checks
	explain func(backend.Fault) error // converts a fault to an error
}

// decision records how a plan's launch was chosen.
type decision struct {
	list              []*variant
	job               *backend.FuseJob
	key               tuned.Key
	policy, heuristic tuned.Policy
	tuned             bool
}
