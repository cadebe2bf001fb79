package ops

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// sorted sorts n points with random keys, some of them equal and some negative, as a plan does.
func sorted(t *testing.T, workers, n, below int, passes []sortPass) (keys []int64, s *pointSort, entries []uint64) {
	b := newCPU(workers)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	rng := rand.New(rand.NewPCG(uint64(n), uint64(below)))
	keys = make([]int64, n)
	s = &pointSort{}
	s.init(b, keys, passes)
	for range 2 { // a plan is run again
		in := 0
		s.begin()
		for i := range keys {
			keys[i] = rng.Int64N(int64(below))
			switch rng.IntN(8) {
			case 0:
				keys[i] = keyOutOfRange
			case 1:
				keys[i] = keys[rng.IntN(i+1)]
			}
			if keys[i] >= 0 {
				counts, shift, mask := s.digits(i / s.size)
				counts[uint64(keys[i])>>shift&mask]++
				in++
			}
		}
		entries = s.rest(in)
	}
	return keys, s, entries
}

func TestPointsAreSortedByTheirKeys(t *testing.T) {
	for _, below := range []int{1, 2, 300, 1 << 21, 1<<21 + 1, 1 << 32, 1<<32 + 1, 1 << 40, 1 << 62} {
		for _, n := range []int{0, 1, 40, 5000, 40_001} {
			for _, workers := range []int{1, 5} {
				keys, s, entries := sorted(t, workers, n, below, sortPasses(below, pointsAPiece(n, workers)))
				var want []int
				for i, k := range keys {
					if k >= 0 {
						want = append(want, i)
					}
				}
				slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
				require.Len(t, entries, len(want))
				for i, e := range entries {
					if pointOf(e) != want[i] || s.key(e) != keys[want[i]] {
						t.Fatalf("keys below %d, %d points, %d workers: place %d has point %d with key %d, not %d with %d", below, n, workers, i, pointOf(e), s.key(e), want[i], keys[want[i]])
					}
				}
			}
		}
	}
}

func TestPointsAreBroughtToRangesOfCells(t *testing.T) {
	for _, below := range []int{1, 7, 5000, 1 << 24, 1<<24 + 5, 1 << 33} {
		for _, workers := range []int{1, 5} {
			const n = 40_000
			pass := countPass(below, 4, workers)
			keys, s, _ := sorted(t, workers, n, below, []sortPass{pass})
			got, cells := make([]bool, n), 0
			for i := range 1 << pass.width {
				lo, hi, points := s.bucket(i, below)
				require.Equal(t, cells, lo)
				cells = hi
				for _, e := range points {
					k := keys[pointOf(e)]
					require.True(t, k >= int64(lo) && k < int64(hi), "key %d in cells %d to %d", k, lo, hi)
					require.Equal(t, uint32(k), uint32(e>>32))
					got[pointOf(e)] = true
				}
			}
			assert.Equal(t, below, cells)
			for i, k := range keys {
				require.Equal(t, k >= 0, got[i])
			}
		}
	}
}

// bitsOf are a tensor's elements, floats as their bits.
func bitsOf(t *testing.T, x *tensor.Tensor) []uint64 {
	bits := make([]uint64, x.Len())
	var err error
	switch x.DType() {
	case tensor.U8:
		err = eachOf(x, func(i int, v uint8) { bits[i] = uint64(v) })
	case tensor.I32:
		err = eachOf(x, func(i int, v int32) { bits[i] = uint64(v) })
	case tensor.I64:
		err = eachOf(x, func(i int, v int64) { bits[i] = uint64(v) })
	default:
		err = eachOf(x, func(i int, v float32) { bits[i] = uint64(math.Float32bits(v)) })
	}
	require.NoError(t, err)
	return bits
}

func eachOf[T tensor.Element](x *tensor.Tensor, do func(i int, v T)) error {
	data, err := tensor.Data[T](x)
	for i, v := range data {
		do(i, v)
	}
	return err
}

