package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// testClock is a clock's type as an element of tensors.
type testClock interface {
	clock
	tensor.Element
}

// testTimestamps makes n timestamps that do not decrease, some of them equal, some far apart.
func testTimestamps[C clock](rng *rand.Rand, n int) []C {
	t := make([]C, n)
	x := C(rng.IntN(1000)) - 500
	for i := range t {
		switch rng.IntN(8) {
		case 0: // a duplicate
		case 1:
			x += C(rng.IntN(1000))
		default:
			x += C(1 + rng.IntN(3))
		}
		t[i] = x
	}
	if far := C(backend.MaxTime); far+far < 0 && rng.IntN(4) == 0 { // int64: as far apart as timestamps may be
		t[0] = -far
		for i := 1 + rng.IntN(n); i < n; i++ {
			t[i] = far
		}
	}
	return t
}

// testTargets makes n targets: in order for a while, then anywhere, on timestamps and between them.
func testTargets[C clock](rng *rand.Rand, timestamps []C, n int) []C {
	x := make([]C, n)
	at := 0
	for i := range x {
		if at += rng.IntN(3); rng.IntN(10) == 0 {
			at = rng.IntN(len(timestamps))
		}
		x[i] = timestamps[at%len(timestamps)] + C(rng.IntN(3))
		switch rng.IntN(30) {
		case 0:
			x[i] = timestamps[0] - 1
		case 1:
			x[i] = timestamps[0] / 2
		}
		if v := C(math.NaN()); v != v && rng.IntN(50) == 0 {
			x[i] = v
		}
	}
	return x
}

func TestLastAtOrBeforeForEveryGuess(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 40; n++ {
		timestamps := testTimestamps[float32](rng, n)
		for i := range timestamps {
			for _, x := range []float32{timestamps[i], timestamps[i] + .5} {
				want := 0
				for want+1 < n && timestamps[want+1] <= x {
					want++
				}
				for guess := -2; guess < n+2; guess++ {
					require.Equal(t, want, lastAtOrBefore(timestamps, x, guess), "%v in %v, guess %d", x, timestamps, guess)
				}
			}
		}
	}
}

func TestATargetIsTheSameAloneAndAmongOthers(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	t.Run("i64", aloneAndAmongOthers[int64])
	t.Run("f64", aloneAndAmongOthers[float64])
	t.Run("f32", aloneAndAmongOthers[float32])
}

