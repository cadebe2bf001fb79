package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goimage "image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/replay"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/tensor"
)

// replayed does the Python package's work for a resident loader on a device.
type replayed struct {
	*drawing
	ctx      *cudadrv.Context
	device   *device.Device
	queue    *cudadrv.Stream
	memory   map[int]*cudadrv.DeviceMem // by the numbers of uploads
	reply    residentReply
	plan     *record.Plan
	instance *replay.Instance
	images   *replay.Images
}

// target describes a device to the connection.
func (c *drawing) target(dev *cudadrv.Device) int {
	t, err := record.TargetOf(dev)
	require.NoError(c.t, err)
	if t.Name == cudasim.Name {
		t.Kernels = "sm_90.ptx"
	}
	var reply struct{ Target int }
	c.good("target", fields{"target": t}, &reply)
	return reply.Target
}

// openReplayed asks for a resident loader of the G1 episodes.
func openReplayed(t *testing.T, drv *cudadrv.Driver, with fields) *replayed {
	return replayedOn(connected(t), drv, asked(with))
}

// onDevice makes a client's device, without a plan.
func onDevice(c *drawing, drv *cudadrv.Driver) (r *replayed, dev *cudadrv.Device) {
	t := c.t
	r = &replayed{drawing: c, memory: map[int]*cudadrv.DeviceMem{}}
	dev, err := drv.Device(0)
	require.NoError(t, err)
	r.ctx, err = dev.Primary()
	require.NoError(t, err)
	r.device, r.images = device.New(r.ctx, "replay:0"), replay.NewImages(r.ctx)
	r.queue, err = r.ctx.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		errs := []error{r.instance.Close(), r.queue.Close()}
		for _, m := range r.memory {
			errs = append(errs, m.Close())
		}
		assert.NoError(t, errors.Join(append(errs, r.images.Close(), r.device.Close(), r.ctx.Close())...))
	})
	return r, dev
}

// made makes an instance of the plan, and returns memory for its arguments.
func (r *replayed) made() (out []*cudadrv.DeviceMem, at []uint64) {
	have := map[int]uint64{}
	for id, m := range r.memory {
		have[id] = uint64(m.Ptr())
	}
	cell := r.device.Base(backend.Bound{})
	require.NoError(r.t, cell.TakeCell())
	r.t.Cleanup(func() { cell.Release(nil) })
	out, at = r.outputs()
	var err error
	r.instance, err = replay.NewInstance(r.device, r.images, r.plan, at, slices.Repeat([]*device.Cell{cell.Cell}, len(r.plan.Buffers)), have)
	require.NoError(r.t, err)
	return out, at
}

// run runs the plan.
func (r *replayed) run(at []uint64) {
	launches, err := r.instance.Bind(at)
	require.NoError(r.t, err)
	for _, l := range launches {
		require.NoError(r.t, l.Run(r.queue))
	}
	require.NoError(r.t, r.queue.Synchronize(context.Background()))
}

