package opstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

var (
	valueDTypes = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}
	clockDTypes = []tensor.DType{tensor.I64, tensor.F64, tensor.F32}
	// Lengths around the sizes of a warp, a block and a tile, and one far above.
	lengths = []int{1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000}
	widths  = []int{1, 3, 7, 12, 14, 30, 32, 44, 256, 512}
)

// round is the count of numbers that cover each pair of dtypes on each clock once, and each dtype and clock twice with plain cases
// and twice with poses.
const round = 4*4*3 + 2*2*3*3

// drawResample returns the generated cases with a number. The pairs of dtypes, the clocks and the forms of target clock take turns,
// the rest is random. Some numbers also have a case with a selection of rows, or with Snap. From the twelfth round on, the cases run
// only as plans, and some have wrong values.
func drawResample(number int) []trial {
	i, k := number/round, number%round
	var c *resampling
	number += i
	if k < 48 {
		in, out, clock := valueDTypes[k/12], valueDTypes[k/3%4], clockDTypes[k%3]
		seed := uint64(100+12*k+i+1) + uint64(i/12*i)<<32
		c = generate(rng(seed), in, out, clock, i, i >= 12 && i/4%2 == 0)
		if i >= 12 {
			vary(rng(seed+1), c, i)
		}
		c.Name = fmt.Sprintf("%s-%s-%s-%d", in, out, clock, i)
	} else {
		i, k = 2*i+k%2, (k-48)/2
		dtype, clock := narrowDTypes[k/6], clockDTypes[k/2%3]
		seed := uint64(9000+1000*(k/6)+100*(k/2%3)) + uint64(i)<<32
		if k%2 == 0 {
			c = plain(rng(seed), dtype, clock, i)
		} else {
			c = posed(rng(seed+10000), dtype, clock, i)
		}
		if i >= 24 {
			vary(rng(uint64(i)), c, i)
		}
		c.Name = fmt.Sprintf("%s-%s-%s-%d", []string{"plain", "poses"}[k%2], dtype, clock, i)
	}
	l := layouts[number%2]
	all := []trial{{c, l}}
	switch number % 3 {
	case 0:
		all = append(all, trial{c.snapping(uint64(number)), l})
	case 1:
		all = append(all, trial{c.selecting(uint64(number)), l})
	}
	return all
}

// generate draws a case. form selects the targets: a tensor with a row for each row of the batch, a shared one, a uniform clock, or
// packed targets. A flat case has one kind for all features, which copies or blends two samples, because such cases have their own
// kernels.
func generate(r *rand.Rand, in, out, clock tensor.DType, form int, flat bool) *resampling {
	g := &generator{Rand: r, c: &resampling{Out: out}, clock: clock, flat: flat}
	b, samples, targets, d := 1+r.IntN(4), lengths[r.IntN(len(lengths))], lengths[r.IntN(len(lengths))], widths[r.IntN(len(widths))]
	for b*(samples+targets)*d > 60_000 { // keep a case to milliseconds
		switch {
		case b > 1:
			b--
		case d > 44:
			d = widths[r.IntN(8)]
		default:
			samples, targets = lengths[r.IntN(12)], lengths[r.IntN(12)]
		}
	}
	g.options(d)
	g.pace(samples)
	g.source(in, b, samples, d)
	g.targets(b, targets, form%4)
	return g.c
}

type generator struct {
	*rand.Rand
	c     *resampling
	clock tensor.DType
	rows  [][]float64 // timestamps of each row, in the clock's unit
	start float64     // where the clock begins
	tick  float64     // approximate distance of the timestamps
	flat  bool        // see generate
	batch bool        // Src must have a batch dimension or be packed
}

func (g *generator) one(in int) bool { return g.IntN(in) == 0 }

func (g *generator) options(d int) {
	o := &g.c.Opts
	all := ops.Interps()
	if g.flat {
		all = all[:ops.InterpNearest+1]
	}
	for {
		if o.Interp = all[g.IntN(len(all))]; d%o.Interp.Width() == 0 {
			break
		}
	}
	o.Quat = ops.QuatOrder(g.IntN(2))
	if g.one(2) {
		o.Period = []float64{1, 2, 360}[g.IntN(3)]
	}
	o.Edge = ops.Edge(g.IntN(3))
	if g.one(40) {
		o.Edge = ops.EdgeError
	}
	if g.one(2) {
		o.Fill = ops.FillWith([]float64{0, -7.5, math.Inf(1), 1e-42, 70000, math.Copysign(0, -1)}[g.IntN(6)])
	}
	o.FillGaps = g.one(2)
	if g.flat || d < 4 || !g.one(3) {
		return
	}
	// A table gives some ranges of features their own kinds. The default kind covers the others.
	if o.Interp.Width() > 1 {
		o.Interp = ops.InterpLinear
	}
	for lo := g.IntN(3); len(o.Channels) < 9; {
		kind := all[g.IntN(len(all))]
		w := kind.Width()
		if lo+w > d {
			return
		}
		c := ops.Channel{Lo: lo, Hi: min(lo+w*(1+g.IntN(4+(d-lo)/(4*w))), lo+(d-lo)/w*w), Interp: kind}
		if c.Interp == ops.InterpAngle && g.one(2) {
			c.Period = 4
		}
		o.Channels = append(o.Channels, c)
		lo = c.Hi + g.IntN(5)
	}
}

