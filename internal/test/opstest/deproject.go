package opstest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// deprojecting is a case of Deproject.
type deprojecting struct {
	title                    string
	depth, intrinsics, poses *array
	opts                     ops.DeprojectOptions
	plain                    bool // without Mask and Counts
	compact                  bool
	room                     int    // points that fit, if compact
	color                    *array // if compact; nil without Colors
}

func deprojectParts() parts {
	return parts{"golden": (*suite).deprojectGolden, "named": (*suite).deprojectNamed, "compact": (*suite).deprojectCompact, "generated": generated("deproject")}
}

func (c *deprojecting) args(put func(*array) *tensor.Tensor, out func(name string, dtype tensor.DType, shape ...int) *tensor.Tensor) ops.DeprojectArgs {
	b, h, w := c.depth.shape[0], c.depth.shape[1], c.depth.shape[2]
	a := ops.DeprojectArgs{Depth: put(c.depth), Intrinsics: put(c.intrinsics), Poses: put(c.poses), Color: put(c.color)}
	if c.compact {
		a.Points, a.Offsets = out("Points", tensor.F32, c.room, 3), out("Offsets", tensor.I64, b+1)
		if c.color != nil {
			a.Colors = out("Colors", tensor.U8, c.room, 3)
		}
	} else {
		a.Points = out("Points", tensor.F32, b, h, w, 3)
	}
	if !c.plain {
		a.Mask, a.Counts = out("Mask", tensor.U8, b, h, w), out("Counts", tensor.I64, b, 3)
	}
	return a
}

func (c *deprojecting) plan(p *placed, l layout, _ ops.LaunchMode) (*ops.Plan, error) {
	return p.dev.PlanDeproject(c.args(p.put, p.dense(l)), c.opts)
}

// dense returns a function that makes contiguous outputs in a layout.
func (p *placed) dense(l layout) func(name string, dtype tensor.DType, shape ...int) *tensor.Tensor {
	return func(name string, dtype tensor.DType, shape ...int) *tensor.Tensor {
		return p.out(name, spaced(dtype, shape, 0, 0, l.sideOffset), l.end)
	}
}

// newOutput returns a host tensor.
func newOutput(_ string, dtype tensor.DType, shape ...int) *tensor.Tensor {
	return tensor.Must(tensor.New(dtype, shape...))
}

func (c *deprojecting) call(dev *ops.Device) (*result, error) {
	a := c.args((*array).host, newOutput)
	if err := dev.Deproject(context.Background(), a, c.opts); err != nil {
		return nil, err
	}
	return resultOf(map[string]*tensor.Tensor{"Points": a.Points, "Offsets": a.Offsets, "Colors": a.Colors, "Mask": a.Mask, "Counts": a.Counts}), nil
}

func (c *deprojecting) name() string { return c.title }

func (c *deprojecting) traits() traits {
	return traits{exact: true, again: true, planned: c.short(), modes: plainAndReady[:1]}
}

// short reports whether some points do not fit. A call then returns an error.
func (c *deprojecting) short() bool {
	valid := 0
	b, h, w := c.depth.shape[0], c.depth.shape[1], c.depth.shape[2]
	for i := range b * h * w {
		if _, kind := pixelDepth(c.depth, c.opts, i/(h*w), i/w%h, i%w); kind == 0 {
			valid++
		}
	}
	return c.compact && valid > c.room
}

func (c *deprojecting) describe() string {
	return fmt.Sprintf("%s %v depth=%s intrinsics=%v poses=%v %+v plain=%v compact=%v short=%v colors=%v", c.depth.dtype, c.depth.shape, c.depth.spacing(), c.intrinsics.shape, c.poses != nil, c.opts, c.plain, c.compact, c.short(), c.color != nil)
}

// each32 rounds to float32. In float64 a sum, product or quotient of two float32 is so exact that rounding it again gives what rounding once gives.
func each32(x float64) float64 { return float64(float32(x)) }

// entryOf returns an element of a row's entry, in an array with one for each row or one for all.
func entryOf(a *array, row int, index ...int) float64 {
	if len(a.shape) > len(index) {
		index = append([]int{row}, index...)
	}
	return a.float(a.at(index...))
}

