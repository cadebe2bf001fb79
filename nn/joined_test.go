package nn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/nn/ranks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
)

// own opens a device that no other rank has: a simulated one is of a driver of its own, as those of processes are.
func own(t *testing.T, name string) (*ops.Device, error) {
	if name != "sim" {
		return ops.Open(name)
	}
	simulated := cudasim.New(cudasim.Config{})
	t.Cleanup(func() { assert.Empty(t, simulated.Leaks()) })
	b, err := sim.New(simulated)
	if err != nil {
		return nil, err
	}
	return ops.NewDevice(b)
}

// joinedRanks runs fn in n ranks, each with a device of its own and a group of several's batches. What it returns ends its rank: the others learn of it.
func joinedRanks(t *testing.T, n int, device string, opts StepOptions, fn func(rank int, g *Group) error) []error {
	t.Helper()
	dir, err := os.MkdirTemp("", "ranks")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	errs := make([]error, n)
	var wait sync.WaitGroup
	for rank := range n {
		wait.Go(func() {
			errs[rank] = func() (err error) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				all, err := ranks.Join(ctx, filepath.Join(dir, "s"), rank, n)
				if err != nil {
					return err
				}
				defer func() { all.Leave(err) }()
				d, err := own(t, device)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, d.Close()) }()
				m, err := NewModel(ctx, d, small(), uint64(7+rank)) // the first's count
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, m.Close()) }()
				g, err := NewRank(ctx, all, m, 2, 9, opts)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, g.Close()) }()
				random := rand.New(rand.NewPCG(uint64(rank), 9))
				r := &rig{TB: t, device: d}
				r.fill(g.Steps()[0].Values, random)
				r.fill(g.Steps()[0].TargetValues, random)
				if err = fn(rank, g); err != nil {
					all.Leave(err)
				}
				return err
			}()
		})
	}
	wait.Wait()
	return errs
}

// given runs some and returns the progress.
func (g *Group) given(ctx context.Context, n int) (Progress, error) {
	for range n {
		if err := g.Run(); err != nil {
			return Progress{}, err
		}
	}
	return g.Progress(ctx)
}

// Processes with a device each have the bits of one process with all devices, in parameters, losses and the checkpoint's bytes, and so has who goes on
// from that.
func TestProcessesHaveTheBitsOfOne(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Run("sim", func(t *testing.T) { bitsOfOne(t, "sim", "cpu:exact") })
	if shares != "sim" {
		t.Run(shares, func(t *testing.T) { bitsOfOne(t, shares, shares) })
	}
}

// shares is the CPU where processes share the host's memory. What ranks do once one has left is in no order, of which the race detector would tell with
// simulated devices, whose memory is Go's.
var shares = map[bool]string{true: "cpu", false: "sim"}[runtime.GOOS == "linux"]

func bitsOfOne(t *testing.T, device, same string) {
	opts, dir, ctx := everything(), t.TempDir(), t.Context()
	one := filepath.Join(dir, "one.safetensors")
	g, _ := several(t, []string{same, same}, small(), 2, 9, opts)
	g.runs(t, 2)
	require.NoError(t, g.SaveState(ctx, one, map[string]string{"place": "2"}))
	want := g.runs(t, 1)
	params := g.arenas(t)
	for _, err := range joinedRanks(t, 2, device, opts, func(rank int, g *Group) error {
		path := filepath.Join(dir, "ranks.safetensors")
		_, err := g.given(ctx, 2)
		if err = errors.Join(err, g.SaveState(ctx, path, map[string]string{"place": "2"})); err != nil {
			return err
		}
		a, err1 := os.ReadFile(one)
		b, err2 := os.ReadFile(path)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		assert.Equal(t, a, b, "the checkpoint")
		for range 2 { // the second time from the checkpoint
			got, err := g.given(ctx, 1)
			if err != nil {
				return err
			}
			assert.Equal(t, int64(3), got.Step)
			assert.Equal(t, want.Losses[2:], got.Losses[len(got.Losses)-1:])
			assert.Equal(t, want.Norm, got.Norm)
			list, err := download[float32](ctx, g.steps[0].model.device, g.steps[0].model.params)
			assert.Equal(t, params, list, "rank %d", rank)
			texts, errLoad := g.LoadState(ctx, path)
			if err := errors.Join(err, errLoad); err != nil {
				return err
			}
			assert.Equal(t, map[string]string{"place": "2"}, texts)
		}
		return nil
	}) {
		assert.NoError(t, err)
	}
}

