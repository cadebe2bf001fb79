package opstest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// integrating is a case of Integrate.
type integrating struct {
	title                            string
	depth, intrinsics, poses, images *array
	opts                             ops.IntegrateOptions
	m                                int      // blocks that fit the volume
	runs                             int      // the number of a plan's runs; 0 means 1
	known                            [][3]int // blocks in the volume at the beginning
}

func integrateParts() parts {
	return parts{"named": (*suite).integrateNamed, "refused": (*suite).integrateRefused, "edges": (*suite).integrateEdges, "generated": generated("integrate")}
}

// begun is the number in each element of the volume at the beginning, but for the keys of known blocks.
const begun = 7

// args returns the arguments. put makes inputs; out makes an output with an initial content.
func (c *integrating) args(put func(*array) *tensor.Tensor, out func(name string, a *array) *tensor.Tensor) ops.IntegrateArgs {
	a := ops.IntegrateArgs{Depth: put(c.depth), Intrinsics: put(c.intrinsics), Poses: put(c.poses), Images: put(c.images)}
	volume := c.after(0)
	a.Keys, a.State, a.Counts = out("Keys", volume["Keys"]), out("State", volume["State"]), out("Counts", volume["Counts"])
	a.Distance, a.Weight = out("Distance", volume["Distance"]), out("Weight", volume["Weight"])
	if c.images != nil {
		a.Color = out("Color", volume["Color"])
	}
	return a
}

func (c *integrating) plan(p *placed, l layout, _ ops.LaunchMode) (*ops.Plan, error) {
	args := c.args(p.put, func(name string, a *array) *tensor.Tensor {
		return p.out(name, spaced(a.dtype, a.shape, 0, 0, l.sideOffset), l.end, a.raw...)
	})
	return p.dev.PlanIntegrate(args, c.opts)
}

func (c *integrating) call(dev *ops.Device) (*result, error) {
	a := c.args((*array).host, func(_ string, a *array) *tensor.Tensor { return a.host() })
	if err := dev.Integrate(context.Background(), a, c.opts); err != nil {
		return nil, err
	}
	return resultOf(map[string]*tensor.Tensor{"Keys": a.Keys, "State": a.State, "Counts": a.Counts, "Distance": a.Distance, "Weight": a.Weight, "Color": a.Color}), nil
}

func (c *integrating) name() string { return c.title }

func (c *integrating) traits() traits {
	refused := c.after(1)["State"].raw[2] > 0 // a call returns an error
	return traits{exact: true, planned: refused, runs: c.runs, modes: plainAndReady[:1]}
}

func (c *integrating) describe() string {
	return fmt.Sprintf("%s %v depth=%s intrinsics=%v poses=%v colors=%v M=%d %+v", c.depth.dtype, c.depth.shape, c.depth.spacing(), c.intrinsics.shape, c.poses.shape, c.images != nil, c.m, c.opts)
}

func (c *integrating) solve(*suite) (*ops.ValueError, func(*result) string) {
	return nil, func(got *result) string {
		want := map[string][]uint64{}
		for name, a := range c.after(got.round + 1) {
			want[name] = a.raw
		}
		return got.differAny(want)
	}
}

// voxelValues has a voxel's values, all float32.
type voxelValues struct {
	distance, weight float64
	color            [3]float64
}

