package backend

import "github.com/robocache/robocache/tensor"

// DeprojectTensors has the fields of ops.DeprojectArgs.
type DeprojectTensors struct {
	Points     *tensor.Tensor
	Offsets    *tensor.Tensor
	Colors     *tensor.Tensor
	Mask       *tensor.Tensor
	Counts     *tensor.Tensor
	Depth      *tensor.Tensor
	Intrinsics *tensor.Tensor
	Poses      *tensor.Tensor
	Color      *tensor.Tensor
}

// DepthImages describes B depth images with H rows and W columns.
type DepthImages struct {
	B, H, W          int
	Words            bool // depths are 16-bit numbers
	Scale, Near, Far float32
	IntrinsicsStep   int // 4, or 0 if all images share the intrinsics
	PoseStep         int // 16, or 0 if all images share one pose
}

// DeprojectJob is a validated Deproject.
type DeprojectJob struct {
	DeprojectTensors
	DepthImages
}

// Bound returns the job's tensors.
func (j *DeprojectJob) Bound() Bound {
	b := Bound{op: "Deproject"}
	b.add("Points", j.Points)
	b.add("Offsets", j.Offsets)
	b.add("Colors", j.Colors)
	b.add("Mask", j.Mask)
	b.add("Counts", j.Counts)
	b.outputs()
	b.add("Depth", j.Depth)
	b.add("Intrinsics", j.Intrinsics)
	b.add("Poses", j.Poses)
	b.add("Color", j.Color)
	return b
}
