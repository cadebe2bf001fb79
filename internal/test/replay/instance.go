package replay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/ptx"
)

// Images holds the kernel images that plans name. An image is loaded on the device when the first plan needs it.
type Images struct {
	ctx     *cudadrv.Context
	mu      sync.Mutex
	modules map[string]*cudadrv.Module // by image hash
	shared  map[*cudadrv.Kernel]uint32 // the limit set for each kernel's dynamic shared memory, in bytes
}

// NewImages returns a set without loaded images.
func NewImages(ctx *cudadrv.Context) *Images {
	return &Images{ctx: ctx, modules: map[string]*cudadrv.Module{}, shared: map[*cudadrv.Kernel]uint32{}}
}

// Close unloads all images.
func (m *Images) Close() (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, module := range m.modules {
		err = errors.Join(err, module.Close())
	}
	clear(m.modules)
	return err
}

// kernel returns a kernel from an image, which it loads if necessary. It returns an error if this program has no image with the file
// name and the hash.
func (m *Images) kernel(im record.Image, entry string) (*cudadrv.Kernel, error) {
	module := m.modules[im.Hash]
	if module == nil {
		all := ptx.Images(im.Family)
		i := slices.IndexFunc(all, func(o ptx.Image) bool { return o.File == im.File && o.Hash == im.Hash })
		if i < 0 {
			return nil, fmt.Errorf("replay: the image %s of the plan, %s, is not here", im.File, im.Hash)
		}
		var err error
		if module, err = m.ctx.LoadModule(all[i].Data()); err != nil {
			return nil, err
		}
		m.modules[im.Hash] = module
	}
	return module.Kernel(entry)
}

// Instance is a plan with its device memory.
type Instance struct {
	plan   *record.Plan
	images *Images
	memory []*cudadrv.DeviceMem // memory of each buffer; nil for faults, flags and buffers from NewInstance's have
	at     []uint64             // addresses of the arguments, followed by those of the buffers
}

// NewInstance sets up an instance of a plan with its arguments at the given addresses. A cell is 8 bytes of device memory for a
// plan's first error, with a flag; cells has one for each fault buffer, in order. have has addresses of existing buffers by ID and
// may be nil. After an error, NewInstance releases the memory.
func NewInstance(d *device.Device, images *Images, p *record.Plan, arguments []uint64, cells []*device.Cell, have map[int]uint64) (_ *Instance, err error) {
	in := &Instance{plan: p, images: images, memory: make([]*cudadrv.DeviceMem, len(p.Buffers)), at: append([]uint64(nil), arguments...)}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
		}
	}()
	faults := 0
	for i, b := range p.Buffers {
		var at uint64
		switch {
		case b.Kind == record.Fault:
			at = cells[faults].At
		case b.Kind == record.Flag:
			at = cells[faults].Flag
			faults++
		case b.ID != nil && have[*b.ID] != 0:
			at = have[*b.ID]
		default:
			if in.memory[i], err = d.Malloc("the memory of a plan", b.Bytes); err != nil {
				return nil, err
			}
			at = uint64(in.memory[i].Ptr())
		}
		in.at = append(in.at, at)
	}
	for i := range p.Buffers {
		if err := in.fill(d, &p.Buffers[i], in.at[len(arguments)+i]); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Bind returns the launches of one run. The arguments may have other addresses than in NewInstance, unless a buffer of the plan holds
// argument addresses.
func (in *Instance) Bind(arguments []uint64) (list []*cudadrv.Launch, err error) {
	copy(in.at, arguments)
	in.images.mu.Lock()
	defer in.images.mu.Unlock()
	for i := range in.plan.Launches {
		l, err := in.bind(&in.plan.Launches[i])
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// fill writes a buffer's initial content: the fill byte, and then the data with relocated addresses, if the plan has them.
func (in *Instance) fill(d *device.Device, b *record.Buffer, at uint64) error {
	if f := b.Fill; f != nil {
		if err := d.Ctx.Memset8(context.Background(), cudadrv.DevicePtr(at), byte(f[0]), f[1]); err != nil {
			return err
		}
	}
	if b.Init == nil {
		return nil
	}
	data := slices.Clone(in.plan.Payload[b.Init[0]:][:b.Init[1]])
	for _, r := range b.Relocations {
		in.relocate(data, r)
	}
	return d.Ctx.CopyToDevice(context.Background(), cudadrv.DevicePtr(at), data)
}

func (in *Instance) relocate(data []byte, r record.Relocation) {
	binary.LittleEndian.PutUint64(data[r[0]:], in.at[r[1]]+uint64(r[2]))
}

// bind returns the launch for one launch of the plan. The caller holds the lock of the images.
func (in *Instance) bind(l *record.Launch) (*cudadrv.Launch, error) {
	images := in.images
	k, err := images.kernel(in.plan.Images[l.Image], l.Entry)
	if err != nil {
		return nil, err
	}
	var sizes []int
	var params [][]byte
	for _, p := range l.Params {
		sizes = append(sizes, int(p[1]))
		params = append(params, slices.Clone(in.plan.Payload[p[0]:][:p[1]]))
	}
	for _, r := range l.Relocations {
		in.relocate(params[r[0]], record.Relocation{r[1], r[2], r[3]})
	}
	if err := k.Declare(sizes); err != nil {
		return nil, err
	}
	if l.Shared > images.shared[k] {
		if err := k.SetMaxDynamicShared(int(l.Shared)); err != nil {
			return nil, err
		}
		images.shared[k] = l.Shared
	}
	if l.Carveout != nil {
		if err := k.PreferShared(*l.Carveout); err != nil {
			return nil, err
		}
	}
	args := make([]any, len(params))
	for i, p := range params {
		args[i] = p
	}
	return k.Bind(cudadrv.LaunchConfig{Grid: l.Grid, Block: l.Block, Shared: l.Shared, Dependent: l.Dependent}, args...)
}

// Address returns the device address at an index of the list of arguments and buffers.
func (in *Instance) Address(buffer int) uint64 { return in.at[buffer] }

// Close releases the instance's memory.
func (in *Instance) Close() (err error) {
	for _, m := range in.memory {
		if m != nil {
			err = errors.Join(err, m.Close())
		}
	}
	return err
}
