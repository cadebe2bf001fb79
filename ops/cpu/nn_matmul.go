package cpu

import "github.com/robocache/robocache/ops/backend"

func (b *Backend) MatMul(*backend.MatMulJob) (backend.Plan, error) { panic("MatMul is to come") }
