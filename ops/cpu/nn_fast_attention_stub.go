package cpu

import "github.com/robocache/robocache/ops/backend"

// These stand in until the fast way is merged.
func (b *Backend) fastAttention(*backend.AttentionJob) (backend.Plan, error) {
	panic("the fast Attention is to come")
}

func (b *Backend) fastAttentionBackward(*backend.AttentionBackwardJob) (backend.Plan, error) {
	panic("the fast AttentionBackward is to come")
}
