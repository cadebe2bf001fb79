package cuda

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/kernels"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// poolKeep is how much freed memory the device's pool holds on to.
const poolKeep = 256 << 20

func init() {
	ops.Register(ops.Driver{Name: "cuda", Auto: 10, Open: func(arg string) (ops.Backend, error) {
		ordinal := 0
		if arg != "" {
			n, err := strconv.Atoi(arg)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("cuda: device number: got %q, want 0 or more", arg)
			}
			ordinal = n
		}
		drv, err := cudadrv.Open()
		if err != nil {
			return nil, err
		}
		return New(drv, ordinal)
	}})
}

// backend is one device. Its kernels are loaded family by family, when the first plan needs them.
type backend struct {
	kind     string // "cuda", or what stands in for it
	name     string
	dev      *cudadrv.Device
	ctx      *cudadrv.Context
	sms      int
	shared   int    // bytes of shared memory that a block can have
	voxelWay string // for tests: the way of Voxelize that takes all jobs that it can, whether it pays or not
	kernels  *kernels.Set
	reason   string // why the image of the first family was taken
	shapes   string // where launch shapes come from
	table    atomic.Pointer[tuned.Table]
	faults   faultPool
	lanes    lanes
}

// New opens a device of a driver, which need not be the one that cudadrv.Open finds. It fails if no kernel image loads
// there.
func New(drv *cudadrv.Driver, ordinal int) (ops.Backend, error) { return NewAs("cuda", drv, ordinal) }

// NewAs is New for a driver of another kind: the device is called kind:ordinal.
func NewAs(kind string, drv *cudadrv.Driver, ordinal int) (ops.Backend, error) {
	count, err := drv.DeviceCount()
	if err != nil {
		return nil, err
	}
	if ordinal >= count {
		return nil, fmt.Errorf("%s: device number: got %d, want less than %d, the devices there are", kind, ordinal, count)
	}
	dev, err := drv.Device(ordinal)
	if err != nil {
		return nil, err
	}
	b := &backend{kind: kind, name: fmt.Sprintf("%s:%d", kind, ordinal), dev: dev}
	if b.sms, err = dev.Attribute(cudadrv.MultiprocessorCount); err != nil {
		return nil, err
	}
	if b.shared, err = dev.Attribute(cudadrv.MaxSharedPerBlockOptin); err != nil {
		return nil, err
	}
	if b.ctx, err = dev.Primary(); err != nil {
		return nil, err
	}
	b.kernels = kernels.New(b.ctx)
	if err := b.prepare(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.loadTable()
	return b, nil
}

// prepare loads the kernels that most programs need, so that a device on which they do not load is refused at once.
func (b *backend) prepare() error {
	if err := b.ctx.SetPoolThreshold(poolKeep); err != nil && !errors.Is(err, cudadrv.ErrNotSupported) {
		return err
	}
	b.faults.ctx = b.ctx
	var err error
	b.reason, err = b.kernels.Load("resample")
	return err
}

// config is the shape of a plan's launch. It begins early where the plan wants it so and kernel, device and driver can; elsewhere the
// kernels' wait does nothing.
func (b *backend) config(kernel string, mode ops.LaunchMode, blocks, threads int) cudadrv.LaunchConfig {
	return cudadrv.LaunchConfig{Grid: [3]uint32{uint32(blocks)}, Block: [3]uint32{uint32(threads)}, Dependent: mode != ops.LaunchPlain && b.kernels.Early(kernel)}
}

func (b *backend) Name() string { return b.name }

func (b *backend) Describe() ops.Info {
	product, err := b.dev.Name()
	if err != nil {
		product = err.Error()
	}
	v := b.dev.Driver().Version()
	return ops.Info{Backend: b.kind, Name: b.name, Product: product, Driver: fmt.Sprintf("CUDA %s, %s", cudadrv.FormatVersion(v), b.dev.Driver().Path()), Kernels: b.reason, Shapes: b.shapes}
}

// buffer is device memory as a tensor holds it.
type buffer struct {
	mem    *cudadrv.DeviceMem
	device string
}

func (m *buffer) Addr() uint64   { return uint64(m.mem.Ptr()) }
func (m *buffer) Size() int64    { return m.mem.Size() }
func (m *buffer) Device() string { return m.device }
func (m *buffer) Close() error   { return m.mem.Close() }

// malloc allocates device memory; the error says how much there would have to be, and what for.
func (b *backend) malloc(what string, bytes int64) (*cudadrv.DeviceMem, error) {
	m, err := b.ctx.Malloc(bytes)
	if errors.Is(err, cudadrv.ErrOutOfMemory) {
		err = &ops.MemoryError{Device: b.name, What: what, Bytes: bytes, Err: err}
	}
	return m, err
}

func (b *backend) Alloc(dtype tensor.DType, shape []int) (*tensor.Tensor, error) {
	n, err := tensor.NumElements(shape...)
	if err != nil {
		return nil, err
	}
	mem, err := b.malloc(dtype.String()+" "+tensor.FormatShape(shape), int64(n)*int64(dtype.Size()))
	if err != nil {
		return nil, err
	}
	t, err := tensor.OnDevice(&buffer{mem, b.name}, dtype, shape...)
	if err != nil {
		return nil, errors.Join(err, mem.Close())
	}
	return t, nil
}

func (b *backend) Copy(dst, src *tensor.Tensor) error {
	n := int64(dst.Len()) * int64(dst.DType().Size())
	if n == 0 {
		return nil
	}
	to, toDevice := dst.Addr()
	from, fromDevice := src.Addr()
	switch {
	case toDevice && fromDevice:
		if err := b.ctx.CopyDevice(cudadrv.DevicePtr(to), cudadrv.DevicePtr(from), n); err != nil {
			return err
		}
		return b.ctx.Synchronize(context.Background()) // a copy within the device returns early
	case toDevice:
		data, err := hostBytes(src)
		if err != nil {
			return err
		}
		return b.ctx.CopyToDevice(cudadrv.DevicePtr(to), data)
	case fromDevice:
		data, err := hostBytes(dst)
		if err != nil {
			return err
		}
		return b.ctx.CopyToHost(data, cudadrv.DevicePtr(from))
	}
	to8, err1 := hostBytes(dst)
	from8, err2 := hostBytes(src)
	copy(to8, from8)
	return errors.Join(err1, err2)
}

func (b *backend) Close() error {
	return errors.Join(b.faults.close(), b.lanes.close(), b.kernels.Close(), b.ctx.Close())
}
