package backend

import (
	"math/bits"

	"github.com/robocache/robocache/tensor"
)

// MaxFarthest is the largest number of points that FarthestPoints chooses in a row.
const MaxFarthest = 1 << 14

// FarthestTensors has the fields of ops.FarthestArgs.
type FarthestTensors struct {
	Indices *tensor.Tensor
	Points  *tensor.Tensor
}

// FarthestJob is a validated FarthestPoints: K of N points in each of B rows.
type FarthestJob struct {
	FarthestTensors
	B, N, K int
	Seed    uint64
}

// Bound returns the job's tensors.
func (j *FarthestJob) Bound() Bound {
	b := Bound{op: "FarthestPoints"}
	b.add("Indices", j.Indices)
	b.outputs()
	b.add("Points", j.Points)
	return b
}

// laneFarthest is the lane number of the first point of row 0.
const laneFarthest = 1 << 34

// First returns the index from which a row's first point is searched. Package ops has the formula.
func (j *FarthestJob) First(row int) int {
	if j.Seed == 0 {
		return 0
	}
	k := seedKeys(j.Seed)
	k = k.lane(laneFarthest + uint64(row))
	hi, _ := bits.Mul32(k[0], uint32(j.N))
	return int(hi)
}