// pixelDepth returns the depth of a pixel in metres: kind is 0 if it is valid, 1 if there is none, 2 if it is out of range.
func pixelDepth(images *array, o ops.DeprojectOptions, n, v, u int) (z float64, kind int) {
	scale, far := each32(o.Scale), o.Far
	words := images.dtype == tensor.U8
	if scale == 0 {
		scale = map[bool]float64{true: each32(0.001), false: 1}[words]
	}
	if far == 0 || far > math.MaxFloat32 {
		far = math.MaxFloat32
	}
	var depth float64
	if words {
		depth = images.float(images.at(n, v, u, 0)) + 256*images.float(images.at(n, v, u, 1))
	} else {
		depth = images.float(images.at(n, v, u))
	}
	switch z = each32(depth * scale); {
	case depth == 0 || math.IsNaN(depth) || math.IsInf(depth, 0):
		kind = 1
	case z < each32(o.Near) || z > each32(far):
		kind = 2
	}
	return z, kind
}

func (c *deprojecting) solve(*suite) (*ops.ValueError, func(*result) string) {
	b, h, w := c.depth.shape[0], c.depth.shape[1], c.depth.shape[2]
	var points []float64
	var mask, colors []uint64
	counts := make([]uint64, 3*b)
	var k [4]float64 // intrinsics
	for i := range b * h * w {
		n, v, u := i/(h*w), i/w%h, i%w
		for j := range k[:4*(1-min(i%(h*w), 1))] { // once for an image
			k[j] = entryOf(c.intrinsics, n, j)
		}
		z, kind := pixelDepth(c.depth, c.opts, n, v, u)
		at := []float64{math.NaN(), math.NaN(), math.NaN()}
		if kind == 0 {
			at = []float64{each32(each32(each32(float64(u)-k[2])*z) / k[0]), each32(each32(each32(float64(v)-k[3])*z) / k[1]), z}
			if c.poses != nil {
				from := slices.Clone(at)
				for a := range 3 {
					m := func(column int) float64 { return entryOf(c.poses, n, a, column) }
					at[a] = each32(each32(each32(each32(m(0)*from[0])+each32(m(1)*from[1]))+each32(m(2)*from[2])) + m(3))
				}
			}
		}
		mask = append(mask, uint64(1-min(kind, 1)))
		counts[3*(i/(h*w))+kind]++
		if c.compact && kind != 0 {
			continue
		}
		points = append(points, at...)
		for k := range 3 {
			if c.color != nil {
				colors = append(colors, c.color.raw[c.color.at(n, v, u, k)])
			}
		}
	}
	want := map[string][]uint64{"Points": vals(tensor.F32, points, len(points)).raw}
	if !c.plain {
		want["Mask"], want["Counts"] = mask, counts
	}
	if !c.compact {
		return nil, func(got *result) string { return got.differAny(want) }
	}
	want["Offsets"] = []uint64{0}
	for n := range b {
		want["Offsets"] = append(want["Offsets"], want["Offsets"][n]+counts[3*n])
	}
	if c.color != nil {
		want["Colors"] = colors
	}
	return nil, func(got *result) string {
		whole := maps.Clone(want)
		for _, name := range []string{"Points", "Colors"} {
			if a := got.out[name]; a != nil {
				whole[name] = a.beginning(want[name])
			}
		}
		return got.differAny(whole)
	}
}

// beginning returns the content that an output must have if only its beginning is written: the rest has the poison of a plan's output, or the zeros of
// a call's.
func (a *array) beginning(written []uint64) []uint64 {
	n := min(len(written), len(a.raw))
	rest := make([]uint64, len(a.raw)-n)
	for i := range rest {
		if a.raw[len(a.raw)-1] != 0 {
			rest[i] = poison(a.dtype)
		}
	}
	return append(slices.Clone(written[:n]), rest...)
}

// depths returns images of 16-bit depths, or of f32 in metres, which include those that are no depths.
func depths(g *generator, dtype tensor.DType, shape ...int) *array {
	a := packed(dtype, nil, shape...)
	if dtype == tensor.U8 {
		a = packed(dtype, nil, append(shape, 2)...)
	}
	for range a.len() {
		switch {
		case dtype == tensor.U8 && len(a.raw)%2 == 1:
			a.raw = append(a.raw, uint64(g.IntN(30)))
		case dtype == tensor.U8:
			a.raw = append(a.raw, uint64(g.IntN(8)/7*g.IntN(256)))
		default:
			a.raw = append(a.raw, g.bits(dtype, 6))
		}
	}
	return a
}

func camera(g *generator, n int) *array {
	var list []float64
	for range max(n, 1) {
		list = append(list, 300+300*g.Float64(), 300+300*g.Float64(), 20*g.Float64(), 20*g.Float64())
	}
	if n == 0 {
		return vals(tensor.F32, list, 4)
	}
	return vals(tensor.F32, list, n, 4)
}

