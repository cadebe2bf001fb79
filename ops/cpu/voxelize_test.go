package cpu

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// sorted sorts n points with random keys, some of them equal and some negative, as a plan does.
func sorted(t *testing.T, workers, n, below int, passes []sortPass) (keys []int64, s *pointSort, entries []uint64) {
	b := New(workers)
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
	thorough.SkipRace(t, thorough.OneRoutine)
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

// A sum is divided and rounded once, whatever its size: also where nothing but the rest of the division tells on which side of a tie it lies.
func TestWideSumsAreRoundedOnce(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
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