// replayedOn asks for a resident loader, takes its uploads, and makes the plan's memory.
func replayedOn(c *drawing, drv *cudadrv.Driver, all fields) *replayed {
	t := c.t
	r, dev := onDevice(c, drv)
	delete(all, "slots")
	all["target"] = r.target(dev)
	var first struct{ Bytes, Window int }
	file := r.good("resident", all, &first)
	window, err := unix.Mmap(int(file.Fd()), 0, first.Window, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { assert.NoError(t, errors.Join(unix.Munmap(window), file.Close())) }()
	uploaded := 0
	for {
		a := r.client.good("upload", nil)
		text, err := json.Marshal(a.object)
		require.NoError(t, err)
		var u uploadReply
		require.NoError(t, json.Unmarshal(text, &u))
		if p := u.Piece; p != nil {
			if r.memory[p.Buffer] == nil {
				r.memory[p.Buffer], err = r.device.Malloc("an upload", p.Size)
				require.NoError(t, err)
			}
			require.NoError(t, r.ctx.CopyToDevice(context.Background(), r.memory[p.Buffer].Ptr()+cudadrv.DevicePtr(p.At), window[:p.Bytes]))
			uploaded += p.Bytes
			continue
		}
		r.reply, r.plan = *u.Batch, &record.Plan{}
		require.NoError(t, json.Unmarshal(r.reply.Plan, r.plan))
		r.plan.Payload = a.blob
		break
	}
	assert.LessOrEqual(t, uploaded, first.Bytes)
	if r.reply.Stores == nil {
		assert.Greater(t, uploaded, first.Bytes/2)
	}
	out, _ := r.made()
	for _, m := range out {
		require.NoError(t, m.Close())
	}
	return r
}

// outputs are new memory for a batch.
func (r *replayed) outputs() (out []*cudadrv.DeviceMem, at []uint64) {
	for _, a := range r.plan.Arguments {
		m, err := r.device.Malloc("an output", a.Bytes)
		require.NoError(r.t, err)
		out, at = append(out, m), append(at, uint64(m.Ptr()))
	}
	return out, at
}

// next replays a batch, and returns its arrays by name and part, contiguous.
func (r *replayed) next() map[[2]string][]byte {
	out, at := r.outputs()
	r.run(at)
	arrays := map[[2]string][]byte{}
	for _, a := range r.reply.Arrays {
		whole := make([]byte, r.plan.Arguments[a.Argument].Bytes)
		require.NoError(r.t, r.ctx.CopyToHost(context.Background(), whole, out[a.Argument].Ptr()))
		d, err := tensor.ParseDType(a.DType)
		require.NoError(r.t, err)
		t, err := raw.Over(whole, nil, d, len(whole)/d.Size())
		require.NoError(r.t, err)
		t, err = t.AsStrided(a.Shape, a.Strides, int(a.At)/d.Size())
		require.NoError(r.t, err)
		bytes, err := raw.Of(tensor.Must(t.Contiguous()))
		require.NoError(r.t, err)
		arrays[[2]string{a.Name, a.Part}] = bytes
	}
	for _, m := range out {
		require.NoError(r.t, m.Close())
	}
	return arrays
}

// cursor reads or writes the cursors.
func (r *replayed) seek(epoch, taken int64) {
	for _, c := range r.reply.Cursors {
		at := cudadrv.DevicePtr(r.instance.Address(int(c[0])) + uint64(c[1]))
		require.NoError(r.t, r.ctx.CopyToDevice(context.Background(), at, raw.Bytes([]int64{epoch, taken})))
	}
}

func (r *replayed) cursor() [2]int64 {
	var at [2]int64
	c := r.reply.Cursors[0]
	require.NoError(r.t, r.ctx.CopyToHost(context.Background(), raw.Bytes(at[:]), cudadrv.DevicePtr(r.instance.Address(int(c[0]))+uint64(c[1]))))
	return at
}

// Replayed batches equal the batches of a loader on the CPU, to the bit. The cursor is on the device, and a write to it moves the position.
func TestAResidentLoaderIsReplayed(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	gputest.Both(t, func(t *testing.T) {
		drv := gputest.Require(t)
		want := loaderOfG1(t, loader.Options{Batch: 32, Last: ops.LastShort, Age: true})
		r := openReplayed(t, drv, fields{"batch": 32, "last": "short", "age": true})
		assert.Equal(t, want.Report().Batches, r.reply.Report.Batches)
		assert.Equal(t, []int64{0, 1, 2}, r.reply.Episodes)
		assert.Nil(t, r.reply.Datasets)
		check := func() {
			require.NoError(t, want.Next(context.Background()))
			b, err := want.Batch().Host(context.Background())
			require.NoError(t, err)
			got := r.next()
			for _, o := range outputs(b) {
				bytes, err := raw.Of(o.tensor)
				require.NoError(t, err)
				require.Equal(t, bytes, got[[2]string{o.Name, o.Part}], "%s.%s", o.Name, o.Part)
			}
			state, err := want.State(context.Background())
			require.NoError(t, err)
			require.Equal(t, [2]int64{state.Epoch, state.Taken}, r.cursor())
		}
		for range 3 {
			check()
		}
		for _, at := range [][2]int64{{0, 57 * 32}, {5, 0}, {1, 7}} { // with the end of an epoch
			state := want.StateAt(at[0], at[1])
			require.NoError(t, want.Resume(context.Background(), state))
			var reply struct{ Epoch int64 }
			r.good("resume", fields{"state": state}, &reply)
			assert.Equal(t, at[0], reply.Epoch)
			r.seek(at[0], at[1])
			check()
			check()
		}
		other := want.StateAt(0, 0)
		other.Seed++
		assert.Equal(t, "LoaderError", r.bad("resume", fields{"state": other}).Class)
	})
}

// The grid of points is made from the points of the same batch, also where another stream has the same window.
func TestTheGridOfPointsIsReplayed(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	dir, depths, poses := t.TempDir(), "", ""
	for i := range 3 {
		img := goimage.NewGray16(goimage.Rect(0, 0, 64, 48))
		for k := range 64 * 48 {
			img.SetGray16(k%64, k/64, color.Gray16{Y: uint16(5000 + 100*i + k)})
		}
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), b.Bytes(), 0o600))
		depths += fmt.Sprintf("1.%d %d.png\n", i, i)
		poses += fmt.Sprintf("1.%d 0.%d 0 0 0 0 0 1\n", i, i)
	}
	for name, text := range map[string]string{"depth.txt": depths, "groundtruth.txt": poses} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	gputest.Both(t, func(t *testing.T) {
		points := `{"k": 2500, "intrinsics": [64, 64, 32, 24], "min": [-2, -2, 0], "max": [2, 2, 2], "grid": "peract"}`
		plan := `{"version": 1, "rate": 10, "streams": [{"name": "pose"}, {"name": "seen", "points": ` + points + `}]}`
		r := replayedOn(connected(t), gputest.Require(t), fields{"paths": []string{dir}, "batch": 3, "plan": plan})
		cpu, err := ops.Open("cpu")
		require.NoError(t, err)
		defer cpu.Close()
		box, err := ops.PerActGrid([3]float64{-2, -2, 0}, [3]float64{2, 2, 2})
		require.NoError(t, err)
		for range 2 {
			got := r.next()
			points, err := raw.Over(got[[2]string{"seen", "values"}], nil, tensor.F32, 7500, 3)
			require.NoError(t, err)
			offsets := tensor.Must(tensor.Of([]int64{0, 2500, 5000, 7500}, 4))
			args := ops.VoxelizeArgs{Points: points, Offsets: offsets}
			want, err := cpu.Voxelize(context.Background(), args, box, ops.VoxelizeOptions{Order: ops.AxisXYZ})
			require.NoError(t, err)
			grid, err := raw.Of(want.Grid)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(grid, got[[2]string{"seen", "grid"}]))
			assert.GreaterOrEqual(t, bytes.Count(grid, []byte{1}), 1000)
		}
	})
}

