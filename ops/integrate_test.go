package ops_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/thorough"
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
		v := viewFrom(vec{0.7, -1.1, -1.3}, 200, 150)
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
				if weight != float64(got.Weight[at512]) || !(math.Abs(want-float64(got.Distance[at512])) < 1e-3) {
					t.Fatalf("%s: block %v, voxel %d: distance %v, weight %v, want %v, %v", name, key, i, got.Distance[at512], got.Weight[at512], want, weight)
				}
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
				if !seen[key] && !near(at, 8*voxel) {
					t.Fatalf("%s: pixel %d: no block %v", name, i, key)
				}
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

// tiny returns an image of a few pixels with a random pose.
func tiny(r *rand.Rand) (ops.IntegrateArgs, *view, []float32) {
	v := viewFrom(vec{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}, 3, 2)
	depth := make([]float32, v.w*v.h)
	for i := range depth {
		depth[i] = float32(r.IntN(5)/4)*3 + r.Float32() - 0.1
	}
	return integrates([]*view{v}, [][]float32{depth}), v, depth
}

// shownBlocks adds the blocks near an image's surface to a map: those of points along each ray, from the truncation before the surface to
// the truncation behind it.
func (v *view) shownBlocks(depth []float32, voxel, band float32, blocks map[[3]int32]bool) {
	steps := math.Ceil(float64(band) / float64(voxel))
	for i, z := range depth {
		rx, ry := (float32(i%v.w)-float32(v.cx))/float32(v.fx), (float32(i/v.w)-float32(v.cy))/float32(v.fy)
		for s := range int(steps) + 1 {
			t := max((z-band)+float32(float32(s)*float32(2*float64(band)/steps)), 0)
			var key [3]int32
			for a := range key {
				m := v.pose[4*a:]
				d := float32(float32(m[0]*rx)+float32(m[1]*ry)) + m[2]
				key[a] = int32(math.Floor(float64((float32(d*t) + m[3]) * float32(1/(8*float64(voxel))))))
			}
			if z != 0 {
				blocks[key] = true
			}
		}
	}
}

// A volume that begins with one block has each block that any image has shown, and no other.
func TestVolumeLosesNoBlock(t *testing.T) {
	ctx := context.Background()
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	r := rand.New(rand.NewPCG(1, 61))
	const each = 200
	for range thorough.Of(6, 100_000/each) {
		volume, err := dev.NewVolume(ops.VolumeOptions{IntegrateOptions: ops.IntegrateOptions{Voxel: 0.05, Truncation: 0.13}, Blocks: 1})
		require.NoError(t, err)
		want := map[[3]int32]bool{}
		for range each {
			args, v, depth := tiny(r)
			for i, z := range depth {
				depth[i] = max(z, 0)
			}
			args.Depth = tensor.Must(tensor.Of(depth, 1, v.h, v.w))
			require.NoError(t, volume.Integrate(ctx, args))
			v.shownBlocks(depth, 0.05, 0.13, want)
			n, err := volume.Blocks(ctx)
			require.NoError(t, err)
			require.Equal(t, len(want), n)
		}
		got, err := volume.Download(ctx)
		require.NoError(t, err)
		for _, key := range got.Keys {
			require.True(t, want[key], key)
			delete(want, key)
		}
		require.Empty(t, want)
		require.NoError(t, volume.Close())
	}
}

// A volume that may not grow refuses an image as a whole, and takes the next that fits.
func TestVolumeRefusesAnImageAsAWhole(t *testing.T) {
	ctx := context.Background()
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	v := viewFrom(vec{0.7, -1.1, -1.3}, 40, 30)
	one, all := make([]float32, v.w*v.h), v.depth(shapes["plane"])
	one[600] = all[600]
	volume, err := dev.NewVolume(ops.VolumeOptions{IntegrateOptions: ops.IntegrateOptions{Voxel: 0.02}, Blocks: 2, MaxBlocks: 9, Color: true})
	require.NoError(t, err)
	defer volume.Close()
	frame := func(depth []float32) ops.IntegrateArgs {
		a := integrates([]*view{v}, [][]float32{depth})
		a.Images = tensor.Must(tensor.Of(bytes.Repeat([]byte{200, 100, 50}, v.w*v.h), 1, v.h, v.w, 3))
		return a
	}
	require.NoError(t, volume.Integrate(ctx, frame(one)))
	before, err := volume.Download(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, before.Keys)
	var arg *ops.ArgError
	require.ErrorAs(t, volume.Integrate(ctx, frame(all)), &arg)
	assert.ErrorIs(t, arg, ops.ErrFull)
	assert.Equal(t, "Keys", arg.Arg)
	after, err := volume.Download(ctx)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	require.NoError(t, volume.Integrate(ctx, frame(one)))
	after, err = volume.Download(ctx)
	require.NoError(t, err)
	assert.Equal(t, before.Keys, after.Keys)
	assert.Equal(t, before.Distance, after.Distance, "a mean of equal distances")
	for i, w := range before.Weight {
		assert.Equal(t, 2*w, after.Weight[i])
		if w > 0 {
			assert.Equal(t, []float32{200, 100, 50}, after.Color[3*i:][:3])
		}
	}
}