// drawDeproject returns the generated case with a number.
func drawDeproject(i int) []trial {
	g := &generator{Rand: rng(13000 + uint64(i)), c: &resampling{}}
	b, h, w := g.IntN(4), 1+g.IntN(1+g.IntN(40)), 1+g.IntN(1+g.IntN(70))
	c := &deprojecting{title: numbered("deproject", i), intrinsics: camera(g, b*g.IntN(2)), plain: g.one(4), depth: depths(g, []tensor.DType{tensor.F32, tensor.U8}[i%2], b, h, w)}
	if g.one(2) {
		c.opts = ops.DeprojectOptions{Scale: g.Float64() / 100, Near: g.Float64() * 2, Far: 2 + g.Float64()*3}
	}
	if g.one(2) {
		c.poses = vals(tensor.F32, uniformValues(g.Rand, 16*max(b, 1)), max(b, 1), 4, 4)
		if b == 0 || g.one(2) {
			c.poses = vals(tensor.F32, uniformValues(g.Rand, 16), 4, 4)
		}
	}
	if g.one(3) {
		strides := slices.Clone(c.depth.strides)
		strides[1] += 3
		strides[0] = h*strides[1] + 5
		c.depth = c.depth.restride(strides, g.IntN(4), 3, poison(c.depth.dtype))
	}
	if g.one(2) {
		c.compact, c.room = true, []int{b * h * w, g.IntN(b*h*w + 1)}[g.IntN(2)]
		if g.one(2) {
			c.color = pixels(g, b, h, w)
		}
	}
	return []trial{{c, layouts[i/2%2]}}
}

// pixels returns images with gaps between rows and images.
func pixels(g *generator, b, h, w int) *array {
	a := packed(tensor.U8, nil, b, h, w, 3)
	for range a.len() {
		a.raw = append(a.raw, uint64(g.IntN(256)))
	}
	row := 3*w + g.IntN(3)
	return a.restride([]int{h*row + g.IntN(5), row, 3, 1}, g.IntN(4), 3, poison(tensor.U8))
}

// deprojectCompact tests the ends of blocks, of images, and of the output.
func (s *suite) deprojectCompact(t *testing.T) {
	g := &generator{Rand: rng(4), c: &resampling{}}
	compact := func(title string, b, h, w, room int) *deprojecting {
		return &deprojecting{title: title, depth: depths(g, tensor.U8, b, h, w), intrinsics: camera(g, 0), compact: true, room: room, color: pixels(g, b, h, w), plain: g.one(2)}
	}
	for _, w := range []int{0, 1, 31, 33, 255, 257, 1023, 1025, 2500} {
		s.run(t, compact(fmt.Sprint(w, " pixels"), 2, 1, w, 2*w), layouts[1])
	}
	s.run(t, compact("no images", 0, 3, 5, 2), layouts[0])
	s.run(t, compact("images without rows", 3, 0, 5, 2), layouts[0])
	s.run(t, compact("no place", 2, 3, 5, 0), layouts[0])
	s.run(t, compact("more images than threads", 300, 2, 3, 1800), layouts[0])
	full := compact("all pixels are valid", 1, 30, 40, 1200)
	full.depth = vals(tensor.F32, slices.Repeat([]float64{1}, 1200), 1, 30, 40)
	s.run(t, full, layouts[1])
	words := compact("words near the limits", 1, 30, 40, 1200)
	words.opts = ops.DeprojectOptions{Scale: 0.001, Near: 0.5, Far: 1.5}
	for i := range words.depth.raw {
		words.depth.raw[i] = uint64(g.IntN([]int{256, 8}[i%2]))
	}
	s.run(t, words, layouts[0])
	s.run(t, compact("images with more than 12 bits of points", 3, 50, 100, 15000), layouts[0])
	if s.long {
		s.run(t, compact("several warps of images with more than 12 bits of points", 40, 42, 100, 168000), layouts[0])
		s.run(t, compact("more blocks than threads", 1, 263, 1000, 263000), layouts[0])
	}

	full.room--
	a := full.args((*array).host, newOutput)
	err := s.dev.Deproject(background, a, full.opts)
	var arg *ops.ArgError
	require.ErrorAs(t, err, &arg)
	require.ErrorIs(t, err, ops.ErrFull)
	require.Equal(t, ops.ArgError{Op: "Deproject", Arg: "Points", Kind: ops.ErrFull, Got: "1199 points", Want: "1200"}, *arg)
	_, compare := full.solve(s)
	got := map[string]*tensor.Tensor{"Points": a.Points, "Offsets": a.Offsets, "Colors": a.Colors, "Mask": a.Mask, "Counts": a.Counts}
	require.Empty(t, compare(resultOf(got)), "the points that fit")
}

