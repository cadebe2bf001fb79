//go:build unix

package main

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// aCase is a folder of testdata/cases on a backend.
type aCase struct {
	*testing.T
	dir, backend string
}

func (c *aCase) in(name string) string { return filepath.Join(c.dir, name) }

// good runs a command that must succeed. It returns the output file and the messages.
func (c *aCase) good(args ...string) (f *npz.File, stdout, stderr string) {
	c.Helper()
	out := filepath.Join(c.TempDir(), "out.npz")
	stdout, stderr = good(c.T, append(args, "-o", out, "--backend", c.backend)...)
	return open(c.T, out), stdout, stderr
}

// bad runs a command that must fail, and leave nothing.
func (c *aCase) bad(code int, args ...string) (stderr string) {
	c.Helper()
	dir := c.TempDir()
	got, stdout, stderr := execute(append(args, "-o", filepath.Join(dir, "out.npz"), "--backend", c.backend)...)
	assert.Equal(c, code, got, stderr)
	assert.Empty(c, stdout)
	assert.Empty(c, listed(c.T, dir))
	return stderr
}

// floats returns an array as float64.
func (c *aCase) floats(f *npz.File, name string) []float64 {
	c.Helper()
	a, err := f.Tensor(name)
	require.NoError(c, err)
	list, err := tensor.Floats(a)
	require.NoError(c, err)
	return list
}

