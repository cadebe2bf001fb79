package cuda

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/internal/kernels"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
)

// poolKeep is how many freed bytes the device's memory pool keeps.
const poolKeep = 256 << 20

func init() {
	backend.Register(backend.Opener{Name: "cuda", Auto: 10, Open: func(arg string) (backend.Backend, error) {
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
	}, Count: func() (int, error) {
		drv, err := cudadrv.Open()
		if err != nil {
			return 0, err
		}
		return drv.DeviceCount()
	}})
}

// New opens a device on a driver, which may differ from the driver that cudadrv.Open finds. If no kernel image loads on
// the device, it returns an error.
func New(drv *cudadrv.Driver, ordinal int) (backend.Backend, error) {
	return NewAs(fmt.Sprintf("cuda:%d", ordinal), drv, ordinal)
}

// NewAs is like [New] for another kind of driver. The device's name begins with the kind: "sim:1".
func NewAs(name string, drv *cudadrv.Driver, ordinal int) (backend.Backend, error) {
	kind, _, _ := strings.Cut(name, ":")
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
	b := &gpu{kind: kind, dev: dev}
	if b.sms, err = dev.Attribute(cudadrv.MultiprocessorCount); err != nil {
		return nil, err
	}
	if b.shared, err = dev.Attribute(cudadrv.MaxSharedPerBlockOptin); err != nil {
		return nil, err
	}
	ctx, err := dev.Primary()
	if err != nil {
		return nil, err
	}
	b.Device, b.kernels = device.New(ctx, name), kernels.New(ctx)
	if err := b.prepare(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.loadTable()
	return b, nil
}

// prepare configures the memory pool and loads the resample kernels. New fails early on a device that cannot load them.
func (b *gpu) prepare() error {
	if err := b.Ctx.SetPoolThreshold(poolKeep); err != nil && !errors.Is(err, cudadrv.ErrUnsupported) {
		return err
	}
	var err error
	b.reason, err = b.kernels.Load("resample")
	return err
}

func (b *gpu) Describe() backend.Info {
	product, err := b.dev.Name()
	if err != nil {
		product = err.Error()
	}
	v := b.dev.Driver().Version()
	return backend.Info{Backend: b.kind, Name: b.Name(), Product: product, Driver: fmt.Sprintf("CUDA %s, %s", cudadrv.FormatVersion(v), b.dev.Driver().Path()), Kernels: b.reason, Shapes: b.shapes}
}

// queue is a queue on a device with a tuned table.
type queue struct {
	*device.Queue
	b *gpu
}

func (b *gpu) NewQueue() (backend.Queue, error) {
	s, err := b.Device.NewQueue()
	if err != nil {
		return nil, err
	}
	return &queue{s, b}, nil
}

// Free implements backend.Memory.
func (b *gpu) Free() (int64, error) {
	free, _, err := b.Ctx.MemInfo()
	return int64(min(free, math.MaxInt64)), err
}

// Stream returns the driver's stream for a queue on this backend. With it a program can add its own kernels and copies
// through cudadrv, in order with the operations. The queue owns the stream: it is valid as long as the queue is open,
// and must not be closed.
func Stream(q *ops.Queue) (*cudadrv.Stream, error) {
	if q == nil {
		return nil, &backend.ArgError{Op: "Stream", Arg: "queue", Kind: backend.ErrMissing, Got: "nil", Want: "a queue"}
	}
	st, ok := q.Backend().(*queue)
	if !ok {
		return nil, &backend.ArgError{Op: "Stream", Arg: "queue", Kind: backend.ErrWrongDevice, Got: fmt.Sprintf("%T", q.Backend()), Want: "a queue of the CUDA backend"}
	}
	return st.Stream(), nil
}

func (b *gpu) Close() error {
	return errors.Join(b.Device.Close(), b.kernels.Close(), b.Ctx.Close())
}