// after returns the volume and the counts after a number of runs: with a map of blocks and one image after the other.
func (c *integrating) after(runs int) map[string]*array {
	b := c.depth.shape[0]
	blocks := map[[3]int][]voxelValues{}
	var order [][3]int
	for _, key := range c.known {
		order = append(order, key)
		blocks[key] = slices.Repeat([]voxelValues{{begun, begun, [3]float64{begun, begun, begun}}}, ops.BlockVoxels)
	}
	integrated, refused := 0, 0
	counts := make([]int64, 4*b)
	for range runs {
		clear(counts)
		shown := make([]map[[3]int]bool, b)
		all := map[[3]int]bool{}
		for n := range shown {
			shown[n] = c.shown(n, counts[4*n:])
			for key := range shown[n] {
				all[key] = true
			}
		}
		for _, key := range order {
			all[key] = true
		}
		if refused > 0 || len(all) > c.m {
			refused += b
			continue
		}
		for n := range b {
			var fresh [][3]int
			for key := range shown[n] {
				if blocks[key] == nil {
					fresh = append(fresh, key)
					blocks[key] = make([]voxelValues, ops.BlockVoxels)
				}
			}
			slices.SortFunc(fresh, func(a, b [3]int) int { return slices.Compare(a[:], b[:]) })
			order = append(order, fresh...)
			counts[4*n+3] = int64(len(fresh))
			for key, list := range blocks {
				c.update(n, key, list)
			}
		}
		integrated += b
	}
	out := map[string]*array{"Counts": arr(counts, b, 4), "State": arr([]int64{int64(len(order)), int64(integrated), int64(refused)}, 3)}
	if runs == 0 {
		out["Counts"] = arr(make([]int64, 4*b), b, 4)
	}
	fill := func(n int) []float64 { return slices.Repeat([]float64{begun}, n) }
	keys := slices.Repeat([]int32{begun}, 3*c.m)
	distance, weight, color := fill(512*c.m), fill(512*c.m), fill(3*512*c.m)
	for slot, key := range order {
		for a, x := range key {
			keys[3*slot+a] = int32(x)
		}
		for i, v := range blocks[key] {
			distance[512*slot+i], weight[512*slot+i] = v.distance, v.weight
			copy(color[3*(512*slot+i):], v.color[:])
		}
	}
	out["Keys"] = arr(keys, c.m, 3)
	out["Distance"], out["Weight"] = vals(tensor.F32, distance, c.m, 512), vals(tensor.F32, weight, c.m, 512)
	if c.images != nil {
		out["Color"] = vals(tensor.F32, color, c.m, 512, 3)
	}
	return out
}

func (c *integrating) depthOptions() ops.DeprojectOptions {
	return ops.DeprojectOptions{Scale: c.opts.Scale, Near: c.opts.Near, Far: c.opts.Far}
}

func (c *integrating) truncation() float64 {
	band := c.opts.Truncation
	if band == 0 {
		band = 4 * c.opts.Voxel
	}
	return each32(band)
}

// shown returns the blocks near the surface in an image, and counts its pixels.
func (c *integrating) shown(n int, counts []int64) map[[3]int]bool {
	out := map[[3]int]bool{}
	band, voxel := c.truncation(), each32(c.opts.Voxel)
	steps := math.Ceil(band / voxel)
	k := func(i int) float64 { return entryOf(c.intrinsics, n, i) }
	for i := range c.depth.shape[1] * c.depth.shape[2] {
		v, u := i/c.depth.shape[2], i%c.depth.shape[2]
		z, kind := pixelDepth(c.depth, c.depthOptions(), n, v, u)
		var keys [][3]int
		if kind == 0 {
			rx, ry := each32(each32(float64(u)-k(2))/k(0)), each32(each32(float64(v)-k(3))/k(1))
			for s := range int(steps) + 1 {
				t := max(each32(each32(z-band)+each32(float64(s)*each32(2*band/steps))), 0)
				var key [3]int
				for a := range 3 {
					m := func(column int) float64 { return entryOf(c.poses, n, a, column) }
					d := each32(each32(each32(m(0)*rx)+each32(m(1)*ry)) + m(2))
					at := math.Floor(each32(each32(each32(d*t)+m(3)) * each32(1/(8*voxel))))
					if math.IsNaN(at) || at < -1<<20 || at >= 1<<20 {
						kind = 2
						break
					}
					key[a] = int(at)
				}
				keys = append(keys, key)
			}
		}
		counts[kind]++
		for _, key := range keys {
			if kind == 0 {
				out[key] = true
			}
		}
	}
	return out
}

