package cuda

import (
	"errors"

	"github.com/robocache/robocache/ops"
)

func (b *backend) Fuse(*ops.FuseJob) (ops.Plan, error) { return nil, errors.ErrUnsupported }
