package tensorcore

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What an H100 gave for random bfloat16 instructions mma.sync.m16n8k16 of seven spreads of exponents, in turn: the files hold A[16][16],
// B[16][8], C[16][8] and D[16][8] of each.
func TestBitsAreAnH100s(t *testing.T) {
	const instruction = 2*16*16 + 2*16*8 + 4*16*8 + 4*16*8
	for _, file := range []string{"testdata/mma_h100.bin", "../../../shared/data/mma_h100.bin"} {
		t.Run(file, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if os.IsNotExist(err) && file != "testdata/mma_h100.bin" {
				t.Skip("no shared vectors")
			}
			require.NoError(t, err)
			require.Zero(t, len(raw)%instruction)
			require.GreaterOrEqual(t, len(raw), 14*instruction)
			for n := 0; len(raw) > 0; n++ {
				p := raw[:instruction]
				raw = raw[instruction:]
				half := func(at int) uint16 { return binary.LittleEndian.Uint16(p[2*at:]) }
				word := func(at int) uint32 { return binary.LittleEndian.Uint32(p[768+4*at:]) }
				for i := range 128 {
					var a, b [16]uint16
					for k := range a {
						a[k], b[k] = half(i/8*16+k), half(256+k*8+i%8)
					}
					got := MMA(math.Float32frombits(word(i)), &a, &b)
					require.Equal(t, word(128+i), math.Float32bits(got), "instruction %d, element %d", n, i)
				}
			}
		})
	}
}

// reference is one step by the package comment, in exact rational arithmetic.
func reference(r Rule, f Format, acc float32, a, b []uint16) uint32 {
	value := func(v uint16) (x float64, exp int) {
		width, bias := 7, 127
		if f == Float16 {
			width, bias = 10, 15
		}
		stored, sig := int(v>>width)&(1<<(15-width)-1), float64(int(v)&(1<<width-1))/float64(int(1)<<width)
		switch {
		case stored == 1<<(15-width)-1 && sig != 0:
			return math.NaN(), 0
		case stored == 1<<(15-width)-1:
			x = math.Inf(1)
		case stored == 0 && sig == 0:
			exp = -126
		case stored == 0:
			exp = 1 - bias
			x = math.Ldexp(sig, exp)
		default:
			exp = stored - bias
			x = math.Ldexp(1+sig, exp)
		}
		if v>>15 != 0 {
			x = -x
		}
		return x, exp
	}
	_, exp := math.Frexp(float64(acc))
	exp = max(exp-1, -126)
	if acc == 0 {
		exp = -126
	}
	terms, exps, sum := []float64{float64(acc)}, []int{exp}, float64(acc)
	for i := range a {
		x, ex := value(a[i])
		y, ey := value(b[i])
		terms, exps, sum = append(terms, x*y), append(exps, ex+ey), sum+x*y
	}
	if math.IsNaN(sum) {
		return 0x7fffffff
	}
	if math.IsInf(sum, 0) {
		return math.Float32bits(float32(sum))
	}
	most := exps[0]
	for _, e := range exps {
		most = max(most, e)
	}
	unit := math.Ldexp(1, most-r.Fraction)
	total := new(big.Float).SetPrec(2000)
	for _, v := range terms {
		total.Add(total, new(big.Float).SetPrec(2000).SetFloat64(math.Trunc(v/unit)*unit))
	}
	kept := min(24, total.MantExp(nil)+149) // bits of the float32, fewer of a subnormal number
	if total.Sign() == 0 || kept <= 0 {
		return uint32(min(total.Sign(), 0)) & (1 << 31)
	}
	out, _ := new(big.Float).SetMode(big.ToZero).SetPrec(uint(kept)).Set(total).Float32() // to infinity if it is too large
	return math.Float32bits(out)
}

func TestEveryStepIsTheRuleInExactArithmetic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, r := range []Rule{Hopper, Ampere} {
		for _, f := range []Format{BFloat16, Float16} {
			width := 7 + 3*int(f)
			for n := range 20000 {
				a, b := make([]uint16, r.Products), make([]uint16, r.Products)
				// Exponents spread from none to all, with special values among some.
				spread := 1 << (n % (16 - width))
				middle := rng.IntN(1 << (15 - width))
				number := func() uint16 {
					e := (middle + rng.IntN(spread)) % (1 << (15 - width))
					v := uint16(rng.IntN(2)<<15 | e<<width | rng.IntN(1<<width))
					if n%4 == 1 && rng.IntN(6) == 0 {
						v &^= 0x7fff // a zero
					}
					if n%4 == 2 && rng.IntN(6) == 0 {
						v &= 0x8000 | 1<<width - 1 // a subnormal number
					}
					if n%16 == 3 && rng.IntN(20) == 0 {
						v = v&0x8000 | (1<<(15-width)-1)<<width // infinity
					}
					if n%16 != 3 && n%16 != 7 && int(v>>width)&(1<<(15-width)-1) == 1<<(15-width)-1 {
						v ^= 1 << width // finite
					}
					return v
				}
				for i := range a {
					a[i], b[i] = number(), number()
				}
				acc := math.Float32frombits(rng.Uint32())
				if n%3 == 0 {
					acc = float32(math.Ldexp(rng.Float64()-0.5, 2*middle-2*(127-112*int(f))+rng.IntN(8)))
				}
				if n%16 != 7 && acc-acc != 0 {
					acc = 0
				}
				da, db := make([]Decoded, len(a)), make([]Decoded, len(a))
				Decode(f, da, a)
				Decode(f, db, b)
				want := reference(r, f, acc, a, b)
				require.Equal(t, want, math.Float32bits(r.Dot(acc, da, db)), "%v %v %v %x %x %x", r, f, n, math.Float32bits(acc), a, b)
				require.Equal(t, want, math.Float32bits(r.step(acc, da, db)))
			}
		}
	}
}

func TestAChainIsItsStepsOneAfterTheOther(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := make([]Decoded, 40), make([]Decoded, 40)
	for i := range a {
		a[i], b[i] = decode(BFloat16, uint16(0x3c00+rng.IntN(0x800))), decode(BFloat16, uint16(0xbc00+rng.IntN(0x800)))
	}
	for _, r := range []Rule{Hopper, Ampere} {
		want := float32(0.5)
		for k := 0; k < len(a); k += r.Products {
			end := min(k+r.Products, len(a))
			want = r.step(want, a[k:end], b[k:end])
		}
		assert.Equal(t, want, r.Dot(0.5, a, b))
	}
	assert.NotEqual(t, Hopper.Dot(0.5, a, b), Ampere.Dot(0.5, a, b), "the rules differ")
}

func BenchmarkDot(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	x, y := make([]Decoded, 256), make([]Decoded, 256)
	for i := range x {
		x[i], y[i] = decode(BFloat16, uint16(0x3e00+rng.IntN(0x200))), decode(BFloat16, uint16(0x3e00+rng.IntN(0x200)|rng.IntN(2)<<15))
	}
	for _, r := range []Rule{Hopper, Ampere} {
		b.Run(map[Rule]string{Hopper: "rule=hopper", Ampere: "rule=ampere"}[r], func(b *testing.B) {
			var s float32
			for b.Loop() {
				s += r.Dot(0, x, y)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/16, "ns/16products")
		})
	}
}
