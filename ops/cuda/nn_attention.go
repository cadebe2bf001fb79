package cuda

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// attentionParams returns the parameter for attention.cuh.
func attentionParams(j *backend.AttentionJob) ptx.AttentionParams {
	p := ptx.AttentionParams{
		Q: address(j.Q), K: address(j.K), V: address(j.V), O: address(j.O), LogSum: address(j.LogSum),
		QStep: uint32(j.Q.Stride(0)), KStep: uint32(j.K.Stride(0)), VStep: uint32(j.V.Stride(0)), OStep: uint32(j.O.Stride(0)),
		A: float32(j.Scale * float32(math.Log2E)), Factor: 1, Tq: uint32(j.TQ), Tk: uint32(j.TK), Heads: uint32(j.Heads),
	}
	if j.Causal {
		p.Causal = 1
	}
	if j.Pad != nil {
		p.Pad, p.PadStep = address(j.Pad), uint32(j.Pad.Stride(0))
	}
	if d := j.Dropout; d.Rate > 0 {
		p.State, p.Seed, p.Site, p.Threshold, p.Factor = address(d.State), d.Seed, d.Site, fp32.Threshold(d.Rate), 1/(1-d.Rate)
	}
	return p
}

// attentionWarps returns the warps per block and the rows that they cover, if a block goes over n rows. Rows come in tiles of 16, and
// in multiples of 32 per block because a block copies 8 rows at once.
func attentionWarps(n, width int) (warps, rows int) {
	tiles := ptx.AttentionTiles32
	if width == 64 {
		tiles = ptx.AttentionTiles64
	}
	pair := max(width/32, 2/tiles)
	warps = min((n+16*tiles*pair-1)/(16*tiles*pair)*pair, ptx.AttentionThreads/ptx.WarpSize)
	return warps, warps * 16 * tiles
}

func (b *gpu) bindAttention(base string, j *backend.AttentionJob, grid [3]uint32, warps, shared int, params parameters) (*cudadrv.Launch, error) {
	name := fmt.Sprintf("%s_%d", base, j.Width)
	if j.Dropout.Rate > 0 {
		name += "_dropout"
	}
	config := cudadrv.LaunchConfig{Grid: grid, Block: [3]uint32{uint32(warps * ptx.WarpSize)}, Shared: uint32(shared), Dependent: true}
	return b.kernels.Bind(name, config, params.Bytes())
}

func (b *gpu) Attention(job *backend.AttentionJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	n := job.TQ
	warps, rows := attentionWarps(n, job.Width)
	for n > 32 && 2*job.B*job.Heads*((job.TQ+rows-1)/rows) <= b.sms { // smaller blocks, because half of the device would be idle
		n = (min(n, rows) + 1) / 2
		warps, rows = attentionWarps(n, job.Width)
	}
	params := attentionParams(job)
	shared := 2 * job.Width * (rows + 2*ptx.AttentionStages*ptx.AttentionStage)
	grid := [3]uint32{uint32(job.B), uint32(job.Heads), uint32((job.TQ + rows - 1) / rows)}
	return p.checked(p.Add(b.bindAttention("attention", job, grid, warps, shared, &params)))
}

func (b *gpu) AttentionBackward(job *backend.AttentionBackwardJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	warps, rows := attentionWarps(job.TK, job.Width)
	shared := backwardShared(rows, job.Width)
	for n := rows / 2; shared > b.shared && n >= 32; n /= 2 { // fewer keys at once, until they fit in shared memory
		warps, rows = attentionWarps(n, job.Width)
		shared = backwardShared(rows, job.Width)
	}
	heads := job.B * job.Heads
	params := ptx.AttentionBackwardParams{
		Job: attentionParams(&job.AttentionJob), Count: uint32(heads), DO: address(job.DO), Dq: address(job.DQ), Dk: address(job.DK), Dv: address(job.DV),
		DOStep: uint32(job.DO.Stride(0)), DqStep: uint32(job.DQ.Stride(0)), DkStep: uint32(job.DK.Stride(0)), DvStep: uint32(job.DV.Stride(0)), Scale: job.Scale,
	}
	if rows < job.TK {
		var err error
		if p.table, err = b.Malloc("the sums of an attention's gradient", 4*int64(heads*job.TQ*job.Width)); err != nil {
			return nil, err
		}
		params.DqSum = uint64(p.table.Ptr())
	}
	blocks := min(heads, b.sms*max(1, b.shared/(shared+1024))) // blocks that fit the device at once; a block goes from head to head
	return p.checked(p.Add(b.bindAttention("attention_backward", &job.AttentionJob, [3]uint32{uint32(blocks)}, warps, shared, &params)))
}

// backwardShared returns the shared memory in bytes of an attention_backward block that goes over the given number of keys at once.
func backwardShared(rows, width int) int {
	return 2*4*ptx.AttentionBatch + 2*width*(2*rows+4*ptx.AttentionStage) + 4*ptx.AttentionStage*rows
}
