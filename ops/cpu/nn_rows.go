package cpu

import "github.com/robocache/robocache/ops/backend"

func (b *Backend) Norm(*backend.NormJob) (backend.Plan, error) { panic("Norm is to come") }

func (b *Backend) NormBackward(*backend.NormBackwardJob) (backend.Plan, error) {
	panic("NormBackward is to come")
}

func (b *Backend) Tokens(*backend.TokensJob) (backend.Plan, error) { panic("Tokens is to come") }

func (b *Backend) Embed(*backend.EmbedJob) (backend.Plan, error) { panic("Embed is to come") }

func (b *Backend) Loss(*backend.LossJob) (backend.Plan, error) { panic("Loss is to come") }
