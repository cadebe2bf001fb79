package cuda

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// poseJob is a position and a quaternion, 10 samples onto 5 targets, in three rows without gaps.
func poseJob(dtype tensor.DType) *ops.ResampleJob {
	return &ops.ResampleJob{
		ResampleArgs: ops.ResampleArgs{
			Src: tensor.Must(tensor.New(dtype, 3, 10, 7)), SrcTimes: tensor.Must(tensor.New(tensor.I64, 3, 10)),
			Dst: tensor.Must(tensor.New(dtype, 3, 5, 7)), Targets: ops.Uniform(0, 1, 5),
		},
		B: 3, S: 10, T: 5, D: 7, SrcBatch: 70, SrcStep: 7, DstBatch: 35, DstStep: 7, TimesRows: 3, TimesBatch: 10, Check: true,
		Channels: []ops.Channel{{Lo: 0, Hi: 3}, {Lo: 3, Hi: 7, Kind: ops.Slerp}},
	}
}

func TestParameterOfPosesFitsTheKernels(t *testing.T) {
	for _, dtype := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		job := poseJob(dtype)
		pieces := posePieces(job)
		require.Len(t, pieces, 2)
		b := &backend{sms: 132}
		name := "resample_poses_" + dtype.String()
		data := (&plan{cell: &faultCell{}}).poses(job, pieces, b.cutPoses(job, b.modelPoses(15, pieces, false)))
		_, entry, ok := ptx.Lookup(name)
		require.True(t, ok, name)
		require.Len(t, entry.Params, 1)
		require.Len(t, data, entry.Params[0].Size, name)
		first := data[len(data)-16*mostPieces:]
		assert.Equal(t, uint32(3*dtype.Size()), binary.LittleEndian.Uint32(first[8:]), "what takes longest comes first")
		assert.Equal(t, []uint16{uint16(ops.Slerp), 4}, []uint16{binary.LittleEndian.Uint16(first[12:]), binary.LittleEndian.Uint16(first[14:])})
	}
}

// Which jobs are made by pieces.
func TestJobsOfPoses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ops.ResampleJob)
		takes  bool
	}{
		"position and quaternion": {func(*ops.ResampleJob) {}, true},
		"angles":                  {func(j *ops.ResampleJob) { j.Channels = []ops.Channel{{Hi: 7, Kind: ops.Angle}} }, true},
		"one row apart":           {func(j *ops.ResampleJob) { j.B, j.SrcBatch, j.DstBatch = 1, 0, 99 }, true},
		"cubic":                   {func(j *ops.ResampleJob) { j.Channels[0].Kind = ops.Pchip }, false},
		"gap limit":               {func(j *ops.ResampleJob) { j.MaxGap = ops.Within(time.Second) }, false},
		"tolerance":               {func(j *ops.ResampleJob) { j.Tolerance = ops.Within(time.Second) }, false},
		"filled":                  {func(j *ops.ResampleJob) { j.Edge = ops.FillEdge }, false},
		"f64": {func(j *ops.ResampleJob) {
			j.Src, j.Dst = tensor.Must(tensor.New(tensor.F64, 3, 10, 7)), tensor.Must(tensor.New(tensor.F64, 3, 5, 7))
		}, false},
		"another dtype":  {func(j *ops.ResampleJob) { j.Dst = tensor.Must(tensor.New(tensor.BF16, 3, 5, 7)) }, false},
		"lengths":        {func(j *ops.ResampleJob) { j.SrcLengths = tensor.Must(tensor.New(tensor.I64, 3)) }, false},
		"samples apart":  {func(j *ops.ResampleJob) { j.SrcStep = 8 }, false},
		"shared samples": {func(j *ops.ResampleJob) { j.SrcBatch = 0 }, false},
		"targets apart":  {func(j *ops.ResampleJob) { j.DstStep = 8 }, false},
		"rows apart":     {func(j *ops.ResampleJob) { j.DstBatch = 36 }, false},
		"masks apart":    {func(j *ops.ResampleJob) { j.Valid, j.ValidBatch = tensor.Must(tensor.New(tensor.U8, 3, 6)), 6 }, false},
		"a row of 96":    {func(j *ops.ResampleJob) { j.D, j.SrcStep, j.DstStep, j.SrcBatch, j.DstBatch = 24, 24, 24, 240, 120 }, true},
		"a wide row":     {func(j *ops.ResampleJob) { j.D, j.SrcStep, j.DstStep, j.SrcBatch, j.DstBatch = 32, 32, 32, 320, 160 }, false},
		"many samples":   {func(j *ops.ResampleJob) { j.S, j.SrcBatch = 100, 700 }, false},
		"more pieces than 16": {func(j *ops.ResampleJob) {
			j.D, j.SrcStep, j.DstStep, j.SrcBatch, j.DstBatch = 34, 34, 34, 340, 170
			for i := range 17 {
				j.Channels = append(j.Channels[:i], ops.Channel{Lo: 2 * i, Hi: 2*i + 2, Kind: ops.Kind(i % 2)})
			}
		}, false},
		"three samples": {func(j *ops.ResampleJob) { j.S, j.SrcBatch = 3, 21 }, false},
		"one target":    {func(j *ops.ResampleJob) { j.T, j.DstBatch = 1, 7 }, false},
	} {
		job := poseJob(tensor.F32)
		c.change(job)
		assert.Equal(t, c.takes, posePieces(job) != nil, name)
	}
}