// smooth reports whether the case has a kind with a tolerance that assumes moderate values.
func (g *generator) smooth() bool {
	is := func(k ops.Interp) bool { return k >= ops.InterpSlerp && !k.Windowed() }
	return is(g.c.Opts.Interp) || slices.ContainsFunc(g.c.Opts.Channels, func(c ops.Channel) bool { return is(c.Interp) })
}

// bits draws a value: most are moderate; some are extreme, infinite, 0, -0, or NaN with a payload.
func (g *generator) bits(dtype tensor.DType, wild int) uint64 {
	if wild > 0 && g.one(wild) {
		if !g.smooth() && g.one(2) {
			return g.Uint64() >> (64 - 8*dtype.Size()) // any pattern: NaNs with payloads, subnormals, extremes
		}
		return encode(dtype, []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-40, 6e-8, -1e-45}[g.IntN(8)])
	}
	return encode(dtype, g.NormFloat64())
}

// nearTie draws a value at the midpoint of two 16-bit numbers, or close to it, so that a second rounding would change the result.
func (g *generator) nearTie(dtype tensor.DType) uint64 {
	to := []tensor.DType{tensor.F16, tensor.BF16}[g.IntN(2)]
	low := encode(to, g.NormFloat64())
	mid := (decode(to, low) + decode(to, low+1)) / 2
	return encode(dtype, mid*(1+float64(g.IntN(3)-1)*math.Ldexp(1, -25-g.IntN(28))))
}

// timestamps draws n times in the clock's unit, with duplicates and long gaps.
func (g *generator) timestamps(n int) []float64 {
	out := make([]float64, n)
	x := g.start
	for i := range out {
		switch g.IntN(12) {
		case 0: // a duplicate
		case 1:
			x += g.tick * 20 * g.Float64()
		default:
			x += g.tick * (.5 + g.Float64())
		}
		out[i] = decode(g.clock, encode(g.clock, x))
		x = out[i]
	}
	return out
}

// pace draws the start of the clock and the distance of the timestamps, for rows of n samples.
func (g *generator) pace(n int) {
	g.tick = []float64{.01, 1e-6, 3}[g.IntN(3)]
	g.start = []float64{0, -5, 100}[g.IntN(3)]
	if g.clock != tensor.F32 && g.one(4) {
		g.start = 1_762_550_000 // an epoch in seconds
		g.tick = math.Max(g.tick, 1e-4)
	}
	if g.clock == tensor.I64 {
		g.tick, g.start = g.tick*1e9, g.start*1e9
		if g.one(8) { // a large part of the range
			g.start, g.tick = -0x1p62, 0x1.fp62/float64(20*n)
		}
	}
}

// source draws the source and its times: batched, shared, with lengths, packed, or one episode without a batch.
func (g *generator) source(dtype tensor.DType, b, n, d int) {
	o := &g.c.Opts
	limit := func(most float64) ops.Limit {
		d := g.tick * (.2 + most*g.Float64())
		if g.clock != tensor.I64 {
			d *= 1e9
		}
		return ops.Within(time.Duration(math.Min(d, 1<<62)))
	}
	if g.one(2) {
		o.MaxGap = limit(2)
	}
	if g.one(2) {
		o.Tolerance = limit(2)
	}
	o.Window = limit([]float64{2, 10, 100}[g.IntN(3)])
	for i := range o.Channels {
		if o.Channels[i].Interp.Windowed() && g.one(2) {
			o.Channels[i].Window = limit(20)
		}
	}
	wild := []int{0, 6, 50}[g.IntN(3)]
	steady := g.one(8) // most samples equal their predecessor
	draw := func(n int) []uint64 {
		out := make([]uint64, n)
		for i := range out {
			switch {
			case steady && i >= d && !g.one(16):
				out[i] = out[i-d]
			case steady:
				out[i] = g.nearTie(dtype)
			default:
				out[i] = g.bits(dtype, wild)
			}
		}
		return out
	}
	hole := encode(dtype, math.NaN())
	c := g.c
	form := g.IntN(6)
	if form == 5 && b == 1 && !g.batch {
		c.Src, c.Times = packed(dtype, draw(n*d), n, d), g.times(1, n)
		c.Times.shape, c.Times.strides = c.Times.shape[1:], c.Times.strides[1:]
		return
	}
	switch form {
	case 0, 5: // a clock for each row
		c.Src, c.Times = packed(dtype, draw(b*n*d), b, n, d), g.times(b, n)
		if g.one(4) { // rows with gaps
			c.Times = c.Times.restride([]int{n + 1 + g.IntN(3), 1}, g.IntN(3), 0, encode(g.clock, math.NaN()))
		}
	case 1: // a shared clock; gaps between rows and samples
		c.Src = packed(dtype, draw(b*n*d), b, n, d).restride([]int{n*(d+3) + 5, d + 3, 1}, g.IntN(4), 3, hole)
		c.Times = g.times(1, n)
		c.Times.shape, c.Times.strides = c.Times.shape[1:], c.Times.strides[1:]
		for len(g.rows) < b {
			g.rows = append(g.rows, g.rows[0])
		}
	case 2: // a source that all rows share
		c.Src, c.Times = packed(dtype, draw(n*d), n, d).broadcast(b), g.times(b, n)
	case 3: // lengths
		c.Src, c.Times = packed(dtype, draw(b*n*d), b, n, d), g.times(b, n)
		count := make([]int64, b)
		for i := range count {
			count[i] = 1 + g.Int64N(int64(n))
			g.rows[i] = g.rows[i][:count[i]]
			for k := int(count[i]); k < n; k++ { // padding may hold anything
				c.Times.raw[i*n+k] = encode(g.clock, math.NaN())
			}
		}
		c.SrcLengths = arr(count, b)
	case 4: // packed
		offsets := []int64{0}
		var timestamps []uint64
		for range b {
			g.rows = append(g.rows, g.timestamps(1+g.IntN(n)))
			row := g.rows[len(g.rows)-1]
			for _, x := range row {
				timestamps = append(timestamps, encode(g.clock, x))
			}
			offsets = append(offsets, offsets[len(offsets)-1]+int64(len(row)))
		}
		c.Src, c.Times = packed(dtype, draw(len(timestamps)*d), len(timestamps), d), packed(g.clock, timestamps, len(timestamps))
		c.SrcOffsets = arr(offsets, b+1)
	}
}

