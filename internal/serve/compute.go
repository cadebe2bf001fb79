package serve

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

type computeRequest struct {
	Do
	Request json.RawMessage `json:"request"`
}

// countsJSON is ops.VoxelCounts in JSON.
type countsJSON struct {
	Points        int64 `json:"points"`
	InRange       int64 `json:"in_range"`
	OutOfRange    int64 `json:"out_of_range"`
	NotFinite     int64 `json:"not_finite"`
	Voxels        int64 `json:"voxels"`
	DroppedVoxels int64 `json:"dropped_voxels"`
	DroppedPoints int64 `json:"dropped_points"`
}

func compute(_ context.Context, c *Conn, r *Request, q computeRequest) (*Reply, error) {
	o, err := ReadOperation(q.Request)
	if err != nil {
		return nil, err
	}
	tensors, err := o.in(c.arena)
	if err != nil {
		return nil, err
	}
	p, err := o.planOn(c.cpu, tensors)
	if err != nil {
		return nil, err
	}
	// The run has no context that could end it, because the arena must stay mapped while it is written.
	if err = p.Run(c.cpu.Queue()); err == nil {
		err = c.cpu.Synchronize(context.Background())
	}
	reply := &Reply{}
	if err == nil && p.counts != nil {
		var n ops.VoxelCounts
		n, err = p.counts()
		reply.Value = map[string]any{"counts": countsJSON(n)}
	}
	return reply, errors.Join(err, p.Close())
}

// in returns the operation's tensors as views on the arena. An output may share memory with no other tensor. The operation cannot check
// that itself, because it sees tensors with different dtypes as separate allocations.
func (o *Operation) in(m *Memory) ([]*tensor.Tensor, error) {
	list := make([]*tensor.Tensor, len(o.Tensors))
	lo, hi := make([]int, len(list)), make([]int, len(list))
	for i := range o.Tensors {
		var err error
		if list[i], lo[i], hi[i], err = o.Tensors[i].in(m, o.Name); err != nil {
			return nil, err
		}
		for k := range i {
			if (o.Tensors[i].Written || o.Tensors[k].Written) && max(lo[i], lo[k]) < min(hi[i], hi[k]) {
				a, b := &o.Tensors[k], &o.Tensors[i]
				if !a.Written {
					a, b = b, a
				}
				return nil, &ops.ArgError{Op: o.Name, Arg: a.Name, Kind: ops.ErrOverlap, Got: "memory of " + b.Name, Want: "its own memory"}
			}
		}
	}
	return list, nil
}
