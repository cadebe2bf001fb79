package cudadrv_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/robocache/robocache/cudadrv"
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

// A table of Go functions takes the driver's place, here an old one.
func ExampleNewDriver() {
	table := &cudadrv.Table{Path: "example", Lookup: func(name string, version int) (cudadrv.Proc, bool) {
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
