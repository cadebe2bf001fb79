package cuda

import (
	"context"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

const (
	largeGain   = 2 // large tiles are used if their total area is less than this many times the area of small tiles
	adamWBlocks = 4 // blocks per multiprocessor; 8 were no faster on an H100

	f32, u32, bf16 = 4, 4, 2 // bytes
)

func (b *gpu) WeightGradient(job *backend.WeightGradientJob) (backend.Plan, error) {
	g := gradientTilesOf(job)
	p := b.plan(job.Bound(), nil)
	return p.launched(p.placeGradient(g), func() error {
		params := &ptx.GradientParams{Tiles: uint64(p.table.Ptr())}
		return p.Add(b.bind("gradient", backend.LaunchDependent, len(g.tiles), ptx.GradientThreads, g.shared, params))
	})
}

// launched calls bind to add the plan's launch, unless err is already set. It closes the plan on an error.
func (p *plan) launched(err error, bind func() error) (backend.Plan, error) {
	if err == nil {
		err = bind()
	}
	return p.checked(err)
}

// gradientTiles holds the tiles for a WeightGradient and the shared memory in bytes that a tile needs. In tiles with several splits, the
// ticket and scratch positions are offsets from 0 until placeGradient adds addresses.
type gradientTiles struct {
	tiles           []ptx.GradientTile
	shared          int
	tickets, memory int
}

// placeGradient copies the tiles to device memory, followed by zeroed tickets and scratch memory.
func (p *plan) placeGradient(g *gradientTiles) (err error) {
	size := len(packed(g.tiles))
	head := (size + u32*g.tickets + chunk - 1) / chunk * chunk
	if p.table, err = p.b.Malloc("the partial sums of gradients", int64(head+g.memory)); err != nil {
		return err
	}
	from := uint64(p.table.Ptr())
	for i := range g.tiles {
		if t := &g.tiles[i]; t.Splits > 1 {
			t.Tickets += from + uint64(size)
			t.Scratch += from + uint64(head)
		}
	}
	return p.b.Ctx.CopyToDevice(context.Background(), p.table.Ptr(), append(packed(g.tiles), make([]byte, head-size)...))
}

func gradientTilesOf(job *backend.WeightGradientJob) *gradientTiles {
	g := &gradientTiles{shared: ptx.GradientSumShared}
	for _, s := range job.Sums {
		for n := 0; n < s.N; n += ptx.GradientSumN {
			g.tiles = append(g.tiles, ptx.GradientTile{X: at(s.X, f32, 0, n), Out: address(job.Gradient) + uint64(f32*(s.Offset+n)),
				XStride: uint32(s.X.Stride(0)), Rows: uint32(s.R), K: uint32(s.N - n), Splits: 1, Kind: ptx.GradientKindSum})
		}
	}
	for i := range job.Products {
		g.product(job, &job.Products[i])
	}
	return g
}

// product adds the tiles for a product. Splits of one tile read the same columns and are consecutive.
func (g *gradientTiles) product(job *backend.WeightGradientJob, p *backend.ProductGradient) {
	per := backend.SplitRows(p.M, job.Splits)
	splits := (p.M + per - 1) / per
	t := ptx.GradientTile{DyStride: uint32(p.DY.Stride(0)), XStride: uint32(p.X.Stride(0)), Stride: uint32(p.Stride),
		Splits: uint32(splits), Kind: ptx.GradientKindSmall}
	height, width, shared, scratch := ptx.GradientSmallN, ptx.GradientSmallK, ptx.GradientSmallShared, ptx.GradientSmallScratch
	if area(p, ptx.GradientLargeN, ptx.GradientLargeK) < largeGain*area(p, height, width) {
		t.Kind = ptx.GradientKindLarge
		height, width, shared, scratch = ptx.GradientLargeN, ptx.GradientLargeK, ptx.GradientLargeShared, ptx.GradientLargeScratch
	}
	g.shared = max(g.shared, shared)
	out, tiles := address(job.Gradient), area(p, height, width)/(height*width)
	for split := range splits {
		first := split * per
		t.Split, t.Rows = uint32(split), uint32(min(per, p.M-first))
		for tile := range tiles {
			across := (p.K + width - 1) / width
			n, k := tile/across*height, tile%across*width
			t.Dy, t.X, t.Out, t.Bias = at(p.DY, bf16, first, n), at(p.X, bf16, first, k), out+uint64(f32*(p.Offset+n*p.Stride+k)), 0
			if k == 0 && p.BiasOffset >= 0 {
				t.Bias = out + uint64(f32*(p.BiasOffset+n))
			}
			t.N, t.K = uint32(p.N-n), uint32(p.K-k)
			if splits > 1 {
				t.Tickets, t.Scratch = uint64(u32*(g.tickets+tile*ptx.GradientTickets)), uint64(g.memory+tile*splits*scratch)
			}
			g.tiles = append(g.tiles, t)
		}
	}
	if splits > 1 {
		g.tickets += tiles * ptx.GradientTickets
		g.memory += tiles * splits * scratch
	}
}

// area returns the total area of the tiles that cover a weight matrix, if a tile has the given height and width.
func area(g *backend.ProductGradient, height, width int) int {
	return (g.N + height - 1) / height * height * ((g.K + width - 1) / width * width)
}

// at returns the address of a matrix element.
func at(t *tensor.Tensor, size, row, column int) uint64 {
	return address(t) + uint64((row*t.Stride(0)+column)*size)
}

func (b *gpu) GradientNorm(job *backend.GradientNormJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	return p.launched(p.upload(packed(addresses(job.Gradients, job.Squares))), func() error {
		params := &ptx.GradientNormParams{Gradients: p.gradients(job.Gradients, job.Scale), Sum: address(job.Sum), From: uint64(job.From), To: uint64(job.To),
			Squares: uint64(p.table.Ptr()) + uint64(8*len(job.Gradients)), SquareCount: uint32(len(job.Squares))}
		return p.Add(b.bind("gradient_norm", backend.LaunchDependent, (job.To-job.From+ptx.NormChunk-1)/ptx.NormChunk, ptx.AdamwThreads, 0, params))
	})
}

// gradients returns the list of all ranks' gradients. Their addresses are at the start of the plan's table.
func (p *plan) gradients(list []*tensor.Tensor, scale float32) ptx.RankGradients {
	return ptx.RankGradients{Ranks: uint64(p.table.Ptr()), Count: uint32(len(list)), Scale: scale}
}

func addresses(lists ...[]*tensor.Tensor) (all []uint64) {
	for _, list := range lists {
		for _, t := range list {
			all = append(all, address(t))
		}
	}
	return all
}

func (b *gpu) AdamW(job *backend.AdamWJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	return p.launched(p.upload(packed(addresses(job.Gradients, job.Working, job.Copies))), func() error {
		working := uint64(p.table.Ptr()) + uint64(8*len(job.Gradients))
		params := &ptx.AdamwParams{Gradients: p.gradients(job.Gradients, job.Scale), Params: address(job.Params), M: address(job.M), V: address(job.V), Average: address(job.Average),
			Working: working, WorkingCount: uint32(len(job.Working)), Copies: working + uint64(8*len(job.Working)), CopyCount: uint32(len(job.Copies)),
			Schedule: address(job.Schedule), Steps: uint32(job.Schedule.Dim(0)), State: address(job.State),
			Squares: address(job.Squares), Norm: address(job.Norm), From: uint64(job.From), To: uint64(job.To),
			Take1: float32(1 - job.Beta1), Take2: float32(1 - job.Beta2), Beta2: float32(job.Beta2), Eps: job.Eps, MaxNorm: job.MaxNorm, Batches: uint32(job.Batches)}
		if job.Squares != nil {
			params.SquareCount = uint32(job.Squares.Len())
		}
		blocks := min((job.To-job.From+ptx.AdamwElements-1)/ptx.AdamwElements, adamWBlocks*b.sms)
		return p.Add(b.bind("adamw", backend.LaunchDependent, blocks, ptx.AdamwThreads, 0, params))
	})
}