func aloneAndAmongOthers[C testClock](t *testing.T) {
	withAndWithoutVectors(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		b := New(2)
		defer b.Close()
		for range 100 {
			const rows = 3
			samples, targets, d := 1+rng.IntN(200), 1+rng.IntN(200), 1+rng.IntN(40)
			args := backend.ResampleTensors{}
			var timestamps, at []C
			for range rows {
				row := testTimestamps[C](rng, samples)
				timestamps = append(timestamps, row...)
				at = append(at, testTargets(rng, row, targets)...)
			}
			from, to := valueTypes[rng.IntN(4)], valueTypes[rng.IntN(4)]
			src, err := newTensor(testValues(rng, from, rows*samples*(d+2)), rows, samples, d+2)
			require.NoError(t, err)
			args.Src = tensor.Must(src.Slice(2, 1, d+1))
			args.SrcTimes = tensor.Must(tensor.Of(timestamps, rows, samples))
			args.Targets = backend.Clock{Times: tensor.Must(tensor.Of(at, rows, targets))}
			if rng.IntN(4) == 0 {
				args.Targets = backend.Clock{Start: int64(timestamps[0]) - 2, Rate: 1e9 / (1 + rng.Float64()), Count: targets}
			}
			if rng.IntN(3) == 0 {
				args.SrcLengths = tensor.Must(tensor.Of([]int64{int64(samples), int64(1 + samples/2), 1}, rows))
				args.DstLengths = tensor.Must(tensor.Of([]int64{int64(targets / 2), int64(targets), 0}, rows))
			}
			o := rules{Interp: backend.Interp(rng.IntN(int(backend.InterpNearest) + 1)), Edge: backend.Edge(rng.IntN(len(backend.Edge(0).Names())))}
			if rng.IntN(2) == 0 {
				o.MaxGap, o.FillGaps = backend.Within(time.Duration(rng.IntN(20))), rng.IntN(2) == 0
			}
			if rng.IntN(4) == 0 {
				o.Tolerance = backend.Within(time.Duration(rng.IntN(4)))
			}
			run := func(make func(p *resamplePlan[C])) (outputs [3]*tensor.Tensor, fault uint64) {
				a := args
				a.Dst, a.Valid, a.Age = tensor.Must(tensor.New(to, rows, targets, d)), tensor.Must(tensor.New(tensor.U8, rows, targets)), tensor.Must(tensor.New(a.SrcTimes.DType(), rows, targets))
				plan, err := b.Resample(jobOf(a, o))
				require.NoError(t, err)
				p := plan.(*resamplePlan[C])
				p.fault.Store(uint64(backend.NoFault))
				make(p)
				return [3]*tensor.Tensor{a.Dst, a.Valid, a.Age}, p.fault.Load()
			}
			want, fault := run(func(p *resamplePlan[C]) {
				for i := range p.Rows() {
					p.target(i, 0, p.scratch[0])
				}
			})
			got, fault2 := run(func(p *resamplePlan[C]) {
				for piece := range p.work.pieces {
					p.tile(piece, 0)
				}
			})
			assert.Equal(t, fault, fault2)
			for i, name := range []string{"dst", "valid", "age"} {
				requireSame(t, want[i], got[i], fmt.Sprintf("%s %+v D=%d T=%d S=%d lens=%v uni=%v", name, o, d, targets, samples, args.DstLengths != nil, args.Targets.Times == nil))
			}
		}
	})
}

// rules are what the options of a Resample say, as far as these tests vary them.
type rules struct {
	Interp            backend.Interp
	Edge              backend.Edge
	MaxGap, Tolerance backend.Limit
	FillGaps          bool
}

// jobOf is the job that package ops makes of a batch, padded or packed, with or without outputs.
func jobOf(a backend.ResampleTensors, o rules) *backend.ResampleJob {
	j := &backend.ResampleJob{ResampleTensors: a, Edge: o.Edge, MaxGap: o.MaxGap, Tolerance: o.Tolerance, FillGaps: o.FillGaps, Fill: math.NaN(), Check: true,
		ValidStep: 1, AgeStep: 1, PadStep: 1}
	rank := a.Src.Rank()
	j.S, j.D, j.SrcStep = a.Src.Dim(rank-2), a.Src.Dim(rank-1), a.Src.Stride(rank-2)
	if a.SrcOffsets != nil {
		j.B, j.TimesRows = a.SrcOffsets.Len()-1, 1
	} else {
		j.B, j.SrcBatch, j.TimesBatch = a.Src.Dim(0), a.Src.Stride(0), a.SrcTimes.Stride(0)
		j.TimesRows = j.B
	}
	if j.T = a.Targets.Count; a.Targets.Times != nil {
		j.T, j.TargetBatch = a.Targets.Times.Dim(1), a.Targets.Times.Stride(0)
	}
	j.DstBatch, j.DstStep = a.Dst.Stride(0), a.Dst.Stride(1)
	if a.Valid != nil {
		j.ValidBatch = a.Valid.Stride(0)
	}
	if a.Age != nil {
		j.AgeBatch = a.Age.Stride(0)
	}
	j.Channels = []backend.Channel{{Hi: j.D, Interp: o.Interp, Period: 2 * math.Pi}}
	return j
}

// newTensor is the tensor of some memory.
func newTensor(v values, shape ...int) (*tensor.Tensor, error) {
	switch d := v.data.(type) {
	case []float32:
		return tensor.Of(d, shape...)
	case []float64:
		return tensor.Of(d, shape...)
	case []tensor.Float16:
		return tensor.Of(d, shape...)
	default:
		return tensor.Of(d.([]tensor.BFloat16), shape...)
	}
}

