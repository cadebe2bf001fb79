package cuda

import "github.com/robocache/robocache/ops/backend"

func (b *gpu) Norm(*backend.NormJob) (backend.Plan, error) { panic("Norm is to come") }

func (b *gpu) NormBackward(*backend.NormBackwardJob) (backend.Plan, error) {
	panic("NormBackward is to come")
}

func (b *gpu) Tokens(*backend.TokensJob) (backend.Plan, error) { panic("Tokens is to come") }

func (b *gpu) Embed(*backend.EmbedJob) (backend.Plan, error) { panic("Embed is to come") }

func (b *gpu) Loss(*backend.LossJob) (backend.Plan, error) { panic("Loss is to come") }
