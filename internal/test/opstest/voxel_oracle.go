package opstest

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// voxelAnswer is the expected result of a Voxelize, computed with maps and arbitrary precision.
type voxelAnswer struct {
	found  ops.VoxelCounts
	voxels []voxelWant    // hard, sparse: the voxels within MaxVoxels, in order; dense: all cells with points
	at     map[[4]int]int // dense: indices in voxels, by row and cell
}

type voxelWant struct {
	place  [4]int // row, then the cell's indices in the order of the grid's dimensions
	points []int  // indices of all points in the cell
}

// kept returns the points of a voxel that are written.
func (c *voxelizing) kept(points []int) []int {
	if c.Opts.Mode == ops.VoxelHard {
		return points[:min(len(points), c.Opts.MaxPoints)]
	}
	return points
}

// rounded returns x rounded to the points' dtype, in a big.Float of that precision, or nil if it is not finite.
func (c *voxelizing) rounded(x float64) *big.Float {
	if c.Points.dtype == tensor.F32 {
		x = float64(float32(x))
	}
	if x-x != 0 {
		return nil
	}
	return new(big.Float).SetPrec(c.precision()).SetFloat64(x)
}

// nearest returns x rounded to the points' dtype, including subnormal, zero and infinite results.
func (c *voxelizing) nearest(x *big.Float) float64 {
	if c.Points.dtype == tensor.F32 {
		f, _ := x.Float32()
		return float64(f)
	}
	f, _ := x.Float64()
	return f
}

func (c *voxelizing) precision() uint {
	if c.Points.dtype == tensor.F32 {
		return 24
	}
	return 53
}

// row returns the row of a point.
func (c *voxelizing) row(i int) int {
	if c.Offsets == nil {
		return 0
	}
	for b := range c.rows() {
		if c.Offsets.int(b) <= int64(i) && int64(i) < c.Offsets.int(b+1) {
			return b
		}
	}
	panic("a point in no row")
}

// position returns a point after the pose, with each step rounded. ok is false if a coordinate is not finite.
func (c *voxelizing) position(i int) (pos [3]*big.Float, ok bool) {
	var p [3]*big.Float
	for a := range 3 {
		if p[a] = c.rounded(c.Points.float(c.Points.at(i, a))); p[a] == nil {
			return pos, false
		}
	}
	if c.Poses == nil {
		return p, true
	}
	base := 0
	if len(c.Poses.shape) == 3 {
		base = 16 * c.row(i)
	}
	for a := range 3 {
		m := func(k int) *big.Float { return c.rounded(c.Poses.float(base + 4*a + k)) }
		mul := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(c.precision()).Mul(x, y) }
		add := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(c.precision()).Add(x, y) }
		for k := range 4 {
			if m(k) == nil {
				return pos, false
			}
		}
		pos[a] = add(add(add(mul(m(0), p[0]), mul(m(1), p[1])), mul(m(2), p[2])), m(3))
		if f, _ := pos[a].Float64(); c.rounded(f) == nil {
			return pos, false
		}
	}
	return pos, true
}

// cell returns the indices x, y, z of the cell for a position. in is false if the grid does not contain it.
func (c *voxelizing) cell(pos [3]*big.Float, n [3]int) (cell [3]int, in bool) {
	for a, x := range pos {
		d := new(big.Float).SetPrec(c.precision()).Sub(x, c.rounded(c.Box.Min[a]))
		f := math.Floor(c.nearest(new(big.Float).SetPrec(200).Quo(d, c.rounded(c.Box.Size[a])))) - float64(c.Box.Border)
		if f < 0 || f >= float64(n[a]) {
			return cell, false
		}
		cell[a] = int(f)
	}
	return cell, true
}

