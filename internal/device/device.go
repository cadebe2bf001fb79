package device

import (
	"context"
	"errors"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Device is a GPU context with the resources that its plans share: fault cells, capture streams, and connections.
type Device struct {
	Ctx   *cudadrv.Context
	name  string
	cells cells
	lanes lanes
	peers peers
}

// New returns a device for a context. Close leaves the context open. The name appears in errors and in [tensor.Tensor]'s device.
func New(ctx *cudadrv.Context, name string) *Device {
	return &Device{Ctx: ctx, name: name, cells: cells{ctx: ctx}}
}

// Name implements [backend.Backend].
func (d *Device) Name() string { return d.name }

// Close releases the shared resources. The caller has closed all queues and plans.
func (d *Device) Close() error { return errors.Join(d.cells.close(), d.lanes.close()) }

// buffer adapts device memory to a tensor's buffer.
type buffer struct {
	mem    *cudadrv.DeviceMem
	device string
}

func (m *buffer) Addr() uint64   { return uint64(m.mem.Ptr()) }
func (m *buffer) Size() int64    { return m.mem.Size() }
func (m *buffer) Device() string { return m.device }
func (m *buffer) Close() error   { return m.mem.Close() }

// Malloc allocates device memory. The error is a *backend.MemoryError with the size and purpose.
func (d *Device) Malloc(what string, bytes int64) (*cudadrv.DeviceMem, error) {
	m, err := d.Ctx.Malloc(context.Background(), bytes)
	if errors.Is(err, cudadrv.ErrOutOfMemory) {
		err = &backend.MemoryError{Device: d.name, What: what, Bytes: bytes, Err: err}
	}
	return m, err
}

// Alloc implements [backend.Backend].
func (d *Device) Alloc(dtype tensor.DType, shape []int) (*tensor.Tensor, error) {
	return d.tensor("Alloc", dtype, shape, func(n int64) (*cudadrv.DeviceMem, error) { return d.Ctx.Malloc(context.Background(), n) })
}

// pinned adapts page-locked host memory to a tensor's buffer.
type pinned struct {
	mem    *cudadrv.HostMem
	device string
}

func (m *pinned) Close() error { return m.mem.Close() }

// AllocHost implements [backend.Backend].
func (d *Device) AllocHost(dtype tensor.DType, shape []int) (*tensor.Tensor, error) {
	n, err := tensor.NumElements(shape...)
	if err != nil {
		return nil, err
	}
	bytes := int64(n) * int64(dtype.Size())
	mem, err := d.Ctx.MallocHost(bytes)
	if errors.Is(err, cudadrv.ErrOutOfMemory) {
		err = &backend.MemoryError{Device: "host", What: "pinned " + dtype.String() + " " + tensor.FormatShape(shape), Bytes: bytes, Err: err}
	}
	if err != nil {
		return nil, err
	}
	t, err := raw.Over(mem.Bytes(), &pinned{mem, d.name}, dtype, shape...)
	if err != nil {
		return nil, errors.Join(err, mem.Close())
	}
	return t, nil
}

// Copy implements [backend.Backend].
func (d *Device) Copy(dst, src *tensor.Tensor) error {
	n := int64(dst.Len()) * int64(dst.DType().Size())
	if n == 0 {
		return nil
	}
	to, toDevice := dst.Addr()
	from, fromDevice := src.Addr()
	switch {
	case toDevice && fromDevice:
		if err := d.Ctx.CopyDevice(context.Background(), cudadrv.DevicePtr(to), cudadrv.DevicePtr(from), n); err != nil {
			return err
		}
		return d.Ctx.Synchronize(context.Background()) // because a copy within the device returns before it is done
	case toDevice:
		data, err := raw.Of(src)
		if err != nil {
			return err
		}
		return d.Ctx.CopyToDevice(context.Background(), cudadrv.DevicePtr(to), data)
	case fromDevice:
		data, err := raw.Of(dst)
		if err != nil {
			return err
		}
		return d.Ctx.CopyToHost(context.Background(), data, cudadrv.DevicePtr(from))
	}
	to8, err1 := raw.Of(dst)
	from8, err2 := raw.Of(src)
	copy(to8, from8)
	return errors.Join(err1, err2)
}

// Offsets reads a tensor of row offsets, which the text of a fault needs.
func (d *Device) Offsets(t *tensor.Tensor) ([]int64, error) {
	host, err := tensor.New(t.DType(), t.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := d.Copy(host, t); err != nil {
		return nil, err
	}
	return tensor.Data[int64](host)
}
