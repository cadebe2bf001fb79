package ops_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

type vec [3]float64

func (a vec) plus(b vec, s float64) vec { return vec{a[0] + s*b[0], a[1] + s*b[1], a[2] + s*b[2]} }
func (a vec) dot(b vec) float64         { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func (a vec) unit() vec                 { return vec{}.plus(a, 1/math.Sqrt(a.dot(a))) }
func (a vec) cross(b vec) vec {
	return vec{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// shapes have the distance along a ray from p in direction d to the surface, or infinity.
var shapes = map[string]func(p, d vec) float64{
	"sphere": func(p, d vec) float64 {
		b, c := p.dot(d), p.dot(p)-0.5*0.5
		if root := b*b - d.dot(d)*c; root > 0 {
			return (-b - math.Sqrt(root)) / d.dot(d)
		}
		return math.Inf(1)
	},
	"plane": func(p, d vec) float64 {
		n := vec{0.2, -0.3, 0.9}.unit()
		return -p.dot(n) / d.dot(n)
	},
	"box": func(p, d vec) float64 {
		near, far := math.Inf(-1), math.Inf(1)
		for a := range 3 {
			t0, t1 := (-0.4-p[a])/d[a], (0.4-p[a])/d[a]
			near, far = max(near, min(t0, t1)), min(far, max(t0, t1))
		}
		if near < far {
			return near
		}
		return math.Inf(1)
	},
}

// view is a camera with a pose that looks at the origin.
type view struct {
	w, h           int
	fx, fy, cx, cy float64
	pose           [16]float32
}

func viewFrom(at vec, w, h int) *view {
	z := vec{}.plus(at, -1).unit()
	x := z.cross(vec{0.1, 1, 0.05}).unit()
	y := z.cross(x)
	v := &view{w: w, h: h, fx: 0.9 * float64(w), fy: 0.9 * float64(w), cx: float64(w)/2 - 0.5, cy: float64(h)/2 - 0.5}
	for r := range 3 {
		for c, axis := range []vec{x, y, z, at} {
			v.pose[4*r+c] = float32(axis[r])
		}
	}
	v.pose[15] = 1
	return v
}

// depth returns the depth image of a shape.
func (v *view) depth(hit func(p, d vec) float64) []float32 {
	out := make([]float32, v.w*v.h)
	at := func(column int) vec {
		return vec{float64(v.pose[column]), float64(v.pose[4+column]), float64(v.pose[8+column])}
	}
	for i := range out {
		d := at(2).plus(at(0), (float64(i%v.w)-v.cx)/v.fx).plus(at(1), (float64(i/v.w)-v.cy)/v.fy)
		if t := hit(at(3), d); t > 0 && t < 10 {
			out[i] = float32(t)
		}
	}
	return out
}

func (v *view) intrinsics() []float32 {
	return []float32{float32(v.fx), float32(v.fy), float32(v.cx), float32(v.cy)}
}

// integrates returns the arguments for images of one size.
func integrates(views []*view, depths [][]float32) (a ops.IntegrateArgs) {
	var depth, k, poses []float32
	for i, v := range views {
		depth, k, poses = append(depth, depths[i]...), append(k, v.intrinsics()...), append(poses, v.pose[:]...)
	}
	n, v := len(views), views[0]
	a.Depth, a.Intrinsics, a.Poses = tensor.Must(tensor.Of(depth, n, v.h, v.w)), tensor.Must(tensor.Of(k, n, 4)), tensor.Must(tensor.Of(poses, n, 4, 4))
	return a
}

// The voxels' values are the float64 projective distance, whichever shape a camera sees, and each block in the band is in the volume.
func TestIntegrateGivesTheProjectiveDistanceOfShapes(t *testing.T) {
	const voxel, band = 0.02, 0.08
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	for name, hit := range shapes {
		v := viewFrom(vec{0.7, -1.1, -1.3}, 320, 240)
		depth := v.depth(hit)
		volume, err := dev.NewVolume(ops.VolumeOptions{IntegrateOptions: ops.IntegrateOptions{Voxel: voxel, Truncation: band}, Blocks: 8})
		require.NoError(t, err)
		require.NoError(t, volume.Integrate(context.Background(), integrates([]*view{v}, [][]float32{depth})))
		got, err := volume.Download(context.Background())
		require.NoError(t, err)
		require.NoError(t, volume.Close())
		column := func(c int) vec { return vec{float64(v.pose[c]), float64(v.pose[4+c]), float64(v.pose[8+c])} }
		seen := map[[3]int32]bool{}
		updated := 0
		for b, key := range got.Keys {
			seen[key] = true
			for i := range ops.BlockVoxels {
				at := vec{float64(key[0])*8 + float64(i%8) + 0.5, float64(key[1])*8 + float64(i/8%8) + 0.5, float64(key[2])*8 + float64(i/64) + 0.5}
				w := vec{}.plus(at, voxel).plus(column(3), -1)
				x, y, z := w.dot(column(0)), w.dot(column(1)), w.dot(column(2))
				pu, pv := v.fx*x/z+v.cx+0.5, v.fy*y/z+v.cy+0.5
				if z <= 0 || math.Abs(pu-math.Round(pu)) < 1e-3 || math.Abs(pv-math.Round(pv)) < 1e-3 {
					continue // rounding decides on the pixel
				}
				want, weight := 0.0, 0.0
				if pu >= 0 && pv >= 0 && pu < float64(v.w) && pv < float64(v.h) {
					d := float64(depth[int(pv)*v.w+int(pu)])
					if s := d - z; d > 0 && math.Abs(s+band) > 1e-5 && s > -band {
						want, weight = min(s/band, 1), 1
						updated++
					} else if d > 0 && math.Abs(s+band) <= 1e-5 {
						continue
					}
				}
				at512 := b*ops.BlockVoxels + i
				require.Equal(t, weight, float64(got.Weight[at512]), "%s: block %v, voxel %d", name, key, i)
				require.InDelta(t, want, got.Distance[at512], 1e-3, "%s: block %v, voxel %d", name, key, i)
			}
		}
		assert.Greater(t, updated, 10_000, name)
		for i, d := range depth { // each surface point lies in a block
			if d > 0 {
				at := column(3).plus(column(2), float64(d)).plus(column(0), float64(d)*(float64(i%v.w)-v.cx)/v.fx).plus(column(1), float64(d)*(float64(i/v.w)-v.cy)/v.fy)
				var key [3]int32
				for a, x := range at {
					key[a] = int32(math.Floor(x / (8 * voxel)))
				}
				require.True(t, seen[key] || near(at, 8*voxel), "%s: pixel %d, block %v", name, i, key)
			}
		}
	}
}

// near reports whether a point is so close to a block's face that rounding decides on its block.
func near(p vec, block float64) bool {
	for _, x := range p {
		if q := x / block; math.Abs(q-math.Round(q)) < 1e-4 {
			return true
		}
	}
	return false
}

func BenchmarkIntegrate(b *testing.B) {
	dev, err := ops.Open("cpu")
	require.NoError(b, err)
	defer dev.Close()
	v := viewFrom(vec{0.3, -0.4, -1.4}, 640, 480)
	room := func(p, d vec) float64 { // a room of 4 m, seen from inside, with a sphere
		far := math.Inf(1)
		for a := range 3 {
			far = min(far, max((-2.2-p[a])/d[a], (1.2-p[a])/d[a]))
		}
		return min(far, shapes["sphere"](p, d))
	}
	depth := v.depth(room)
	a := integrates([]*view{v}, [][]float32{depth})
	const m = 1 << 15
	a.Keys, a.Distance, a.Weight = tensor.Must(tensor.New(tensor.I32, m, 3)), tensor.Must(tensor.New(tensor.F32, m, ops.BlockVoxels)), tensor.Must(tensor.New(tensor.F32, m, ops.BlockVoxels))
	a.State = tensor.Must(tensor.New(tensor.I64, 3))
	plan, err := dev.PlanIntegrate(a, ops.IntegrateOptions{Voxel: 0.01, Far: 3})
	require.NoError(b, err)
	defer plan.Close()
	for b.Loop() {
		require.NoError(b, plan.Run(dev.Queue()))
		require.NoError(b, dev.Synchronize(context.Background()))
	}
	state, err := tensor.Elements[int64](a.State)
	require.NoError(b, err)
	require.Zero(b, state[2])
	b.ReportMetric(float64(state[0]), "blocks")
	_ = rand.IntN
}