// A cloud that takes several pieces, lots and passes gives the same bits on one thread and on more, and with its points in another order.
func TestThreadsOfVoxelizeChangeNoResult(t *testing.T) {
	const n = 50_000
	rng := rand.New(rand.NewPCG(5, 6))
	points, labels := make([]float32, 3*n), make([]int32, n)
	for i := range points {
		points[i] = rng.Float32() * 40
		if i >= 3*n/2 {
			points[i] = 20.5 // half of the cloud in one cell
		}
	}
	for i := range labels {
		labels[i] = int32(rng.IntN(50))
	}
	order := rng.Perm(n)
	type input struct {
		points, labels *tensor.Tensor
		features       func(width int, dtype tensor.DType) *tensor.Tensor
	}
	shuffled := func(on bool) input {
		at := func(i int) int {
			if on {
				return order[i]
			}
			return i
		}
		p, l := make([]float32, 3*n), make([]int32, n)
		for i := range n {
			copy(p[3*i:3*i+3], points[3*at(i):])
			l[i] = labels[at(i)]
		}
		return input{tensor.Must(tensor.Of(p, n, 3)), tensor.Must(tensor.Of(l, n)), func(width int, dtype tensor.DType) *tensor.Tensor {
			r := rand.New(rand.NewPCG(7, uint64(width)))
			var some [1000]float32
			for i := range some {
				some[i] = float32(r.NormFloat64() * math.Pow(2, float64(r.IntN(40)-20)))
			}
			x := make([]float32, n*width)
			for i := range x {
				x[i] = some[r.Uint32()%1000]
			}
			x[n*width/3], x[n*width/5] = float32(math.Inf(1)), float32(math.NaN())
			out := make([]float32, n*width)
			for i := range n {
				copy(out[i*width:][:width], x[at(i)*width:])
			}
			if dtype == tensor.F32 {
				return tensor.Must(tensor.Of(out, n, width))
			}
			half := make([]tensor.Float16, len(out))
			for i, v := range out {
				half[i] = tensor.F16FromF32(v)
			}
			return tensor.Must(tensor.Of(half, n, width))
		}}
	}
	grid := VoxelGrid{Max: [3]float64{40, 40, 40}, Size: [3]float64{1, 1, 1}}
	for _, o := range []struct {
		VoxelizeOptions
		width int
		dtype tensor.DType
	}{
		{VoxelizeOptions{Reduce: ReduceOccupancy, Empty: 3}, 0, 0}, {VoxelizeOptions{Reduce: ReduceCount}, 0, 0}, {VoxelizeOptions{Reduce: ReduceMajority}, 0, 0},
		{VoxelizeOptions{Reduce: ReduceMean, Empty: math.Copysign(0, -1)}, 1, tensor.F32}, {VoxelizeOptions{Reduce: ReduceSum}, 3, tensor.F16},
		{VoxelizeOptions{Reduce: ReduceMax}, together + 3, tensor.F32}, {VoxelizeOptions{Reduce: ReduceMin}, 0, 0},
		{VoxelizeOptions{Mode: VoxelSparse, Reduce: ReduceSum}, together, tensor.F32}, {VoxelizeOptions{Mode: VoxelSparse, Reduce: ReduceMean, MaxVoxels: 700}, 5, tensor.F16},
		{VoxelizeOptions{Mode: VoxelHard, MaxPoints: 3}, 2, tensor.F32},
	} {
		t.Run(fmt.Sprint(o.Mode, o.Reduce, o.width), func(t *testing.T) {
			run := func(workers int, in input) (VoxelizeResult, error) {
				dev, err := NewDevice(newCPU(workers))
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, dev.Close()) })
				args := VoxelizeArgs{Points: in.points}
				if o.width > 0 {
					args.Features = in.features(o.width, o.dtype)
				}
				if o.Reduce == ReduceMajority {
					args.Labels = in.labels
				}
				return dev.Voxelize(args, grid, o.VoxelizeOptions)
			}
			same := func(want, got VoxelizeResult, why string) {
				outs := voxelOutputs(&got.VoxelizeArgs)
				for i, x := range voxelOutputs(&want.VoxelizeArgs) {
					if *x != nil {
						assert.True(t, slices.Equal(bitsOf(t, *x), bitsOf(t, *outs[i])), "output %d, %s", i, why)
					}
				}
				assert.Equal(t, want.Found, got.Found, why)
			}
			want, err := run(1, shuffled(false))
			require.NoError(t, err)
			got, err := run(5, shuffled(false))
			require.NoError(t, err)
			same(want, got, "five threads")
			if o.Mode == VoxelDense {
				got, err = run(3, shuffled(true))
				require.NoError(t, err)
				same(want, got, "in another order")
			}
		})
	}
}

// A sum is divided and rounded once, whatever its size: also where nothing but the rest of the division tells on which side of a tie it lies.
func TestWideSumsAreRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	check := func(s wideSum, n uint64, top int) {
		t.Helper()
		whole := new(big.Int).Lsh(new(big.Int).SetInt64(int64(s.hi)), 64)
		whole.Add(whole, new(big.Int).SetUint64(s.lo))
		exact := new(big.Rat).SetFrac(whole, new(big.Int).SetUint64(n))
		scale := top - 1023 - wideBits
		if power := new(big.Int).Lsh(big.NewInt(1), uint(max(scale, -scale))); scale < 0 {
			exact.Quo(exact, new(big.Rat).SetInt(power))
		} else {
			exact.Mul(exact, new(big.Rat).SetInt(power))
		}
		want, _ := exact.Float64() // to nearest even
		require.Equal(t, want, s.over(n, top), "%+v over %d, top %d", s, n, top)
	}
	for range 20_000 {
		s := wideSum{r.Uint64() >> (5 + r.IntN(58)), r.Uint64() << r.IntN(64)}
		if r.IntN(2) == 0 {
			s.hi = ^s.hi
		}
		check(s, 1+r.Uint64N(1<<r.IntN(32)), []int{1, 2, 30, 1023, 2000, 2046, 1 + r.IntN(2046)}[r.IntN(7)])
	}
	const n = 1<<30 + 1
	for _, low := range []uint64{0, 1, 2, 1 << 20} { // n times a tie, and a little more
		hi, lo := bits.Mul64((1<<53+1)<<10, n<<27)
		check(wideSum{hi, lo + low}, n, 1000)
	}
}
