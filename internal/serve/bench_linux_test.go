package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// BenchmarkRoundTrip measures a request without work, to a child and back.
func BenchmarkRoundTrip(b *testing.B) {
	c, cmd := start(b)
	for b.Loop() {
		c.hello()
	}
	require.NoError(b, c.s.Close())
	require.NoError(b, cmd.Wait())
}

// BenchmarkCompute measures a resample from 32 x 500 x 14 to 250 in a child's arena.
func BenchmarkCompute(b *testing.B) {
	c, cmd := start(b)
	c.hello()
	c.newArena(4 << 20)
	request := object{"op": "resample", "clock": object{"start": 0, "rate": 50, "count": 250}, "tensors": object{
		"Src": c.put(of(ramp(32*500*14, 1), 32, 500, 14)), "SrcTimes": c.put(of(ticks(500, 1e7), 500)), "Dst": c.place(tensor.F32, 32, 250, 14)}}
	for b.Loop() {
		c.good("compute", object{"request": request})
	}
	require.NoError(b, c.s.Close())
	require.NoError(b, cmd.Wait())
	c.unmap()
}

// BenchmarkPlan measures the exported plan for that resample.
func BenchmarkPlan(b *testing.B) {
	c, cmd := start(b)
	c.hello()
	c.good("target", object{"target": described()})
	request := object{"op": "resample", "clock": object{"start": 0, "rate": 50, "count": 250}, "tensors": object{
		"Src":      object{"dtype": "f32", "shape": []int{32, 500, 14}},
		"SrcTimes": object{"dtype": "i64", "shape": []int{500}}, "Dst": object{"dtype": "f32", "shape": []int{32, 250, 14}}}}
	for b.Loop() {
		c.good("plan", object{"target": 0, "request": request})
	}
	require.NoError(b, c.s.Close())
	require.NoError(b, cmd.Wait())
}

// BenchmarkStart measures a child from its start to its end, with a hello. The time until the answer is a separate metric.
func BenchmarkStart(b *testing.B) {
	var answered time.Duration
	for b.Loop() {
		began := time.Now()
		c, cmd := start(b)
		c.hello()
		answered += time.Since(began)
		require.NoError(b, c.s.Close())
		require.NoError(b, cmd.Wait())
	}
	b.ReportMetric(float64(answered.Microseconds())/1000/float64(b.N), "ms/hello")
}
