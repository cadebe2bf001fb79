package cuda

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
)

// faultCells is how many plans share a slab.
const faultCells = 256

// faultPool hands out fault cells: for each plan 8 bytes on the device, where its kernel keeps the smallest fault that it
// met, and 4 bytes of host memory, where it says that there is one.
type faultPool struct {
	ctx   *cudadrv.Context
	mu    sync.Mutex
	slabs []*faultSlab
	free  []*faultCell
	shut  bool
}

type faultSlab struct {
	cells *cudadrv.DeviceMem
	flags *cudadrv.HostMem
}

// flagBytes is a plan's share of the host memory.
const flagBytes = 4

// faultCell is one plan's.
type faultCell struct {
	ctx  *cudadrv.Context
	cell cudadrv.DevicePtr
	flag cudadrv.DevicePtr
	host []byte // the flag's memory
}

func (p *faultPool) get() (*faultCell, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		if err := p.grow(); err != nil {
			return nil, err
		}
	}
	c := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return c, nil
}

func (p *faultPool) grow() error {
	cells, err := p.ctx.Malloc(8 * faultCells)
	if err != nil {
		return err
	}
	flags, err := p.ctx.MallocHost(flagBytes * faultCells)
	if err == nil {
		err = p.ctx.Memset8(cells.Ptr(), 0xff, 8*faultCells) // ops.NoFault
	}
	if err != nil {
		if flags != nil {
			err = errors.Join(err, flags.Close())
		}
		return errors.Join(err, cells.Close())
	}
	clear(flags.Bytes())
	p.slabs = append(p.slabs, &faultSlab{cells, flags})
	for i := range faultCells {
		p.free = append(p.free, &faultCell{p.ctx, cells.Ptr() + cudadrv.DevicePtr(8*i), flags.DevicePtr() + cudadrv.DevicePtr(flagBytes*i), flags.Bytes()[flagBytes*i:][:flagBytes:flagBytes]})
	}
	return nil
}

// put takes a cell back, without the fault that it may hold: the next plan must not get it. The memory of a closed pool is
// gone, and its cells with it.
func (p *faultPool) put(c *faultCell) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return nil
	}
	_, err := c.take()
	if err == nil {
		clear(c.host)
		p.free = append(p.free, c)
	}
	return err
}

func (p *faultPool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, s := range p.slabs {
		err = errors.Join(err, s.cells.Close(), s.flags.Close())
	}
	p.slabs, p.free, p.shut = nil, nil, true
	return err
}

// take returns the fault found since the last take and clears the cell. The kernels that write the cell must have ended.
func (c *faultCell) take() (ops.Fault, error) {
	if binary.LittleEndian.Uint32(c.host) == 0 {
		return ops.NoFault, nil
	}
	var word [8]byte
	if err := c.ctx.CopyToHost(word[:], c.cell); err != nil {
		return ops.NoFault, err
	}
	f := ops.Fault(binary.LittleEndian.Uint64(word[:]))
	binary.LittleEndian.PutUint64(word[:], uint64(ops.NoFault))
	binary.LittleEndian.PutUint32(c.host, 0)
	return f, c.ctx.CopyToDevice(c.cell, word[:])
}
