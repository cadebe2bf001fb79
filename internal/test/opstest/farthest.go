package opstest

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// choosing is a case of FarthestPoints.
type choosing struct {
	title  string
	points *array
	k      int
	firsts []int // the point that each row begins with if it is finite; nil for 0
	opts   ops.FarthestOptions
}

func farthestParts() parts {
	return parts{"named": (*suite).farthestNamed, "generated": generated("farthest")}
}

func (c *choosing) args(put func(*array) *tensor.Tensor, out func(name string, dtype tensor.DType, shape ...int) *tensor.Tensor) ops.FarthestArgs {
	return ops.FarthestArgs{Points: put(c.points), Indices: out("Indices", tensor.I64, c.points.shape[0], c.k)}
}

func (c *choosing) plan(p *placed, l layout, _ ops.LaunchMode) (*ops.Plan, error) {
	return p.dev.PlanFarthestPoints(c.args(p.put, p.dense(l)), c.opts)
}

func (c *choosing) call(dev *ops.Device) (*result, error) {
	a := c.args((*array).host, newOutput)
	if err := dev.FarthestPoints(context.Background(), a, c.opts); err != nil {
		return nil, err
	}
	return resultOf(map[string]*tensor.Tensor{"Indices": a.Indices}), nil
}

func (c *choosing) name() string { return c.title }

func (c *choosing) traits() traits { return traits{exact: true, again: true, modes: plainAndReady[:1]} }

func (c *choosing) describe() string {
	return fmt.Sprintf("%v k=%d points=%s seed=%d", c.points.shape, c.k, c.points.spacing(), c.opts.Seed)
}

// solve chooses in float64. Rounding matters only for points off the lattice of drawFarthest.
func (c *choosing) solve(*suite) (*ops.ValueError, func(*result) string) {
	b, n := c.points.shape[0], c.points.shape[1]
	var want []int64
	for row := range b {
		at := make([][3]float64, n)
		distance := make([]float64, n)
		for i := range at {
			for a := range at[i] {
				at[i][a] = c.points.float(c.points.at(row, i, a))
				distance[i] += at[i][a]
			}
			if finite := !math.IsNaN(distance[i]) && !math.IsInf(distance[i], 0); !finite {
				distance[i] = math.Inf(-1)
			} else {
				distance[i] = math.Inf(1)
			}
		}
		last := -1
		for step := range c.k {
			next := -1
			for i, d := range distance {
				if step == 0 && c.firsts != nil {
					i = (i + c.firsts[row]) % n
					d = distance[i]
				}
				if d >= 0 && (next < 0 || d > distance[next]) {
					next = i
				}
			}
			want = append(want, int64(next))
			if last = next; last < 0 {
				continue
			}
			for i, p := range at {
				x, y, z := each32(p[0]-at[last][0]), each32(p[1]-at[last][1]), each32(p[2]-at[last][2])
				distance[i] = min(distance[i], each32(each32(each32(x*x)+each32(y*y))+each32(z*z)))
			}
		}
	}
	return nil, func(got *result) string { return got.differ("Indices", arr(want, len(want)).raw, nil) }
}

// drawFarthest returns the generated case with a number. Most points are on a lattice, where distances are exact and many are equal. Some are
// far or not finite.
func drawFarthest(i int) []trial {
	g := &generator{Rand: rng(14000 + uint64(i))}
	b, n := g.IntN(4), 1+g.IntN(1+g.IntN(300))
	if i%20 == 19 {
		b, n = 1, 4090+g.IntN(20)
	}
	list := make([]float64, b*n*3)
	for k := range list {
		switch list[k] = float64(g.IntN(9)-4) / 8; {
		case i%4 == 1:
			list[k] = g.NormFloat64()
		case i%4 == 2 && g.one(20):
			list[k] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 3e38, -3e38}[g.IntN(5)]
		}
	}
	c := &choosing{title: numbered("farthest", i), points: vals(tensor.F32, list, b, n, 3), k: g.IntN(min(n, 40) + 1)}
	if g.one(3) {
		c.points = c.points.restride([]int{n*5 + 3, 5, 1}, g.IntN(4), 3, poison(tensor.F32))
	}
	return []trial{{c, layouts[i%2]}}
}

