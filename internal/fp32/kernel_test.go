package fp32_test

import (
	_ "embed"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/gputest"
)

//go:embed testdata/functions.ptx
var functions []byte

// results are what functions.cu writes for each number, in order.
const results = 16

func TestKernelsComputeTheSameBits(t *testing.T) {
	gputest.Both(t, func(t *testing.T) {
		numbers := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 128, 129, -126.5, -127, -149.5, -150, -151, 4, -4, 0x1p-149, -0x1p-149, 0x1.fffffep-127, math.MaxFloat32,
			float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
		rng := rand.New(rand.NewPCG(3, 4))
		for range 30_000 {
			numbers = append(numbers, math.Float32frombits(rng.Uint32()), float32(rng.NormFloat64()), float32(rng.NormFloat64()*50))
		}
		got, n := run(t, numbers), len(numbers)
		wrong := 0
		for i, x := range numbers {
			y, z := numbers[(i+1)%n], numbers[(i+7)%n]
			words := fp32.Words(uint64(math.Float32bits(y))<<32|uint64(math.Float32bits(z)), uint32(i), 7, uint64(math.Float32bits(x))<<20)
			dropped := uint32(0)
			if fp32.Dropped(uint64(math.Float32bits(y)), math.Float32bits(x), uint32(i), uint64(math.Float32bits(z)), 0.25) {
				dropped = 1
			}
			for f, want := range [results]uint32{number(fp32.FMA(x, y, z)), number(fp32.Exp2(x)), number(fp32.Exp2Down(x)), number(fp32.Log2(x)), number(fp32.Log(x)), number(fp32.Exp(x)),
				number(fp32.Erf(x)), number(fp32.GELU(x)), number(fp32.GELUGrad(x)), number(fp32.Sqrt(x)), words[0], words[1], words[2], words[3], dropped, math.Float32bits(fp32.Normal(math.Float32bits(x)))} {
				g := got[f*n+i]
				if f < 10 {
					g = number(math.Float32frombits(g))
				}
				if g != want && wrong < 5 {
					assert.Fail(t, "other bits", "result %d of %v, %v, %v: got %#x, want %#x", f, x, y, z, g, want)
					wrong++
				}
			}
		}
	})
}

// number is a float's bits; all NaN are one.
func number(x float32) uint32 {
	if x != x {
		return 0x7fffffff
	}
	return math.Float32bits(x)
}

// run launches functions.cu.
func run(t *testing.T, numbers []float32) []uint32 {
	ctx := gputest.Context(t)
	module, err := ctx.LoadModule(functions)
	require.NoError(t, err)
	defer func() { require.NoError(t, module.Close()) }()
	kernel, err := module.Kernel("functions")
	require.NoError(t, err)
	require.NoError(t, kernel.Declare([]int{8, 8, 4}))
	stream, err := ctx.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	in, err := cudadrv.ArrayOf(t.Context(), ctx, numbers)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close()) }()
	out, err := cudadrv.NewArray[uint32](t.Context(), ctx, results*len(numbers))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	n := uint32(len(numbers))
	launch, err := kernel.Bind(cudadrv.LaunchConfig{Grid: [3]uint32{(n + 255) / 256}, Block: [3]uint32{256}}, out.Ptr(), in.Ptr(), n)
	require.NoError(t, err)
	require.NoError(t, launch.Run(stream))
	require.NoError(t, stream.Synchronize(t.Context()))
	got := make([]uint32, results*len(numbers))
	require.NoError(t, out.CopyTo(t.Context(), got))
	return got
}

// The PTX is that of its source and of ptx/fp32.cuh.
func TestPTXIsWhatItsSourceGives(t *testing.T) {
	clang, err := exec.LookPath("clang++-19")
	if err != nil {
		t.Skip("clang++-19 is not installed")
	}
	to := filepath.Join(t.TempDir(), "functions.ptx")
	cmd := exec.Command(clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "--cuda-feature=+ptx74", "-nocudainc", "-nocudalib", "--cuda-path=/nonexistent",
		"-ffp-contract=off", "-O3", "-std=c++17", "-S", "-o", to, "functions.cu")
	cmd.Dir = "testdata"
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	made := filetest.Read(t, to)
	assert.Equal(t, string(functions), string(made), "compile testdata/functions.cu anew, as it says")
}
