package cuda

import "github.com/robocache/robocache/tensor"

// Working returns BF16, the input dtype for the tensor cores.
func (b *gpu) Working() tensor.DType { return tensor.BF16 }