// deprojectNamed tests the ends of blocks, limits that a depth equals, and images that share their memory.
func (s *suite) deprojectNamed(t *testing.T) {
	g := &generator{Rand: rng(2), c: &resampling{}}
	for _, w := range []int{0, 1, 31, 33, 1023, 1025, 2500} {
		s.run(t, &deprojecting{title: fmt.Sprint(w, " pixels"), depth: depths(g, tensor.F32, 2, 1, w), intrinsics: camera(g, 2)}, layouts[1])
	}
	ends := vals(tensor.F32, []float64{0.5, math.Nextafter(0.5, 0), 1, 2, 2.0000002, -1, 0, math.MaxFloat32, 0.49999997}, 1, 3, 3)
	for _, compact := range []bool{false, true} {
		s.run(t, &deprojecting{title: "limits", depth: ends, intrinsics: camera(g, 0), opts: ops.DeprojectOptions{Near: 0.5, Far: 2}, compact: compact, room: 9}, layouts[0])
	}
	s.run(t, &deprojecting{title: "beyond float32", depth: ends, intrinsics: camera(g, 0), opts: ops.DeprojectOptions{Scale: 4, Far: math.Inf(1)}}, layouts[0])
	s.run(t, &deprojecting{title: "one image twice", depth: ends.row(0).broadcast(2), intrinsics: camera(g, 2)}, layouts[0])
}

// row returns one entry of the first dimension.
func (a *array) row(n int) *array {
	return &array{a.dtype, a.raw, a.shape[1:], a.strides[1:], a.offset + n*a.strides[0]}
}

// deprojectSubject returns a Deproject of two images that change. Compact points fill the output.
func deprojectSubject(compact bool) *subject {
	g := &generator{Rand: rng(3), c: &resampling{}}
	c := &deprojecting{title: "two images", intrinsics: camera(g, 2)}
	x := &subject{operation: c, op: "Deproject", inputs: map[string]**array{"Depth": &c.depth, "Intrinsics": &c.intrinsics},
		change: func(int) { c.depth = depths(g, tensor.F32, 2, 30, 40) }}
	if compact {
		c.title, c.compact, c.room, c.color = "points of two images", true, 2400-700, pixels(g, 2, 30, 40)
		x.inputs["Color"] = &c.color
		x.change = func(int) {
			values := slices.Repeat([]float64{1 + g.Float64()}, 2400)
			for _, hole := range g.Perm(2400)[:700] {
				values[hole] = 0
			}
			c.depth = vals(tensor.F32, values, 2, 30, 40)
		}
	}
	x.change(0)
	return x
}

// spatialGolden is written by scripts/gen_spatial_golden.py with numpy.
//
//go:embed testdata/spatial_golden.json
var spatialGolden []byte

// spatialFile is the content of spatialGolden.
type spatialFile struct {
	Deproject []struct {
		Words            bool
		Shape            []int
		Depth            []uint64 // bits
		Intrinsics       []float64
		Scale, Near, Far float64
		Points, Mask     []uint64 // bits
	}
	PerAct []struct {
		Min, Max      [3]float64
		Points        []uint64 // bits
		Cells, Counts []int    // of occupied cells, in the order of the grid
		Means         []float64
	}
	Firsts []int // the first points of three rows of 1000, by seed 7
}

func readSpatial(t *testing.T) (file spatialFile) {
	t.Helper()
	require.NoError(t, json.Unmarshal(spatialGolden, &file))
	return file
}

func (s *suite) deprojectGolden(t *testing.T) {
	list := readSpatial(t).Deproject
	require.NotEmpty(t, list)
	for i, g := range list {
		c := &deprojecting{title: fmt.Sprint("golden ", i), depth: packed(tensor.F32, g.Depth, g.Shape...), intrinsics: vals(tensor.F32, g.Intrinsics, 4),
			opts: ops.DeprojectOptions{Scale: g.Scale, Near: g.Near, Far: g.Far}}
		if g.Words {
			c.depth = packed(tensor.U8, g.Depth, append(g.Shape, 2)...)
		}
		require.Empty(t, s.called(t, c).differAny(map[string][]uint64{"Points": g.Points, "Mask": g.Mask}), c.title)
	}
}