func solveVoxels(c *voxelizing) *voxelAnswer {
	a := &voxelAnswer{at: map[[4]int]int{}}
	n, err := c.Box.Cells()
	if err != nil {
		panic(err)
	}
	all := map[[4]int]*voxelWant{}
	var order [][4]int // in the order of the first points
	for i := range c.Points.shape[0] {
		a.found.Points++
		pos, ok := c.position(i)
		if !ok {
			a.found.NotFinite++
			continue
		}
		cell, ok := c.cell(pos, n)
		if !ok {
			a.found.OutOfRange++
			continue
		}
		a.found.InRange++
		place := [4]int{c.row(i), cell[2], cell[1], cell[0]}
		if c.Opts.Order == ops.AxisXYZ {
			place = [4]int{c.row(i), cell[0], cell[1], cell[2]}
		}
		if all[place] == nil {
			all[place] = &voxelWant{place: place}
			order = append(order, place)
		}
		all[place].points = append(all[place].points, i)
	}
	if c.Opts.Mode != ops.VoxelHard {
		slices.SortFunc(order, func(x, y [4]int) int { return slices.Compare(x[:], y[:]) })
	}
	inRow := map[int]int{}
	for _, place := range order {
		inRow[place[0]]++
		if c.Opts.MaxVoxels > 0 && inRow[place[0]] > c.Opts.MaxVoxels {
			a.found.DroppedVoxels++
			continue
		}
		a.at[place] = len(a.voxels)
		a.voxels = append(a.voxels, *all[place])
	}
	return a
}

// count returns the expected counters for outputs of length v.
func (a *voxelAnswer) count(c *voxelizing, v int) ops.VoxelCounts {
	f := a.found
	if c.Opts.Mode == ops.VoxelDense {
		return f
	}
	f.DroppedVoxels += int64(max(len(a.voxels)-v, 0))
	f.Voxels = int64(min(len(a.voxels), v))
	f.DroppedPoints = f.InRange
	for _, w := range a.voxels[:f.Voxels] {
		f.DroppedPoints -= int64(len(c.kept(w.points)))
	}
	return f
}

// compare returns a description of the first difference to a result with outputs of length v, or "".
func (a *voxelAnswer) compare(c *voxelizing, got *result, v int) string {
	if want := a.count(c, v); got.found != want {
		return fmt.Sprintf("counters: got %+v, want %+v", got.found, want)
	}
	shapes := c.outputs(v)
	if len(got.out) != len(shapes) {
		return fmt.Sprintf("%d outputs, want %d", len(got.out), len(shapes))
	}
	for name, want := range shapes {
		if g := got.out[name]; g == nil || !slices.Equal(g.shape, want.shape) || g.dtype != want.dtype {
			return fmt.Sprintf("%s: got %v, want shape %v", name, g, want.shape)
		}
	}
	if c.Opts.Mode == ops.VoxelDense {
		return a.compareGrid(c, got.out["Grid"])
	}
	return a.compareVoxels(c, got.out, min(len(a.voxels), v))
}

func (a *voxelAnswer) compareGrid(c *voxelizing, grid *array) string {
	f := 1
	if c.reduction().OfFeatures() {
		f = c.features()
	}
	dims := slices.Clone(grid.shape)
	if c.Offsets == nil {
		dims = append([]int{1}, dims...)
	}
	i := 0
	for b := range dims[0] {
		for z := range dims[1] {
			for y := range dims[2] {
				for x := range dims[3] {
					place := [4]int{b, z, y, x}
					k, ok := a.at[place]
					for d := range f {
						bits := grid.raw[i]
						i++
						if !ok {
							if want := encode(grid.dtype, c.Opts.Empty); bits != want && !bothNaN(grid.dtype, bits, want) {
								return fmt.Sprintf("Grid, empty cell %v: got %s, want %v", place, show(grid.dtype, bits), c.Opts.Empty)
							}
						} else if msg := c.reduced(a.voxels[k].points, d, grid.dtype, bits); msg != "" {
							return fmt.Sprintf("Grid, cell %v, feature %d: %s", place, d, msg)
						}
					}
				}
			}
		}
	}
	return ""
}

