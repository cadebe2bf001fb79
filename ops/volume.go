package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// VolumeOptions are the options of a [Volume].
type VolumeOptions struct {
	IntegrateOptions
	// Blocks is the number of blocks that fit the new volume. 0 means 4096, or MaxBlocks if that is less.
	Blocks int
	// MaxBlocks limits the growth. 0 means no limit.
	MaxBlocks int
	// Color adds colours.
	Color bool
}

// Volume is a TSDF on a device that grows. It has the first five tensors of [IntegrateArgs], which growth replaces.
type Volume struct {
	IntegrateArgs
	d      *Device
	opts   VolumeOptions
	queue  *Queue
	plan   *Plan                      // nil before the first image and after growth
	staged IntegrateArgs              // the plan's images and Counts, on the device
	state  [backend.VolumeWords]int64 // State when it was last read
	host   *tensor.Tensor             // over state
}

// NewVolume returns an empty volume. The caller closes it.
func (d *Device) NewVolume(opts VolumeOptions) (*Volume, error) {
	v := &Volume{d: d, opts: opts}
	if v.opts.Blocks == 0 {
		v.opts.Blocks = 4096
		if opts.MaxBlocks > 0 {
			v.opts.Blocks = min(4096, opts.MaxBlocks)
		}
	}
	if v.opts.Blocks < 0 || opts.MaxBlocks != 0 && v.opts.Blocks > opts.MaxBlocks {
		return nil, &ArgError{Op: "NewVolume", Arg: "Blocks", Kind: ErrOption, Got: fmt.Sprint(opts.Blocks), Want: "from 1 to MaxBlocks"}
	}
	v.host = tensor.Must(tensor.Of(v.state[:], len(v.state)))
	var err error
	if v.queue, err = d.NewQueue(); err != nil {
		return nil, err
	}
	if v.State, err = d.Upload(context.Background(), v.host); err == nil {
		err = v.grow(context.Background(), v.opts.Blocks, 0)
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// Blocks returns the number of blocks in use.
func (v *Volume) Blocks(ctx context.Context) (int, error) {
	err := v.d.Copy(ctx, v.host, v.State)
	return int(v.state[backend.VolumeBlocks]), err
}

// Integrate fuses images: args has Depth, Intrinsics, Poses, Images and Counts. Tensors on a GPU are contiguous. See
// [Device.Integrate]. The volume keeps one plan, with copies of the images. So a call with images of the same shapes as
// in the last call allocates nothing, unless the volume grows.
//
// If the volume has too few blocks, their number doubles. The error is an [*ArgError] with the kind [ErrFull] if
// MaxBlocks are too few, or a [*MemoryError], and the volume stays as it is.
func (v *Volume) Integrate(ctx context.Context, args IntegrateArgs) error {
	if err := v.d.begin(ctx, "Integrate"); err != nil {
		return err
	}
	if err := v.stage(&args); err != nil {
		return err
	}
	for {
		full := v.run(args.Counts)
		if !errors.Is(full, ErrFull) {
			return full
		}
		v.state[backend.VolumeRefused] = 0 // because refused images must not stay in State
		if err := v.d.Copy(context.Background(), v.State, v.host); err != nil {
			return err
		}
		m := v.Keys.Dim(0)
		blocks := 2 * m
		if v.opts.MaxBlocks != 0 {
			blocks = min(blocks, v.opts.MaxBlocks)
		}
		if blocks == m {
			return full
		}
		if err := v.grow(ctx, blocks, int(v.state[backend.VolumeBlocks])); err != nil {
			return err
		}
	}
}

// stage copies the images to the plan's tensors. It makes new ones, for a new plan, if an argument has another dtype or shape than before.
func (v *Volume) stage(args *IntegrateArgs) error {
	given, staged, same := args.images(), v.staged.images(), true
	c := checker{device: v.d.home(), mixed: true}
	for i, t := range given {
		same = same && sameShape(*t, *staged[i]) && (*t == nil || (*t).IsContiguous() && c.tensor("", *t))
	}
	if !same {
		if _, err := newIntegrateJob(&checker{op: "Integrate", device: v.d.home(), mixed: true}, v.with(*args), v.opts.IntegrateOptions); err != nil {
			return err
		}
		if err := errors.Join(v.unplan(), v.staged.close()); err != nil {
			return err
		}
		v.staged = IntegrateArgs{}
	}
	for i, t := range given {
		if *t == nil {
			continue
		}
		var err error
		if !same {
			*staged[i], err = v.d.Alloc((*t).DType(), (*t).Shape()...)
		}
		if err == nil && i > 0 { // Counts is an output
			err = v.d.Copy(context.Background(), *staged[i], *t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run integrates the staged images and copies the counts, also if the context has ended: images are integrated as a whole.
func (v *Volume) run(counts *tensor.Tensor) (err error) {
	ctx := context.Background()
	if v.plan == nil {
		if v.plan, err = v.d.PlanIntegrate(v.with(v.staged), v.opts.IntegrateOptions); err != nil {
			return err
		}
	}
	if err = v.plan.Run(v.queue); err == nil {
		err = v.queue.Synchronize(ctx)
	}
	if err == nil {
		err = v.d.Copy(ctx, v.host, v.State)
	}
	if err == nil {
		err = refusal(v.Keys, v.state)
	}
	if err == nil && counts != nil {
		err = v.d.Copy(ctx, counts, v.staged.Counts)
	}
	return err
}

// with returns the arguments with the volume's tensors.
func (v *Volume) with(a IntegrateArgs) IntegrateArgs {
	a.Keys, a.Distance, a.Weight, a.Color, a.State = v.Keys, v.Distance, v.Weight, v.Color, v.State
	return a
}

// unplan closes the plan.
func (v *Volume) unplan() (err error) {
	if v.plan != nil {
		err = v.plan.Close()
	}
	v.plan = nil
	return err
}

// grow replaces the tensors with the blocks by larger ones, with copies of the blocks in use.
func (v *Volume) grow(ctx context.Context, blocks, used int) error {
	larger := Volume{d: v.d}
	err := larger.each(v, func(to, from **tensor.Tensor, dtype tensor.DType, shape ...int) (err error) {
		if *to, err = v.d.Alloc(dtype, append([]int{blocks}, shape...)...); err == nil && used > 0 {
			err = copyBlocks(ctx, v.d, *to, *from, used)
		}
		return err
	})
	if err != nil {
		return errors.Join(err, larger.close())
	}
	larger.State, v.State = v.State, nil
	err = errors.Join(v.unplan(), v.close())
	v.IntegrateArgs = larger.IntegrateArgs
	return err
}

// each calls fn with each tensor of v and of another volume that has the blocks, and its shape from the second dimension on. It stops at
// an error. The tensors for colours are left out if other has none.
func (v *Volume) each(other *Volume, fn func(a, b **tensor.Tensor, dtype tensor.DType, shape ...int) error) error {
	err := fn(&v.Keys, &other.Keys, tensor.I32, 3)
	if err == nil {
		err = fn(&v.Distance, &other.Distance, tensor.F32, BlockVoxels)
	}
	if err == nil {
		err = fn(&v.Weight, &other.Weight, tensor.F32, BlockVoxels)
	}
	if err == nil && other.opts.Color {
		err = fn(&v.Color, &other.Color, tensor.F32, BlockVoxels, 3)
	}
	return err
}

// copyBlocks copies the first n blocks of a tensor.
func copyBlocks(ctx context.Context, d *Device, dst, src *tensor.Tensor, n int) error {
	dst, err := dst.Slice(0, 0, n)
	if err == nil {
		src, err = src.Slice(0, 0, n)
	}
	if err != nil {
		return err
	}
	return d.Copy(ctx, dst, src)
}

// VolumeBlocks has the blocks in use of a [Volume], as in [IntegrateArgs]. Color is nil without colours.
type VolumeBlocks struct {
	Keys                    [][3]int32
	Distance, Weight, Color []float32
	Size                    float64 // a voxel's edge in metres
}

// Download returns a copy of the blocks in use.
func (v *Volume) Download(ctx context.Context) (out VolumeBlocks, err error) {
	n, err := v.Blocks(ctx)
	if err != nil {
		return out, err
	}
	out.Size = v.opts.Voxel
	var host Volume
	err = host.each(v, func(to, from **tensor.Tensor, dtype tensor.DType, shape ...int) (err error) {
		if *to, err = tensor.New(dtype, append([]int{n}, shape...)...); err == nil {
			err = copyBlocks(ctx, v.d, *to, *from, n)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	keys, err := tensor.Elements[int32](host.Keys)
	for ; len(keys) > 0; keys = keys[3:] {
		out.Keys = append(out.Keys, [3]int32(keys))
	}
	for _, part := range []struct {
		to   *[]float32
		from *tensor.Tensor
	}{{&out.Distance, host.Distance}, {&out.Weight, host.Weight}, {&out.Color, host.Color}} {
		if part.from != nil && err == nil {
			*part.to, err = tensor.Elements[float32](part.from)
		}
	}
	return out, err
}

// Close releases the tensors and the plan. Close twice is fine.
func (v *Volume) Close() error {
	return errors.Join(v.queue.Close(), v.unplan(), v.staged.close(), v.close())
}
