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
	// Blocks is the number of blocks that fit the new volume. 0 means 4096.
	Blocks int
	// MaxBlocks limits the growth. 0 means no limit.
	MaxBlocks int
	// Color adds colours.
	Color bool
}

// Volume is a TSDF on a device that grows. Its tensors are those of [IntegrateArgs]; after growth they are others.
type Volume struct {
	Keys, Distance, Weight, Color, State *tensor.Tensor

	d    *Device
	opts VolumeOptions
}

// NewVolume returns an empty volume. The caller closes it.
func (d *Device) NewVolume(opts VolumeOptions) (*Volume, error) {
	v := &Volume{d: d, opts: opts}
	if v.opts.Blocks == 0 {
		v.opts.Blocks = 4096
	}
	if v.opts.Blocks < 0 || opts.MaxBlocks != 0 && v.opts.Blocks > opts.MaxBlocks {
		return nil, &ArgError{Op: "NewVolume", Arg: "Blocks", Kind: ErrOption, Got: fmt.Sprint(opts.Blocks), Want: "from 1 to MaxBlocks"}
	}
	state, err := tensor.New(tensor.I64, backend.VolumeWords)
	if err != nil {
		return nil, err
	}
	if v.State, err = d.Upload(context.Background(), state); err != nil {
		return nil, err
	}
	if err = v.alloc(v.opts.Blocks); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// alloc replaces the tensors with the blocks by new ones.
func (v *Volume) alloc(blocks int) (err error) {
	made := func(to **tensor.Tensor, dtype tensor.DType, shape ...int) {
		if err == nil {
			*to, err = v.d.Alloc(dtype, shape...)
		}
	}
	made(&v.Keys, tensor.I32, blocks, 3)
	made(&v.Distance, tensor.F32, blocks, BlockVoxels)
	made(&v.Weight, tensor.F32, blocks, BlockVoxels)
	if v.opts.Color {
		made(&v.Color, tensor.F32, blocks, BlockVoxels, 3)
	}
	return err
}

// Blocks returns the number of blocks in use.
func (v *Volume) Blocks(ctx context.Context) (int, error) {
	state, err := readState(ctx, v.d, v.State)
	return int(state[backend.VolumeBlocks]), err
}

// Integrate fuses images: args has Depth, Intrinsics, Poses, Images and Counts. See [Device.Integrate]. If the volume
// has too few blocks, its number of blocks doubles. The error is then an [*ArgError] with the kind [ErrFull] if that is
// more than MaxBlocks, or a [*MemoryError], and the volume stays as it is.
func (v *Volume) Integrate(ctx context.Context, args IntegrateArgs) error {
	for {
		args.Keys, args.Distance, args.Weight, args.Color, args.State = v.Keys, v.Distance, v.Weight, v.Color, v.State
		err := v.d.Integrate(ctx, args, v.opts.IntegrateOptions)
		if !errors.Is(err, ErrFull) {
			return err
		}
		state, failed := readState(ctx, v.d, v.State)
		if failed == nil {
			state[backend.VolumeRefused] = 0
			failed = v.d.Copy(ctx, v.State, tensor.Must(tensor.Of(state[:], len(state))))
		}
		blocks := 2 * v.Keys.Dim(0)
		if v.opts.MaxBlocks != 0 {
			blocks = min(blocks, v.opts.MaxBlocks)
		}
		switch {
		case failed != nil:
			return failed
		case blocks <= v.Keys.Dim(0):
			return err
		}
		if err := v.grow(ctx, blocks, int(state[backend.VolumeBlocks])); err != nil {
			return err
		}
	}
}

// grow gives the volume more blocks, and keeps those in use.
func (v *Volume) grow(ctx context.Context, blocks, used int) error {
	old := *v
	err := v.alloc(blocks)
	for i, to := range v.blocks() {
		if from := old.blocks()[i]; err == nil && to != nil {
			err = copyBlocks(ctx, v.d, to, from, used)
		}
	}
	unused := &old
	if err != nil {
		failed := *v
		*v, unused = old, &failed
	}
	for i, t := range unused.blocks() {
		if t != nil && t != v.blocks()[i] {
			err = errors.Join(err, t.Close())
		}
	}
	return err
}

func (v *Volume) blocks() []*tensor.Tensor {
	return []*tensor.Tensor{v.Keys, v.Distance, v.Weight, v.Color}
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
}

// Download returns a copy of the blocks in use.
func (v *Volume) Download(ctx context.Context) (VolumeBlocks, error) {
	n, err := v.Blocks(ctx)
	if err != nil {
		return VolumeBlocks{}, err
	}
	keys := make([]int32, 3*n)
	out := VolumeBlocks{Keys: make([][3]int32, n), Distance: make([]float32, n*BlockVoxels), Weight: make([]float32, n*BlockVoxels)}
	errs := []error{
		copyBlocks(ctx, v.d, tensor.Must(tensor.Of(keys, n, 3)), v.Keys, n),
		copyBlocks(ctx, v.d, tensor.Must(tensor.Of(out.Distance, n, BlockVoxels)), v.Distance, n),
		copyBlocks(ctx, v.d, tensor.Must(tensor.Of(out.Weight, n, BlockVoxels)), v.Weight, n),
	}
	if v.Color != nil {
		out.Color = make([]float32, 3*len(out.Weight))
		errs = append(errs, copyBlocks(ctx, v.d, tensor.Must(tensor.Of(out.Color, n, BlockVoxels, 3)), v.Color, n))
	}
	for i := range out.Keys {
		out.Keys[i] = [3]int32(keys[3*i:])
	}
	return out, errors.Join(errs...)
}

// Close releases the tensors. Close twice is fine.
func (v *Volume) Close() (err error) {
	for _, t := range append(v.blocks(), v.State) {
		if t != nil {
			err = errors.Join(err, t.Close())
		}
	}
	return err
}