func (a *voxelAnswer) compareVoxels(c *voxelizing, out map[string]*array, n int) string {
	splits := make([]uint64, c.rows()+1)
	inverse := make([]uint64, c.Points.shape[0])
	for i := range inverse {
		inverse[i] = uint64(uint32(math.MaxUint32))
	}
	columns := out["Coords"].shape[1]
	for k, w := range a.voxels[:n] {
		kept := c.kept(w.points)
		for i := range columns {
			if g := out["Coords"].raw[k*columns+i]; g != uint64(w.place[4-columns+i]) {
				return fmt.Sprintf("Coords, voxel %d, column %d: got %d, want %v", k, i, g, w.place)
			}
		}
		if g := out["Counts"].raw[k]; g != uint64(len(kept)) {
			return fmt.Sprintf("Counts, voxel %d: got %d, want %d", k, g, len(kept))
		}
		for _, i := range kept {
			inverse[i] = uint64(k)
		}
		for b := w.place[0]; b < c.rows(); b++ {
			splits[b+1]++
		}
		if msg := c.compareValues(out["Values"], k, w.points); msg != "" {
			return fmt.Sprintf("Values, voxel %d: %s", k, msg)
		}
	}
	for name, want := range map[string][]uint64{"RowSplits": splits, "PointVoxel": inverse} {
		if !slices.Equal(out[name].raw, want) {
			return fmt.Sprintf("%s: got %v, want %v", name, out[name].raw, want)
		}
	}
	for _, name := range []string{"Values", "Coords", "Counts"} {
		if o := out[name]; o != nil && o.shape[0] > 0 {
			for i, b := range o.raw[n*len(o.raw)/o.shape[0]:] {
				if b != poison(o.dtype) {
					return fmt.Sprintf("%s: element %d beyond the voxels found was written", name, i)
				}
			}
		}
	}
	return ""
}

// compareValues compares the values of voxel k, and returns a description of the first difference, or "".
func (c *voxelizing) compareValues(values *array, k int, points []int) string {
	if values == nil {
		return ""
	}
	if c.Opts.Mode != ops.VoxelHard {
		width := len(values.raw) / values.shape[0]
		for d := range width {
			if msg := c.reduced(points, d, values.dtype, values.raw[k*width+d]); msg != "" {
				return fmt.Sprintf("feature %d: %s", d, msg)
			}
		}
		return ""
	}
	width := 3 + c.features()
	for m := range c.Opts.MaxPoints {
		for d := range width {
			want := uint64(0)
			if m < len(points) {
				want = c.valueBits(points[m], d)
			}
			if g := values.raw[(k*c.Opts.MaxPoints+m)*width+d]; g != want && !bothNaN(values.dtype, g, want) {
				return fmt.Sprintf("point %d, feature %d: got %s, want %s", m, d, show(values.dtype, g), show(values.dtype, want))
			}
		}
	}
	return ""
}

// valueBits returns the bits of element d of a point in a hard voxel: x, y, z after the pose, then the features. Copied values keep
// their bits.
func (c *voxelizing) valueBits(i, d int) uint64 {
	to := c.valueType()
	if d >= 3 {
		at := c.Features.at(i, d-3)
		if c.Features.dtype == to {
			return c.Features.raw[at]
		}
		return encode(to, c.Features.float(at))
	}
	if c.Poses == nil && c.Points.dtype == to {
		return c.Points.raw[c.Points.at(i, d)]
	}
	return encode(to, c.coordinate(i, d))
}

// coordinate returns a point's coordinate after the pose, in the points' dtype.
func (c *voxelizing) coordinate(i, axis int) float64 {
	if c.Poses == nil {
		return c.Points.float(c.Points.at(i, axis))
	}
	pos, _ := c.position(i)
	return c.nearest(pos[axis])
}

// value returns the value to reduce: a feature, or without features a coordinate after the pose.
func (c *voxelizing) value(i, d int) float64 {
	if c.Features != nil {
		return c.Features.float(c.Features.at(i, d))
	}
	return c.coordinate(i, d)
}