func same(n int, v float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// each runs the test of a folder in testdata/cases, or of a case without input, on each available backend.
func each(t *testing.T, name string, run func(c *aCase)) {
	thorough.SkipRace(t, thorough.Programs)
	for _, backend := range []string{"cpu", "sim", "cuda"} {
		t.Run(backend, func(t *testing.T) {
			if backend == "cuda" {
				needGPU(t)
			}
			run(&aCase{T: t, dir: filepath.Join("testdata/cases", name), backend: backend})
		})
	}
}

func TestAngleMixesTwoRanges(t *testing.T) {
	each(t, "angle-mixes-two-ranges", func(c *aCase) {
		f, _, _ := c.good("resample", c.in("heading.npz"), "--method", "angle", "--period", "360")
		assert.Equal(c, same(6, 350), c.floats(f, "values"), "one number, of the recording's own range")
	})
}

func TestBinOfFiveColumns(t *testing.T) {
	each(t, "bin-of-five-columns", func(c *aCase) {
		for _, args := range [][]string{{}, {"--columns", "x,y,z,intensity,ring"}} {
			_, stdout, _ := c.good(append([]string{"voxelize", c.in("lidar.bin"), "--size", "1"}, args...)...)
			assert.Contains(c, stdout, "cloud: 40 points")
			assert.Contains(c, stdout, "features: intensity, ring")
		}
	})
}

func TestEventTopicShrinksClock(t *testing.T) {
	each(t, "event-topic-shrinks-clock", func(c *aCase) {
		f, _, _ := c.good("resample", c.in("flight.ulg"), "--hz", "10")
		assert.Equal(c, []int{300}, shape(c.T, f, "times"))
		valid := array[uint8](c.T, f, "mode.valid")
		assert.Equal(c, [4]uint8{0, 1, 1, 1}, [4]uint8{valid[99], valid[100], valid[104], valid[299]}, "it holds to the end")
	})
}

func TestFloat32EpochCollapses(t *testing.T) {
	each(t, "float32-epoch-collapses", func(c *aCase) {
		for _, args := range [][]string{{}, {"--hz", "10"}} {
			said := c.bad(exitInput, append([]string{"resample", c.in("epoch.npz")}, args...)...)
			assert.Contains(c, said, "float32 seconds that lie 128 s apart, so that 5 timestamps are 1 distinct ones; want float64 seconds")
		}
	})
}

func TestFuseDefaultF32LosesLatlon(t *testing.T) {
	each(t, "fuse-default-f32-loses-latlon", func(c *aCase) {
		f, _, _ := c.good("fuse", c.in("gps.ulg"), "--hz", "10")
		distinct := map[float64]bool{}
		values, width := c.floats(f, "values"), shape(c.T, f, "values")[1]
		for i := 0; i < len(values); i += width {
			distinct[values[i]] = true
		}
		assert.Len(c, distinct, 50)
		_, stdout, _ := c.good("fuse", c.in("gps.ulg"), "--hz", "10", "--dtype", "f32")
		assert.Regexp(c, `vehicle_global_position, in f32: \d+ doubles were rounded, by up to `, stdout)
	})
}

func TestHz30PreviousRepeatsFrames(t *testing.T) {
	each(t, "hz30-previous-repeats-frames", func(c *aCase) {
		f, _, _ := c.good("resample", c.in("episode.npz"), "--hz", "30", "--method", "previous")
		want := make([]float64, 60)
		for i := range want {
			want[i] = float64(i)
		}
		assert.Equal(c, want, c.floats(f, "values"), "row i is frame i")
		assert.Equal(c, same(60, 0), c.floats(f, "age"))
	})
}

func TestInterruptLeavesTemporary(t *testing.T) {
	each(t, "interrupt-leaves-temporary", func(c *aCase) {
		times := make([]int64, 100_000)
		for i := range times {
			times[i] = int64(i) * 1e6
		}
		in := writeNPZ(c.T, map[string]*tensor.Tensor{"values": tensor.Must(tensor.New(tensor.F32, len(times), 4)), "times": tensor.Must(tensor.Of(times, len(times)))})
		dir := c.TempDir()
		cmd, _ := program(c.T, "resample", in, "-o", filepath.Join(dir, "out.npz"), "--hz", "2000", "--backend", "cpu")
		require.NoError(c, cmd.Start())
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		whenWriting(dir, false, ended)
		_ = cmd.Process.Signal(syscall.SIGINT)
		<-ended
		if !cmd.ProcessState.Success() {
			assert.Empty(c, listed(c.T, dir))
		}
	})
}

func TestLinearConstantInfinity(t *testing.T) {
	each(t, "linear-constant-infinity", func(c *aCase) {
		f, _, _ := c.good("resample", c.in("limits.npz"))
		inf := math.Inf(1)
		assert.Equal(c, []float64{inf, -inf, inf, inf, -inf, inf, inf, -inf, inf}, c.floats(f, "values"), "as numpy.interp")
	})
}

func TestNpzIntegerValues(t *testing.T) {
	each(t, "npz-integer-values", func(c *aCase) {
		for _, args := range [][]string{{}, {"--stream", "arm", "--stream", "gripper:previous"}} {
			f, stdout, _ := c.good(append([]string{"fuse", c.in("g.npz"), "--hz", "10"}, args...)...)
			assert.Regexp(c, `gripper .* previous`, stdout)
			columns, err := f.Strings("columns")
			require.NoError(c, err)
			values, width := c.floats(f, "values"), shape(c.T, f, "values")[1]
			for i, name := range columns {
				for at := i; strings.HasPrefix(name, "gripper") && at < len(values); at += width {
					assert.Equal(c, math.Trunc(values[at]), values[at], "held, not interpolated")
				}
			}
		}
	})
}

func TestNpzNamesWithSlash(t *testing.T) {
	each(t, "npz-names-with-slash", func(c *aCase) {
		f, stdout, _ := c.good("fuse", c.in("episode.npz"), "--hz", "10")
		assert.Contains(c, stdout, "/observations/qpos")
		streams, err := f.Strings("streams")
		require.NoError(c, err)
		assert.Contains(c, streams, "/observations/qpos")
		_, _, stderr := c.good("fuse", c.in("unused.npz"), "--hz", "10")
		assert.Contains(c, stderr, "not used: ")
		assert.Contains(c, stderr, "/action")
		_, _, _ = c.good("resample", c.in("episode.npz"), "--hz", "10", "--stream", "/observations/qpos")
	})
}

func TestOpen3dPlyDouble(t *testing.T) {
	each(t, "open3d-ply-double", func(c *aCase) {
		for _, file := range []string{"utm.ply", "utm.npy"} {
			_, stdout, _ := c.good("voxelize", c.in(file), "--preset", "open3d", "--size", "0.2")
			assert.Contains(c, stdout, "voxels: 267\n", file)
		}
	})
}

func TestPcdCountZero(t *testing.T) {
	each(t, "pcd-count-zero", func(c *aCase) {
		f, _, _ := c.good("voxelize", c.in("ouster.pcd"), "--size", "1", "--mode", "sparse")
		assert.Equal(c, []float64{0, 0, 0, 1, 1, 1, 2, 2, 2}, c.floats(f, "coords"))
		assert.Equal(c, []float64{0, 0, 0, 10, 1, 1, 20, 2, 2}, c.floats(f, "features"), "intensity, noise, range")
	})
}

func TestPcdLowercaseType(t *testing.T) {
	each(t, "pcd-lowercase-type", func(c *aCase) {
		f, stdout, _ := c.good("voxelize", c.in("lower.pcd"), "--size", "1", "--mode", "sparse")
		assert.Equal(c, []int{3, 3}, shape(c.T, f, "coords"))
		assert.Contains(c, stdout, "features: stamp, intensity\n")
	})
}

func TestPipeCalledCorrupt(t *testing.T) {
	each(t, "pipe-called-corrupt", func(c *aCase) {
		data, err := os.ReadFile(c.in("scan.pcd"))
		require.NoError(c, err)
		for _, name := range []string{"-", "/dev/stdin"} {
			cmd, _ := program(c.T, "voxelize", name, "-o", filepath.Join(c.TempDir(), "out.npz"), "--size", "1", "--backend", c.backend)
			cmd.Stdin = io.MultiReader(strings.NewReader(string(data)))
			out, err := cmd.CombinedOutput()
			require.NoError(c, err, string(out))
			assert.Contains(c, string(out), "cloud: 3 points")
		}
	})
}

func TestPlyVertexOverTwoLines(t *testing.T) {
	each(t, "ply-vertex-over-two-lines", func(c *aCase) {
		f, stdout, _ := c.good("voxelize", c.in("wrapped.ply"), "--size", "1", "--mode", "sparse")
		assert.Contains(c, stdout, "cloud: 3 points")
		assert.Contains(c, stdout, "features: red, green, blue\n")
		assert.Equal(c, []float64{255, 0, 0, 0, 255, 0, 0, 0, 255}, c.floats(f, "features"))
	})
}

func TestResampleShowsNoProgress(t *testing.T) { TestStepsAreTold(t) }

func TestSliceOfEmpty(t *testing.T) {
	each(t, "slice-of-empty", func(c *aCase) {
		f, _, _ := c.good("voxelize", c.in("none.npy"), "--size", "1", "--min", "0,0,0", "--max", "1,1,1")
		assert.Equal(c, []float64{0}, c.floats(f, "grid"))
		f, _, _ = c.good("resample", c.in("batch.npz"))
		assert.Empty(c, c.floats(f, "values"))
	})
}

func TestToleranceHasNoEffectOnLinear(t *testing.T) {
	each(t, "tolerance-has-no-effect-on-linear", func(c *aCase) {
		_, _, stderr := c.good("resample", c.in("t.npz"), "--tolerance", "10ms")
		assert.Contains(c, stderr, "tolerance has no effect")
	})
}

func TestUlogOneBackStep(t *testing.T) {
	each(t, "ulog-one-back-step", func(c *aCase) {
		f, stdout, stderr := c.good("resample", c.in("flight.ulg"), "--hz", "10")
		assert.True(c, f.Has("b.values"))
		assert.False(c, f.Has("a.values"))
		assert.Contains(c, stderr, "left out, time goes backwards at sample 7")
		assert.NotContains(c, stdout, " a ")
		f, _, stderr = c.good("resample", c.in("flight.ulg"), "--hz", "10", "--unordered", "sort")
		assert.True(c, f.Has("a.values"))
		assert.Contains(c, stderr, "a: 1 step back in time, sorted")
		assert.Contains(c, c.bad(exitInput, "resample", c.in("flight.ulg"), "--hz", "10", "--unordered", "error"), "stream a: ")
	})
}

func TestUlogOneBadMessage(t *testing.T) {
	each(t, "ulog-one-bad-message", func(c *aCase) {
		for _, file := range []string{"bad_length.ulg", "bad_key.ulg"} {
			_, stdout, stderr := c.good("resample", c.in(file), "--hz", "10")
			assert.Regexp(c, ` a +50 `, stdout, file)
			assert.Regexp(c, `lost: .*: 1, 21 bytes \(ulog: `, stderr, file)
			assert.Contains(c, c.bad(exitInput, "resample", c.in(file), "--hz", "10", "--strict"), "corrupt")
		}
	})
}

func TestUnionWithAZeroStamp(t *testing.T) {
	each(t, "union-with-a-zero-stamp", func(c *aCase) {
		said := c.bad(exitInput, "resample", c.in("flight.ulg"), "--hz", "10", "--range", "union")
		assert.Contains(c, said, "rtl covers 0.000 to ")
		_, stdout, stderr := c.good("resample", c.in("flight.ulg"), "--hz", "10")
		assert.Regexp(c, `clock: \d\d timestamps`, stdout)
		assert.Contains(c, stderr, "rtl: a timestamp of 0.000 s lies ")
	})
}

// Names in a file may have control characters, C1 of them too. No command prints them as they are.
func TestSafeInputs(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := sharedCase(t, "safe-inputs")
	for _, name := range []string{"esc.bag", "esc.csv", "esc.mcap", "esc.npz", "esc.safetensors", "c1.hdf5", "esc.pcd", "esc.ply"} {
		for _, command := range []string{"inspect", "doctor", "voxelize"} {
			args := []string{command, filepath.Join(dir, name)}
			if command == "voxelize" {
				args = append(args, "--size=1", "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu")
			}
			_, stdout, stderr := execute(args...)
			assert.NotRegexp(t, `[\x00-\x08\x0b-\x1f\x7f-\x{9f}]`, stdout+stderr, "%s %s", command, name)
		}
	}
}
