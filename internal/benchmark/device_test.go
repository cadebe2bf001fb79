package benchmark

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/sim"
)

// onDevices runs a test on the simulated device, and on the GPU if there is one.
func onDevices(t *testing.T, test func(t *testing.T, dev *ops.Device)) {
	for _, name := range []string{"sim", "cuda"} {
		t.Run(name, func(t *testing.T) {
			dev, err := ops.Open(name)
			if err != nil && name == "cuda" && os.Getenv("ROBOCACHE_REQUIRE_GPU") != "1" {
				t.Skip("no GPU: ", err)
			}
			require.NoError(t, err)
			defer func() { require.NoError(t, dev.Close()) }()
			test(t, dev)
		})
	}
}

// Several devices do a step of training together, and nothing else.
func TestSeveralDevicesTrainTogether(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Setenv(sim.CountEnv, "2")
	for _, names := range []string{"cpu,cpu", "sim:0,sim:1"} {
		devices, err := ops.OpenAll(names)
		require.NoError(t, err)
		opt := quick
		opt.With = devices[1:]
		r := measured(t, devices[0], opt, &TrainJob{B: 1, S: 3, T: 2, D: 32, Layers: 1, Heads: 1, FFN: 16, Out: 2}, &ResampleJob{B: 2, S: 9, T: 5, D: 3})
		require.Len(t, r.Rows, 1)
		assert.Equal(t, "wall", r.Rows[0].Clock)
		assert.Positive(t, r.Rows[0].Time.Median)
		assert.Equal(t, []Skip{{"resample", "2x9->5x3", "it is a job of one device"}}, r.Skipped)
		var table, lines, markdown bytes.Buffer
		require.NoError(t, errors.Join(r.WriteTable(&table), r.WriteBenchstat(&lines), r.WriteMarkdown(&markdown)))
		both := devices[0].Name() + " and " + devices[1].Name()
		assert.Contains(t, table.String(), both)
		assert.Contains(t, markdown.String(), both)
		assert.Contains(t, lines.String(), "backend="+devices[0].Name()+","+devices[1].Name())
		for _, d := range devices {
			require.NoError(t, d.Close())
		}
	}
}

func TestDevicesAreMeasuredByEvents(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	onDevices(t, func(t *testing.T, dev *ops.Device) {
		opt := quick
		opt.Rotate = 3000
		r := measured(t, dev, opt, &ResampleJob{B: 2, S: 16, T: 8, D: 8}, &FuseJob{B: 1, T: 4, Streams: []FuseShape{{5, 2}, {7, 3}}},
			&VoxelizeJob{Points: 100, Cells: 4, Reduce: "count", Cloud: "lidar"}, &PipelineJob{1, 4, 3, 2, 2}, &LaunchJob{Form: "plan"}, &LaunchJob{Form: "empty"},
			&DrawJob{Windows: 5, Episodes: 10, Streams: 2}, &TrainJob{B: 2, S: 5, T: 3, D: 32, Layers: 1, Heads: 1, FFN: 16, Out: 2}, &LaunchJob{Form: "direct"}, &LaunchJob{Form: "graph"}, &LaunchJob{Form: "shared", Goroutines: 2},
			&LaunchJob{Form: "each", Plans: 5}, &LaunchJob{Form: "batch", Plans: 5, AtOnce: 2}, &LaunchJob{Form: "chain", Plans: 3}, &LaunchJob{Form: "replay", Plans: 3}, &CopyJob{"d2d", 1024}, &CopyJob{"h2d", 1024}, &CopyJob{"h2d-registered", 1024}, &CopyJob{"d2h", 1024})
		require.NotNil(t, r.Empty)
		assert.Positive(t, r.Empty.Median)
		assert.Empty(t, r.Skipped)
		for _, row := range r.Rows {
			name := row.Suite + " " + row.Job
			limit, clock := false, "events"
			switch name {
			case "resample 2x16->8x8":
				limit = true
				assert.Equal(t, 4, row.Sets, "3000 bytes of 960 each, and more")
				assert.Regexp(t, `^(128|256|512) threads, [1248] chunks each$`, row.How)
			case "fuse 1x(5x2+7x3)->4", "voxelize count 100->4^3 lidar", "draw 5 of 10 episodes, 2 streams":
				limit = true
			case "pipeline 1x4->3x2 by 2":
				limit, clock = true, "wall"
			case "launch shared by 2":
				clock = "wall"
			case "train 2x5->3x32, 1 layers, 1 heads, ffn 16, out 2", "launch plan", "launch direct", "launch graph", "launch each of 5", "launch batch of 5, 2 at once", "launch chain of 3", "launch replay of 3":
				clock = "direct"
			case "copies d2d 1 KiB":
				limit = true
			}
			assert.Equal(t, limit, row.Limit != nil, name)
			assert.Equal(t, clock, row.Clock, name)
			assert.Positive(t, row.Time.Median, name)
			if clock != "wall" {
				assert.Positive(t, row.HostNs, name)
			}
			if clock != "wall" && dev.Info().Backend == "cuda" {
				assert.Zero(t, row.HostAllocs, "%s: a call allocates nothing", name)
			}
		}
		var out bytes.Buffer
		require.NoError(t, r.WriteTable(&out))
		assert.Equal(t, dev.Info().Backend == "sim", bytes.Contains(out.Bytes(), []byte("they mean nothing for a GPU")))
		require.NoError(t, r.WritePNG(&out))
	})
}