// update updates a block by an image.
func (c *integrating) update(n int, key [3]int, list []voxelValues) {
	k := func(i int) float64 { return entryOf(c.intrinsics, n, i) }
	m := func(r, column int) float64 { return entryOf(c.poses, n, r, column) }
	voxel, band, most := each32(c.opts.Voxel), c.truncation(), each32(c.opts.MaxWeight)
	if most == 0 {
		most = math.MaxFloat32
	}
	for i := range list {
		var w, p [3]float64
		for a, x := range [3]int{i % 8, i / 8 % 8, i / 64} {
			w[a] = each32(each32((float64(8*key[a]+x)+0.5)*voxel) - m(a, 3))
		}
		for a := range p {
			p[a] = each32(each32(each32(m(1, a)*w[1])+each32(m(2, a)*w[2])) + each32(m(0, a)*w[0]))
		}
		if !(p[2] > 0) {
			continue
		}
		inverse := each32(1 / p[2])
		u := math.Floor(each32(each32(each32(each32(k(0)*p[0])*inverse)+k(2)) + 0.5))
		v := math.Floor(each32(each32(each32(each32(k(1)*p[1])*inverse)+k(3)) + 0.5))
		if !(u >= 0 && v >= 0 && u < float64(c.depth.shape[2]) && v < float64(c.depth.shape[1])) {
			continue
		}
		depth, kind := pixelDepth(c.depth, c.depthOptions(), n, int(v), int(u))
		s := each32(depth - p[2])
		if kind != 0 || s < -band {
			continue
		}
		a := 1.0
		if c.opts.DepthWeight {
			a = each32(1 / each32(depth*depth))
		}
		a = min(a, most)
		x := &list[i]
		sum := each32(x.weight + a)
		if sum == 0 {
			continue
		}
		r := each32(a / sum)
		toward := func(was, now float64) float64 { return each32(was + each32(each32(now-was)*r)) }
		x.distance = toward(x.distance, max(min(each32(s*each32(1/band)), 1), -1))
		x.weight = min(sum, most)
		if c.images != nil {
			for j := range x.color {
				x.color[j] = toward(x.color[j], c.images.float(c.images.at(n, int(v), int(u), j)))
			}
		}
	}
}

// rigid returns n poses.
func rigid(g *generator, n int, shape ...int) *array {
	var list []float64
	for range n {
		var q [4]float64
		norm := 0.0
		for i := range q {
			q[i] = g.NormFloat64()
			norm += q[i] * q[i]
		}
		for i := range q {
			q[i] /= math.Sqrt(norm)
		}
		w, x, y, z := q[0], q[1], q[2], q[3]
		at := func() float64 { return 4*g.Float64() - 2 }
		list = append(list, 1-2*(y*y+z*z), 2*(x*y-w*z), 2*(x*z+w*y), at(), 2*(x*y+w*z), 1-2*(x*x+z*z), 2*(y*z-w*x), at(), 2*(x*z-w*y), 2*(y*z+w*x), 1-2*(x*x+y*y), at(), 0, 0, 0, 1)
	}
	return vals(tensor.F32, list, shape...)
}

// roughDepths returns depth images of a rough surface about 1 m away, with holes.
func roughDepths(g *generator, dtype tensor.DType, b, h, w int) *array {
	var list []float64
	for range b * h * w {
		z := 0.9 + 0.3*g.Float64()
		if g.one(9) {
			z = []float64{0, math.NaN(), math.Inf(1), 1e-30, 1e30, 3e6, -1}[g.IntN(7)]
		}
		list = append(list, z)
	}
	if dtype == tensor.F32 {
		return vals(tensor.F32, list, b, h, w)
	}
	var raw []uint64
	for _, z := range list {
		word := 0
		if z > 0 && z < 60 {
			word = int(1000 * z)
		}
		raw = append(raw, uint64(word&255), uint64(word>>8))
	}
	return packed(tensor.U8, raw, b, h, w, 2)
}

// viewing returns a case of b images.
func viewing(g *generator, title string, dtype tensor.DType, b, h, w, m int) *integrating {
	c := &integrating{title: title, depth: roughDepths(g, dtype, b, h, w), m: m, opts: ops.IntegrateOptions{Voxel: 0.02}, poses: rigid(g, b, b, 4, 4)}
	var k []float64
	for range b {
		k = append(k, 20+20*g.Float64(), 20+20*g.Float64(), float64(w)*g.Float64(), float64(h)*g.Float64())
	}
	c.intrinsics = vals(tensor.F32, k, b, 4)
	return c
}

