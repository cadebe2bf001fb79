package device

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
)

// A slab holds the cells of SlabCells plans: CellBytes for each on the device, and FlagBytes for each in host memory.
const (
	SlabCells = 256
	CellBytes = 8
	FlagBytes = 4
)

// cells is a pool of cells.
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

// Cell records bad values of one plan. At is the address of 8 bytes on the device with the smallest fault that its kernels found. Flag is the address of
// 4 bytes in host memory, which are not 0 if there is a fault.
type Cell struct {
	At, Flag uint64
	ctx      *cudadrv.Context
	host     []byte // the memory of Flag
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
	cells, err := p.ctx.Malloc(context.Background(), CellBytes*SlabCells)
	if err != nil {
		return err
	}
	flags, err := p.ctx.MallocHost(FlagBytes * SlabCells)
	if err == nil {
		err = p.ctx.Memset8(context.Background(), cells.Ptr(), 0xff, CellBytes*SlabCells) // backend.NoFault
	}
	if err != nil {
		if flags != nil {
			err = errors.Join(err, flags.Close())
		}
		return errors.Join(err, cells.Close())
	}
	clear(flags.Bytes())
	p.slabs = append(p.slabs, &slab{cells, flags})
	for i := range SlabCells {
		p.free = append(p.free, &Cell{uint64(cells.Ptr()) + uint64(CellBytes*i), uint64(flags.DevicePtr()) + uint64(FlagBytes*i), p.ctx, flags.Bytes()[FlagBytes*i:][:FlagBytes:FlagBytes]})
	}
	return nil
}

// put clears a cell and returns it to the pool. If the pool is closed, put does nothing, because the cell's memory is freed.
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
	if err := c.ctx.CopyToHost(context.Background(), word[:], cudadrv.DevicePtr(c.At)); err != nil {
		return backend.NoFault, err
	}
	f := backend.Fault(binary.LittleEndian.Uint64(word[:]))
	binary.LittleEndian.PutUint64(word[:], uint64(backend.NoFault))
	binary.LittleEndian.PutUint32(c.host, 0)
	return f, c.ctx.CopyToDevice(context.Background(), cudadrv.DevicePtr(c.At), word[:])
}

// Slab has the device address of the first cell in a slab, and of its flag.
type Slab struct{ At, Flag uint64 }

// Slabs returns the addresses of all slabs.
func (d *Device) Slabs() (list []Slab) {
	d.cells.mu.Lock()
	defer d.cells.mu.Unlock()
	for _, s := range d.cells.slabs {
		list = append(list, Slab{uint64(s.cells.Ptr()), uint64(s.flags.DevicePtr())})
	}
	return list
}
