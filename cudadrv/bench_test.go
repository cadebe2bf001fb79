package cudadrv_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/gputest"
)

// BenchmarkNullLaunch times batches of 1000 launches of an empty kernel and one wait, and reports the median of the
// batches, for each launch. bench/launch/null_launch.cu does the same in C++.
func BenchmarkNullLaunch(b *testing.B) {
	r := newRig(b, gputest.Context(b))
	l := r.bind("null", config(1, 1))
	report(b, func() error { return l.Run(r.s) }, func() error { return r.s.Synchronize(context.Background()) })
}

// BenchmarkNullGraphLaunch does the same with a graph of one empty kernel.
func BenchmarkNullGraphLaunch(b *testing.B) {
	r := newRig(b, gputest.Context(b))
	g, err := r.s.Capture(r.bind("null", config(1, 1)).Run)
	require.NoError(b, err)
	defer g.Close()
	x, err := g.Instantiate()
	require.NoError(b, err)
	defer x.Close()
	report(b, func() error { return x.Launch(r.s) }, func() error { return r.s.Synchronize(context.Background()) })
}

func report(b *testing.B, launch, wait func() error) {
	const batch = 1000
	run := func() time.Duration {
		start := time.Now()
		for range batch {
			if err := launch(); err != nil {
				b.Fatal(err)
			}
		}
		if err := wait(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	for range 20 {
		run()
	}
	var took []time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		took = append(took, run())
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/batch/1e3, "us/launch")
}

// BenchmarkSynchronize times a launch and a wait for it, with and without a context that can end.
func BenchmarkSynchronize(b *testing.B) {
	r := newRig(b, gputest.Context(b))
	l := r.bind("null", config(1, 1))
	b.Run("wait=driver", func(b *testing.B) {
		for range b.N {
			require.NoError(b, l.Run(r.s))
			require.NoError(b, r.s.Synchronize(context.Background()))
		}
	})
	b.Run("wait=context", func(b *testing.B) {
		for range b.N {
			require.NoError(b, l.Run(r.s))
			require.NoError(b, r.s.Synchronize(b.Context()))
		}
	})
}
