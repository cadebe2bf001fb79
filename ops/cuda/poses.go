package cuda

import (
	"math"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// The most that poses.cuh takes of a row, and has a warp copy.
const (
	mostPieces = 16       // poses.cuh: most_pieces
	mostPose   = 124      // bytes: a multiple of 128 would have all lanes in one bank of shared memory
	roomBytes  = 6144     // for 32 targets of up to roomyPose bytes
	roomyPose  = 64       // and twice as many for wider ones
	mostRoom   = 48 << 10 // of a block

	poseBlocks = 8            // blocks of two warps that a multiprocessor holds
	mostNarrow = 5 * 4 * warp // targets: blocks of four warps
	mostCopied = 4            // samples that such a target moves on: all are copied to shared memory
	mostOdd    = 25           // elements of 2 bytes, of rows that are no units
	sharedOdd  = 2.1          // and how many samples a target moves on there
	copiedOdd  = 4.1          // and of rows that are too short for a run
	mostWords  = 24           // elements of 4 bytes that are no larger units, where no sample is left out

	preciseWeights = 1 << 30 // poses.cuh: precise_weights
)

// posePiece is features of one kind after each other that poses.cuh makes at once.
type posePiece struct {
	kind   ops.Kind
	at, n  int
	period float64
}

// posePieces are the pieces of a job's rows, those that take longest first; nil if poses.cuh does not take the job: one whose source, targets and
// outputs have no gaps, of short rows, of which a warp can copy those that evenly spaced targets need.
func posePieces(job *ops.ResampleJob) []posePiece {
	_, gap := job.MaxGap.Get()
	_, tolerance := job.Tolerance.Get()
	if !regular(job) || gap || tolerance || job.Edge != ops.Clamp || job.S < leastDirect || job.T < 2 || job.B*job.S > math.MaxInt32 || pointer(job.Src)%chunk != 0 {
		return nil
	}
	row := job.D * job.Src.DType().Size()
	if job.SrcStep != job.D || job.DstStep != job.D || !dense(job.Src, job.SrcBatch, job.S*job.D, job.B) || !denseOutputs(job) ||
		row > mostPose || row <= roomyPose && poseRoom(job)*row > roomBytes || poseRoom(job)*row > 2*roomBytes {
		return nil
	}
	var list []posePiece
	for _, c := range job.Channels {
		for lo := c.Lo; lo < c.Hi; {
			n := 4
			switch {
			case weightOf(c.Kind) < 0:
				return nil
			case c.Kind == ops.Angle && c.Hi-lo >= 6:
				n = 6
			case c.Kind == ops.Angle:
				n = 2
			}
			n = min(n, c.Hi-lo)
			list = append(list, posePiece{c.Kind, lo, n, c.Period})
			lo += n
		}
	}
	if len(list) > mostPieces {
		return nil
	}
	slices.SortStableFunc(list, func(a, b posePiece) int { return weightOf(b.kind) - weightOf(a.kind) })
	return list
}

// poseRoom is how many samples the targets of a warp need, three tenths more than of evenly spaced ones, with those around them and where a row ends and
// another begins.
func poseRoom(job *ops.ResampleJob) int {
	return int(1.3*(warp-1)*pace(job)) + 6 + 4*((warp-1)/job.T+1)
}

// weightOf orders the kinds by what a piece of them takes; those that poses.cuh does not make have none.
func weightOf(kind ops.Kind) int {
	switch kind {
	case ops.Slerp:
		return 2
	case ops.Angle:
		return 1
	case ops.Linear, ops.Previous, ops.Next, ops.Nearest:
		return 0
	}
	return -1
}

// dense reports whether the rows of a tensor that is there follow each other from one row of the batch to the next.
func dense(x *tensor.Tensor, batch, row, b int) bool { return x == nil || batch == row || b == 1 }

func denseOutputs(job *ops.ResampleJob) bool {
	return dense(job.Dst, job.DstBatch, job.T*job.DstStep, job.B) && dense(job.Valid, job.ValidBatch, job.T, job.B) && dense(job.Age, job.AgeBatch, job.T, job.B)
}

// asPoses reports whether a plain job's rows, of units of 1 << unit bytes, are made faster by poses.cuh, if it takes them: narrow ones of which the device
// holds all at once, in a launch by itself, and most of whose rows are needed; and wider ones that are made element by element, if targets share samples.
func (b *backend) asPoses(job *ops.ResampleJob, form plainForm, unit int) bool {
	switch {
	case form == wholeRows:
		return false
	case job.D <= mostOwn:
		return job.Launch != ops.LaunchInputsReady && job.Rows() <= b.sms*mostNarrow && pace(job) <= mostCopied
	case form == unitRows:
		return job.Src.DType().Size() == 4 && unit == 2 && job.D <= mostWords && pace(job) <= 1
	}
	if job.Launch == ops.LaunchInputsReady {
		return pace(job) <= sharedOdd
	}
	return job.D <= mostOdd && pace(job) <= sharedOdd || job.D < leastRun && pace(job) <= copiedOdd
}

// bindPoses fills in the launch of a job of pieces.
func (p *plan) bindPoses(job *ops.ResampleJob, pieces []posePiece) error {
	name := "resample_poses_" + job.Src.DType().String()
	model := p.b.modelPoses(job.Rows(), pieces, job.Launch == ops.LaunchInputsReady)
	cut := p.chooseFrom(model, name, job, len(pieces), func(c choice) shape { return p.b.cutPoses(job, c) })
	k, err := p.b.kernel(name)
	if err != nil {
		return err
	}
	config := p.b.config(name, job.Launch, cut.blocks, cut.threads)
	config.Shared = uint32(cut.tile / warp * roomOf(job).bytes)
	p.kernel, err = k.Bind(config, p.poses(job, pieces, cut))
	return err
}

// modelPoses is the choice by the device's size, of so many targets: a second warp for each 32 of them where some piece takes long and the device holds
// all such blocks at once; else each warp has its own, four a block, and fewer where blocks would be fewer
// than two for each multiprocessor, or than one where inputs are ready.
func (b *backend) modelPoses(targets int, pieces []posePiece, ready bool) choice {
	c := choice{Tile: mostTile, Threads: 4 * warp, Check: checkShare}
	if !ready && len(pieces) > 1 && precise(pieces) && targets <= warp*poseBlocks*b.sms {
		c.Tile, c.Threads = warp, 2*warp
	}
	for c.Tile > warp && c.Threads > warp && targets < c.Threads*b.sms*min(fills(ready), 2) {
		c.Threads /= 2
	}
	return c
}

// precise reports whether some piece has its weights in float64.
func precise(pieces []posePiece) bool { return weightOf(pieces[0].kind) > 0 }

// cutPoses gives each warp 32 targets of its own, or all warps of a block the same.
func (b *backend) cutPoses(job *ops.ResampleJob, c choice) shape {
	s := shape{threads: c.Threads, tile: warp, chunks: 1}
	for c.Tile > warp && s.threads > warp && s.threads/warp*roomOf(job).bytes > mostRoom {
		s.threads /= 2
	}
	if c.Tile > warp {
		s.tile = s.threads
	}
	return b.grid(job, c, s)
}

// room is the shared memory of 32 targets.
type room struct {
	rows       int // samples that are copied
	out, bytes int // where the targets' rows begin; of all
}

func roomOf(job *ops.ResampleJob) room {
	row := job.D * job.Src.DType().Size()
	r := room{rows: poseRoom(job)}
	r.out = (max(r.rows*row+2*(chunk-1), 2*warp*row) + chunk - 1) &^ (chunk - 1)
	r.bytes = r.out + warp*row
	return r
}

// poses packs the kernel's parameter.
func (p *plan) poses(job *ops.ResampleJob, pieces []posePiece, cut shape) []byte {
	var out packer
	magic, shift := divider(job.T, job.Rows())
	size := job.Src.DType().Size()
	row, samples, space := job.D*size, job.B*job.S, roomOf(job)
	flags := plainFlags(job, ops.Linear, 0, shift)
	if precise(pieces) {
		flags |= preciseWeights
	}
	out.words(uint64(pointer(job.Src)), uint64(pointer(job.SrcTimes)), uint64(pointer(job.Targets.Times)), uint64(pointer(job.Dst)),
		uint64(pointer(job.Valid)), uint64(pointer(job.Age)), uint64(p.cell.cell), uint64(p.cell.flag),
		uint64(job.Targets.Start), math.Float64bits(job.Targets.Rate))
	out.halves(uint32(job.TimesBatch), uint32(job.TargetBatch), uint32(job.Rows()), uint32(job.Stamps()), uint32(plainShare(job, cut.blocks)),
		uint32(job.S), uint32(job.T), magic, math.Float32bits(pace(job)), math.Float32bits(rowsAStamp(job)), flags, uint32(cut.tile),
		uint32(row), uint32(space.rows), uint32(space.bytes), uint32(space.out), uint32(samples), uint32(max(0, samples-(chunk+row-2)/row)),
		uint32(len(pieces)), 0)
	for _, q := range pieces {
		out.words(math.Float64bits(q.period))
		out.halves(uint32(q.at*size), uint32(q.kind)|uint32(q.n)<<16)
	}
	return append(out.data, make([]byte, 16*(mostPieces-len(pieces)))...)
}
