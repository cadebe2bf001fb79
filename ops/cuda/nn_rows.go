package cuda

import (
	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

const warpsOfRows = ptx.NormThreads / ptx.WarpSize // rows per block if each warp computes one row

// blocksOfRows counts the blocks for n rows, if a block has `each` rows.
func blocksOfRows(n, each int) int { return (n + each - 1) / each }

// elementStep returns the elements between a matrix's rows; 0 for nil.
func elementStep(t *tensor.Tensor) uint64 {
	if t == nil {
		return 0
	}
	return uint64(t.Stride(0))
}

// normOf and dropoutOf convert a job's norm and dropout for a kernel's parameter.
func normOf(n *backend.NormStats) ptx.NnNorm {
	return ptx.NnNorm{Z: address(n.Z), ZStep: elementStep(n.Z), Mean: address(n.Mean), Rstd: address(n.Rstd), Gamma: address(n.Gamma), Beta: address(n.Beta)}
}

func dropoutOf(d backend.Dropout) (p ptx.NnDropout) {
	if d.Rate > 0 {
		p = ptx.NnDropout{State: address(d.State), Seed: d.Seed, Site: d.Site, Threshold: fp32.Threshold(d.Rate), Scale: 1 / (1 - d.Rate)}
	}
	return p
}

func (b *gpu) Norm(job *backend.NormJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	return p, p.norm(job)
}

// norm adds the launch of a norm, normBackward the launch of its gradient.
func (p *plan) norm(job *backend.NormJob) error {
	return p.Add(p.b.bind("norm", backend.LaunchDependent, blocksOfRows(job.M, warpsOfRows), ptx.NormThreads, 0, &ptx.NormParams{
		Norm: normOf(&job.Norm), Sum: address(job.Sum), SumStep: elementStep(job.Sum), Out: address(job.Out), OutStep: elementStep(job.Out), M: uint32(job.M), N: uint32(job.N), Eps: job.Eps,
	}))
}

func (b *gpu) NormBackward(job *backend.NormBackwardJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	return p, p.normBackward(job)
}

func (p *plan) normBackward(job *backend.NormBackwardJob) error {
	return p.Add(p.b.bind("norm_backward", backend.LaunchDependent, blocksOfRows(job.M, ptx.NormRows), ptx.NormBackwardThreads, 0, &ptx.NormBackwardParams{
		Norm: normOf(&job.Norm), G: address(job.G), GStep: elementStep(job.G), After: address(job.After), AfterStep: elementStep(job.After),
		Sum: address(job.Sum), SumStep: elementStep(job.Sum), Out: address(job.Out), OutStep: elementStep(job.Out),
		Dgamma: address(job.DGamma), DgammaStep: elementStep(job.DGamma), Dbeta: address(job.DBeta), DbetaStep: elementStep(job.DBeta),
		OutDropout: dropoutOf(job.OutDropout), M: uint32(job.M), N: uint32(job.N),
	}))
}

func (b *gpu) Embed(job *backend.EmbedJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), job.FaultError)
	if job.Backward {
		columns := blocksOfRows(job.N, ptx.WarpSize)
		return p, p.Add(b.bind("embed_backward", backend.LaunchDependent, job.V*columns, ptx.EmbedBackwardThreads, 0, &ptx.EmbedBackwardParams{
			Id: address(job.ID), G: address(job.G), GStep: elementStep(job.G), Dtable: address(job.DTable), DtableStep: elementStep(job.DTable),
			M: uint32(job.M), N: uint32(job.N), T: uint32(job.T), Columns: uint32(columns),
		}))
	}
	return p.prepare(func() error {
		return p.Add(b.bind("embed", backend.LaunchDependent, blocksOfRows(job.M, warpsOfRows), ptx.EmbedThreads, 0, &ptx.EmbedParams{
			Position: address(job.Position), PositionStep: elementStep(job.Position), Table: address(job.Table), TableStep: elementStep(job.Table), Id: address(job.ID),
			Out: address(job.Out), OutStep: elementStep(job.Out), Fault: p.Cell.At, FaultFlag: p.Cell.Flag, M: uint32(job.M), N: uint32(job.N), T: uint32(job.T), V: uint32(job.V),
		}))
	})
}

