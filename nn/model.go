package nn

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Config is the architecture of a network: the number of input columns, and the layers.
type Config struct {
	In     int
	Layers []Layer
}

// Model is the parameters of a network on a device. Its methods must not be called concurrently.
type Model struct {
	device  *ops.Device
	nn      backend.NN
	net     *network
	size    int // P: the number of elements in the arena
	held    held
	params  *tensor.Tensor // [P] F32
	working *tensor.Tensor // [P]: equal to params if the device computes in F32
	m, v    *tensor.Tensor // [P] F32, allocated for the first step that trains
	average *tensor.Tensor // [P] F32, the moving averages of the parameters, allocated for the first step with Training.EMA
	state   *tensor.Tensor // [StateWords], shared by the steps that train
}

// Parameter is a weight matrix or a vector in a model, with torch's name and shape.
type Parameter struct {
	Name  string
	Shape []int
	// Offset is the index of the first element in the arena, a multiple of 64. Row i begins Stride elements after row i-1.
	Offset, Stride int
}

// alignment is the alignment of parameters in the arena, in elements.
const alignment = 64

// NewModel allocates the parameters of a network on a device and initialises them by torch's distributions, from the seed. The
// caller closes the Model. An invalid network is an *Error. Too little device memory is an *ops.MemoryError.
func NewModel(ctx context.Context, device *ops.Device, c Config, seed uint64) (*Model, error) {
	if device == nil {
		return nil, &Error{Op: "NewModel", Arg: "device", Kind: ops.ErrMissing, Got: "nil", Want: "a device"}
	}
	net, err := c.network()
	if err != nil {
		return nil, err
	}
	nn, err := device.NN()
	if err != nil {
		return nil, err
	}
	m := &Model{device: device, nn: nn, net: net}
	for _, p := range net.parameters {
		p.offset = m.size
		m.size += (p.size() + alignment - 1) / alignment * alignment
	}
	for _, p := range net.parts {
		p.offset = p.whole.offset + p.first*p.stride()
	}
	if m.size > maxElements {
		return nil, &Error{Op: "NewModel", Arg: "Layers", Kind: ops.ErrTooLarge, Got: number(m.size) + " parameters", Want: "at most " + number(maxElements)}
	}
	if err := m.alloc(ctx, seed); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// maxElements limits the elements in a matrix or in the arena, so that 31 bits can count them.
const maxElements = 1<<31 - 1

// network builds the network from the layers.
func (c Config) network() (*network, error) {
	if err := widths("", "In", c.In); err != nil {
		return nil, err
	}
	if len(c.Layers) == 0 {
		return nil, option("", "Layers", "none", "one or more, the last a Linear")
	}
	n := &network{}
	if _, err := n.layers(c.Layers, n.value("input", c.In, ofTokens, nil)); err != nil {
		return nil, err
	}
	return n, n.check()
}

// alloc allocates the tensors and fills them.
func (m *Model) alloc(ctx context.Context, seed uint64) error {
	host, err := tensor.New(tensor.F32, m.size)
	if err != nil {
		return err
	}
	data, err := tensor.Data[float32](host)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0x6e6e)) // one generator for all parameters, in their order
	for _, p := range m.net.parameters {
		_, stride := p.padded()
		for i := range p.rows {
			for j := range max(p.columns, 1) {
				data[p.offset+i*max(stride, 1)+j] = p.init(random)
			}
		}
	}
	if m.params, err = m.held.alloc(m.device, tensor.F32, m.size); err != nil {
		return err
	}
	m.working = m.params
	if m.nn.Working() != tensor.F32 {
		if m.working, err = m.held.alloc(m.device, m.nn.Working(), m.size); err != nil {
			return err
		}
	}
	if m.state, err = m.held.zeros(ctx, m.device, tensor.I64, backend.StateWords); err != nil {
		return err
	}
	return m.write(ctx, host)
}

