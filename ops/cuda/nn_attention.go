package cuda

import "github.com/robocache/robocache/ops/backend"

func (b *gpu) Attention(*backend.AttentionJob) (backend.Plan, error) { panic("Attention is to come") }

func (b *gpu) AttentionBackward(*backend.AttentionBackwardJob) (backend.Plan, error) {
	panic("AttentionBackward is to come")
}