func (b *gpu) Loss(job *backend.LossJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), job.FaultError)
	return p.prepare(func() error {
		params := &ptx.LossParams{
			Prediction: address(job.Prediction), PredictionStep: elementStep(job.Prediction), Target: address(job.Target), TargetStep: elementStep(job.Target),
			Classes: address(job.Class), Weights: address(job.Weights), Grad: address(job.Grad), GradStep: elementStep(job.Grad), Partials: address(job.Partials),
			Losses: address(job.Losses), State: address(job.State), Fault: p.Cell.At, FaultFlag: p.Cell.Flag, M: uint32(job.M), N: uint32(job.N), Width: uint32(job.Prediction.Dim(1)),
			Items: uint32(job.RowsPerItem), ItemWidth: uint32(job.N / job.RowsPerItem), Ring: uint32(job.Losses.Len()), Flags: ptx.LossParamsFlags{Kind: uint32(job.Kind)}.Word(),
		}
		return p.Add(b.bind("loss", backend.LaunchDependent, blocksOfRows(job.M, ptx.LossRows), ptx.LossThreads, 0, params))
	})
}

func (b *gpu) Tokens(job *backend.TokensJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), job.FaultError)
	return p.prepare(func() error {
		var sources []ptx.TokenSource
		for i := range job.Sources {
			sources = append(sources, tokenSource(&job.Sources[i], backend.FaultToken.InStream(i)))
		}
		if err := p.upload(packed(sources)); err != nil {
			return err
		}
		kernel, columns := "tokens_any", 1
		if wideTokens(job) {
			kernel, columns = "tokens", ptx.TokensWide
		}
		width := job.Input.Dim(1)
		params := &ptx.TokensParams{
			Sources: uint64(p.table.Ptr()), SourceCount: uint32(len(sources)), In: tokenAffine(width/columns, job.B*job.T, job.Scale, job.Shift, job.Relative),
			Input: address(job.Input), InputStep: elementStep(job.Input), State: address(job.State), Fault: p.Cell.At, FaultFlag: p.Cell.Flag, B: uint32(job.B), T: uint32(job.T), Width: uint32(width),
		}
		if t := job.Target; t != nil {
			params.Target = tokenSource(t, backend.FaultTarget)
			params.Out = tokenAffine(t.D, job.B*t.Ticks, job.TargetScale, job.TargetShift, job.TargetRelative)
			params.Targets, params.TargetStep, params.Weights = address(job.Targets), elementStep(job.Targets), address(job.Weights)
		}
		if r := job.Reference; r.Values != nil {
			params.Reference = tokenSource(&backend.TokenSource{Values: r.Values, Valid: r.Valid, Ticks: r.Values.Dim(1), D: r.Values.Dim(2), Token: r.Tick}, backend.FaultReference)
		}
		return p.Add(b.bind(kernel, backend.LaunchDependent, int(params.In.Blocks+params.Out.Blocks), ptx.TokensThreads, 0, params))
	})
}

// wideTokens reports whether each thread can copy TokensWide columns at once. Each chunk of that width must come from one source or
// none, and all addresses must be aligned to 16 bytes.
func wideTokens(job *backend.TokensJob) bool {
	const wide = ptx.TokensWide
	for _, t := range []*tensor.Tensor{job.Scale, job.Shift, job.Relative} {
		if address(t)%16 != 0 {
			return false
		}
	}
	for i := range job.Sources {
		s := &job.Sources[i]
		if s.Column%wide != 0 || s.D%wide != 0 || s.Values.Stride(0)%wide != 0 || s.Values.Stride(1)%wide != 0 || address(s.Values)%16 != 0 {
			return false
		}
	}
	return true
}

// tokenAffine divides columns and rows among threads and blocks.
func tokenAffine(columns, rows int, scale, shift, relative *tensor.Tensor) ptx.TokenAffine {
	beside := min(columns, ptx.TokensThreads)
	atOnce := ptx.TokensThreads / beside
	across := blocksOfRows(columns, beside)
	return ptx.TokenAffine{Scale: address(scale), Shift: address(shift), Relative: address(relative), Beside: uint32(beside), Rows: uint32(atOnce),
		BlocksARow: uint32(across), Blocks: uint32(across * blocksOfRows(rows, atOnce*ptx.TokensDeep))}
}

func tokenSource(s *backend.TokenSource, class backend.Fault) ptx.TokenSource {
	out := ptx.TokenSource{Values: address(s.Values), Batch: uint64(s.Values.Stride(0)), Tick: uint64(s.Values.Stride(1)), Fault: uint64(class),
		Ticks: uint32(s.Ticks), D: uint32(s.D), Token: int32(s.Token), Column: uint32(s.Column)}
	if s.Values.DType() == tensor.F32 {
		out.F32 = 1
	}
	if s.Valid != nil {
		out.Valid, out.ValidBatch, out.ValidTick = address(s.Valid), uint64(s.Valid.Stride(0)), uint64(s.Valid.Stride(1))
	}
	if s.Pad != nil && s.SkipPad {
		out.Pad, out.PadBatch, out.PadTick = address(s.Pad), uint64(s.Pad.Stride(0)), uint64(s.Pad.Stride(1))
	}
	return out
}
