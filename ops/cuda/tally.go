package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// tallyBlocks limits the blocks per multiprocessor. That many run at once.
const tallyBlocks = 2

func (b *gpu) Tally(job *backend.TallyJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	kernel, shared := "tally", ptx.TallyShared
	if job.Known != 0 {
		kernel, shared = "tally_next", 0
	}
	params := tallyParams(job, b.sms)
	if params.Groups == 0 || job.N == 0 {
		return p, nil
	}
	return p.checked(p.Add(b.bind(kernel, backend.LaunchDependent, int(params.Groups*params.Blocks), ptx.TallyThreads, shared, params)))
}

// tallyParams divides the rows among blocks. Each thread gets as many rows as possible while the blocks still fill the device.
func tallyParams(job *backend.TallyJob, sms int) *ptx.TallyParams {
	groups := blocksOfRows(job.D, ptx.TallyColumns)
	blocks := max(tallyBlocks*sms/max(groups, 1), 1)
	rows := min(max(blocksOfRows(job.N, blocks*ptx.TallySegments), 1), ptx.TallyRows)
	blocks = min(blocks, blocksOfRows(job.N, rows*ptx.TallySegments))
	dtype := uint32(ptx.TallyDtypeF32)
	switch job.Src.DType() {
	case tensor.F16:
		dtype = ptx.TallyDtypeF16
	case tensor.BF16:
		dtype = ptx.TallyDtypeBf16
	}
	return &ptx.TallyParams{
		Src: address(job.Src), Step: uint64(job.Src.Stride(0)), Counts: address(job.Counts), Sums: address(job.Sums), Prefixes: address(job.Prefixes),
		N: uint32(job.N), D: uint32(job.D), Rows: uint32(rows), Groups: uint32(groups), Blocks: uint32(blocks), Dtype: dtype, Known: uint32(job.Known), PrefixCount: uint32(job.P),
	}
}
