package device

import (
	"errors"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// AllocShared implements [backend.Sharer].
func (d *Device) AllocShared(dtype tensor.DType, shape []int) (*tensor.Tensor, []byte, error) {
	var handle []byte
	t, err := d.tensor("AllocShared", dtype, shape, func(n int64) (*cudadrv.DeviceMem, error) {
		mem, err := d.Ctx.MallocShared(n)
		if err == nil {
			if handle, err = mem.Handle(); err != nil {
				return nil, errors.Join(err, mem.Close())
			}
		}
		return mem, err
	})
	return t, handle, err
}

// OpenShared implements [backend.Sharer].
func (d *Device) OpenShared(handle []byte, dtype tensor.DType, shape []int) (*tensor.Tensor, error) {
	return d.tensor("OpenShared", dtype, shape, func(n int64) (*cudadrv.DeviceMem, error) { return d.Ctx.OpenShared(handle, n) })
}

// tensor returns a tensor over new memory, which several processes may share.
func (d *Device) tensor(op string, dtype tensor.DType, shape []int, alloc func(n int64) (*cudadrv.DeviceMem, error)) (*tensor.Tensor, error) {
	n, err := tensor.NumElements(shape...)
	if err != nil {
		return nil, err
	}
	bytes := int64(n) * int64(dtype.Size())
	mem, err := alloc(bytes)
	switch {
	case errors.Is(err, cudadrv.ErrOutOfMemory):
		return nil, &backend.MemoryError{Device: d.name, What: dtype.String() + " " + tensor.FormatShape(shape), Bytes: bytes, Err: err}
	case errors.Is(err, cudadrv.ErrUnsupported):
		return nil, &backend.ArgError{Op: op, Arg: "device", Kind: backend.ErrUnsupported, Got: err.Error(), Want: "a device whose memory processes share"}
	case err != nil:
		return nil, err
	}
	t, err := tensor.OnDevice(&buffer{mem, d.name}, dtype, shape...)
	if err != nil {
		return nil, errors.Join(err, mem.Close())
	}
	return t, nil
}
