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

// Images are the kernels that plans name, loaded on a device when the first does.
type Images struct {
	ctx     *cudadrv.Context
	mu      sync.Mutex
	modules map[string]*cudadrv.Module // by the images' hashes
	shared  map[*cudadrv.Kernel]uint32 // as much dynamic shared memory as each is allowed
}

// NewImages returns images of which none is loaded.
func NewImages(ctx *cudadrv.Context) *Images {
	return &Images{ctx: ctx, modules: map[string]*cudadrv.Module{}, shared: map[*cudadrv.Kernel]uint32{}}
}

// Close unloads all.
func (m *Images) Close() (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, module := range m.modules {
		err = errors.Join(err, module.Close())
	}
	clear(m.modules)
	return err
}

// kernel returns a kernel of an image.
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

// Instance is a plan with the memory that it needs.
type Instance struct {
	plan   *record.Plan
	images *Images
	memory []*cudadrv.DeviceMem // of the buffers; nil of faults and flags, and of memory that was there
	at     []uint64             // of all buffers, the arguments too
}

// NewInstance sets up an instance of a plan whose arguments lie at the given addresses. cells are those of the faults, in their order. have has the addresses of
// buffers that there are already, by their IDs; it may be nil.
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

// Bind makes the launches of a run, in which the arguments may lie elsewhere, unless the plan has their addresses in a buffer.
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

// fill gives a buffer its content.
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

// bind makes a launch. The caller holds the images' lock.
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

// Address is where a buffer of the plan lies.
func (in *Instance) Address(buffer int) uint64 { return in.at[buffer] }

// Close releases the memory of the instance.
func (in *Instance) Close() (err error) {
	for _, m := range in.memory {
		if m != nil {
			err = errors.Join(err, m.Close())
		}
	}
	return err
}
