package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// drawChecks is how many blocks of a multiprocessor check tables at most: an episode of a table a thread until the device is full of them.
const drawChecks = 8

func (b *gpu) Draw(job *backend.DrawJob) (backend.Plan, error) {
	p := &plan{Base: b.Base(job.Bound()), b: b, explain: job.FaultError}
	return p.prepare(func() error {
		blocks, checks := (job.Batch+ptx.DrawRows-1)/ptx.DrawRows, 0
		if !job.TrustTables {
			tables := 1 + len(job.Streams)
			checks = tables * min((job.E+ptx.DrawThreads-1)/ptx.DrawThreads, max(drawChecks*b.sms/tables, 1))
		}
		if err := p.upload(append(make([]byte, drawTicket), packed(drawLookups(job))...)); err != nil {
			return err
		}
		return p.Add(b.bind("draw", job.Launch, blocks+checks, ptx.DrawThreads, 0, p.drawParams(job, blocks)))
	})
}

// drawTicket is the first part of the plan's table; the streams' sides follow.
const drawTicket = 16 // bytes

func drawLookups(job *backend.DrawJob) (list []ptx.DrawLookup) {
	for _, s := range job.Streams {
		from := address(s.Offsets)
		list = append(list, ptx.DrawLookup{From: from, To: address(s.Starts)}, ptx.DrawLookup{From: from + 8, To: address(s.Lengths)})
	}
	return list
}

// drawParams fills in the parameter of draw.cu.
func (p *plan) drawParams(job *backend.DrawJob, blocks int) *ptx.DrawParams {
	key, half := job.Feistel()
	var shards backend.Sharding
	if job.ShardWindows > 0 {
		shards = job.Sharding()
	}
	return &ptx.DrawParams{
		Cursor: address(job.Cursor), Ticket: uint64(p.table.Ptr()), Episodes: address(job.Episodes), Ticks: address(job.Ticks), Anchors: address(job.Anchors),
		Windows: address(job.Windows), Begins: address(job.Begins), Fault: p.Cell.At, FaultFlag: p.Cell.Flag, Rate: job.Rate,
		Count: uint64(job.Count), Step: uint64(job.Step()), Rank: uint32(job.Rank), Ranks: uint32(job.Ranks), B: uint32(job.Batch), E: uint32(job.E),
		Blocks: uint32(blocks), Streams: uint32(len(job.Streams)), Key: key, Lookups: uint64(p.table.Ptr()) + drawTicket,
		Shard: uint64(shards.Windows), Whole: uint64(shards.Whole), Mixed: uint64(shards.Mix), Span: uint64(shards.Span),
		Flags: ptx.DrawParamsFlags{Half: uint32(half), Shuffle: job.Shuffle, Sharded: job.ShardWindows > 0, ShortLast: job.Last == backend.LastShort, Ready: job.Launch == backend.LaunchInputsReady}.Word(),
	}
}