// Streams with windows of the same length are one launch, in one memory; others are not.
func TestStreamsOfOneWindowAreReplayedTogether(t *testing.T) {
	gputest.Simulate(t, cudasim.Config{})
	together := openReplayed(t, gputest.Require(t), nil)
	apart := openReplayed(t, gputest.Require(t), fields{"windows": fields{"observation.state": []float64{-1, 0}, "action": []float64{0, 2}}})
	assert.Len(t, together.plan.Launches, 2, "a draw and a fuse")
	assert.Len(t, apart.plan.Launches, 3)
	assert.Len(t, together.reply.Arrays, len(apart.reply.Arrays))
	assert.Less(t, len(together.plan.Arguments), len(apart.plan.Arguments))
}

// Invalid options of a resident loader are errors, and a loader closed during its uploads leaves nothing.
func TestAResidentLoaderThatIsGivenUpLeavesNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	gputest.Simulate(t, cudasim.Config{})
	dev, err := gputest.Require(t).Device(0)
	require.NoError(t, err)
	ask := asked(nil)
	delete(ask, "slots")
	c := connected(t)
	ask["target"] = 0
	assert.Equal(t, "RequestError", c.bad("resident", ask).Class, "no target")
	assert.Equal(t, "RequestError", c.bad("upload", nil).Class)
	ask["target"] = c.target(dev)
	for what, with := range map[string]fields{"streaming": {"streaming": true}, "cameras": {"cameras": []fields{{"name": "front", "height": 4, "width": 4}}}, "seed": {"batch": -1}} {
		bad := asked(ask)
		for k, v := range with {
			bad[k] = v
		}
		delete(bad, "slots")
		if what == "seed" { // which is found when it is recorded
			d := connected(t)
			bad["target"] = d.target(dev)
			d.good("resident", bad, nil).Close()
			assert.Equal(t, "OptionError", d.bad("upload", nil).Class)
			continue
		}
		assert.Equal(t, "OptionError", c.bad("resident", bad).Class, what)
	}
	c.good("resident", ask, nil).Close()
	assert.Equal(t, "RequestError", c.bad("loader", asked(nil)).Class, "one loader a connection")
	assert.Equal(t, "RequestError", c.bad("next", nil).Class, "a resident loader has no slots")
	c.good("upload", nil, nil)
	assert.Equal(t, "RequestError", c.bad("report", nil).Class, "nothing is known yet")
	c.good("upload", nil, nil) // and the connection ends in the middle
}