// drawIntegrate returns the generated case with a number.
func drawIntegrate(i int) []trial {
	g := &generator{Rand: rng(17000 + uint64(i)), c: &resampling{}}
	b, h, w := g.IntN(4), 1+g.IntN(5), 1+g.IntN(8)
	c := viewing(g, numbered("integrate", i), []tensor.DType{tensor.F32, tensor.U8}[i%2], b, h, w, []int{0, 3, 40, 100}[min(g.IntN(12), 3)])
	c.runs = 1 + g.IntN(2)
	c.opts.Voxel = []float64{0.02, 0.05, 0.3}[g.IntN(3)]
	if g.one(2) {
		c.opts.Truncation = c.opts.Voxel * (1 + 5*g.Float64())
	}
	if g.one(3) {
		c.opts.Near, c.opts.Far = 0.95, 1.1
	}
	c.opts.DepthWeight = g.one(2)
	if g.one(3) {
		c.opts.MaxWeight = 2 * g.Float64()
	}
	if g.one(2) {
		c.intrinsics, c.poses = vals(tensor.F32, []float64{15, -12, 3, 2}, 4), rigid(g, 1, 4, 4)
	}
	if n := len(c.poses.raw); n > 0 && g.one(9) {
		c.poses.raw[g.IntN(n)] = encode(tensor.F32, math.NaN())
	}
	if g.one(2) {
		c.images = packed(tensor.U8, nil, b, h, w, 3)
		for range c.images.len() {
			c.images.raw = append(c.images.raw, uint64(g.IntN(256)))
		}
	}
	if g.one(3) {
		strides := slices.Clone(c.depth.strides)
		strides[1] += 3
		strides[0] = h*strides[1] + 5
		c.depth = c.depth.restride(strides, g.IntN(4), 3, poison(c.depth.dtype))
	}
	return []trial{{c, layouts[i/2%2]}}
}

// integrateNamed tests a volume that is full to the last block, one that has a block too few, and the ends of blocks of threads.
func (s *suite) integrateNamed(t *testing.T) {
	g := &generator{Rand: rng(4), c: &resampling{}}
	c := viewing(g, "full", tensor.F32, 2, 9, 57, 1000)
	c.opts.Voxel = 0.011 // more new blocks than a block of threads sorts at once
	c.m = int(c.after(1)["State"].raw[0])
	require.Greater(t, c.m, 512)
	s.run(t, c, layouts[1])
	few := *c
	few.title, few.runs = "a block too few", 2
	few.m--
	s.run(t, &few, layouts[1])
	far := viewing(g, "far blocks", tensor.F32, 1, 3, 10, 200)
	far.poses = vals(tensor.F32, []float64{1, 0, 0, 1.6, 0, 1, 0, -1.6, 0, 0, 1, 0.7, 0, 0, 0, 1}, 4, 4)
	far.opts.Voxel = 2e-7 // coordinates up to 1.7 m
	s.run(t, far, layouts[0])
	want := far.after(1)
	require.Greater(t, min(want["Counts"].raw[0], want["Counts"].raw[2]), uint64(5), "pixels in range, and out of range")
	require.Positive(t, want["State"].raw[1])
}

// integrateRefused tests that a full volume keeps its bits and refuses images until its State is changed.
func (s *suite) integrateRefused(t *testing.T) {
	g := &generator{Rand: rng(5), c: &resampling{}}
	c := viewing(g, "fits", tensor.F32, 1, 3, 4, 1000)
	c.m = int(c.after(1)["State"].raw[0])
	more := viewing(g, "more", tensor.F32, 1, 3, 4, 0)
	r := s.rig(t, &subject{operation: c, op: "Integrate", inputs: map[string]**array{"Depth": &c.depth}, goesOn: true})
	q, first := s.dev.Queue(), c.depth
	r.runs(t, q, 1, "fits", r.on(q))
	before, err := r.p.read()
	require.NoError(t, err)
	r.set(t, "Depth", more.depth)
	for range 2 {
		require.NoError(t, r.plan.Run(q))
		require.NoError(t, q.Synchronize(background))
	}
	r.set(t, "Depth", first) // which fits, but comes after others that were refused
	require.NoError(t, r.plan.Run(q))
	require.NoError(t, q.Synchronize(background))
	after, err := r.p.read()
	require.NoError(t, err)
	assert.Equal(t, []uint64{uint64(c.m), 1, 3}, after.out["State"].raw)
	for _, name := range []string{"Keys", "Distance", "Weight"} {
		assert.Equal(t, before.out[name].raw, after.out[name].raw, name)
	}
}