// reduced returns a description of the error in one feature of a voxel, or "".
func (c *voxelizing) reduced(points []int, d int, dtype tensor.DType, bits uint64) string {
	wrong := func(want any) string {
		return fmt.Sprintf("got %s, want %v of %d points", show(dtype, bits), want, len(points))
	}
	exactly := func(want uint64) string {
		if bits != want && !bothNaN(dtype, bits, want) {
			return wrong(show(dtype, want))
		}
		return ""
	}
	switch c.reduction() {
	case ops.ReduceOccupancy:
		return exactly(1)
	case ops.ReduceCount:
		return exactly(uint64(len(points)))
	case ops.ReduceMajority:
		votes := map[int32]int{}
		for _, i := range points {
			votes[int32(c.Labels.raw[i])]++
		}
		best, most := int32(0), 0
		for label, n := range votes {
			if n > most || n == most && label < best {
				best, most = label, n
			}
		}
		return exactly(uint64(uint32(best)))
	}
	x := make([]float64, len(points))
	for k, i := range points {
		x[k] = c.value(i, d)
	}
	if slices.ContainsFunc(x, math.IsNaN) {
		return exactly(encode(dtype, math.NaN()))
	}
	switch c.reduction() {
	case ops.ReduceMax:
		return exactly(encode(dtype, fold(x, math.Max)))
	case ops.ReduceMin:
		return exactly(encode(dtype, fold(x, math.Min)))
	}
	if math.IsInf(fold(x, math.Max), 1) || math.IsInf(fold(x, math.Min), -1) {
		sum := 0.0
		for _, v := range x {
			if math.IsInf(v, 0) {
				sum += v
			}
		}
		return exactly(encode(dtype, sum))
	}
	exact, most := new(big.Float).SetPrec(exactly64), 0.0
	for _, v := range x {
		exact.Add(exact, new(big.Float).SetFloat64(v))
		most = max(most, math.Abs(v))
	}
	if c.reduction() == ops.ReduceMean {
		exact.Quo(exact, new(big.Float).SetInt64(int64(len(x))))
	}
	if msg := within(exact, decode(dtype, bits), c.double() || dtype == tensor.F64, dtype, float64(len(x)), most); msg != "" {
		return wrong(msg)
	}
	return ""
}

// exactly64 is a precision in bits with which sums of any float64 numbers are exact.
const exactly64 = 2200

// within returns "" if got is as close to the exact sum or mean of n values as Reduce promises. most is the largest absolute value.
func within(exact *big.Float, got float64, double bool, dtype tensor.DType, n, most float64) string {
	ulp := func(fraction, least int) *big.Float {
		e := exact.MantExp(nil) - 1 - fraction
		if exact.Sign() == 0 || e < least {
			e = least
		}
		return new(big.Float).SetPrec(exactly64).SetMantExp(big.NewFloat(1), e)
	}
	greatest, cut := math.MaxFloat32, -40
	bound := ulp(23, -149)
	if dtype == tensor.F64 {
		greatest = math.MaxFloat64
	}
	if double {
		half := ulp(52, -1074)
		half.SetMantExp(half, -1)
		cut = -90
		if dtype == tensor.F64 {
			bound = half
		} else {
			bound.Add(bound.SetMantExp(bound, -1), half)
		}
	}
	all := new(big.Float).Mul(big.NewFloat(n), big.NewFloat(most))
	bound.Add(bound, all.SetMantExp(all, cut))
	want := func() string { return fmt.Sprintf("%s within %s", exact.Text('g', 20), bound.Text('g', 5)) }
	if math.IsInf(got, 0) {
		if new(big.Float).Abs(exact).Cmp(big.NewFloat(greatest)) < 0 || exact.Signbit() != math.Signbit(got) {
			return want()
		}
		return ""
	}
	off := new(big.Float).SetPrec(exactly64).Sub(new(big.Float).SetFloat64(got), exact)
	if off.Abs(off).Cmp(bound) > 0 {
		return want()
	}
	return ""
}

// fold combines the numbers with f, which is math.Max or math.Min. For these -0 is less than +0.
func fold(x []float64, f func(a, b float64) float64) float64 {
	out := x[0]
	for _, v := range x {
		out = f(out, v)
	}
	return out
}