// write writes the parameters and their copy in the working dtype.
func (m *Model) write(ctx context.Context, host *tensor.Tensor) error {
	if err := m.device.Copy(ctx, m.params, host); err != nil || m.working == m.params {
		return err
	}
	data, err := tensor.Data[float32](host)
	if err != nil {
		return err
	}
	rounded := make([]tensor.BFloat16, len(data))
	for i, v := range data {
		rounded[i] = tensor.BF16FromF32(v)
	}
	copied, err := tensor.Of(rounded, len(rounded))
	if err != nil {
		return err
	}
	return m.device.Copy(ctx, m.working, copied)
}

// moments allocates the optimiser's tensors, if it has not done so before: the moments with zeros, and the average, if t has one, with
// the parameters.
func (m *Model) moments(ctx context.Context, t *Training) (err error) {
	for _, z := range []**tensor.Tensor{&m.m, &m.v} {
		if *z == nil && err == nil {
			*z, err = m.held.zeros(ctx, m.device, tensor.F32, m.size)
		}
	}
	if t.EMA == 0 || m.average != nil || err != nil {
		return err
	}
	if m.average, err = m.held.alloc(m.device, tensor.F32, m.size); err != nil {
		return err
	}
	return across(ctx, m.device, m.average, m.device, m.params)
}

// arena is a tensor with the model's parameters, or with numbers for each of them. The prefix is for its names in a checkpoint.
type arena struct {
	prefix string
	t      *tensor.Tensor
}

// arenas returns the model's arenas in a checkpoint: the parameters, the moments, and the average if there is one.
func (m *Model) arenas() []arena {
	list := []arena{{ofParams, m.params}, {ofM, m.m}, {ofV, m.v}}
	if m.average != nil {
		list = append(list, arena{ofAverage, m.average})
	}
	return list
}

// Device returns the device with the parameters.
func (m *Model) Device() *ops.Device { return m.device }

// Count returns the number of parameters, without padding.
func (m *Model) Count() int {
	n := 0
	for _, p := range m.net.parameters {
		n += p.rows * max(p.columns, 1)
	}
	return n
}

// Parameters returns the parameters in the order of the arena. The caller may modify the list.
func (m *Model) Parameters() []Parameter {
	var list []Parameter
	for _, p := range m.net.parameters {
		list = append(list, Parameter{Name: p.name, Shape: p.shape(), Offset: p.offset, Stride: p.stride()})
	}
	return list
}

func (p *parameter) shape() []int {
	if p.columns == 0 {
		return []int{p.rows}
	}
	return []int{p.rows, p.columns}
}

func (p *parameter) stride() int {
	if p.columns == 0 {
		return 1
	}
	return pad(p.columns)
}

// Close releases the parameters. The caller must close the model's steps before. A second Close does nothing.
func (m *Model) Close() error { return m.held.close() }

// held are tensors and plans to close, in reverse order.
type held []interface{ Close() error }

func (h *held) close() error {
	var errs []error
	for len(*h) > 0 {
		errs = append(errs, (*h)[len(*h)-1].Close())
		*h = (*h)[:len(*h)-1]
	}
	return errors.Join(errs...)
}

// alloc allocates a tensor on the device, with unspecified contents.
func (h *held) alloc(d *ops.Device, dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	t, err := d.Alloc(dtype, shape...)
	if err == nil {
		*h = append(*h, t)
	}
	return t, err
}

// upload allocates a tensor on the device with a host tensor's elements.
func (h *held) upload(ctx context.Context, d *ops.Device, host *tensor.Tensor) (*tensor.Tensor, error) {
	t, err := h.alloc(d, host.DType(), host.Shape()...)
	if err == nil {
		err = d.Copy(ctx, t, host)
	}
	return t, err
}

// zeros allocates a tensor with zeros on the device.
func (h *held) zeros(ctx context.Context, d *ops.Device, dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	host, err := tensor.New(dtype, shape...)
	if err != nil {
		return nil, err
	}
	return h.upload(ctx, d, host)
}
