// Command backward writes gradients by Resample, and the inputs that they were computed from, so that
// bench/peers/torch_backward.py can compare them with torch's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

func main() {
	device := flag.String("device", "auto", "of robocache")
	dir := flag.String("out", "build/backward", "folder to write to")
	flag.Parse()
	if err := run(*device, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "backward:", err)
		os.Exit(1)
	}
}

func run(device, dir string) error {
	dev, err := ops.Open(device)
	if err != nil {
		return err
	}
	err = os.MkdirAll(dir, 0o755)
	for i, shape := range [][4]int{{64, 1000, 500, 512}, {256, 500, 250, 7}, {3, 33, 1000, 64}} {
		for kind := ops.InterpLinear; kind <= ops.InterpNearest && err == nil; kind++ {
			err = write(dev, dir, fmt.Sprintf("%d-%v", i, kind), kind, shape)
		}
	}
	return errors.Join(err, dev.Close())
}

// write computes the float32 gradients [B,S,D] of the samples from random gradients of the targets. shape is B, S, targets and D.
// Some targets lie on samples and some beyond the ends.
func write(dev *ops.Device, dir, name string, kind ops.Interp, shape [4]int) error {
	b, s, t, d := shape[0], shape[1], shape[2], shape[3]
	rng := rand.New(rand.NewPCG(1, uint64(s)))
	grad, times, targets := make([]float32, b*t*d), make([]float64, 0, b*s), make([]float64, 0, b*t)
	for i := range grad {
		grad[i] = float32(rng.NormFloat64())
	}
	for range b {
		timestamps, at := make([]float64, s), make([]float64, t)
		for k := range timestamps {
			timestamps[k] = float64(k) + .8*rng.Float64()
		}
		for i := range at {
			if at[i] = float64(s) * (1.02*rng.Float64() - .01); i%7 == 0 {
				at[i] = timestamps[rng.IntN(s)]
			}
		}
		slices.Sort(at)
		times, targets = append(times, timestamps...), append(targets, at...)
	}
	args := ops.ResampleBackwardArgs{DstGrad: tensor.Must(tensor.Of(grad, b, t, d)), SrcTimes: tensor.Must(tensor.Of(times, b, s)), Targets: ops.At(tensor.Must(tensor.Of(targets, b, t)))}
	got, err := dev.ResampleBackward(context.Background(), args, ops.ResampleOptions{Interp: kind})
	if err != nil {
		return err
	}
	for what, x := range map[string]*tensor.Tensor{"grad": args.DstGrad, "times": args.SrcTimes, "targets": args.Targets.Times, "ours": got.SrcGrad} {
		f, err := os.Create(filepath.Join(dir, name+"."+what+".npy"))
		if err != nil {
			return err
		}
		if err := errors.Join(npy.Write(f, x), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
