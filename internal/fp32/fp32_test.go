package fp32

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// worst is the greatest error of f in units in the last place, over every 20011th float from lo to hi.
func worst(lo, hi float32, f func(float32) float32, exact func(float64) float64) (units float64) {
	for word := uint64(0); word < 1<<32; word += 20011 {
		x := math.Float32frombits(uint32(word))
		if x >= lo && x <= hi {
			want := exact(float64(x))
			_, e := math.Frexp(want)
			units = max(units, math.Abs(float64(f(x))-want)/math.Ldexp(1, max(e, -125)-24))
		}
	}
	return units
}

func TestErrorsAreAsTheCommentsSay(t *testing.T) {
	for _, c := range []struct {
		name   string
		lo, hi float32
		f      func(float32) float32
		exact  func(float64) float64
		most   float64
	}{
		{"Exp2", -150, 128, Exp2, math.Exp2, 1},
		{"Exp2Down", -126, 1, Exp2Down, math.Exp2, 48},
		{"Log2", 0x1p-149, math.MaxFloat32, Log2, math.Log2, 2.1},
		{"Log", 0x1p-149, math.MaxFloat32, Log, math.Log, 2.5},
		{"Exp", -87, 88, Exp, math.Exp, 70},
		{"Erf", -10, 10, Erf, math.Erf, 2.4},
		{"GELU of what is not negative", 0, 100, GELU, gelu, 2},
	} {
		got := worst(c.lo, c.hi, c.f, c.exact)
		assert.LessOrEqual(t, got, c.most, c.name)
		assert.Greater(t, got, c.most/2, "%s: better than its comment says", c.name)
	}
	for x := float32(-30); x < 30; x += 0x1p-12 {
		d := float64(x)
		assert.InDelta(t, gelu(d), GELU(x), 0x1.4p-23*max(math.Abs(d), 1), x)
		assert.InDelta(t, math.Erfc(-d/math.Sqrt2)/2+d*math.Exp(-d*d/2)/math.Sqrt(2*math.Pi), GELUGrad(x), 0x1p-22, x)
	}
}

func gelu(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }

var specials = []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.5, -0.5, 4, -4, 127, 128, 129, 1000, -126, -126.5, -127, -149, -150, -151, -1000, 0x1p-149, -0x1p-149, 0x1p-126, 0x1.fffffep-127,
	math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}

func TestEveryNumberHasAResult(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name    string
		f       func(float32) float32
		x, want float32
	}{
		{"Exp2", Exp2, 0, 1}, {"Exp2", Exp2, -149, 0x1p-149}, {"Exp2", Exp2, -150, 0}, {"Exp2", Exp2, -inf, 0}, {"Exp2", Exp2, 127, 0x1p127}, {"Exp2", Exp2, 128, inf},
		{"Exp2", Exp2, inf, inf}, {"Exp2", Exp2, nan, nan},
		{"Exp2Down", Exp2Down, 0, 1}, {"Exp2Down", Exp2Down, -127, 0}, {"Exp2Down", Exp2Down, -inf, 0}, {"Exp2Down", Exp2Down, nan, math.MaxFloat32},
		{"Log2", Log2, 0, -inf}, {"Log2", Log2, -1, nan}, {"Log2", Log2, 1, 0}, {"Log2", Log2, 0x1p-149, -149}, {"Log2", Log2, inf, inf}, {"Log2", Log2, nan, nan},
		{"Erf", Erf, inf, 1}, {"Erf", Erf, -inf, -1}, {"Erf", Erf, nan, nan}, {"Erf", Erf, 0, 0},
		{"GELU", GELU, inf, inf}, {"GELU", GELU, nan, nan}, {"GELUGrad", GELUGrad, 100, 1}, {"GELUGrad", GELUGrad, -100, 0},
	} {
		got := c.f(c.x)
		assert.True(t, got == c.want || got != got && c.want != c.want, "%s(%v): got %v, want %v", c.name, c.x, got, c.want)
	}
	for x := float32(-140); x < 0; x += 0x1p-8 {
		assert.LessOrEqual(t, Exp2Down(x), Exp2Down(x+0x1p-8), x)
	}
}

func TestFMARoundsOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() float32 {
		switch rng.IntN(4) {
		case 0:
			return math.Float32frombits(rng.Uint32())
		case 1:
			return specials[rng.IntN(len(specials))]
		default: // few bits, so that sums are half way between two floats
			return float32(math.Ldexp(float64(rng.IntN(64)-32), rng.IntN(80)-60))
		}
	}
	halves := 0
	for range 200_000 {
		a, b, c := draw(), draw(), draw()
		if rng.IntN(2) == 0 { // an addend that is a product's neighbour
			c = -float32(a*b) * (1 + float32(rng.IntN(5)-2)*0x1p-23)
		}
		got := FMA(a, b, c)
		if p := float64(a)*float64(b) + float64(c); math.IsNaN(p) || math.IsInf(p, 0) {
			assert.Equal(t, fmt.Sprint(p), fmt.Sprint(got))
			continue
		}
		exact := new(big.Float).SetPrec(600).Mul(wide(a), wide(b))
		exact.Add(exact, wide(c))
		want, _ := exact.Float32()
		if want == 0 && got == 0 {
			continue // zero's sign is that of the float64 sum
		}
		if twice := float32(float64(a)*float64(b) + float64(c)); twice != want {
			halves++
		}
		if math.Float32bits(want) != math.Float32bits(got) {
			t.Fatalf("FMA(%x, %x, %x): got %x, want %x", a, b, c, got, want)
		}
	}
	assert.Greater(t, halves, 10, "cases in which rounding twice is wrong")
}

func wide(x float32) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(float64(x)) }

// The vectors are those that the authors publish with their code.
func TestPhiloxGivesThePublishedWords(t *testing.T) {
	ones := ^uint32(0)
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		assert.Equal(t, c.want, Philox(c.counter, c.key))
	}
}

func TestDropoutLeavesOutItsShare(t *testing.T) {
	for _, rate := range []float32{0, 0.1, 0.5, 0.9} {
		dropped := 0
		for n := range uint64(40_000) {
			if Dropped(7, 3, 2, n, rate) {
				dropped++
			}
		}
		assert.InDelta(t, rate, float64(dropped)/40_000, 0.01)
	}
	assert.NotEqual(t, Words(7, 3, 2, 0), Words(7, 4, 2, 0))
	assert.NotEqual(t, Words(7, 3, 2, 0), Words(7, 3, 1, 0))
	assert.NotEqual(t, Words(7, 3, 2, 0), Words(8, 3, 2, 0))
	assert.NotEqual(t, Words(7, 3, 2, 0), Words(7, 3, 2, 1<<32))
}

// Normal equals the quantile function in float64 at every 997th point, and both ends are finite.
func TestNormalIsTheQuantile(t *testing.T) {
	worst, sum, squares, n := 0.0, 0.0, 0.0, 0.0
	for k := uint32(0); k < 1<<24; k += 997 {
		got, want := float64(Normal(k<<8|k&255)), math.Sqrt2*math.Erfinv((2*float64(k)+1)/(1<<24)-1)
		worst = max(worst, math.Abs(got/want-1))
		sum, squares, n = sum+got, squares+got*got, n+1
	}
	assert.Less(t, worst, 5e-7)
	assert.InDelta(t, 0, sum/n, 1e-3)
	assert.InDelta(t, 1, squares/n, 1e-3)
	assert.InDelta(t, 5.42, Normal(math.MaxUint32), 0.01)
	assert.Equal(t, Normal(math.MaxUint32), -Normal(0))
}
