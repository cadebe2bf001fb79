package cpu

import (
	"errors"
	"math"

	"github.com/robocache/robocache/ops/backend"
)

// farthestTile is the number of points in a piece of work.
const farthestTile = 4096

// farthestPlan is a FarthestPoints bound to host memory.
//
// A key orders points: the bits of the squared distance to the nearest chosen point, then the complement of the index. The greatest key is
// the next point's, and 0 is below all.
type farthestPlan struct {
	steppedPlan
	*backend.FarthestJob
	points    []float32
	indices   []int64
	distances []float32 // -1 for a point that is not finite
	tiles     int       // pieces in a row
	best      []uint64  // the greatest key of each piece
	chosen    []int64   // the last chosen point of each row; -1 before the first
}

// FarthestPoints plans the choice of points that are far apart.
func (b *Backend) FarthestPoints(job *backend.FarthestJob) (backend.Plan, error) {
	p := &farthestPlan{steppedPlan: steppedPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}, FarthestJob: job}
	p.tiles = (job.N + farthestTile - 1) / farthestTile
	var errs []error
	p.points, p.indices = elementsOf[float32](job.Points, &errs), elementsOf[int64](job.Indices, &errs)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p.work = task{pieces: job.B * p.tiles, do: p.tile}
	if job.K == 0 {
		p.work.pieces = 0
	}
	p.distances, p.best, p.chosen = make([]float32, job.B*job.N), make([]uint64, p.work.pieces), make([]int64, job.B)
	p.by = func(do func(*task)) error {
		for i := range p.K {
			if i == 0 {
				fill(p.chosen, -1)
			}
			do(&p.work)
			for row := range p.B {
				p.chosen[row] = p.next(row, i == 0)
				p.indices[row*p.K+i] = p.chosen[row]
			}
		}
		return nil
	}
	return p, nil
}

// next returns the point with the greatest key in a row, or -1 if there are only points that are not finite.
func (p *farthestPlan) next(row int, first bool) int64 {
	key := uint64(0)
	for _, k := range p.best[row*p.tiles : (row+1)*p.tiles] {
		key = max(key, k)
	}
	at := int64(^uint32(key))
	switch {
	case key == 0:
		return -1
	case first:
		return (at + int64(p.First(row))) % int64(p.N)
	}
	return at
}

// tile updates the distances of a piece's points, and finds the greatest key. In the first step, with no point chosen, every finite point
// has an infinite distance, and its index counts from the row's first.
func (p *farthestPlan) tile(piece, _ int) {
	row, from := piece/p.tiles, piece%p.tiles*farthestTile
	to := min(from+farthestTile, p.N)
	distances := p.distances[row*p.N+from : row*p.N+to]
	step := p.Points.Stride(1)
	points := p.points[row*p.Points.Stride(0)+from*step:]
	greatest, best := float32(-1), 0
	if chosen := p.chosen[row]; chosen >= 0 {
		c := [3]float32(p.points[row*p.Points.Stride(0)+int(chosen)*step:])
		for i, was := range distances {
			at := points[i*step:][:3]
			x, y, z := at[0]-c[0], at[1]-c[1], at[2]-c[2]
			if d := float32(float32(x*x)+float32(y*y)) + float32(z*z); d < was {
				distances[i], was = d, d
			}
			if was > greatest {
				greatest, best = was, from+i
			}
		}
	} else {
		first, rank := p.First(row), p.N
		for i := range distances {
			at := points[i*step:][:3]
			distances[i] = -1
			if at[0]-at[0] == 0 && at[1]-at[1] == 0 && at[2]-at[2] == 0 {
				distances[i], greatest = float32(math.Inf(1)), float32(math.Inf(1))
				rank = min(rank, (from+i-first+p.N)%p.N)
			}
		}
		best = rank
	}
	p.best[piece] = 0
	if greatest >= 0 {
		p.best[piece] = uint64(math.Float32bits(greatest))<<32 | uint64(^uint32(best))
	}
}