// A rank that ends while the others wait for it within a step is an error in them.
func TestARankThatEndsIsAnErrorInTheOthers(t *testing.T) {
	gone := errors.New("the power went")
	began := time.Now()
	errs := joinedRanks(t, 3, shares, everything(), func(rank int, g *Group) error {
		if _, err := g.given(t.Context(), 1); err != nil {
			return err
		}
		if rank == 1 {
			return gone
		}
		_, err := g.given(t.Context(), 2)
		return err
	})
	assert.ErrorIs(t, errs[1], gone)
	for _, rank := range []int{0, 2} {
		var lost *ranks.LostError
		if assert.ErrorAs(t, errs[rank], &lost, "rank %d", rank) {
			assert.Equal(t, 1, lost.Rank)
		}
	}
	assert.Less(t, time.Since(began), time.Minute)
}

// A value that is not finite in one rank stops all, at the same step.
func TestANaNStopsAllProcesses(t *testing.T) {
	for rank, err := range joinedRanks(t, 2, shares, everything(), func(rank int, g *Group) error {
		if _, err := g.given(t.Context(), 1); err != nil {
			return err
		}
		if rank == 1 {
			s := g.Steps()[0]
			list, err := download[float32](t.Context(), s.model.device, s.Values)
			if err != nil {
				return err
			}
			list[7] = float32(math.NaN())
			if err := upload(t.Context(), s.model.device, s.Values, list); err != nil {
				return err
			}
		}
		_, err := g.given(t.Context(), 2)
		return err
	}) {
		var stopped *NotFiniteError
		if assert.ErrorAs(t, err, &stopped, "rank %d", rank) {
			assert.Equal(t, int64(2), stopped.Step)
		}
	}
}

// What broke in one rank is said in all: it is at no step that the others could be at.
func TestADeviceThatBreaksIsToldToTheOthers(t *testing.T) {
	errs := joinedRanks(t, 2, shares, everything(), func(rank int, g *Group) error {
		if _, err := g.given(t.Context(), 1); err != nil {
			return err
		}
		s := g.Steps()[0]
		state := s.state
		defer func() { s.state = state }()
		if rank == 1 {
			s.state = tensor.Must(tensor.New(tensor.I64, state.Len()))
			if err := s.state.Close(); err != nil {
				return err
			}
		}
		_, err := g.Progress(t.Context())
		return err
	})
	assert.ErrorIs(t, errs[1], tensor.ErrClosed)
	var lost *ranks.LostError
	if assert.ErrorAs(t, errs[0], &lost) {
		assert.Equal(t, 1, lost.Rank)
		assert.Contains(t, lost.Why, "closed")
	}
}

// Ranks that train otherwise, or do something else than the others, are told so.
func TestRanksThatDifferAreToldSo(t *testing.T) {
	errs := joinedRanks(t, 2, shares, everything(), func(rank int, g *Group) error {
		if rank == 0 {
			_, err := g.Progress(t.Context())
			return err
		}
		return g.SaveState(t.Context(), filepath.Join(t.TempDir(), "x"), nil)
	})
	var other *ranks.ApartError
	assert.ErrorAs(t, errs[0], &other)
	assert.Error(t, errs[1])
	errs = joinedRanks(t, 2, shares, everything(), func(rank int, g *Group) error {
		_, err := g.First(t.Context(), "a file", func() ([]byte, error) { return nil, fmt.Errorf("the disk is full") })
		return err
	})
	assert.EqualError(t, errs[0], "the disk is full")
	assert.EqualError(t, errs[1], "nn: rank 0: the disk is full")
}
