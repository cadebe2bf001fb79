package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cpu"
	"github.com/robocache/robocache/tensor"
)

// The CPU backend is the specification of the operations, and is pure Go. A program that imports only this package has it, so
// Open("cpu") and Open("auto") always work. It is registered here so that package cpu need not import this package.
func init() { backend.Register(cpu.Opener()) }

// Backends returns the names of the registered backends, in the order in which "auto" tries them. Example: [cuda cpu].
func Backends() []string {
	var names []string
	for _, o := range backend.Openers() {
		names = append(names, o.Name)
	}
	return names
}

// Device runs operations. Its methods may be called from any goroutine.
type Device struct {
	backend backend.Backend
	info    Info
	mu      sync.Mutex
	queue   *Queue
	closed  bool
}

// Info describes a device. Its fields, all strings, are
//
//	Backend  "cpu", "cuda" or "sim"
//	Name     the device's name: "cuda:0"
//	Product  the hardware: "NVIDIA H200", or the processor's architecture and threads
//	Driver   the driver's version; empty for the CPU
//	Kernels  the selected kernel image and the reason; empty for the CPU
//	Shapes   the source of launch configurations: a tuned table, or the heuristic and the reason; empty for the CPU
//	Why      the reason why this backend was selected
type Info = backend.Info

// Open opens a device by name. "auto" opens a GPU if a backend for it is linked in and finds one, else the CPU; Info
// reports the choice and the reason. Other names are backend names with an optional argument after a colon: "cpu",
// "cuda", "cuda:1". The error is an *OpenError.
func Open(name string) (*Device, error) {
	kind, arg, _ := strings.Cut(name, ":")
	var refused []string
	for _, d := range backend.Openers() {
		if name != "auto" && d.Name != kind || name == "auto" && d.Auto == 0 {
			continue
		}
		b, err := d.Open(arg)
		if err == nil {
			dev, err := NewDevice(b)
			if err != nil {
				return nil, &OpenError{Backend: name, Kind: ErrNoDevice, Err: err}
			}
			dev.info.Why = why(name, d.Name, refused)
			return dev, nil
		}
		if name != "auto" {
			return nil, &OpenError{Backend: name, Kind: ErrNoDevice, Err: err}
		}
		refused = append(refused, fmt.Sprintf("%s: %v", d.Name, err))
	}
	return nil, &OpenError{Backend: name, Kind: ErrUnknownBackend, Want: "auto, " + strings.Join(Backends(), ", ") + ", or one of these with a device after a colon"}
}