// The kernel that measures the limit reads and writes its chunks once each; what it writes depends on all that it reads.
func TestTheLimitIsMeasuredOnAnySize(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	onDevices(t, func(t *testing.T, dev *ops.Device) {
		r, err := newRig(dev, quick)
		require.NoError(t, err)
		defer func() { require.NoError(t, r.close()) }()
		for _, n := range [][2]int64{{1, 1}, {0, 100}, {100, 0}, {100_000, 16}, {16, 20_000}} {
			s, how, err := r.limitOf(n[0], n[1], 2)
			require.NoError(t, err, "%v", n)
			assert.Positive(t, s.Median)
			assert.NotEmpty(t, how)
		}
	})
}

// The simulated device counts what the limit's kernel asks for: the bytes of a call, in pieces of 16.
func TestTheLimitMovesTheLeastBytes(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	dev, err := ops.Open("sim")
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	r, err := newRig(dev, quick)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.close()) }()
	device, err := sim.Device()
	require.NoError(t, err)
	for _, n := range [][2]int64{{16, 16}, {1000, 64}, {64, 1000}, {4096, 4096}, {0, 160}} {
		var moved [][2]uint64
		device.Observe(func(l *cudasim.Launch) {
			t.Logf("%+v", *l.Counters)
			if l.Kernel == speedOfLight {
				moved = append(moved, [2]uint64{l.Counters.GlobalRead.Bytes, l.Counters.GlobalWrite.Bytes})
			}
		})
		_, _, err := r.limitOf(n[0], n[1], 1)
		device.Observe(nil)
		require.NoError(t, err)
		require.NotEmpty(t, moved)
		for _, m := range moved {
			assert.Equal(t, [2]uint64{uint64(n[0]+15) / 16 * 16, uint64(n[1]+15) / 16 * 16}, m, "%v", n)
		}
	}
	// More than a launch can number goes to several.
	w, launches, moved := &work{sets: 2}, uint64(0), [2]uint64{}
	device.Observe(func(l *cudasim.Launch) {
		if l.Kernel == speedOfLight {
			launches++
			moved[0] += l.Counters.GlobalRead.Bytes
			moved[1] += l.Counters.GlobalWrite.Bytes
		}
	})
	_, _, err = r.deviceLimit(w, 16*100, 16*7, 30)
	device.Observe(nil)
	require.NoError(t, errors.Join(err, w.close()))
	require.Positive(t, launches)
	assert.Zero(t, launches%4)
	assert.Equal(t, [2]uint64{launches / 4 * 16 * 100, launches / 4 * 16 * 7}, moved)
}

func TestExplainSaysWhatIsLaunched(t *testing.T) {
	onDevices(t, func(t *testing.T, dev *ops.Device) {
		list, why, err := Explain(dev, &ResampleJob{B: 2, S: 16, T: 8, D: 8}, ops.LaunchDefault)
		require.NoError(t, err)
		require.Len(t, list, 1, why)
		assert.Contains(t, list[0].Kernel, "resample")
		list, why, err = Explain(dev, &VoxelizeJob{Points: 100, Cells: 4, Features: 1, Reduce: "mean", Cloud: "uniform"}, ops.LaunchDefault)
		require.NoError(t, err)
		assert.Greater(t, len(list), 1, "a chain of launches: %s", why)
		list, why, err = Explain(dev, &CopyJob{"d2d", 10}, ops.LaunchDefault)
		require.NoError(t, err)
		assert.Empty(t, list)
		assert.Equal(t, "a call is not the run of a plan", why)
	})
	_, why, err := Explain(cpu(t), &ResampleJob{B: 2, S: 16, T: 8, D: 8}, ops.LaunchDefault)
	require.NoError(t, err)
	assert.Equal(t, "the CPU launches no kernels", why)
}

// Plans and the kernels that they are measured against are launched in the mode asked for, and the report says which were.
func TestLaunchModesAreRecorded(t *testing.T) {
	onDevices(t, func(t *testing.T, dev *ops.Device) {
		for _, mode := range []ops.LaunchMode{ops.LaunchDefault, ops.LaunchDependent, ops.LaunchInputsReady} {
			opt := quick
			opt.Launch = mode
			job := &ResampleJob{B: 2, S: 16, T: 8, D: 8}
			r := measured(t, dev, opt, job, &FuseJob{B: 1, T: 4, Streams: []FuseShape{{5, 2}, {7, 3}}}, &CopyJob{"d2d", 1024})
			list, why, err := Explain(dev, job, mode)
			require.NoError(t, err)
			require.Len(t, list, 1, why)
			assert.Equal(t, mode.String(), r.Launch)
			assert.Equal(t, list[0].Dependent, r.Rows[0].Early, mode)
			assert.False(t, r.Rows[2].Early, "a copy is no plan")
			assert.False(t, mode == ops.LaunchDefault && (r.Rows[0].Early || strings.Contains(r.Rows[0].How, "early")))
			var out bytes.Buffer
			require.NoError(t, r.WriteTable(&out))
			assert.Equal(t, mode != ops.LaunchDefault, strings.Contains(out.String(), "launch mode: "+mode.String()))
			assert.Equal(t, r.Rows[0].Early, strings.Contains(out.String(), "events, early"))
		}
	})
}
