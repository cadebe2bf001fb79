package cuda

import "github.com/robocache/robocache/ops/backend"

func (b *gpu) MatMul(*backend.MatMulJob) (backend.Plan, error) { panic("MatMul is to come") }