func requireSame(t *testing.T, want, got *tensor.Tensor, name string) {
	t.Helper()
	if !want.DType().IsFloat() {
		require.Equal(t, want, got, name)
		return
	}
	w, err1 := newValues(want)
	g, err2 := newValues(got)
	require.NoError(t, err1)
	require.NoError(t, err2)
	for i := range want.Len() {
		if !sameNumber(w.float(i), g.float(i)) {
			require.Fail(t, "other bits", "%s %d: got %v, want %v", name, i, g.float(i), w.float(i))
		}
	}
}

func TestTheCheckOfRunsFindsWhatTheCheckOfTimestampsDoes(t *testing.T) {
	t.Run("i64", checksAgree[int64])
	t.Run("f64", checksAgree[float64])
	t.Run("f32", checksAgree[float32])
}

func checksAgree[C testClock](t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	b := New(2)
	defer b.Close()
	faults := 0
	for range 2000 {
		samples, rows := 1+rng.IntN(60), 1+rng.IntN(4)
		var timestamps []C
		for range rows {
			timestamps = append(timestamps, testTimestamps[C](rng, samples)...)
		}
		for range rng.IntN(3) { // what may be wrong
			at := rng.IntN(len(timestamps))
			switch rng.IntN(4) {
			case 0:
				timestamps[at] -= 1000
			case 1:
				timestamps[at] += 1000
			case 2:
				timestamps[at] = badTimestamp[C](rng)
			case 3:
				timestamps[0], timestamps[len(timestamps)-1] = badTimestamp[C](rng), badTimestamp[C](rng)
			}
		}
		args := backend.ResampleTensors{Dst: tensor.Must(tensor.New(tensor.F32, rows, 1, 1)), Src: tensor.Must(tensor.New(tensor.F32, rows, samples, 1)),
			SrcTimes: tensor.Must(tensor.Of(timestamps, rows, samples)), Targets: backend.Clock{Start: 0, Rate: 1, Count: 1}}
		switch rng.IntN(3) {
		case 0:
			lengths := make([]int64, rows)
			for i := range lengths {
				lengths[i] = int64(rng.IntN(samples+3) - 1)
			}
			args.SrcLengths = tensor.Must(tensor.Of(lengths, rows))
		case 1:
			offsets := make([]int64, rows+1)
			for i := range offsets {
				offsets[i] = int64(i * samples)
			}
			args.Src, args.SrcTimes = tensor.Must(tensor.New(tensor.F32, rows*samples, 1)), tensor.Must(tensor.Of(timestamps, rows*samples))
			args.SrcOffsets = tensor.Must(tensor.Of(offsets, rows+1))
		}
		plan, err := b.Resample(jobOf(args, rules{}))
		require.NoError(t, err)
		p := plan.(*resamplePlan[C])
		p.fault.Store(uint64(backend.NoFault))
		for i := range p.Timestamps() {
			b, k := 0, i
			if p.SrcOffsets == nil {
				b, k = i/p.S, i%p.S
			}
			if p.SrcLengths == nil || int64(k) < p.srcRows.lengths[b] {
				p.checkTimestamp(i, b*p.TimesBatch+k, k == 0)
			}
		}
		want := p.fault.Load()
		p.fault.Store(uint64(backend.NoFault))
		for lo, step := 0, 1+rng.IntN(len(timestamps)); lo < p.Timestamps(); lo += step {
			p.checkTimestamps(lo, min(lo+step, p.Timestamps()))
		}
		require.Equal(t, want, p.fault.Load(), "%v", timestamps)
		if backend.Fault(want) != backend.NoFault {
			faults++
		}
	}
	assert.Greater(t, faults, 500)
	assert.Less(t, faults, 1900)
}

// badTimestamp is no time.
func badTimestamp[C clock](rng *rand.Rand) C {
	var z C
	if _, ok := any(z).(int64); ok {
		return C([]int64{math.MaxInt64, math.MinInt64, backend.MaxTime + 1, -backend.MaxTime - 1}[rng.IntN(4)])
	}
	return C([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)])
}
