package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/robocache/robocache/tensor"
)

// Driver opens the devices of one kind of backend.
type Opener struct {
	// Name is what Open's argument begins with: "cuda" for "cuda" and "cuda:1".
	Name string
	// Auto orders the drivers that Open("auto") tries, greatest first. 0 leaves the driver out.
	Auto int
	// Open opens the device named by what follows the colon, "" for the default one. The error says why there is none.
	Open func(arg string) (Backend, error)
}

var drivers = struct {
	sync.Mutex
	list []Opener
}{list: []Opener{{Name: "cpu", Auto: 1, Open: openCPU}}}

// Register adds a kind of backend. A backend's package calls it from init. It panics if the name is taken.
func Register(d Opener) {
	drivers.Lock()
	defer drivers.Unlock()
	if slices.ContainsFunc(drivers.list, func(o Opener) bool { return o.Name == d.Name }) {
		panic("ops: Register called twice for " + d.Name)
	}
	drivers.list = append(drivers.list, d)
	slices.SortStableFunc(drivers.list, func(a, b Opener) int { return b.Auto - a.Auto })
}

// Backends returns the names of the registered kinds of backend, the one that "auto" tries first in front.
func Backends() []string {
	drivers.Lock()
	defer drivers.Unlock()
	var names []string
	for _, d := range drivers.list {
		names = append(names, d.Name)
	}
	return names
}

// Device runs operations. Its methods may be called from any goroutine.
type Device struct {
	backend Backend
	info    Info
	mu      sync.Mutex
	stream  Queue
	closed  bool
}

// Open opens a device by name. "auto" takes a GPU if a backend for it is linked in and finds one, else the CPU; Info says
// which and why. Other names are a backend's, with an optional argument after a colon: "cpu", "cuda", "cuda:1". The
// error is an *OpenError.
func Open(name string) (*Device, error) {
	drivers.Lock()
	list := slices.Clone(drivers.list)
	drivers.Unlock()
	kind, arg, _ := strings.Cut(name, ":")
	var refused []string
	for _, d := range list {
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

// NewDevice is the device of a backend that was opened by other means than Open. The device closes the backend; so does
// NewDevice if it fails.
func NewDevice(b Backend) (*Device, error) {
	dev := &Device{backend: b, info: b.Describe()}
	dev.info.Why = "given by the program"
	var err error
	if dev.stream, err = b.NewQueue(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
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

// Name returns the device's name, as tensors on it report it.
func (d *Device) Name() string { return d.info.Name }

// Info describes the device and says why it was taken.
func (d *Device) Info() Info { return d.info }

// Alloc returns a tensor on the device, contiguous, with unspecified contents. The caller closes it. A
// *MemoryError says that there is not the memory for it.
func (d *Device) Alloc(dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	if err := d.open("Alloc"); err != nil {
		return nil, err
	}
	if n, err := tensor.NumElements(shape...); err != nil {
		return nil, err
	} else if dtype.Size() == 0 {
		return nil, &ArgError{Op: "Alloc", Arg: "dtype", Kind: ErrDType, Got: dtype.String(), Want: "one of f32, f64, f16, bf16, i32, i64, u8"}
	} else if n > tensor.MaxBytes/dtype.Size() {
		return nil, &ArgError{Op: "Alloc", Arg: "shape", Kind: ErrTooLarge, Got: tensor.FormatShape(shape), Want: "at most 2^62 bytes"}
	}
	return d.backend.Alloc(dtype, shape)
}

// Upload returns a copy of a host tensor on the device. The caller closes it.
func (d *Device) Upload(t *tensor.Tensor) (*tensor.Tensor, error) {
	if t == nil {
		return nil, &ArgError{Op: "Upload", Arg: "t", Kind: ErrMissing, Got: "nil", Want: "a tensor"}
	}
	out, err := d.Alloc(t.DType(), t.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := d.Copy(out, t); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// Copy copies src to dst, which have one dtype and shape and are each on the host or on the device, and returns when it is
// done. dst must be contiguous; src may be strided if it is on the host.
func (d *Device) Copy(dst, src *tensor.Tensor) error {
	if err := d.open("Copy"); err != nil {
		return err
	}
	c := checker{op: "Copy", device: d.info.Name, mixed: true}
	c.tensor("dst", dst)
	c.tensor("src", src)
	if c.err != nil {
		return c.err
	}
	switch {
	case dst.DType() != src.DType():
		return c.fail("src", ErrDType, src.DType().String(), dst.DType().String()+", dst's")
	case !slices.Equal(dst.Shape(), src.Shape()):
		return c.fail("src", ErrShape, tensor.FormatShape(src.Shape()), tensor.FormatShape(dst.Shape())+", dst's")
	case !dst.IsContiguous():
		return c.fail("dst", ErrStride, tensor.FormatShape(dst.Strides()), "a contiguous tensor")
	case !src.OnHost() && !src.IsContiguous():
		return c.fail("src", ErrStride, tensor.FormatShape(src.Strides()), "a contiguous tensor on the device")
	}
	src, err := src.Contiguous()
	if err != nil {
		return err
	}
	return d.backend.Copy(dst, src)
}

// NewStream returns a queue of work of its own. The caller closes it.
func (d *Device) NewQueue() (Queue, error) {
	if err := d.open("NewStream"); err != nil {
		return nil, err
	}
	return d.backend.NewQueue()
}

// Stream returns the stream that the device opened with. It is closed with the device.
func (d *Device) Queue() Queue { return d.stream }

// Synchronize waits for the work on the device's own stream. See Stream.Synchronize.
func (d *Device) Synchronize(ctx context.Context) error {
	if err := d.open("Synchronize"); err != nil {
		return err
	}
	return d.stream.Synchronize(ctx)
}

// Close waits for the device's own stream and releases the device. Close twice is fine; tensors, plans, graphs and
// streams of the device must have been closed before.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	return errors.Join(d.stream.Close(), d.backend.Close())
}

func (d *Device) open(op string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return &ArgError{Op: op, Arg: "device", Kind: ErrClosed, Got: d.info.Name + " after Close"}
	}
	return nil
}