// The values of a block do not depend on its place in the volume.
func TestIntegrateWithBlocksInAnotherOrder(t *testing.T) {
	ctx := context.Background()
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	views := []*view{viewFrom(vec{0.7, -1.1, -1.3}, 40, 30), viewFrom(vec{0.5, -1.2, -1.2}, 40, 30)}
	run := func(permute bool) map[[3]int32][]float32 {
		volume, err := dev.NewVolume(ops.VolumeOptions{IntegrateOptions: ops.IntegrateOptions{Voxel: 0.03}})
		require.NoError(t, err)
		defer volume.Close()
		for _, v := range views {
			require.NoError(t, volume.Integrate(ctx, integrates([]*view{v}, [][]float32{v.depth(shapes["box"])})))
			if n, err := volume.Blocks(ctx); permute {
				require.NoError(t, err)
				order := rand.New(rand.NewPCG(2, 2)).Perm(n)
				for _, x := range []*tensor.Tensor{volume.Keys, volume.Distance, volume.Weight} {
					used, err := x.Slice(0, 0, n)
					require.NoError(t, err)
					moved, err := used.Take(0, order)
					require.NoError(t, err)
					require.NoError(t, dev.Copy(ctx, used, moved))
				}
			}
		}
		got, err := volume.Download(ctx)
		require.NoError(t, err)
		out := map[[3]int32][]float32{}
		for i, key := range got.Keys {
			out[key] = append(got.Distance[i*ops.BlockVoxels:][:ops.BlockVoxels:ops.BlockVoxels], got.Weight[i*ops.BlockVoxels:][:ops.BlockVoxels]...)
		}
		return out
	}
	plain := run(false)
	require.Greater(t, len(plain), 50)
	assert.Equal(t, plain, run(true))
}

// A volume plans again only if it grows, or for images with another shape.
func TestVolumeAllocatesNothingForTheNextImage(t *testing.T) {
	ctx := context.Background()
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	volume, err := dev.NewVolume(ops.VolumeOptions{IntegrateOptions: ops.IntegrateOptions{Voxel: 0.02}, Color: true})
	require.NoError(t, err)
	defer volume.Close()
	v := viewFrom(vec{0.7, -1.1, -1.3}, 40, 30)
	args := integrates([]*view{v}, [][]float32{v.depth(shapes["plane"])})
	args.Images, args.Counts = tensor.Must(tensor.New(tensor.U8, 1, v.h, v.w, 3)), tensor.Must(tensor.New(tensor.I64, 1, 4))
	assert.Zero(t, testing.AllocsPerRun(5, func() {
		if err := volume.Integrate(ctx, args); err != nil {
			t.Fatal(err)
		}
	}))
	counts, err := tensor.Packed[int64](args.Counts)
	require.NoError(t, err)
	assert.Equal(t, []int64{1042, 158, 0, 0}, counts, "no block is new")
}

func BenchmarkIntegrate(b *testing.B) {
	dev, err := ops.Open("cpu")
	require.NoError(b, err)
	defer dev.Close()
	b.Run("plan", func(b *testing.B) { opstest.BenchIntegrate(b, dev) })
	b.Run("volume", func(b *testing.B) { opstest.BenchVolume(b, dev) })
}

func TestVolumesWithFewerBlocksThanTheDefault(t *testing.T) {
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	volume, err := dev.NewVolume(ops.VolumeOptions{IntegrateOptions: ops.IntegrateOptions{Voxel: 0.2}, MaxBlocks: 7})
	require.NoError(t, err)
	assert.Equal(t, 7, volume.Keys.Dim(0))
	v := viewFrom(vec{0.7, -1.1, -1.3}, 8, 6)
	var arg *ops.ArgError
	args := integrates([]*view{v}, [][]float32{v.depth(shapes["plane"])})
	_, err = dev.PlanIntegrate(with(args, volume), ops.IntegrateOptions{Voxel: 2e-45, Truncation: 1.28e-43})
	require.ErrorAs(t, err, &arg)
	assert.Equal(t, "Options.Voxel", arg.Arg)
	require.NoError(t, volume.Close())
}

// with returns the arguments with a volume's tensors.
func with(a ops.IntegrateArgs, v *ops.Volume) ops.IntegrateArgs {
	a.Keys, a.Distance, a.Weight, a.Color, a.State = v.Keys, v.Distance, v.Weight, v.Color, v.State
	return a
}