func (g *generator) times(b, n int) *array {
	var raw []uint64
	for range b {
		g.rows = append(g.rows, g.timestamps(n))
		for _, x := range g.rows[len(g.rows)-1] {
			raw = append(raw, encode(g.clock, x))
		}
	}
	return packed(g.clock, raw, b, n)
}

// target draws a target for row b: between timestamps, on one, half way, and a little or far outside.
func (g *generator) target(b int) uint64 {
	row := g.rows[b]
	lo, hi := row[0], row[len(row)-1]
	k := g.IntN(len(row))
	var x float64
	switch g.IntN(10) {
	case 0, 1:
		x = row[k]
	case 2:
		x = row[k]/2 + row[min(k+1, len(row)-1)]/2
	case 3:
		x = lo - g.tick*3*g.Float64()
	case 4:
		x = hi + g.tick*3*g.Float64()
	default:
		x = lo + (hi-lo)*g.Float64()
	}
	if g.clock == tensor.I64 {
		return encode(g.clock, math.Max(-0x1p62, math.Min(0x1p62, x)))
	}
	if g.one(50) {
		x = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[g.IntN(4)]
	}
	return encode(g.clock, x)
}

func (g *generator) targets(b, n, form int) {
	c := g.c
	batched := len(c.Src.shape) == 3 || c.SrcOffsets != nil
	draw := func(row, n int) (out []uint64) {
		for range n {
			out = append(out, g.target(row))
		}
		if g.one(2) { // in ascending order, as in most recordings
			slices.SortFunc(out, func(a, b uint64) int {
				x, y := decode(g.clock, a), decode(g.clock, b)
				if x < y {
					return -1
				}
				return 1
			})
		}
		return out
	}
	lengths := func() {
		if g.one(3) {
			count := make([]int64, b)
			for i := range count {
				count[i] = g.Int64N(int64(n) + 1)
			}
			c.DstLengths = arr(count, b)
		}
	}
	unit := 1e9
	if g.clock == tensor.I64 {
		unit = 1
	}
	uniform := func(n int) {
		last := g.rows[0][len(g.rows[0])-1]
		from := math.Max(-0x1p61, (g.rows[0][0]-g.tick)*unit)
		length := math.Min((last-g.rows[0][0])*unit+3*g.tick*unit, 0x1p61)
		rate := 1e9 / math.Max(1, length/float64(max(n, 1)))
		c.Clock = ops.Uniform(int64(from), rate, n)
	}
	switch {
	case form == 0 && batched:
		var raw []uint64
		for i := range b {
			raw = append(raw, draw(i, n)...)
		}
		c.Targets = packed(g.clock, raw, b, n)
		if g.one(4) {
			c.Targets = c.Targets.restride([]int{n + 1 + g.IntN(3), 1}, g.IntN(3), 0, encode(g.clock, math.NaN()))
		}
		lengths()
	case form == 3 && batched:
		offsets := []int64{0}
		var raw []uint64
		for i := range b {
			raw = append(raw, draw(i, g.IntN(n+1))...)
			offsets = append(offsets, int64(len(raw)))
		}
		c.DstOffsets = arr(offsets, b+1)
		if c.Packed = len(raw); g.one(3) {
			uniform(n)
		} else {
			c.Targets = packed(g.clock, raw, len(raw))
		}
	case form == 2:
		uniform(n)
		lengths()
	default:
		c.Targets = packed(g.clock, draw(g.IntN(b), n), n)
		lengths()
	}
}
