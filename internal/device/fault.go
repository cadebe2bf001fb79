package device

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
)

// slabCells is how many plans share a slab.
const slabCells = 256

// cells hands out cells, and takes them back.
type cells struct {
	ctx   *cudadrv.Context
	mu    sync.Mutex
	slabs []*slab
	free  []*Cell
	shut  bool
}

type slab struct {
	cells *cudadrv.DeviceMem
	flags *cudadrv.HostMem
}

// flagBytes is a plan's share of the host memory.
const flagBytes = 4

// Cell is where a plan's kernels say that a value is wrong: At is the address of 8 bytes on the device, which hold the smallest fault that they met, and Flag
// that of 4 bytes of host memory, which say that there is one.
type Cell struct {
	At, Flag uint64
	ctx      *cudadrv.Context
	host     []byte // the flag's memory
}

func (p *cells) get() (*Cell, error) {
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

func (p *cells) grow() error {
	cells, err := p.ctx.Malloc(8 * slabCells)
	if err != nil {
		return err
	}
	flags, err := p.ctx.MallocHost(flagBytes * slabCells)
	if err == nil {
		err = p.ctx.Memset8(cells.Ptr(), 0xff, 8*slabCells) // backend.NoFault
	}
	if err != nil {
		if flags != nil {
			err = errors.Join(err, flags.Close())
		}
		return errors.Join(err, cells.Close())
	}
	clear(flags.Bytes())
	p.slabs = append(p.slabs, &slab{cells, flags})
	for i := range slabCells {
		p.free = append(p.free, &Cell{uint64(cells.Ptr()) + uint64(8*i), uint64(flags.DevicePtr()) + uint64(flagBytes*i), p.ctx, flags.Bytes()[flagBytes*i:][:flagBytes:flagBytes]})
	}
	return nil
}

// put takes a cell back, without the fault that it may hold: the next plan must not get it. The memory of a closed pool is
// gone, and its cells with it.
func (p *cells) put(c *Cell) error {
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

func (p *cells) close() error {
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
func (c *Cell) take() (backend.Fault, error) {
	if binary.LittleEndian.Uint32(c.host) == 0 {
		return backend.NoFault, nil
	}
	var word [8]byte
	if err := c.ctx.CopyToHost(word[:], cudadrv.DevicePtr(c.At)); err != nil {
		return backend.NoFault, err
	}
	f := backend.Fault(binary.LittleEndian.Uint64(word[:]))
	binary.LittleEndian.PutUint64(word[:], uint64(backend.NoFault))
	binary.LittleEndian.PutUint32(c.host, 0)
	return f, c.ctx.CopyToDevice(cudadrv.DevicePtr(c.At), word[:])
}
