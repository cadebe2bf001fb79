package replay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/replay"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/tensor"
)

// made is a dataset in memory.
type made []*dataset.Episode

func (m made) Name() string       { return "made" }
func (m made) Format() string     { return "made" }
func (m made) Info() dataset.Info { return dataset.Info{} }
func (m made) Len() int           { return len(m) }
func (m made) Close() error       { return nil }
func (m made) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	return m[i], nil
}

// packed returns a store of episodes with two streams. The first is large enough to go to the sink.
func packed(t testing.TB) *store.Store {
	r := rand.New(rand.NewPCG(3, 4))
	var m made
	for i := range 6 {
		e := &dataset.Episode{Name: fmt.Sprint(i)}
		for _, s := range []struct {
			name          string
			frames, width int
		}{{"state", 100, 40}, {"action", 60, 3}} {
			times, values := make([]int64, s.frames), make([]float32, s.frames*s.width)
			for k := range times {
				times[k] = int64((float64(k) + 0.3*r.Float64()) / 30 * 1e9)
			}
			for k := range values {
				values[k] = r.Float32()
			}
			stream, err := dataset.NewStream(s.name, times, tensor.Must(tensor.Of(values, s.frames, s.width)), nil)
			require.NoError(t, err)
			e.Streams = append(e.Streams, stream)
		}
		m = append(m, e)
	}
	s, err := store.Build(context.Background(), m, store.BuildOptions{})
	require.NoError(t, err)
	return s
}

// batches returns a loader for windows of 8 and of 4 ticks, which need two Fuses.
func batches(t testing.TB, s *store.Store, dev *ops.Device) (*loader.Loader, error) {
	plan := align.Plan{Rate: 20, Shuffle: "windows", Streams: []align.Stream{{Name: "state"}, {Name: "action"}},
		Windows: map[string]align.Window{"state": {From: -350 * time.Millisecond}, "action": {From: 50 * time.Millisecond, To: 200 * time.Millisecond}}}
	return loader.New(context.Background(), dev, s, plan, loader.Options{Batch: 16, Seed: 9})
}

// outputs returns the tensors of a batch that become arguments of the plan.
func outputs(b *loader.Batch) (list []record.Output) {
	for i := range b.Streams {
		list = append(list, record.Output{Name: fmt.Sprintf("values[%d]", i), Tensor: b.Streams[i].Values}, record.Output{Name: fmt.Sprintf("valid[%d]", i), Tensor: b.Streams[i].Valid})
	}
	return list
}

// TestALoaderIsReplayed: a loader on the recording device becomes a plan. Its replays must give the loader's batches, each in
// separate memory.
func TestALoaderIsReplayed(t *testing.T) {
	gputest.Both(t, func(t *testing.T) { testLoader(t, gputest.Require(t)) })
}

func testLoader(t *testing.T, drv *cudadrv.Driver) {
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	s := packed(t)
	want, err := batches(t, s, cpu)
	require.NoError(t, err)
	defer want.Close()

	dev, err := drv.Device(0)
	require.NoError(t, err)
	ctx, err := dev.Primary()
	require.NoError(t, err)
	d := device.New(ctx, "replay:0")
	images := replay.NewImages(ctx)
	defer func() { assert.NoError(t, errors.Join(images.Close(), d.Close(), ctx.Close())) }()
	target, err := record.TargetOf(dev)
	require.NoError(t, err)
	if target.Name == cudasim.Name {
		target.Kernels = simKernels
	}
	memory := map[int]*cudadrv.DeviceMem{}
	defer func() {
		for _, m := range memory {
			assert.NoError(t, m.Close())
		}
	}()
	uploaded := 0
	sink := func(buffer int, size, offset int64, data []byte) error {
		uploaded += len(data)
		if memory[buffer] == nil {
			m, err := d.Malloc("a session's buffer", size)
			if err != nil {
				return err
			}
			memory[buffer] = m
		}
		return ctx.CopyToDevice(context.Background(), memory[buffer].Ptr()+cudadrv.DevicePtr(offset), data)
	}
	var anchors *tensor.Tensor
	session, plan, err := record.NewSession(target, "loader", sink, func(dev *ops.Device) (*record.Work, error) {
		l, err := batches(t, s, dev)
		if err != nil {
			return nil, err
		}
		if anchors == nil {
			anchors = l.Batch().Anchors
		}
		return &record.Work{Run: l.Run, Arguments: outputs(l.Batch()), Close: l.Close}, nil
	})
	require.NoError(t, err)
	defer func() { assert.NoError(t, session.Close()) }()
	plan, err = record.Decode(plan.Encode())
	require.NoError(t, err)
	assert.Equal(t, 6*100*40*4, uploaded, "the large values go to the sink")
	assert.Less(t, len(plan.Payload), 64<<10, "and are not kept")

	queue, err := ctx.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	defer queue.Close()
	cell := d.Base(backend.Bound{})
	require.NoError(t, cell.TakeCell())
	defer cell.Release(nil)
	have := map[int]uint64{}
	for id, m := range memory {
		have[id] = uint64(m.Ptr())
	}
	var in *replay.Instance
	for range 5 {
		require.NoError(t, want.Next(context.Background()))
		var out []*cudadrv.DeviceMem
		var at []uint64
		for _, a := range plan.Arguments {
			m, err := d.Malloc("an output", a.Bytes)
			require.NoError(t, err)
			out, at = append(out, m), append(at, uint64(m.Ptr()))
		}
		if in == nil {
			in, err = replay.NewInstance(d, images, plan, at, slices.Repeat([]*device.Cell{cell.Cell}, len(plan.Buffers)), have)
			require.NoError(t, err)
			defer func() { assert.NoError(t, in.Close()) }()
		}
		launches, err := in.Bind(at)
		require.NoError(t, err)
		for _, l := range launches {
			require.NoError(t, l.Run(queue))
		}
		require.NoError(t, queue.Synchronize(context.Background()))
		for i, o := range outputs(want.Batch()) {
			bytes, err := raw.Of(tensor.Must(o.Tensor.Contiguous()))
			require.NoError(t, err)
			got := make([]byte, plan.Arguments[i].Bytes)
			require.NoError(t, ctx.CopyToHost(context.Background(), got, out[i].Ptr()))
			assert.Equal(t, bytes, got, o.Name)
		}
		for _, m := range out {
			defer func() { assert.NoError(t, m.Close()) }() // closed only at the end, so that no two batches share an address
		}
	}
	buffer, offset, ok := session.Find(anchors)
	assert.True(t, ok)
	assert.GreaterOrEqual(t, buffer, len(plan.Arguments))
	assert.Zero(t, offset)

	explained := map[string]bool{}
	for i, b := range plan.Buffers {
		if b.Kind == record.Fault {
			var value *ops.ValueError
			require.ErrorAs(t, session.Explain(map[int]uint64{len(plan.Arguments) + i: 0}), &value)
			explained[value.Op+" "+value.Arg] = true
		}
	}
	assert.True(t, explained["Draw Cursor"], "%v", explained)
	assert.ErrorContains(t, session.Explain(map[int]uint64{0: 0}), "no fault")
	assert.NoError(t, session.Explain(nil))
}
