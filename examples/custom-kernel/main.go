package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
)

//go:embed deadband.ptx
var kernels []byte

func main() {
	device := flag.String("device", "auto", "cuda, sim for the simulated device, or auto: sim if there is no GPU")
	flag.Parse()
	if err := run(*device, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "custom-kernel:", err)
		os.Exit(1)
	}
}

// open gives the first device of a driver. What follows is the same for both.
func open(device string) (*cudadrv.Device, error) {
	drv, err := (*cudadrv.Driver)(nil), error(nil)
	switch device {
	case "cuda":
		drv, err = cudadrv.Open()
	case "sim":
		drv, err = cudadrv.NewDriver(cudasim.New(cudasim.Config{}).FunctionTable())
	default:
		return nil, fmt.Errorf("-device: got %q, want auto, cuda or sim", device)
	}
	if err != nil {
		return nil, err
	}
	return drv.Device(0)
}

func run(device string, out io.Writer) (err error) {
	if device == "auto" {
		device = "cuda"
		if _, err := cudadrv.Open(); err != nil {
			fmt.Fprintln(out, "no GPU: on the simulated device")
			device = "sim"
		}
	}
	dev, err := open(device)
	if err != nil {
		return err
	}
	ctx, err := dev.Primary()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ctx.Close()) }()
	module, err := ctx.LoadModule(kernels)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, module.Close()) }()
	kernel, err := module.Kernel("deadband")
	if err != nil {
		return err
	}
	// Needed with drivers before CUDA 12.4; newer ones tell the sizes themselves, and this is checked against them.
	if err := kernel.Declare([]int{8, 8, 4, 4}); err != nil {
		return err
	}
	stream, err := ctx.NewStream(cudadrv.StreamOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()

	background := context.Background()
	stick := []float32{-1, -0.31, -0.05, -0.049, 0, 0.02, 0.05, 0.0625, 0.4, 1}
	in, err := cudadrv.ArrayOf(background, ctx, stick)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	result, err := cudadrv.NewArray[float32](background, ctx, len(stick))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	n := uint32(len(stick))
	launch, err := kernel.Bind(cudadrv.LaunchConfig{Grid: [3]uint32{(n + 31) / 32}, Block: [3]uint32{32}}, result.Ptr(), in.Ptr(), float32(0.05), n)
	if err != nil {
		return err
	}
	got := make([]float32, len(stick))
	if err := errors.Join(launch.Run(stream), stream.Synchronize(background), result.CopyTo(background, got)); err != nil {
		return err
	}
	for i, x := range stick {
		if _, err := fmt.Fprintf(out, "%7.4f -> %7.4f\n", x, got[i]); err != nil {
			return err
		}
	}
	return nil
}
