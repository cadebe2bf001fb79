package loader_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/sim"
)

// grouped makes a group on devices by their names.
func grouped(t *testing.T, devices string, m made, opt loader.Options) *loader.Group {
	t.Helper()
	ctx := context.Background()
	store := inMemory(t, m)
	list, err := ops.OpenAll(devices)
	require.NoError(t, err)
	g, err := loader.NewGroup(list, opt, func(d *ops.Device, o loader.Options) (*loader.Loader, error) {
		return loader.New(ctx, d, store, plan(), o)
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, g.Close())
		assert.NoError(t, g.Close(), "Close twice")
		for _, d := range list {
			assert.NoError(t, d.Close())
		}
	})
	return g
}

// positions adds the digests of steps of a group, by their positions, until the epoch ends or so many are made.
func positions(t *testing.T, g *loader.Group, into map[int64]uint64, rank, ranks, steps int) {
	t.Helper()
	ctx := context.Background()
	state, err := g.State(ctx)
	require.NoError(t, err)
	for batches, err := range g.Batches(ctx) {
		require.NoError(t, err)
		for d, b := range batches {
			b, err := b.Host(ctx)
			require.NoError(t, err)
			for row, e := range data[int64](t, b.Episodes) {
				if e < 0 {
					continue
				}
				digest, err := b.Digest(row)
				require.NoError(t, err)
				at := state.Taken + int64(row*ranks+rank+d)
				_, twice := into[at]
				require.False(t, twice, at)
				into[at] = digest
			}
		}
		state, err = g.State(ctx)
		require.NoError(t, err)
		if steps--; steps == 0 || g.EpochEnds(state) {
			return
		}
	}
}

// Several devices of one program, one device of each of several programs, and one device alone give the same windows at the same positions.
func TestSeveralDevicesOfOneProgramShareTheOrder(t *testing.T) {
	t.Setenv(sim.CountEnv, "2")
	m := recordings(t)[:3]
	opt := loader.Options{Batch: 16, Seed: 5, Last: ops.LastShort}
	want := map[int64]uint64{}
	digests(t, load(t, "cpu", m, plan(), opt), want, 0, 1, 16)
	require.NotEmpty(t, want)

	opt.Batch = 8
	for _, backend := range backends(t) {
		g := grouped(t, backend+":all", m, opt)
		n := map[string]int{"cpu": 1, "sim": 2, "cuda": len(g.Loaders())}[backend]
		require.Len(t, g.Loaders(), n)
		got := map[int64]uint64{}
		positions(t, g, got, 0, n, 0)
		assert.Equal(t, want, got, "%d devices of %s", n, backend)
	}

	got := map[int64]uint64{}
	opt.Batch, opt.Ranks = 5, 3 // a program of two, and one of another kind beside it
	positions(t, grouped(t, "sim:0,cpu", m, opt), got, 0, 3, 0)
	opt.Rank = 2
	positions(t, grouped(t, "cpu", m, opt), got, 2, 3, 0)
	assert.Equal(t, want, got, "two programs")
}

// A loader or group that resumes from the state of a group draws the same windows, in a group of any size.
func TestAGroupGoesOnFromAState(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	opt := loader.Options{Batch: 12, Seed: 5, Last: ops.LastShort}
	want := map[int64]uint64{}
	digests(t, load(t, "cpu", m, plan(), opt), want, 0, 1, 12)

	got := map[int64]uint64{}
	opt.Batch = 4
	first := grouped(t, "cpu,cpu,cpu", m, opt)
	positions(t, first, got, 0, 3, 2)
	state, err := first.State(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 24, state.Taken)
	second := grouped(t, "cpu,cpu", m, opt)
	require.NoError(t, second.Resume(ctx, state))
	positions(t, second, got, 0, 2, 3)
	state, err = second.State(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 48, state.Taken)
	alone := load(t, "cpu", m, plan(), opt)
	require.NoError(t, alone.Resume(ctx, state))
	rest := map[int64]uint64{}
	digests(t, alone, rest, 0, 1, 4)
	for at, d := range rest {
		got[48+at] = d
	}
	assert.Equal(t, want, got)
	state.Seed++
	assert.ErrorIs(t, second.Resume(ctx, state), ops.ErrOption)
}

// Devices that a failed step has left apart are not drawn from until they have one state again.
func TestAFailedStepDoesNotLeaveDevicesApart(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	g := grouped(t, "cpu,cpu", m, loader.Options{Batch: 4, Seed: 5})
	require.NoError(t, g.Next(ctx))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, g.Next(ended), context.Canceled)
	require.NoError(t, g.Next(ctx), "nothing had begun")
	state, err := g.State(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 16, state.Taken)

	soon := &ending{Context: ctx}
	soon.left.Store(1)
	require.ErrorIs(t, g.Resume(soon, loader.State{Version: 1, Seed: 5, Windows: state.Windows}), context.Canceled, "one device is elsewhere now")
	assert.ErrorContains(t, g.Next(ctx), "not all devices")
	require.NoError(t, g.Resume(ctx, state))

	require.NoError(t, g.Loaders()[0].Next(ctx)) // as if the other had failed
	require.NoError(t, g.Loaders()[1].Close())
	assert.ErrorIs(t, g.Next(ctx), dataset.ErrClosed)
	err = g.Next(ctx)
	assert.ErrorContains(t, err, "not all devices")
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestAGroupRefusesWhatCannotBe(t *testing.T) {
	ctx := context.Background()
	store := inMemory(t, recordings(t))
	list, err := ops.OpenAll("cpu,cpu,cpu")
	require.NoError(t, err)
	open := func(d *ops.Device, o loader.Options) (*loader.Loader, error) {
		return loader.New(ctx, d, store, plan(), o)
	}
	var option *loader.OptionError
	_, err = loader.NewGroup(nil, loader.Options{Batch: 1}, open)
	require.True(t, errors.As(err, &option), "%v", err)
	_, err = loader.NewGroup(list, loader.Options{Batch: 1, Rank: 2, Ranks: 4}, open)
	require.True(t, errors.As(err, &option), "%v", err)
	assert.Equal(t, &loader.OptionError{Arg: "Rank", Got: "4", Want: "0 to 3"}, option)
	own := errors.New("mine")
	_, err = loader.NewGroup(list, loader.Options{Batch: 1}, func(d *ops.Device, o loader.Options) (*loader.Loader, error) {
		if o.Rank == 2 {
			return nil, own
		}
		return open(d, o)
	})
	assert.ErrorIs(t, err, own)
	for _, d := range list {
		require.NoError(t, d.Close())
	}
}
