package cudadrv_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
)

// Open's errors tell apart what a program wants to say to its user.
func ExampleOpen() {
	d, err := cudadrv.Open()
	switch {
	case errors.Is(err, cudadrv.ErrDriverMissing):
		fmt.Println("no NVIDIA driver on this machine")
	case errors.Is(err, cudadrv.ErrDriverTooOld):
		fmt.Println("please update the NVIDIA driver")
	case err != nil:
		fmt.Println("no CUDA:", err)
	default:
		fmt.Println("CUDA", cudadrv.FormatVersion(d.Version()))
	}
}

// A function table of Go functions takes the driver's place, here an old one.
func ExampleNewDriver() {
	table := &cudadrv.FunctionTable{Path: "example", Lookup: func(name string, version int) (cudadrv.Proc, bool) {
		return func(args []uintptr) uintptr {
			if name == "cuDriverGetVersion" {
				binary.LittleEndian.PutUint32(cudadrv.View(args[0], 4), 11040)
			}
			return 0
		}, true
	}}
	_, err := cudadrv.NewDriver(table)
	fmt.Println(errors.Is(err, cudadrv.ErrDriverTooOld))
	fmt.Println(err)
	// Output:
	// true
	// cudadrv: the CUDA driver is too old: it supports CUDA 11.4, wanted 11.8 (driver 520) or newer: example
}

// A kernel is bound once, with its arguments checked against its own list, and run many times.
func ExampleLaunch() {
	double := func(c *cudadrv.Context, image []byte, x cudadrv.DevicePtr, n int32) error {
		m, err := c.LoadModule(image)
		if err != nil {
			return err
		}
		defer m.Close()
		k, err := m.Kernel("double_f32")
		if err != nil {
			return err
		}
		l, err := k.Bind(cudadrv.LaunchConfig{Grid: [3]uint32{uint32(n+255) / 256}, Block: [3]uint32{256}}, x, n)
		if err != nil {
			return err
		}
		s, err := c.NewStream(cudadrv.StreamOptions{})
		if err != nil {
			return err
		}
		defer s.Close()
		for range 10 {
			if err := l.Run(s); err != nil {
				return err
			}
		}
		return s.Synchronize(context.Background())
	}
	_ = double
}

// An Array is device memory as elements of a Go type. Here it is that of the simulated device.
func ExampleArray() {
	run := func() error {
		driver, err := cudadrv.NewDriver(cudasim.New(cudasim.Config{}).FunctionTable())
		if err != nil {
			return err
		}
		device, err := driver.Device(0)
		if err != nil {
			return err
		}
		c, err := device.Primary()
		if err != nil {
			return err
		}
		defer c.Close()
		ctx := context.Background()
		a, err := cudadrv.ArrayOf(ctx, c, []float32{1, 2, 3, 4, 5, 6})
		if err != nil {
			return err
		}
		defer a.Close()
		middle, err := a.Slice(2, 4)
		if err != nil {
			return err
		}
		if err := middle.CopyFrom(ctx, []float32{30, 40}); err != nil {
			return err
		}
		list := make([]float32, a.Len())
		if err := a.CopyTo(ctx, list); err != nil {
			return err
		}
		fmt.Println(list, a.Size(), "bytes,", middle.Ptr()-a.Ptr(), "bytes in")
		fmt.Println(middle.CopyTo(ctx, list))
		return nil
	}
	if err := run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [1 2 30 40 5 6] 24 bytes, 8 bytes in
	// cudadrv: CopyTo: the length is 6, want 2, the array's
}
