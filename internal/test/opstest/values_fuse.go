package opstest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// fuseValues tests that if there are several bad values, the error is for the first by class, stream, row and index, and names its
// stream.
func (s *suite) fuseValues(t *testing.T) {
	good, back := []int64{0, 1, 2, 0, 1, 2}, []int64{0, 1, 2, 0, 2, 1}
	stream := func(times []int64, edit ...func(*part)) *part {
		p := &part{resampling: resampling{Src: vals(tensor.F32, make([]float64, 12), 2, 3, 2), Times: arr(times, 2, 3)}}
		for _, e := range edit {
			e(p)
		}
		return p
	}
	length := func(a, b int64) func(*part) { return func(p *part) { p.SrcLengths = arr([]int64{a, b}, 2) } }
	edge := func(p *part) { p.Opts.Edge = ops.EdgeError }
	offset := func(d time.Duration) func(*part) { return func(p *part) { p.Offset = d } }
	cases := map[string][]*part{
		"unsorted in the second":                    {stream(good), stream(back)},
		"unsorted in both":                          {stream([]int64{0, 1, 2, 2, 1, 0}), stream([]int64{2, 1, 0, 0, 0, 0})},
		"unsorted in the first, rows in the second": {stream(back), stream(good, length(1, 4))},
		"rows in both":                              {stream(good, length(1, 4)), stream(good, length(-1, 2))},
		"out of range in the second":                {stream(good), stream(good, edge, offset(1))},
		"out of range in both, unsorted in a third": {stream(good, edge, offset(-1)), stream(good, edge, offset(1)), stream(back)},
		"out of range in a stream that may hold":    {stream(good, offset(1)), stream(good)},
		"targets beyond 2^62 through an offset":     {stream(good), stream(good, offset(1<<62)), stream(good, offset(-1<<62))},
		"no samples is no error":                    {stream(good, length(0, 0), edge), stream(good, length(3, 0))},
	}
	for name, streams := range cases {
		f := &fusing{Name: name, Out: tensor.F32, Streams: streams, Targets: arr([]int64{0, 2, 1, 0}, 2, 2)}
		if name == "targets beyond 2^62 through an offset" {
			f.Targets = arr([]int64{0, -1, 1, 0}, 2, 2)
		}
		s.check(t, f, layouts...)
		f.Out = tensor.F16 // uses another kernel
		s.check(t, f, layouts...)
		first := f.Streams[0].Opts
		f.Streams[0].Opts.Interp = ops.InterpAngle // uses a third kernel, which computes the other streams' features as the second does
		s.check(t, f, layouts...)
		f.Out, f.Streams[0].Opts = tensor.F32, first
		f.DstLengths = arr([]int64{2, 3}, 2)
		s.check(t, f, layouts...)
	}
	bad := &fusing{Name: "trusted", Out: tensor.F32, Trust: true, Streams: []*part{stream([]int64{math.MaxInt64, math.MinInt64, 5, -5, 0, 9}, length(math.MinInt64, 9)), {Width: 4}}, Targets: arr([]int64{0, 1, 2, math.MaxInt64}, 2, 2)}
	bad.DstLengths = arr([]int64{-1, math.MaxInt64}, 2)
	_, err := planned(s.dev, bad, layouts[1], ops.LaunchDefault, 1)
	assert.NoError(t, err, "trusted bad times write nothing else")
}
