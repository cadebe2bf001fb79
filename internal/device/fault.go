package device

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
)

// SlabCells is how many plans share a slab; each has CellBytes of it on the device, and FlagBytes in host memory.
const (
	SlabCells = 256
	CellBytes = 8
	FlagBytes = 4
)

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
	if err := c.ctx.CopyToHost(context.Background(), word[:], cudadrv.DevicePtr(c.At)); err != nil {
		return backend.NoFault, err
	}
	f := backend.Fault(binary.LittleEndian.Uint64(word[:]))
	binary.LittleEndian.PutUint64(word[:], uint64(backend.NoFault))
	binary.LittleEndian.PutUint32(c.host, 0)
	return f, c.ctx.CopyToDevice(context.Background(), cudadrv.DevicePtr(c.At), word[:])
}

// Slab says where the cells of several plans are.
type Slab struct{ At, Flag uint64 }

// Slabs are those that there are so far.
func (d *Device) Slabs() (list []Slab) {
	d.cells.mu.Lock()
	defer d.cells.mu.Unlock()
	for _, s := range d.cells.slabs {
		list = append(list, Slab{uint64(s.cells.Ptr()), uint64(s.flags.DevicePtr())})
	}
	return list
}
