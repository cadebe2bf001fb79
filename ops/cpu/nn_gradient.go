package cpu

import "github.com/robocache/robocache/ops/backend"

func (b *Backend) WeightGradient(*backend.WeightGradientJob) (backend.Plan, error) {
	panic("WeightGradient is to come")
}

func (b *Backend) GradientNorm(*backend.GradientNormJob) (backend.Plan, error) {
	panic("GradientNorm is to come")
}

func (b *Backend) AdamW(*backend.AdamWJob) (backend.Plan, error) { panic("AdamW is to come") }
