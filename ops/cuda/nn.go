package cuda

import "github.com/robocache/robocache/tensor"

// Working is what the tensor cores take.
func (b *gpu) Working() tensor.DType { return tensor.BF16 }
