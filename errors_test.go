package robocache_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/ulog"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

// An error is found by the name of any package that has one for its meaning, and by no name of another meaning.
func TestErrorsMeanTheSameInEveryPackage(t *testing.T) {
	ofDrv, ofOps := driverErrors(t), opsErrors(t)
	kinds := map[string]struct {
		names []error // what packages call the meaning
		errs  []error // what packages give for it
	}{
		"shape": {
			[]error{tensor.ErrShape, ops.ErrShape, dataset.ErrShape, viz.ErrShape, cudadrv.ErrShape},
			[]error{second(tensor.Of([]float32{1}, 2)), ofOps["shape"], second(dataset.NewCloud([]float32{1}, nil, nil)), drawn(blank(tensor.I32, 4)), ofDrv["shape"]},
		},
		"dtype": {
			[]error{tensor.ErrDType, ops.ErrDType, dataset.ErrDType, viz.ErrDType},
			[]error{second(tensor.ParseDType("f8")), ofOps["dtype"], cloud(blank(tensor.I32, 1, 3)), drawn(blank(tensor.F32, 1, 3))},
		},
		"strides": {
			[]error{tensor.ErrStride, ops.ErrStride},
			[]error{second(tensor.Data[float32](tensor.Must(blank(tensor.F32, 4, 4).Slice(1, 0, 2)))), ofOps["strides"]},
		},
		"device": {
			[]error{tensor.ErrWrongDevice, ops.ErrWrongDevice, dataset.ErrWrongDevice, cudadrv.ErrWrongDevice},
			[]error{second(tensor.Data[float32](elsewhere(tensor.F32, 4))), ofOps["device"], cloud(elsewhere(tensor.F32, 1, 3)), npy.Write(io.Discard, elsewhere(tensor.F32, 4)), drawn(elsewhere(tensor.I32, 1, 3)), ofDrv["device"]},
		},
		"missing": {
			[]error{ops.ErrMissing, dataset.ErrMissing, viz.ErrMissing, cudadrv.ErrMissing},
			[]error{ofOps["missing"], cloud(nil), npy.Write(io.Discard, nil), drawn(nil), ofDrv["missing"]},
		},
		"option": {
			[]error{ops.ErrOption, dataset.ErrOption, viz.ErrOption, cudadrv.ErrOption},
			[]error{ofOps["option"], npz.NewWriter(io.Discard, npz.Options{}).Add("", blank(tensor.F32, 1)),
				viz.WriteVoxelsPNG(io.Discard, viz.Voxels{Coords: blank(tensor.I32, 1, 3)}, viz.Options{}), ofDrv["option"]},
		},
		"closed": {
			[]error{tensor.ErrClosed, ops.ErrClosed, dataset.ErrClosed, cudadrv.ErrClosed, fs.ErrClosed},
			[]error{second(tensor.Data[float32](shut())), ofOps["closed"], npy.Write(io.Discard, shut()), readClosed(t), ofDrv["closed"]},
		},
		"too large": {
			[]error{tensor.ErrTooLarge, ops.ErrTooLarge, dataset.ErrTooLarge},
			[]error{second(tensor.NumElements(1<<40, 1<<40)), ofOps["too large"], second(npy.Read(npyHeader("(4611686018427387904, 4)")))},
		},
		"memory": {
			[]error{tensor.ErrOutOfMemory, ops.ErrOutOfMemory, cudadrv.ErrOutOfMemory},
			[]error{second(tensor.New(tensor.U8, 1<<60)), ofOps["memory"], ofOps["memory of a device"], ofDrv["memory"]},
		},
		"unsupported": {
			[]error{dataset.ErrUnsupported, cudadrv.ErrUnsupported, errors.ErrUnsupported},
			[]error{second(ulog.Parse([]byte("ULog\x01\x12\x35\x09\x00\x00\x00\x00\x00\x00\x00\x00"), ulog.Options{})), ofDrv["unsupported"]},
		},
		"name": {
			[]error{dataset.ErrNotFound, cudadrv.ErrNotFound},
			[]error{second(archive(t).Tensor("y")), ofDrv["name"]},
		},
	}
	for meaning, kind := range kinds {
		for i, err := range kind.errs {
			if !assert.Error(t, err, "%s, error %d", meaning, i) {
				continue
			}
			for other, k := range kinds {
				for _, name := range k.names {
					assert.Equal(t, other == meaning, errors.Is(err, name), "%s, error %d (%v), as the %s of a package: %v", meaning, i, err, other, name)
				}
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func blank(dtype tensor.DType, shape ...int) *tensor.Tensor {
	return tensor.Must(tensor.New(dtype, shape...))
}

// away is memory of a device that no backend here has.
type away struct{ tensor.Buffer }

func (away) Size() int64    { return 64 }
func (away) Device() string { return "away:0" }

func elsewhere(dtype tensor.DType, shape ...int) *tensor.Tensor {
	return tensor.Must(tensor.OnDevice(away{}, dtype, shape...))
}

func shut() *tensor.Tensor {
	t := blank(tensor.F32, 1)
	t.Close()
	return t
}

func drawn(coords *tensor.Tensor) error {
	return viz.WriteVoxelsPNG(io.Discard, viz.Voxels{Coords: coords, Size: [3]float64{1, 1, 1}}, viz.Options{})
}

func cloud(points *tensor.Tensor) error {
	return second(dataset.CloudOf(points, blank(tensor.F32, 1, 0), nil))
}

// archive is an open file that holds x.
func archive(t *testing.T) *npz.File {
	var out bytes.Buffer
	w := npz.NewWriter(&out, npz.Options{})
	require.NoError(t, errors.Join(w.Add("x", blank(tensor.F32, 1)), w.Close()))
	path := filepath.Join(t.TempDir(), "x.npz")
	filetest.Write(t, path, out.Bytes())
	f, err := npz.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func readClosed(t *testing.T) error {
	f := archive(t)
	require.NoError(t, f.Close())
	return second(f.Tensor("x"))
}

func npyHeader(shape string) io.Reader {
	head := "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n"
	return bytes.NewReader(append([]byte("\x93NUMPY\x01\x00"+string(rune(len(head)))+"\x00"), head...))
}

// opsErrors are errors of a Resample that would work, each with one thing spoiled, and of the device.
func opsErrors(t *testing.T) map[string]error {
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	sim, err := ops.Open("sim")
	require.NoError(t, err)
	defer sim.Close()
	given := map[string]error{
		"memory":             second(cpu.Alloc(tensor.U8, 1<<60)),
		"memory of a device": second(sim.Alloc(tensor.U8, 1<<50)),
		"too large":          second(cpu.Alloc(tensor.F32, 1<<61)),
	}
	resample := func(src, times *tensor.Tensor, opts ops.ResampleOptions) error {
		args := ops.ResampleArgs{Src: src, SrcTimes: times, Targets: ops.At(tensor.Must(tensor.Of([]int64{1}, 1)))}
		return second(cpu.Resample(context.Background(), args, opts))
	}
	src, times := blank(tensor.F32, 1, 4, 2), blank(tensor.I64, 4)
	require.NoError(t, resample(src, times, ops.ResampleOptions{}))
	given["shape"] = resample(blank(tensor.F32, 4), times, ops.ResampleOptions{})
	given["dtype"] = resample(blank(tensor.I32, 1, 4, 2), times, ops.ResampleOptions{})
	given["strides"] = resample(tensor.Must(blank(tensor.F32, 1, 4, 4).AsStrided([]int{1, 4, 2}, []int{16, 4, 2}, 0)), times, ops.ResampleOptions{})
	given["device"] = resample(elsewhere(tensor.F32, 1, 4, 2), times, ops.ResampleOptions{})
	given["missing"] = resample(nil, times, ops.ResampleOptions{})
	given["option"] = resample(src, times, ops.ResampleOptions{Interp: 99})
	given["closed"] = resample(shut(), times, ops.ResampleOptions{})
	return given
}

// driverErrors are errors of the simulated device.
func driverErrors(t *testing.T) map[string]error {
	open := func() (*cudadrv.Device, *cudadrv.Context) {
		drv, err := cudadrv.NewDriver(cudasim.New(cudasim.Config{Memory: 1 << 20}).FunctionTable())
		require.NoError(t, err)
		dev, err := drv.Device(0)
		require.NoError(t, err)
		ctx, err := dev.Primary()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, ctx.Close()) })
		return dev, ctx
	}
	dev, ctx := open()
	_, other := open()
	stream, err := other.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	module, err := ctx.LoadModule([]byte(".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"))
	require.NoError(t, err)
	kernel, err := module.Kernel("k")
	require.NoError(t, err)
	own, err := ctx.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	given := map[string]error{
		"shape":       second(ctx.Malloc(context.Background(), -1)),
		"memory":      second(ctx.Malloc(context.Background(), 1<<40)),
		"device":      second(ctx.MallocAsync(stream, 1)),
		"missing":     second(ctx.LoadModule(nil)),
		"option":      second(dev.Driver().Device(1)),
		"name":        second(module.Kernel("other")),
		"unsupported": second(kernel.Bind(cudadrv.LaunchConfig{Grid: [3]uint32{2}, Block: [3]uint32{1}, Cluster: [3]uint32{2}})),
	}
	require.NoError(t, errors.Join(module.Close(), stream.Close(), own.Close()))
	given["closed"] = own.Memset8(0, 0, 1)
	return given
}
