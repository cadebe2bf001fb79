package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// needGPU skips the test where there is no GPU, and fails it where there must be one.
func needGPU(t *testing.T) {
	t.Helper()
	d, err := ops.Open("cuda")
	if err == nil {
		require.NoError(t, d.Close())
		return
	}
	if os.Getenv("ROBOCACHE_REQUIRE_GPU") == "1" {
		t.Fatal(err)
	}
	t.Skip("no GPU: ", err)
}

func TestCUDAWritesTheSameArrays(t *testing.T) {
	needGPU(t)
	for _, args := range [][]string{
		{"testdata/ramp.npz"},
		{"testdata/padded.npz", "--method=nearest", "--dtype=f16"},
		{"testdata/padded.npz", "--hz=1000", "--max-gap=15ms", "--fill-gaps"},
		{"testdata/ends.npz", "--edge=extrapolate"},
		{"testdata/bf16.npz", "--in-dtype=bf16"},
		{flight, "--hz=200", "--method=linear", "--range=union", "--edge=fill"},
	} {
		var files [2]*npz.File
		for i, backend := range []string{"cpu", "cuda:0"} {
			out := filepath.Join(t.TempDir(), "o.npz")
			good(t, append([]string{"resample", "-o", out, "--backend", backend}, args...)...)
			files[i] = open(t, out)
		}
		require.Equal(t, files[0].Names(), files[1].Names())
		for _, name := range files[0].Names() {
			h, err := files[0].Header(name)
			require.NoError(t, err)
			switch h.Descr {
			case "<f4":
				sameNumbers[float32](t, files, name)
			case "<f8":
				sameNumbers[float64](t, files, name)
			case "<f2":
				assert.Equal(t, array[tensor.Float16](t, files[0], name), array[tensor.Float16](t, files[1], name), name)
			case "<u2":
				assert.Equal(t, array[int32](t, files[0], name), array[int32](t, files[1], name), name)
			case "<i8":
				assert.Equal(t, array[int64](t, files[0], name), array[int64](t, files[1], name), name)
			case "|u1":
				assert.Equal(t, array[uint8](t, files[0], name), array[uint8](t, files[1], name), name)
			}
		}
	}
}

// sameNumbers wants equal bits, but for a NaN that equals any NaN.
func sameNumbers[T float32 | float64](t *testing.T, files [2]*npz.File, name string) {
	t.Helper()
	cpu, cuda := array[T](t, files[0], name), array[T](t, files[1], name)
	require.Len(t, cuda, len(cpu))
	for i := range cpu {
		a, b := float64(cpu[i]), float64(cuda[i])
		if math.Float64bits(a) != math.Float64bits(b) && (a == a || b == b) {
			t.Fatalf("%s: element %d is %v on the CPU, %v on the GPU", name, i, a, b)
		}
	}
}

func TestCUDASlerpsAsTheCPUDoes(t *testing.T) {
	needGPU(t)
	args := []string{"--hz=50", "--stream=vehicle_attitude"}
	want := array[float32](t, resampleTo(t, flight, args...), "vehicle_attitude.values")
	got := array[float32](t, resampleTo(t, flight, append(args, "--backend=cuda")...), "vehicle_attitude.values")
	// 4 * 2^-24 on either side of the true value, components of at most 1.
	assert.InDeltaSlice(t, want, got, 8*0x1p-24)
}

func TestCUDAFindsBadTimes(t *testing.T) {
	needGPU(t)
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": column[float32](0, 1, 2), "times": vec[int64](0, 2, 1), "targets": vec[int64](1)})
	out := filepath.Join(t.TempDir(), "o.npz")
	code, _, stderr := execute("resample", in, "-o", out, "--backend=cuda")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "row 0, index 2")
	assert.NoFileExists(t, out)
}
