package decimal_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// texts are numbers in many ways of writing.
func texts(n int) (list []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		v := r.NormFloat64() * math.Pow(10, float64(r.IntN(40)-20))
		switch r.IntN(6) {
		case 0:
			list = append(list, strconv.FormatFloat(v, 'g', -1, 64))
		case 1:
			list = append(list, strconv.FormatFloat(v, 'e', 18, 64))
		case 2:
			list = append(list, fmt.Sprintf("%.*f", r.IntN(25), v))
		case 3:
			list = append(list, fmt.Sprint(r.Int64()), fmt.Sprint(r.Uint64()))
		case 4:
			list = append(list, fmt.Sprintf("%+d.%09d", r.IntN(2e9)-1e9, r.IntN(1e9)))
		default:
			list = append(list, fmt.Sprintf("%d.%0*dE%+d", r.IntN(1000), 1+r.IntN(30), r.IntN(1e9), r.IntN(30)-15))
		}
	}
	return append(list, "0", "-0", "0.0", ".5", "5.", "-.5e1", "00012", "1e400", "1e-400", "9007199254740993", "0.000000000000000000000001234567890123456789012", "1e22", "1e23", "18446744073709551616")
}

func TestFloatsAreThoseOfStrconv(t *testing.T) {
	for _, s := range append(texts(200_000), "1_0", "0x10", "", "-", ".", "e5", "1e", "1e+", "1.2.3", "nan", "-Inf", "abc", "1 2") {
		want, err := decimal.ParseFloat(s, 64)
		v, _, ok := decimal.Float([]byte(s))
		require.Equal(t, err == nil, ok, s)
		if err == nil {
			require.Equal(t, math.Float64bits(want), math.Float64bits(v), s)
		}
	}
	for s, want := range map[string]bool{"12": true, "-7": true, "1.0": false, "1e3": false, "nan": false} {
		_, whole, ok := decimal.Float([]byte(s))
		assert.True(t, ok, s)
		assert.Equal(t, want, whole, s)
	}
	v, _, ok := decimal.Float([]byte("-nan(ind)"))
	assert.True(t, ok && v != v)
}

func TestNanosecondsAreWhatTheDigitsSay(t *testing.T) {
	for _, s := range texts(thorough.Of(20_000, 200_000)) {
		for _, exponent := range []int{0, -3, -6, -9} {
			r, ok := new(big.Rat).SetString(s)
			require.True(t, ok, s)
			scale := new(big.Rat).SetFrac(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(9+exponent)), nil), big.NewInt(1))
			r.Mul(r, scale)
			// Halves away from 0: floor(2|r|+1)/2.
			num := new(big.Int).Abs(r.Num())
			num.Add(num.Lsh(num, 1), r.Denom())
			num.Div(num, new(big.Int).Lsh(r.Denom(), 1))
			if r.Sign() < 0 {
				num.Neg(num)
			}
			fits := num.CmpAbs(big.NewInt(1<<62)) <= 0
			ns, exact, ok := decimal.Nanoseconds([]byte(s), exponent)
			require.Equal(t, fits, ok, "%s e%d", s, exponent)
			if ok {
				require.Equal(t, num.Int64(), ns, "%s e%d", s, exponent)
				require.Equal(t, r.IsInt(), exact, "%s e%d", s, exponent)
			}
		}
	}
	for _, s := range []string{"", "-", "nan", "1.2.3", "12s", " 1", "1e"} {
		_, _, ok := decimal.Nanoseconds([]byte(s), 0)
		assert.False(t, ok, s)
	}
	ns, exact, ok := decimal.Nanoseconds([]byte("1305031098.6659"), 0)
	assert.True(t, exact && ok)
	assert.Equal(t, int64(1305031098665900000), ns)
}

func FuzzFloat(f *testing.F) {
	for _, s := range texts(20) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := decimal.ParseFloat(s, 64)
		v, _, ok := decimal.Float([]byte(s))
		if err == nil && (!ok || math.Float64bits(v) != math.Float64bits(want)) {
			t.Fatalf("%q: %v, want %v", s, v, want)
		}
		decimal.Nanoseconds([]byte(s), 0)
	})
}

func BenchmarkFloat(b *testing.B) {
	for _, s := range []string{"0.8417820384", "-0.3986", "1520530308189679351", "1.305031098665900000e+09"} {
		text := []byte(s)
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				decimal.Float(text)
			}
		})
	}
}
