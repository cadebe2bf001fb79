package cpu

import "github.com/robocache/robocache/ops/backend"

func (b *Backend) Attention(*backend.AttentionJob) (backend.Plan, error) {
	panic("Attention is to come")
}

func (b *Backend) AttentionBackward(*backend.AttentionBackwardJob) (backend.Plan, error) {
	panic("AttentionBackward is to come")
}
