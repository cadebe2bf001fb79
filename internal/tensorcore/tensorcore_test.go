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

	"github.com/robocache/robocache/internal/test/thorough"
)

// What an H100 gave for random bfloat16 instructions mma.sync.m16n8k16 of seven spreads of exponents, in turn: the files hold A[16][16],
// B[16][8], C[16][8] and D[16][8] of each.
func TestBitsAreAnH100s(t *testing.T) {
	const instruction = 2*16*16 + 2*16*8 + 4*16*8 + 4*16*8
	for _, file := range []string{"testdata/mma_h100.bin", "../../../shared/data/mma_h100.bin"} {
		t.Run(file, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if os.IsNotExist(err) && file != "testdata/mma_h100.bin" {
				t.Skip("no shared recordings")
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
					got := mma(math.Float32frombits(word(i)), &a, &b)
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
		sum += x * y
		if x*y != 0 {
			terms, exps = append(terms, x*y), append(exps, ex+ey)
		}
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
		return 0
	}
	out, _ := new(big.Float).SetMode(big.ToZero).SetPrec(uint(kept)).Set(total).Float32() // to infinity if it is too large
	return math.Float32bits(out)
}

// source draws factors and addends whose exponents lie together or far apart, with special values among some.
type source struct {
	*rand.Rand
	f      Format
	n      int // what is drawn, beginning anew every 16
	middle int
}

func (s *source) next(n int) { s.n, s.middle = n, s.IntN(1<<(8-3*s.f)) }

func (s *source) factor() uint16 {
	width := 7 + 3*int(s.f)
	top := 1<<(15-width) - 1
	e := (s.middle + s.IntN(1<<(s.n%(16-width)))) & top
	v := uint16(s.IntN(2)<<15 | e<<width | s.IntN(1<<width))
	switch rare := s.IntN(6) == 0; {
	case s.n%16 == 3 && s.IntN(20) == 0:
		return v&0x8000 | uint16(top)<<width // infinity
	case s.n%16 == 7:
		return v // not-a-number, if the exponent is the largest
	case s.n%4 == 1 && rare:
		return v & 0x8000
	case s.n%4 == 2 && rare:
		return v & (0x8000 | 1<<width - 1) // subnormal
	case e == top:
		return v ^ 1<<width
	}
	return v
}

func (s *source) addend() float32 {
	v := math.Float32frombits(s.Uint32())
	if s.n%3 == 0 {
		v = float32(math.Ldexp(s.Float64()-0.5, 2*s.middle-2*(127-112*int(s.f))+s.IntN(8)))
	}
	if s.n%5 == 0 || s.n%16 != 7 && v-v != 0 {
		return 0
	}
	return v
}

func TestEveryStepIsTheRuleInExactArithmetic(t *testing.T) {
	for _, r := range []Rule{Hopper, Ampere} {
		for _, f := range []Format{BFloat16, Float16} {
			s := source{Rand: rand.New(rand.NewPCG(1, 2)), f: f}
			for n := range 20000 {
				s.next(n)
				a, b := make([]uint16, r.Products), make([]uint16, r.Products)
				for i := range a {
					a[i], b[i] = s.factor(), s.factor()
				}
				acc := s.addend()
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

func TestEightColumnsAtOnceAreTheSame(t *testing.T) {
	defer func(v bool) { vector = v }(vector)
	for _, v := range []bool{vector, false} {
		vector = v
		for _, r := range []Rule{Hopper, Ampere} {
			for _, f := range []Format{BFloat16, Float16} {
				s := source{Rand: rand.New(rand.NewPCG(3, 4)), f: f}
				for n := range thorough.Of(8000, 20000) {
					s.next(n)
					a, b, column := make([]Decoded, 16+n%3*8), make([][8]Decoded, 16+n%3*8), make([]Decoded, 16+n%3*8)
					var acc [8]float32
					for k := range a {
						a[k] = f.Decode(s.factor())
						for j := range b[k] {
							b[k][j] = f.Decode(s.factor())
							if n%7 == 0 {
								b[k][j] = f.Decode(0) // sums of nothing but small addends
							}
						}
					}
					for j := range acc {
						acc[j] = s.addend()
						if n%7 == 0 {
							acc[j] = math.Float32frombits(uint32(s.IntN(2<<23) | s.IntN(2)<<31))
						}
					}
					got := acc
					r.Dot8(&got, a, b)
					for j := range acc {
						for k := range column {
							column[k] = b[k][j]
						}
						want := r.Dot(acc[j], a, column)
						if math.Float32bits(want) == math.Float32bits(got[j]) {
							continue // require.Equal takes as long as the columns
						}
						require.Equal(t, math.Float32bits(want), math.Float32bits(got[j]), "%v %v %v column %d of %d steps to %v", r, f, n, j, len(a)/8, acc)
					}
				}
			}
		}
	}
}

func TestAChainIsItsStepsOneAfterTheOther(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := make([]Decoded, 40), make([]Decoded, 40)
	for i := range a {
		a[i], b[i] = BFloat16.Decode(uint16(0x3c00+rng.IntN(0x800))), BFloat16.Decode(uint16(0xbc00+rng.IntN(0x800)))
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

func TestASumThatIsCutToNothingIsAboveZero(t *testing.T) {
	var a, b [16]uint16
	a[3], b[3] = 0x9a00, 0x1a00 // -2^-75 and 2^-75
	require.Equal(t, -0x1p-75, float64(math.Float32frombits(uint32(a[3])<<16)))
	assert.Equal(t, uint32(0), math.Float32bits(mma(0, &a, &b)))
	a[3] = 0x9a80 // -2^-74: the product is the least number there is
	assert.Equal(t, uint32(1<<31|1), math.Float32bits(mma(0, &a, &b)))
}

func TestOrdinaryStepsAreForTheVectorFunctions(t *testing.T) {
	if !vector {
		return // there are none
	}
	one := BFloat16.Decode(0x3f80)
	var acc [8]float32
	var a [48]Decoded
	var b [48][8]Decoded
	for k := range a {
		a[k] = one
		for j := range b[k] {
			b[k][j] = one
		}
	}
	assert.Equal(t, 3, steps8(&acc, &a[0], &b[0], 3))
	assert.Equal(t, [8]float32{48, 48, 48, 48, 48, 48, 48, 48}, acc)
	assert.Equal(t, 3, steps8(new([8]float32), &a[0], &new([48][8]Decoded)[0], 3), "and those of zeros")
}

func BenchmarkDot(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	x, y := make([]Decoded, 256), make([]Decoded, 256)
	for i := range x {
		x[i], y[i] = BFloat16.Decode(uint16(0x3e00+rng.IntN(0x200))), BFloat16.Decode(uint16(0x3e00+rng.IntN(0x200)|rng.IntN(2)<<15))
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
	b.Run("rule=hopper/columns=8", func(b *testing.B) {
		panel := make([][8]Decoded, 256)
		for k := range panel {
			for j := range panel[k] {
				panel[k][j] = y[(k+37*j)%256]
			}
		}
		var acc [8]float32
		for b.Loop() {
			acc = [8]float32{}
			Hopper.Dot8(&acc, x, panel)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/128, "ns/16products")
	})
}

// mma is one step of Hopper: acc and the sum of the products of bfloat16 a and b.
func mma(acc float32, a, b *[16]uint16) float32 {
	var da, db [16]Decoded
	Decode(BFloat16, da[:], a[:])
	Decode(BFloat16, db[:], b[:])
	return Hopper.Dot(acc, da[:], db[:])
}
