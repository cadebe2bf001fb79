package cuda

import (
	"errors"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

const (
	largeGain   = 2 // a product is made in large tiles unless they have so many times the area of small ones
	adamWBlocks = 4 // of a multiprocessor
	f32, bf16   = 4, 2
)

func (b *gpu) WeightGradient(job *backend.WeightGradientJob) (backend.Plan, error) {
	tiles, shared := gradientTiles(job)
	p := &plan{Base: b.Base(job.Bound()), b: b}
	return p.launched(p.upload(packed(tiles)), func() error {
		params := &ptx.GradientParams{Tiles: uint64(p.table.Ptr())}
		return p.Add(b.bind("gradient", backend.LaunchDependent, len(tiles), ptx.GradientThreads, shared, params))
	})
}

// launched gives the plan its launch, if it has its table.
func (p *plan) launched(err error, bind func() error) (backend.Plan, error) {
	if err == nil {
		err = bind()
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// gradientTiles are the tiles of a job, and the shared memory that they need. Those of a split of an item read the same, and come together.
func gradientTiles(job *backend.WeightGradientJob) (tiles []ptx.GradientTile, shared int) {
	for i := range job.Products {
		g := &job.Products[i]
		for split := range job.Splits {
			tiles = append(tiles, productTiles(job, g, split)...)
		}
		if tiles[len(tiles)-1].Kind == ptx.GradientKindLarge {
			shared = ptx.GradientLargeShared
		} else {
			shared = max(shared, ptx.GradientSmallShared)
		}
	}
	for _, s := range job.Sums {
		per := (s.R + job.Splits - 1) / job.Splits
		for split := range job.Splits {
			first := min(split*per, s.R)
			t := ptx.GradientTile{XStride: uint32(s.X.Stride(0)), Rows: uint32(min(per, s.R-first)), Kind: ptx.GradientKindSum}
			for n := 0; n < s.N; n += ptx.GradientSumN {
				t.X, t.Out, t.K = at(s.X, f32, first, n), at(job.Partials, f32, split, s.Offset+n), uint32(s.N-n)
				tiles = append(tiles, t)
			}
		}
	}
	return tiles, shared
}

func productTiles(job *backend.WeightGradientJob, g *backend.ProductGradient, split int) (tiles []ptx.GradientTile) {
	per := backend.SplitRows(g.M, job.Splits)
	first := min(split*per, g.M)
	t := ptx.GradientTile{DyStride: uint32(g.DY.Stride(0)), XStride: uint32(g.X.Stride(0)), Stride: uint32(g.Stride), Rows: uint32(min(per, g.M-first)), Kind: ptx.GradientKindSmall}
	tallest, widest := ptx.GradientSmallN, ptx.GradientSmallK
	if area(g, ptx.GradientLargeN, ptx.GradientLargeK) < largeGain*area(g, ptx.GradientSmallN, ptx.GradientSmallK) {
		t.Kind, tallest, widest = ptx.GradientKindLarge, ptx.GradientLargeN, ptx.GradientLargeK
	}
	for n := 0; n < g.N; n += tallest {
		for k := 0; k < g.K; k += widest {
			t.Dy, t.X, t.Out = at(g.DY, bf16, first, n), at(g.X, bf16, first, k), at(job.Partials, f32, split, g.Offset+n*g.Stride+k)
			t.Bias, t.N, t.K = 0, uint32(g.N-n), uint32(g.K-k)
			if k == 0 && g.BiasOffset >= 0 {
				t.Bias = at(job.Partials, f32, split, g.BiasOffset+n)
			}
			tiles = append(tiles, t)
		}
	}
	return tiles
}

// area is that of all tiles of a weight, if they have such a height and width.
func area(g *backend.ProductGradient, height, width int) int {
	return (g.N + height - 1) / height * height * ((g.K + width - 1) / width * width)
}

// at is the address of an element of a matrix.
func at(t *tensor.Tensor, size, row, column int) uint64 {
	return address(t) + uint64((row*t.Stride(0)+column)*size)
}

func (b *gpu) GradientNorm(job *backend.GradientNormJob) (backend.Plan, error) {
	p := &plan{Base: b.Base(job.Bound()), b: b}
	return p.launched(p.upload(packed(addresses(job.Partials))), func() error {
		params := &ptx.GradientNormParams{Parts: p.parts(job.Partials, job.Scale), Sum: address(job.Sum), Squares: address(job.Squares), From: uint64(job.From), To: uint64(job.To)}
		return p.Add(b.bind("gradient_norm", backend.LaunchDependent, (job.To-job.From+ptx.NormChunk-1)/ptx.NormChunk, ptx.AdamwThreads, 0, params))
	})
}

// parts are the partial sums of all ranks, whose addresses the plan's table begins with.
func (p *plan) parts(list []*tensor.Tensor, scale float32) ptx.GradientParts {
	return ptx.GradientParts{Ranks: uint64(p.table.Ptr()), Stride: uint64(list[0].Stride(0)), Count: uint32(len(list)), Splits: uint32(list[0].Dim(0)), Scale: scale}
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
	p := &plan{Base: b.Base(job.Bound()), b: b}
	return p.launched(p.upload(packed(addresses(job.Partials, job.Working, job.Copies))), func() error {
		working := uint64(p.table.Ptr()) + uint64(8*len(job.Partials))
		params := &ptx.AdamwParams{Parts: p.parts(job.Partials, job.Scale), Params: address(job.Params), M: address(job.M), V: address(job.V),
			Working: working, WorkingCount: uint32(len(job.Working)), Copies: working + uint64(8*len(job.Working)), CopyCount: uint32(len(job.Copies)),
			Schedule: address(job.Schedule), Steps: uint32(job.Schedule.Dim(0)), State: address(job.State), Squares: address(job.Squares), Norm: address(job.Norm),
			From: uint64(job.From), To: uint64(job.To), Take1: float32(1 - job.Beta1), Take2: float32(1 - job.Beta2), Beta2: float32(job.Beta2), Eps: job.Eps, MaxNorm: job.MaxNorm}
		if job.Squares != nil {
			params.SquareCount = uint32(job.Squares.Len())
		}
		blocks := min((job.To-job.From+ptx.AdamwElements-1)/ptx.AdamwElements, adamWBlocks*b.sms)
		return p.Add(b.bind("adamw", backend.LaunchDependent, blocks, ptx.AdamwThreads, 0, params))
	})
}
