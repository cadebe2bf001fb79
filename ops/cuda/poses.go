package cuda

import (
	"math"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// poses.cuh: most_runs, most_pose, room_bytes
const (
	mostRuns  = 16
	mostPose  = 64
	roomBytes = 6144

	poseBlocks = 8 // blocks of two warps that a multiprocessor holds
)

// poseRuns are the runs of a job's features that poses.cuh makes, those of a kind after each other; nil if it does not take the job: one
// whose source, targets and outputs have no gaps, of short rows, of which a warp can copy those that evenly spaced targets need.
func poseRuns(job *ops.ResampleJob) []ops.Channel {
	_, gap := job.MaxGap.Get()
	_, tolerance := job.Tolerance.Get()
	if !regular(job) || gap || tolerance || job.Edge != ops.Clamp || job.B*job.S > math.MaxInt32 || pointer(job.Src)%chunk != 0 {
		return nil
	}
	row := job.D * job.Src.DType().Size()
	if job.SrcStep != job.D || job.DstStep != job.D || !dense(job.Src, job.SrcBatch, job.S*job.D, job.B) || !denseOutputs(job) ||
		row > mostPose || warp*pace(job)+4 > float32(roomBytes/row) {
		return nil
	}
	list := slices.Clone(job.Channels)
	slices.SortStableFunc(list, func(a, b ops.Channel) int { return weightOf(b.Kind) - weightOf(a.Kind) })
	if countItems(list)[others] > 0 || len(list) > mostRuns {
		return nil
	}
	return list
}

// weightOf orders the kinds of runs by what a piece of them takes.
func weightOf(kind ops.Kind) int {
	switch kind {
	case ops.Slerp:
		return 2
	case ops.Angle:
		return 1
	}
	return 0
}

// dense reports whether the rows of a tensor that is there follow each other from one row of the batch to the next.
func dense(x *tensor.Tensor, batch, row, b int) bool { return x == nil || batch == row || b == 1 }

func denseOutputs(job *ops.ResampleJob) bool {
	return dense(job.Dst, job.DstBatch, job.T*job.DstStep, job.B) && dense(job.Valid, job.ValidBatch, job.T, job.B) && dense(job.Age, job.AgeBatch, job.T, job.B)
}

// bindPoses fills in the launch of a job of runs.
func (p *plan) bindPoses(job *ops.ResampleJob, runs []ops.Channel) error {
	name := "resample_poses_" + job.Src.DType().String()
	cut := p.chooseOne(name, job, 1, func(c Choice) shape { return p.b.cutPoses(job, c) })
	k, err := p.b.kernel(name)
	if err != nil {
		return err
	}
	p.kernel, err = k.Bind(p.b.config(name, job.Launch, cut.blocks, cut.threads), p.poses(job, runs, cut))
	return err
}

// cutPoses gives each block a warp of targets.
func (b *backend) cutPoses(job *ops.ResampleJob, c Choice) shape {
	return b.grid(job, c, shape{threads: c.Threads, tile: warp, chunks: 1})
}

// poses packs the kernel's parameter.
func (p *plan) poses(job *ops.ResampleJob, runs []ops.Channel, cut shape) []byte {
	var out packer
	magic, shift := divider(job.T, job.Rows())
	row := job.D * job.Src.DType().Size()
	samples := job.B * job.S
	out.words(uint64(pointer(job.Src)), uint64(pointer(job.SrcTimes)), uint64(pointer(job.Targets.Times)), uint64(pointer(job.Dst)),
		uint64(pointer(job.Valid)), uint64(pointer(job.Age)), uint64(p.cell.cell), uint64(p.cell.flag),
		uint64(job.Targets.Start), math.Float64bits(job.Targets.Rate), uint64(samples*row))
	out.halves(uint32(job.TimesBatch), uint32(job.TargetBatch), uint32(job.Rows()), uint32(job.Stamps()), uint32(plainShare(job, cut.blocks)),
		uint32(job.S), uint32(job.T), magic, math.Float32bits(pace(job)), plainFlags(job, ops.Linear, 0, shift),
		uint32(row), uint32(roomBytes/row), uint32(samples), uint32(len(runs)))
	for _, c := range runs {
		out.words(math.Float64bits(c.Period))
		out.halves(uint32(c.Lo)|uint32(c.Hi)<<16, uint32(c.Kind))
	}
	return append(out.data, make([]byte, 16*(mostRuns-len(runs)))...)
}