// farthestNamed tests the ends of blocks and tiles, all points, rows without finite points, and seeds.
func (s *suite) farthestNamed(t *testing.T) {
	g := &generator{Rand: rng(4)}
	cloud := func(b, n int) *array { return vals(tensor.F32, uniformValues(g.Rand, 3*b*n), b, n, 3) }
	for _, n := range []int{1, 2, 31, 32, 33, 511, 512, 513, 4096, 4097} {
		s.run(t, &choosing{title: fmt.Sprint(n, " points"), points: cloud(2, n), k: min(n, 5)}, layouts[1])
	}
	s.run(t, &choosing{title: "all points", points: cloud(1, 100), k: 100}, layouts[0])
	s.run(t, &choosing{title: "several blocks", points: cloud(2, 20011), k: 4}, layouts[0])
	s.run(t, &choosing{title: "equal points in several blocks", points: cloud(1, 1).repeat(16385), k: 3}, layouts[0])
	none := cloud(3, 10)
	for i := range none.raw {
		if i < 30 || i < 60 && i%3 == 0 || i == 60 {
			none.raw[i] = encode(tensor.F32, math.NaN())
		}
	}
	s.run(t, &choosing{title: "rows without finite points", points: none, k: 4}, layouts[0])
	// The firsts for seed 7 follow from the formula in ops.FarthestOptions, written once more in scripts/gen_spatial_golden.py.
	s.run(t, &choosing{title: "seed", points: cloud(3, 1000), k: 3, opts: ops.FarthestOptions{Seed: 7}, firsts: readSpatial(t).Firsts}, layouts[0])
}

// repeat returns points [B,n,3], all equal to the first of each row.
func (a *array) repeat(n int) *array {
	return &array{a.dtype, a.raw, []int{1, n, 3}, []int{0, 0, 1}, a.offset}
}

// farthestSubject returns a FarthestPoints of two clouds that change.
func farthestSubject() *subject {
	g := &generator{Rand: rng(5)}
	cloud := func() *array { return vals(tensor.F32, uniformValues(g.Rand, 1200), 2, 200, 3) }
	c := &choosing{title: "two clouds", points: cloud(), k: 20}
	return &subject{operation: c, op: "FarthestPoints", inputs: map[string]**array{"Points": &c.points}, change: func(int) { c.points = cloud() }}
}

// farthestCall is a FarthestPoints of 3 among 6 points in two rows.
type farthestCall struct {
	maker
	args ops.FarthestArgs
}

// farthestMisuses returns the wrong calls of FarthestPoints.
func farthestMisuses() *misuses[farthestCall] {
	return &misuses[farthestCall]{
		op: "FarthestPoints",
		good: func(m maker, c *farthestCall) {
			c.maker, c.args = m, ops.FarthestArgs{Points: m.new(tensor.F32, 2, 6, 3), Indices: m.new(tensor.I64, 2, 3)}
		},
		places: func(c *farthestCall) []place {
			return []place{{"Points", &c.args.Points}, {"Indices", &c.args.Indices}}
		},
		free: []string{"Points"}, needed: []string{"Points", "Indices"},
		plan: func(dev *ops.Device, c *farthestCall) error {
			_, err := dev.PlanFarthestPoints(c.args, ops.FarthestOptions{})
			return err
		},
		call: func(dev *ops.Device, c *farthestCall) error {
			return dev.FarthestPoints(context.Background(), c.args, ops.FarthestOptions{})
		},
		wrong: []wrong[farthestCall]{
			{name: "more than there are", arg: "Indices", kind: ops.ErrShape, spoil: func(c *farthestCall) { c.args.Indices = c.new(tensor.I64, 2, 7) }},
			{name: "four columns", arg: "Points", kind: ops.ErrShape, spoil: func(c *farthestCall) { c.args.Points = c.new(tensor.F32, 2, 6, 4) }},
			{name: "too many", arg: "Indices", kind: ops.ErrTooLarge, spoil: func(c *farthestCall) {
				c.args.Points, c.args.Indices = c.new(tensor.F32, 2, ops.MaxFarthest+1, 3), c.new(tensor.I64, 2, ops.MaxFarthest+1)
			}},
		},
	}
}
