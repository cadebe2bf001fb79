package cuda

import "github.com/robocache/robocache/ops/backend"

func (b *gpu) WeightGradient(*backend.WeightGradientJob) (backend.Plan, error) {
	panic("WeightGradient is to come")
}

func (b *gpu) GradientNorm(*backend.GradientNormJob) (backend.Plan, error) {
	panic("GradientNorm is to come")
}

func (b *gpu) AdamW(*backend.AdamWJob) (backend.Plan, error) { panic("AdamW is to come") }
