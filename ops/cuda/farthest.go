package cuda

import (
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// farthestAlone is the largest number of points for which one block takes less time than a launch for each step.
const farthestAlone = 1 << 14

func (b *gpu) FarthestPoints(job *backend.FarthestJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	if job.B == 0 || job.K == 0 {
		return p, nil
	}
	if job.B > math.MaxInt32 {
		return nil, &backend.ArgError{Op: "FarthestPoints", Arg: "Points", Kind: backend.ErrTooLarge,
			Got: "more than 2^31-1 rows", Want: "at most 2^31-1"}
	}
	return p.checked(p.farthest(job))
}

func (p *plan) farthest(job *backend.FarthestJob) error {
	blocks := 1
	if job.N > farthestAlone {
		blocks = max(min(2*p.b.sms/job.B, blocksOfRows(job.N, ptx.FarthestThreads)), 1)
	}
	share := blocksOfRows(job.N, blocks)
	blocks = blocksOfRows(job.N, share)
	var firsts []uint32
	if job.Seed != 0 {
		for row := range job.B {
			firsts = append(firsts, uint32(job.First(row)))
		}
	}
	// The table has the keys, the firsts, and the distances, which need no initial value.
	keys := 2 * 8 * job.B * blocks
	begin := append(make([]byte, keys), packed(firsts)...)
	if err := p.scratch(len(begin)+4*job.B*job.N, begin); err != nil {
		return err
	}
	at := uint64(p.table.Ptr())
	params := ptx.FarthestParams{
		Points: address(job.Points), Indices: address(job.Indices), Best: at, Distances: at + uint64(len(begin)),
		Row: uint64(job.Points.Stride(0)), Step: uint64(job.Points.Stride(1)), B: uint32(job.B), N: uint32(job.N), K: uint32(job.K),
		Blocks: uint32(blocks), Share: uint32(share), To: uint32(job.K + 1),
	}
	if firsts != nil {
		params.Firsts = at + uint64(keys)
	}
	if blocks == 1 {
		return p.Add(p.b.bind("farthest", backend.LaunchDependent, job.B, ptx.FarthestThreads, 0, &params))
	}
	for step := range job.K + 1 {
		params.From, params.To = uint32(step), uint32(step+1)
		if err := p.Add(p.b.bind("farthest", backend.LaunchDependent, job.B*blocks, ptx.FarthestThreads, 0, &params)); err != nil {
			return err
		}
	}
	return nil
}