// integrateSubject returns an Integrate of two images that change.
func integrateSubject() *subject {
	g := &generator{Rand: rng(6), c: &resampling{}}
	c := viewing(g, "again and again", tensor.F32, 2, 3, 4, 60)
	return &subject{operation: c, op: "Integrate", inputs: map[string]**array{"Depth": &c.depth, "Intrinsics": &c.intrinsics, "Poses": &c.poses}, goesOn: true}
}

// integrateCall is an Integrate of two images with 3x4 pixels and colours.
type integrateCall struct {
	maker
	args ops.IntegrateArgs
	opts ops.IntegrateOptions
}

// integrateMisuses returns the wrong calls of Integrate.
func integrateMisuses() *misuses[integrateCall] {
	x := &misuses[integrateCall]{
		op: "Integrate",
		good: func(m maker, c *integrateCall) {
			c.maker, c.opts = m, ops.IntegrateOptions{Voxel: 0.1, Far: 0.5} // no depth is valid, so no block is wanted
			c.args = ops.IntegrateArgs{Keys: m.new(tensor.I32, 5, 3), Distance: m.new(tensor.F32, 5, 512), Weight: m.new(tensor.F32, 5, 512), Color: m.new(tensor.F32, 5, 512, 3),
				State: m.ints(0, 0, 0), Counts: m.new(tensor.I64, 2, 4), Depth: m.new(tensor.F32, 2, 3, 4), Intrinsics: m.new(tensor.F32, 2, 4), Poses: m.new(tensor.F32, 2, 4, 4),
				Images: m.new(tensor.U8, 2, 3, 4, 3)}
		},
		places: func(c *integrateCall) []place {
			a := &c.args
			return []place{{"Keys", &a.Keys}, {"Distance", &a.Distance}, {"Weight", &a.Weight}, {"Color", &a.Color}, {"State", &a.State}, {"Counts", &a.Counts},
				{"Depth", &a.Depth}, {"Intrinsics", &a.Intrinsics}, {"Poses", &a.Poses}, {"Images", &a.Images}}
		},
		free: []string{"Depth", "Keys"}, needed: []string{"Keys", "Distance", "Weight", "State", "Depth", "Intrinsics", "Poses", "Images"},
		plan: func(dev *ops.Device, c *integrateCall) error { _, err := dev.PlanIntegrate(c.args, c.opts); return err },
		call: func(dev *ops.Device, c *integrateCall) error {
			return dev.Integrate(context.Background(), c.args, c.opts)
		},
	}
	add := func(name, arg string, kind error, spoil func(*integrateCall)) {
		x.wrong = append(x.wrong, wrong[integrateCall]{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	add("keys without coordinates", "Keys", ops.ErrShape, func(c *integrateCall) { c.args.Keys = c.new(tensor.I32, 5) })
	add("fewer weights", "Weight", ops.ErrShape, func(c *integrateCall) { c.args.Weight = c.new(tensor.F32, 4, 512) })
	add("images without Color", "Images", ops.ErrOption, func(c *integrateCall) { c.args.Color = nil })
	add("pixels apart", "Images", ops.ErrStride, func(c *integrateCall) {
		c.args.Images = tensor.Must(c.new(tensor.U8, 2, 3, 4, 4).AsStrided([]int{2, 3, 4, 3}, []int{48, 16, 4, 1}, 0))
	})
	add("weights in the distances", "Weight", ops.ErrOverlap, func(c *integrateCall) { c.args.Weight = c.args.Distance })
	for _, voxel := range []float64{0, -1, math.NaN(), 1e-60, math.Inf(1)} {
		add("a voxel", "Options.Voxel", ops.ErrOption, func(c *integrateCall) { c.opts.Voxel = voxel })
	}
	for _, band := range []float64{-1, 0.05, 7, math.NaN()} {
		add("a truncation", "Options.Truncation", ops.ErrOption, func(c *integrateCall) { c.opts.Truncation = band })
	}
	for _, most := range []float64{-1, math.NaN(), 1e-60} {
		add("a weight", "Options.MaxWeight", ops.ErrOption, func(c *integrateCall) { c.opts.MaxWeight = most })
	}
	return x
}
