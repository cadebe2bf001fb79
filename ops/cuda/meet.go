package cuda

import (
	"errors"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// meeting is a plan with one launch, and a word in host memory with which the host ends the kernel's waits.
type meeting struct {
	*plan
	left *cudadrv.HostMem
}

func (b *gpu) Meet(job *backend.MeetJob) (backend.Meeting, error) {
	p := b.plan(job.Bound(), nil)
	left, err := b.Ctx.MallocHost(u32)
	if err != nil {
		return nil, err
	}
	clear(left.Bytes())
	_, err = p.launched(p.upload(packed(addresses(job.Flags))), func() error {
		params := &ptx.MeetParams{Flags: address(job.Flags[job.Rank]), Others: uint64(p.table.Ptr()), Left: uint64(left.DevicePtr()),
			Rank: uint32(job.Rank), Ranks: uint32(len(job.Flags))}
		return p.Add(b.bind("meet", backend.LaunchDefault, 1, ptx.MeetThreads, 0, params))
	})
	if err != nil {
		return nil, errors.Join(err, left.Close())
	}
	return &meeting{p, left}, nil
}

func (m *meeting) Leave() error { return m.left.Put32(0, 1) }

func (m *meeting) Close() error { return errors.Join(m.plan.Close(), m.left.Close()) }
