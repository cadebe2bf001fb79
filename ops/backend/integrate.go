package backend

import (
	"math"

	"github.com/robocache/robocache/tensor"
)

// A block of a TSDF is a cube of voxels.
const (
	BlockEdge   = 8                                 // voxels along an edge
	BlockVoxels = BlockEdge * BlockEdge * BlockEdge // voxels in a block
	// BlockBits is the number of bits for a block's coordinate in a key, which is the coordinate plus 2^(BlockBits-1).
	BlockBits = 21
	// MaxRaySteps limits the steps from a ray's first sample to its last.
	MaxRaySteps = 64
)

// Indices of a volume's State, and of an image's Counts.
const (
	VolumeBlocks     = 0 // blocks in use
	VolumeIntegrated = 1 // images integrated
	VolumeRefused    = 2 // images refused
	VolumeWords      = 3

	CountValid   = 0 // pixels with a valid depth
	CountMissing = 1 // pixels without a depth
	CountRange   = 2 // pixels out of range
	CountBlocks  = 3 // new blocks
	CountWords   = 4
)

// IntegrateTensors has the fields of ops.IntegrateArgs.
type IntegrateTensors struct {
	Keys       *tensor.Tensor
	Distance   *tensor.Tensor
	Weight     *tensor.Tensor
	Color      *tensor.Tensor
	State      *tensor.Tensor
	Counts     *tensor.Tensor
	Depth      *tensor.Tensor
	Intrinsics *tensor.Tensor
	Poses      *tensor.Tensor
	Images     *tensor.Tensor
}

// IntegrateJob is a validated Integrate with M blocks.
type IntegrateJob struct {
	IntegrateTensors
	DepthImages
	M                     int
	Voxel, Truncation     float32
	MaxWeight             float32
	DepthWeight           bool // the weight is 1/z^2
	Steps                 int  // from a ray's first sample to its last
	Step                  float32
	PerBlock, PerDistance float32 // 1 / (8 * Voxel), and 1 / Truncation
}

// Derive sets Steps, Step, PerBlock and PerDistance.
func (j *IntegrateJob) Derive() {
	band := float64(j.Truncation)
	j.Steps = int(math.Ceil(band / float64(j.Voxel)))
	j.Step = float32(2 * band / float64(j.Steps))
	j.PerBlock, j.PerDistance = float32(1/(BlockEdge*float64(j.Voxel))), float32(1/band)
}

// TableBits returns the number of bits in an index of the hash table, which has at least twice as many places as the
// volume has blocks.
func (j *IntegrateJob) TableBits() int {
	bits := 6
	for 1<<bits < 2*j.M {
		bits++
	}
	return bits
}

// Bound returns the job's tensors.
func (j *IntegrateJob) Bound() Bound {
	b := Bound{op: "Integrate"}
	b.add("Keys", j.Keys)
	b.add("Distance", j.Distance)
	b.add("Weight", j.Weight)
	b.add("Color", j.Color)
	b.add("State", j.State)
	b.add("Counts", j.Counts)
	b.outputs()
	b.add("Depth", j.Depth)
	b.add("Intrinsics", j.Intrinsics)
	b.add("Poses", j.Poses)
	b.add("Images", j.Images)
	return b
}
