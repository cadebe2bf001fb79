package driver

import (
	"encoding/binary"
	"math"

	"github.com/robocache/robocache/cudadrv"
)

// Results of NCCL.
const (
	ncclSuccess         = 0
	ncclInvalidArgument = 4
	ncclInvalidUsage    = 5
)

// collective is the state of the simulated NCCL. The ranks compute one sum at a time, and add the terms of each float32 in the
// order of the ranks.
type collective struct {
	ranks []*Device // the index is the handle minus 1
	group bool
	asked []contribution
}

// contribution is a rank's part of a sum.
type contribution struct {
	rank     int
	from, to uint64
	count    uint64
	stream   *stream
}

// nccl returns the table of NCCL's functions. The devices compute a sum at the end of its group (ncclGroupEnd).
func (r *driver) nccl() (*cudadrv.FunctionTable, error) {
	c := &collective{}
	calls := map[string]func(a []uintptr) uintptr{
		"ncclCommInitAll": func(a []uintptr) uintptr {
			comms, devices := cudadrv.View(a[0], 8*int(a[1])), cudadrv.View(a[2], 4*int(a[1]))
			for i := range int(a[1]) {
				at := int(binary.NativeEndian.Uint32(devices[4*i:]))
				if at >= len(r.devices) {
					return ncclInvalidArgument
				}
				c.ranks = append(c.ranks, r.devices[at])
				binary.NativeEndian.PutUint64(comms[8*i:], uint64(i+1))
			}
			return ncclSuccess
		},
		"ncclCommDestroy": func(a []uintptr) uintptr { return ncclSuccess },
		"ncclGroupStart": func(a []uintptr) uintptr {
			c.group = true
			return ncclSuccess
		},
		"ncclAllReduce": func(a []uintptr) uintptr {
			const float32s, sum = 7, 0
			rank := int(a[5]) - 1
			if rank < 0 || rank >= len(c.ranks) || a[3] != float32s || a[4] != sum || !c.group {
				return ncclInvalidArgument
			}
			s, ok := lookup[*stream](c.ranks[rank], a[6])
			if !ok || s.refuseCaptured() != cudadrv.Success {
				return ncclInvalidUsage
			}
			c.asked = append(c.asked, contribution{rank, uint64(a[0]), uint64(a[1]), uint64(a[2]), s})
			return ncclSuccess
		},
		"ncclGroupEnd": func(a []uintptr) uintptr {
			c.group = false
			return c.sum()
		},
		"ncclGetErrorString": func(a []uintptr) uintptr { return 0 },
	}
	return &cudadrv.FunctionTable{Path: "simulated by package cudasim", Lookup: func(name string, _ int) (cudadrv.Proc, bool) {
		p, ok := calls[name]
		return p, ok
	}}, nil
}

// sum waits for the streams, and then computes the sum of the group.
func (c *collective) sum() uintptr {
	asked := c.asked
	c.asked = nil
	if len(asked) == 0 {
		return ncclSuccess
	}
	if len(asked) != len(c.ranks) {
		return ncclInvalidUsage
	}
	total := make([]float32, asked[0].count)
	for i, p := range asked {
		if p.rank != i || p.count != asked[0].count {
			return ncclInvalidArgument
		}
		p.stream.wait()
		c.ranks[i].touch(p.from, 4*p.count, false, func(b []byte) {
			for k := range total {
				if v := math.Float32frombits(binary.LittleEndian.Uint32(b[4*k:])); i == 0 {
					total[k] = v
				} else {
					total[k] += v
				}
			}
		})
	}
	for i, p := range asked {
		c.ranks[i].touch(p.to, 4*p.count, true, func(b []byte) {
			for k, v := range total {
				binary.LittleEndian.PutUint32(b[4*k:], math.Float32bits(v))
			}
		})
	}
	return ncclSuccess
}
