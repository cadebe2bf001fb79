package cuda

import (
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// drawChecks limits the blocks per multiprocessor that check tables. Until that limit, each thread checks one episode in one table.
const drawChecks = 8

func (b *gpu) Draw(job *backend.DrawJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), job.FaultError)
	return p.prepare(func() error {
		blocks, checks := (job.Batch+ptx.DrawRows-1)/ptx.DrawRows, 0
		if !job.TrustTables {
			tables := 1 + len(job.Streams)
			checks = tables * min((job.E+ptx.DrawThreads-1)/ptx.DrawThreads, max(drawChecks*b.sms/tables, 1))
		}
		if err := p.upload(slices.Concat(make([]byte, drawTicket), packed(drawLookups(job)), packed(drawSources(job)))); err != nil {
			return err
		}
		return p.Add(b.bind("draw", job.Launch, blocks+checks, ptx.DrawThreads, 0, p.drawParams(job, blocks)))
	})
}

// drawTicket is the counter's size at the start of the plan's table. After it come the lookups of the streams, and the mixture's
// sources.
const drawTicket = 16 // bytes

func drawLookups(job *backend.DrawJob) (list []ptx.DrawLookup) {
	for _, s := range job.Streams {
		from := address(s.Offsets)
		list = append(list, ptx.DrawLookup{From: from, To: address(s.Starts)}, ptx.DrawLookup{From: from + 8, To: address(s.Lengths)})
	}
	return list
}

func drawSources(job *backend.DrawJob) (list []ptx.DrawSource) {
	for _, s := range job.Mixture {
		list = append(list, ptx.DrawSource{Begin: uint64(s.Begin), Draws: uint64(s.Draws), First: uint64(s.First), Windows: uint64(s.Windows)})
	}
	return list
}

// drawParams returns the parameter for draw.cu.
func (p *plan) drawParams(job *backend.DrawJob, blocks int) *ptx.DrawParams {
	key, half := job.Feistel()
	var shards backend.Sharding
	order := uint32(ptx.DrawOrderWindows)
	switch {
	case job.ShardWindows > 0:
		shards, order = job.Sharding(), ptx.DrawOrderShards
	case len(job.Mixture) > 0:
		order = ptx.DrawOrderMixture
	}
	return &ptx.DrawParams{
		Cursor: address(job.Cursor), Ticket: uint64(p.table.Ptr()),
		Episodes: address(job.Episodes), Ticks: address(job.Ticks), Keys: address(job.Keys), Anchors: address(job.Anchors),
		Windows: address(job.Windows), Begins: address(job.Begins), Fault: p.Cell.At, FaultFlag: p.Cell.Flag, Rate: job.Rate,
		Count: uint64(job.Count), Length: uint64(job.Length()), Step: uint64(job.Step()), Rank: uint32(job.Rank), Ranks: uint32(job.Ranks), B: uint32(job.Batch), E: uint32(job.E),
		Blocks: uint32(blocks), Streams: uint32(len(job.Streams)), Key: key, Lookups: uint64(p.table.Ptr()) + drawTicket,
		Sources: uint64(p.table.Ptr()) + drawTicket + uint64(len(packed(drawLookups(job)))), SourceCount: uint32(len(job.Mixture)),
		Shard: uint64(shards.Windows), Whole: uint64(shards.Whole), Mixed: uint64(shards.Mix), Span: uint64(shards.Span),
		Flags: ptx.DrawParamsFlags{Half: uint32(half), Shuffle: job.Shuffle, Order: order, ShortLast: job.Last == backend.LastShort, Ready: job.Launch == backend.LaunchInputsReady}.Word(),
	}
}