// OpenAll opens several devices. Names are separated by commas. Each is a name for Open, or KIND:all for every device
// of a kind. Examples: "cuda:all", "cuda:0,cuda:2". The caller closes each device. If one fails to open, the others are
// closed again.
func OpenAll(names string) (devices []*Device, err error) {
	defer func() {
		if err != nil {
			for _, d := range devices {
				err = errors.Join(err, d.Close())
			}
			devices = nil
		}
	}()
	list, err := Names(names)
	if err != nil {
		return nil, err
	}
	for _, name := range list {
		d, err := Open(name)
		if err != nil {
			return devices, err
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// Names returns the names of the devices that [OpenAll] would open, without opening them. Example: on a machine with
// two GPUs, "cuda:all" gives cuda:0 and cuda:1.
func Names(names string) (list []string, err error) {
	for name := range strings.SplitSeq(names, ",") {
		each, err := named(name)
		if err != nil {
			return nil, err
		}
		list = append(list, each...)
	}
	return list, nil
}

// named returns the names of the devices for one name: one per device for KIND:all, otherwise the name itself. The error is an
// *OpenError if the kind has no devices.
func named(name string) ([]string, error) {
	kind, arg, _ := strings.Cut(name, ":")
	if arg != "all" {
		return []string{name}, nil
	}
	for _, o := range backend.Openers() {
		if o.Name != kind {
			continue
		}
		if o.Count == nil {
			return []string{kind}, nil
		}
		n, err := o.Count()
		if err != nil || n == 0 {
			return nil, &OpenError{Backend: name, Kind: ErrNoDevice, Err: err}
		}
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%s:%d", kind, i))
		}
		return list, nil
	}
	return []string{name}, nil // Open returns the error for an unknown kind
}

// NewDevice returns a device for a backend that the caller has already opened, for example a simulated one from
// ops/sim. The device closes the backend. If NewDevice fails, it closes the backend too.
func NewDevice(b backend.Backend) (*Device, error) {
	dev := &Device{backend: b, info: b.Describe()}
	dev.info.Why = "given by the program"
	q, err := b.NewQueue()
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	dev.queue = &Queue{queue: q, device: dev}
	return dev, nil
}

func why(asked, got string, refused []string) string {
	switch {
	case asked != "auto":
		return "asked for by name"
	case len(refused) > 0:
		return "no better backend: " + strings.Join(refused, "; ")
	case got == "cpu":
		return "no other backend is linked in"
	}
	return "the best backend found"
}

// Name returns the device's name, for example "cuda:0". Tensors on a GPU report the same name, and tensors for the CPU
// report "host".
func (d *Device) Name() string { return d.info.Name }

// Info returns a description of the device, with the reason why it was selected.
func (d *Device) Info() Info { return d.info }

// Alloc returns a contiguous tensor on the device. Its contents are unspecified. The caller closes it. If memory runs
// out, the error is a *MemoryError.
func (d *Device) Alloc(dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	if err := d.allocates("Alloc", dtype, shape); err != nil {
		return nil, err
	}
	return d.backend.Alloc(dtype, shape)
}

// AllocHost returns a tensor in host memory for [Queue.Copy]. For a GPU the memory is pinned, because the device can
// copy only such memory without the CPU; for the CPU it is ordinary memory. Use it like any host tensor, but its memory
// does not belong to Go: the caller closes it when no work uses it any more, and must not touch slices over it after
// that.
func (d *Device) AllocHost(dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	if err := d.allocates("AllocHost", dtype, shape); err != nil {
		return nil, err
	}
	return d.backend.AllocHost(dtype, shape)
}

// allocates returns an error if the device is closed, or if the dtype or the shape is invalid.
func (d *Device) allocates(op string, dtype tensor.DType, shape []int) error {
	if err := d.open(op); err != nil {
		return err
	}
	n, err := tensor.NumElements(shape...)
	switch {
	case err != nil:
		return err
	case dtype.Size() == 0:
		return &ArgError{Op: op, Arg: "dtype", Kind: ErrDType, Got: dtype.String(), Want: "one of f32, f64, f16, bf16, i32, i64, u8"}
	case n > tensor.MaxBytes/dtype.Size():
		return &ArgError{Op: op, Arg: "shape", Kind: ErrTooLarge, Got: tensor.FormatShape(shape), Want: "at most 2^62 bytes"}
	}
	return nil
}

// Free returns how many bytes can still be allocated on the device; on the CPU it is [tensor.Available].
func (d *Device) Free() (int64, error) {
	if err := d.open("Free"); err != nil {
		return 0, err
	}
	if m, ok := d.backend.(backend.Memory); ok {
		return m.Free()
	}
	return tensor.Available(), nil
}

// Upload returns a copy of a host tensor on the device. The caller closes it.
func (d *Device) Upload(ctx context.Context, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t == nil {
		return nil, &ArgError{Op: "Upload", Arg: "t", Kind: ErrMissing, Got: "nil", Want: "a tensor"}
	}
	out, err := d.Alloc(t.DType(), t.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := d.Copy(ctx, out, t); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// Copy copies src to dst and returns when it is done. Both have the same dtype and shape, and each is on the host or on
// the device. The context is checked only before the copy begins. dst must be contiguous; src may be strided if it is
// on the host.
func (d *Device) Copy(ctx context.Context, dst, src *tensor.Tensor) error {
	if err := d.open("Copy"); err != nil {
		return err
	}
	c := checker{op: "Copy", device: d.info.Name, mixed: true}
	switch c.copies(dst, src); {
	case c.err != nil:
		return c.err
	case !src.OnHost() && !src.IsContiguous():
		return c.fail("src", ErrStride, tensor.FormatShape(src.Strides()), "a contiguous tensor on the device")
	}
	src, err := src.Contiguous()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.backend.Copy(dst, src)
}

// NewQueue returns a new queue. Work on it may overlap with work on other queues. The caller closes it.
func (d *Device) NewQueue() (*Queue, error) {
	if err := d.open("NewQueue"); err != nil {
		return nil, err
	}
	q, err := d.backend.NewQueue()
	if err != nil {
		return nil, err
	}
	return &Queue{queue: q, device: d}, nil
}

// Queue returns the device's default queue, which is opened and closed with the device.
func (d *Device) Queue() *Queue { return d.queue }

// Synchronize waits for the work on the device's default queue. See [Queue.Synchronize].
func (d *Device) Synchronize(ctx context.Context) error {
	if err := d.open("Synchronize"); err != nil {
		return err
	}
	return d.queue.Synchronize(ctx)
}

// NN returns the device's neural network operations, for package nn. If the backend has none, the error is an *ArgError
// with the kind ErrUnsupported.
func (d *Device) NN() (backend.NN, error) {
	if err := d.open("NN"); err != nil {
		return nil, err
	}
	return capable[backend.NN](d, "NN")
}

// Close waits for the device's default queue and releases the device. Close twice is fine. Close the tensors, plans,
// graphs, marks and queues of the device first.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	return errors.Join(d.queue.Close(), d.backend.Close())
}

// home returns the location that the device's tensors report: "host" for the CPU, otherwise the device's name.
func (d *Device) home() string {
	if d.info.Backend == "cpu" {
		return "host"
	}
	return d.info.Name
}

func (d *Device) open(op string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return &ArgError{Op: op, Arg: "device", Kind: ErrClosed, Got: d.info.Name + " after Close"}
	}
	return nil
}

// capable returns the device's backend as T, the interface of an operation. If the backend lacks the operation, it returns an
// *ArgError with the kind ErrUnsupported.
func capable[T any](d *Device, op string) (T, error) {
	b, ok := d.backend.(T)
	if !ok {
		return b, &ArgError{Op: op, Arg: "device", Kind: ErrUnsupported, Got: d.info.Name + ", whose backend does not have it"}
	}
	return b, nil
}
