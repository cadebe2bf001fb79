package faultsweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// Pipeline opens a device, uploads a recording, resamples it by a plan and by a graph of that plan, fuses streams and draws windows.
// It checks the results and closes everything, even if a step fails.
func Pipeline(drv *cudadrv.Driver) (err error) {
	b, err := cuda.New(drv, 0)
	if err != nil {
		return err
	}
	dev, err := ops.NewDevice(b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	if err := resample(dev); err != nil {
		return err
	}
	if err := fuse(dev); err != nil {
		return err
	}
	return draw(dev)
}

// closer closes values in reverse order of their opening, and joins the errors.
type closer struct {
	err  error
	list []interface{ Close() error }
}

func (c *closer) close() error {
	for i := len(c.list) - 1; i >= 0; i-- {
		c.err = errors.Join(c.err, c.list[i].Close())
	}
	return c.err
}

func keep[T interface{ Close() error }](c *closer, x T, err error) T {
	if c.err = errors.Join(c.err, err); err == nil {
		c.list = append(c.list, x)
	}
	return x
}

func resample(dev *ops.Device) (err error) {
	var c closer
	defer func() { err = c.close() }()
	host := tensor.Must(tensor.Of([]float32{0, 10, 20, 30, 40, 50}, 3, 2))
	args := ops.ResampleArgs{Targets: ops.Uniform(5, 1e8, 3)}
	for _, x := range []struct {
		to  **tensor.Tensor
		src *tensor.Tensor
	}{{&args.Src, host}, {&args.SrcTimes, tensor.Must(tensor.Of([]int64{0, 10, 20}, 3))}} {
		up, err := dev.Upload(context.Background(), x.src)
		if *x.to = keep(&c, up, err); err != nil {
			return nil
		}
	}
	dst, err := dev.Alloc(tensor.F32, 3, 2)
	if args.Dst = keep(&c, dst, err); err != nil {
		return nil
	}
	st, err := dev.NewQueue()
	if c.err = err; err != nil {
		return nil
	}
	// The queue is closed first, even after an error, because Close waits for the work that uses the other values.
	defer func() { c.err = errors.Join(c.err, st.Close()) }()
	// A channel table is part of Slerp and the kinds like it, and of InterpAngle, which fits any width.
	for _, kind := range []ops.Interp{ops.InterpLinear, ops.InterpAngle} {
		plan, err := dev.PlanResample(args, ops.ResampleOptions{Interp: kind, Period: 1e6})
		if keep(&c, plan, err); err != nil {
			return nil
		}
		if c.err = errors.Join(plan.Run(st), st.Synchronize(context.Background())); c.err != nil {
			return nil
		}
		if c.err = right(dev, args.Dst); c.err != nil {
			return nil
		}
		g, err := st.Capture(func() error { return plan.Run(st) })
		if keep(&c, g, err); err != nil {
			return nil
		}
		ctx, cancel := context.WithCancel(context.Background()) // with a context that can end, Synchronize polls the queue
		c.err = errors.Join(g.Launch(st), st.Synchronize(ctx))
		cancel()
		if c.err != nil {
			return nil
		}
		if c.err = right(dev, args.Dst); c.err != nil {
			return nil
		}
		if kind == ops.InterpLinear {
			continue
		}
		second, err := dev.Alloc(tensor.F32, 3, 2)
		if keep(&c, second, err); err != nil {
			return nil
		}
		other := args
		other.Dst = second
		two, err := dev.PlanResample(other, ops.ResampleOptions{})
		if keep(&c, two, err); err != nil {
			return nil
		}
		batch, err := dev.PlanBatch([]*ops.Plan{plan, two}, ops.BatchOptions{})
		if keep(&c, batch, err); err != nil {
			return nil
		}
		if c.err = errors.Join(batch.Run(st), st.Synchronize(context.Background())); c.err != nil {
			return nil
		}
		if c.err = right(dev, second); c.err != nil {
			return nil
		}
	}
	return nil
}

// right returns an error unless dst has the values of linear interpolation halfway between samples. The last target takes the last
// sample.
func right(dev *ops.Device, dst *tensor.Tensor) error {
	host := tensor.Must(tensor.New(tensor.F32, 3, 2))
	if err := dev.Copy(context.Background(), host, dst); err != nil {
		return err
	}
	want := [6]float32{10, 20, 30, 40, 40, 50}
	data, err := tensor.Data[float32](host)
	if err != nil {
		return err
	}
	if got := [6]float32(data); got != want {
		return fmt.Errorf("faultsweep: got %v, want %v", got, want)
	}
	return nil
}
