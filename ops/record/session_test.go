package record_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/tensor"
)

// held is what a session's function made.
type held struct {
	dev  *ops.Device
	open []interface{ Close() error }
}

func (h *held) upload(t testing.TB, x *tensor.Tensor) *tensor.Tensor {
	on, err := h.dev.Upload(context.Background(), x)
	require.NoError(t, err)
	h.open = append(h.open, on)
	return on
}

func (h *held) Close() (err error) {
	for i := len(h.open) - 1; i >= 0; i-- {
		err = errors.Join(err, h.open[i].Close())
	}
	return err
}

// resampled uploads what resample reads, and plans it into memory that is an argument.
func resampled(t testing.TB, dev *ops.Device, change func(w *record.Work, src, dst *tensor.Tensor)) (*record.Work, error) {
	h := &held{dev: dev}
	times := make([]int64, 2000)
	for i := range times {
		times[i] = int64(i) * 1e7
	}
	src := h.upload(t, tensor.Must(tensor.New(tensor.F32, 2000, 32)))
	clock := h.upload(t, tensor.Must(tensor.Of(times, 2000)))
	dst, err := dev.Alloc(tensor.F32, 50, 32)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.open = append(h.open, dst)
	p, err := dev.PlanResample(ops.ResampleArgs{Dst: dst, Src: src, SrcTimes: clock, Targets: ops.Uniform(0, 30, 50)}, ops.ResampleOptions{})
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.open = append(h.open, p)
	w := &record.Work{Run: p.Run, Arguments: []record.Output{{Name: "out", Tensor: dst}}, Close: h.Close}
	if change != nil {
		change(w, src, dst)
	}
	return w, nil
}

func none(int, int64, int64, []byte) error { return nil }

func TestASessionGivesLargeUploadsToTheSink(t *testing.T) {
	t.Setenv("ROBOCACHE_TUNED", "off")
	var got [][3]int64
	var from *tensor.Tensor
	s, p, err := record.NewSession(h100(), "some", func(buffer int, size, offset int64, data []byte) error {
		got = append(got, [3]int64{int64(buffer), size, int64(len(data))})
		assert.Zero(t, offset)
		return nil
	}, func(dev *ops.Device) (*record.Work, error) {
		return resampled(t, dev, func(_ *record.Work, src, _ *tensor.Tensor) {
			if from == nil {
				from = src
			}
		})
	})
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	assert.Equal(t, [][3]int64{{0, 2000 * 32 * 4, 2000 * 32 * 4}}, got, "once, in the first of two runs")
	assert.Equal(t, []record.Argument{{Name: "out", Bytes: 50 * 32 * 4, Written: true}}, p.Arguments)
	require.Len(t, p.Buffers, 4)
	assert.Nil(t, p.Buffers[0].Init)
	assert.Equal(t, 0, *p.Buffers[0].ID)
	assert.Equal(t, &record.Span{0, 16000}, p.Buffers[1].Init, "16000 bytes of timestamps are in the plan")
	buffer, offset, ok := s.Find(from)
	assert.Equal(t, []any{1, int64(0), true}, []any{buffer, offset, ok})
	assert.ErrorIs(t, s.Explain(map[int]uint64{3: 3}), ops.ErrUnsorted)
	_, err = record.Decode(p.Encode())
	assert.NoError(t, err)
}

func TestWhatASessionCannotExportIsRefused(t *testing.T) {
	t.Setenv("ROBOCACHE_TUNED", "off")
	bad := errors.New("bad")
	calls := 0
	for want, of := range map[string]struct {
		sink   record.Sink
		change func(w *record.Work, src, dst *tensor.Tensor)
	}{
		"bad":                           {func(int, int64, int64, []byte) error { return bad }, nil},
		"its memory was written":        {none, func(w *record.Work, src, _ *tensor.Tensor) { w.Arguments[0].Tensor = src }},
		"the another argument's memory": {none, func(w *record.Work, _, _ *tensor.Tensor) { w.Arguments = append(w.Arguments, w.Arguments[0]) }},
		"not on the session's device": {none, func(w *record.Work, _, _ *tensor.Tensor) {
			w.Arguments[0].Tensor = tensor.Must(tensor.New(tensor.F32, 3))
		}},
		"broken": {none, func(w *record.Work, _, _ *tensor.Tensor) {
			w.Run = func(*ops.Queue) error { return errors.New("broken") }
		}},
		"the number of launches is 1, and 0": {none, func(w *record.Work, _, _ *tensor.Tensor) {
			if calls++; calls%2 == 0 {
				w.Run = func(*ops.Queue) error { return nil }
			}
		}},
	} {
		s, p, err := record.NewSession(h100(), "some", of.sink, func(dev *ops.Device) (*record.Work, error) {
			if of.sink != nil && want == "bad" {
				x, err := dev.Upload(context.Background(), tensor.Must(tensor.New(tensor.F32, 2000, 32)))
				if err != nil {
					return nil, err
				}
				return nil, errors.Join(errors.New("the sink's error was lost"), x.Close())
			}
			return resampled(t, dev, of.change)
		})
		assert.ErrorContains(t, err, want)
		assert.Nil(t, s)
		assert.Nil(t, p)
	}
	_, _, err := record.NewSession(record.Target{}, "some", none, nil)
	var target *record.TargetError
	assert.ErrorAs(t, err, &target)
}