// Rows of one kind go to poses.cuh where they are narrow and few, in a launch by themselves, or are made by small pieces of samples that targets share.
func TestPlainRowsAsPoses(t *testing.T) {
	b := &backend{sms: 132}
	wide := func(d, targets int) func(*ops.ResampleJob) {
		return func(j *ops.ResampleJob) { j.D, j.T = d, targets }
	}
	halves := func(d, s, targets int) func(*ops.ResampleJob) {
		return func(j *ops.ResampleJob) {
			j.D, j.S, j.T, j.Src = d, s, targets, tensor.Must(tensor.New(tensor.BF16, 1))
		}
	}
	for name, c := range map[string]struct {
		change func(*ops.ResampleJob)
		form   plainForm
		unit   int
		want   bool
	}{
		"seven features":          {func(*ops.ResampleJob) {}, unitRows, 2, true},
		"of two bytes":            {func(*ops.ResampleJob) {}, oddOwn, 1, true},
		"whole chunks":            {func(*ops.ResampleJob) {}, wholeRows, 4, false},
		"nine":                    {func(j *ops.ResampleJob) { j.D = 9 }, unitRows, 2, false},
		"inputs ready":            {func(j *ops.ResampleJob) { j.Launch = ops.LaunchInputsReady }, unitRows, 2, false},
		"dependent":               {func(j *ops.ResampleJob) { j.Launch = ops.LaunchDependent }, unitRows, 2, true},
		"as many as there may be": {func(j *ops.ResampleJob) { j.B, j.T = 132, mostNarrow }, unitRows, 2, true},
		"four samples a target":   {func(j *ops.ResampleJob) { j.S = 4*(j.T-1) + 1 }, unitRows, 2, true},
		"more":                    {func(j *ops.ResampleJob) { j.S = 4*(j.T-1) + 2 }, unitRows, 2, false},
		"one more":                {func(j *ops.ResampleJob) { j.B, j.T = 1, 132*mostNarrow+1 }, unitRows, 2, false},
		"shared samples":          {wide(mostWords-1, 10), unitRows, 2, true},
		"few targets":             {wide(mostWords-1, 9), unitRows, 2, false},
		"wider":                   {wide(mostWords+1, 10), unitRows, 2, false},
		"larger units":            {wide(14, 10), unitRows, 3, false},
		"odd":                     {halves(25, 20, 10), runRows, 1, false},
		"odd, most samples":       {halves(25, 20, 11), runRows, 1, true},
		"wide and odd":            {halves(mostOdd, 9, 10), runRows, 1, true},
		"wider and odd":           {halves(mostOdd+2, 9, 10), runRows, 1, false},
		"and ready": {func(j *ops.ResampleJob) {
			halves(mostOdd+2, 9, 10)(j)
			j.Launch = ops.LaunchInputsReady
		}, runRows, 1, true},
		"units of two": {halves(26, 9, 10), unitRows, 2, false},
	} {
		job := poseJob(tensor.F32)
		c.change(job)
		assert.Equal(t, c.want, b.asPoses(job, c.form, c.unit), name)
	}
}

// A block's rows fit its shared memory, however wide they are and however many a warp copies.
func TestRoomOfPosesFitsABlock(t *testing.T) {
	b := &backend{sms: 132}
	for d := 3; d <= mostPose/4; d++ {
		for _, s := range []int{4, 100, 200, 300, 400, 1000} {
			job := poseJob(tensor.F32)
			job.B, job.S, job.T, job.D, job.SrcStep, job.DstStep = 1000, s, 100, d, d, d
			job.SrcBatch, job.DstBatch, job.TimesRows, job.TimesBatch = s*d, 100*d, 1, s
			job.Channels = []ops.Channel{{Lo: 0, Hi: d}}
			if pieces := posePieces(job); pieces != nil {
				cut := b.cutPoses(job, b.modelPoses(job.Rows(), pieces, true))
				assert.LessOrEqual(t, cut.tile/warp*roomOf(job).bytes, mostRoom, "%d features of %d samples", d, s)
				assert.Equal(t, cut.threads, cut.tile)
			}
		}
	}
}
