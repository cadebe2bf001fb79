package decimal

import (
	"math"
	"strconv"
	"strings"
)

// number is a parsed decimal number: (-1)^neg * mant * 10^exp.
type number struct {
	mant  uint64 // the first 19 digits
	exp   int    // clamped to +-maxExp
	n     int    // length in bytes; 0 if there is no number
	neg   bool
	whole bool // without a point or an exponent
	more  bool // there are more digits than mant holds
}

const (
	maxDigits = 19 // digits that fit in any uint64
	maxExp    = 1 << 20
)

// scan parses the number at the start of b.
func scan(b []byte) (x number) {
	i := 0
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		x.neg = b[i] == '-'
		i++
	}
	first, digits := i, 0 // digits counts from the first digit that is not 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		switch {
		case digits < maxDigits:
			x.mant = 10*x.mant + uint64(b[i]-'0')
			if x.mant != 0 {
				digits++
			}
		default:
			x.more = true
			x.exp = min(x.exp+1, maxExp)
		}
	}
	seen := i - first
	x.whole = true
	if i < len(b) && b[i] == '.' {
		x.whole = false
		i++
		from := i
		for ; i < len(b) && b[i]-'0' <= 9; i++ {
			if digits == maxDigits {
				x.more = true
				continue
			}
			x.mant = 10*x.mant + uint64(b[i]-'0')
			if x.exp = max(x.exp-1, -maxExp); x.mant != 0 {
				digits++
			}
		}
		seen += i - from
	}
	if seen == 0 {
		return number{}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		k, minus := i+1, false
		if k < len(b) && (b[k] == '-' || b[k] == '+') {
			minus = b[k] == '-'
			k++
		}
		from, e := k, 0
		for ; k < len(b) && b[k]-'0' <= 9; k++ {
			e = min(10*e+int(b[k]-'0'), maxExp)
		}
		if k > from {
			if minus {
				e = -e
			}
			i, x.whole = k, false
			x.exp = max(min(x.exp+e, maxExp), -maxExp)
		}
	}
	x.n = i
	return x
}

// powers holds the powers of ten that float64 represents exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Prefix parses the number at the start of b, rounded like ParseFloat. n is its length in bytes, and whole reports whether it has
// neither a point nor an exponent. n is 0 if there is no number, or if it overflows float64.
func Prefix(b []byte) (v float64, n int, whole bool) {
	x := scan(b)
	switch {
	case x.n == 0:
		return 0, 0, false
	case x.more || x.mant > 1<<53 || x.exp > 22 || x.exp < -22:
		var err error
		if v, err = strconv.ParseFloat(string(b[:x.n]), 64); err != nil {
			return 0, 0, false
		}
		return v, x.n, x.whole
	}
	// Both operands are exact, so that one operation rounds correctly.
	v = float64(x.mant)
	if x.exp < 0 {
		v /= powers[-x.exp]
	} else {
		v *= powers[x.exp]
	}
	if x.neg {
		v = -v
	}
	return v, x.n, x.whole
}

// Float parses the whole text: a number as in Prefix, or NaN or infinity as in ParseFloat and NotFinite.
func Float(b []byte) (v float64, whole, ok bool) {
	v, n, whole := Prefix(b)
	if n == len(b) && n > 0 {
		return v, whole, true
	}
	if len(b) == 0 || b[len(b)-1] <= '9' && b[0] <= '9' && n > 0 { // neither a number nor a word
		return 0, false, false
	}
	if v, err := ParseFloat(string(b), 64); err == nil {
		return v, false, true
	}
	v, ok = NotFinite(string(b))
	return v, false, ok
}

// maxTime is the largest absolute time in ns.
const maxTime = 1 << 62

// Nanoseconds converts a time in units of 10^exponent seconds to nanoseconds, digit by digit without a float. Fractions of a nanosecond
// are rounded to nearest, halves away from 0; then exact is false. ok is false if b is not a number, or the time exceeds +-2^62 ns.
func Nanoseconds(b []byte, exponent int) (ns int64, exact, ok bool) {
	x := scan(b)
	if x.n == 0 || x.n != len(b) {
		return 0, false, false
	}
	shift := x.exp + 9 + exponent
	u, exact := x.mant, true
	switch {
	case x.more:
		u, exact = long(b, shift)
	case u == 0:
	case shift > 18:
		return 0, false, false
	case shift >= 0:
		if u > maxTime/tens[shift] {
			return 0, false, false
		}
		u *= tens[shift]
	case shift >= -maxDigits:
		u, exact = divide(u, tens[-shift])
	default:
		u, exact = 0, false
	}
	if u > maxTime {
		return 0, false, false
	}
	if ns = int64(u); x.neg {
		ns = -ns
	}
	return ns, exact, true
}

// divide returns a quotient rounded to nearest, and whether it is exact.
func divide(u, by uint64) (uint64, bool) {
	q, r := u/by, u%by
	if r >= by-r {
		return q + 1, r == 0
	}
	return q, r == 0
}

// long returns digits * 10^shift for a number with more digits than uint64 holds; shift applies to the first 19 digits. If the result
// exceeds maxTime, it returns some value above maxTime.
func long(b []byte, shift int) (u uint64, exact bool) {
	end := len(b)
	for i, c := range b {
		if c|0x20 == 'e' {
			end = i
			break
		}
	}
	digits := strings.TrimLeft(strings.NewReplacer(".", "", "-", "", "+", "").Replace(string(b[:end])), "0")
	whole := maxDigits + shift // digits before the point: the first 19, then shift more
	switch {
	case whole < 0:
		return 0, false
	case whole > maxDigits:
		return math.MaxUint64, false
	}
	for _, c := range digits[:whole] {
		u = 10*u + uint64(c-'0')
	}
	rest := digits[whole:]
	if rest[0] >= '5' {
		u++
	}
	return u, strings.Trim(rest, "0") == ""
}

var tens = func() (list [maxDigits + 1]uint64) {
	list[0] = 1
	for i := 1; i < len(list); i++ {
		list[i] = 10 * list[i-1]
	}
	return list
}()

// NotFinite parses C libraries' spellings of NaN and infinity that ParseFloat rejects: "-nan", "nan(snan)", "-1.#IND00", "1.#INF".
func NotFinite(text string) (float64, bool) {
	bare := strings.ToLower(text)
	if bare != "" && (bare[0] == '-' || bare[0] == '+') {
		bare = bare[1:]
	}
	if bare == "nan" || strings.HasPrefix(bare, "nan(") && strings.HasSuffix(bare, ")") {
		return math.NaN(), true
	}
	bare, _, _ = strings.Cut(bare, "e+")
	word, ok := strings.CutPrefix(strings.TrimRight(bare, "0"), "1.#") // C libraries append zeros up to the requested digits
	switch {
	case !ok:
	case word == "inf" && text[0] == '-':
		return math.Inf(-1), true
	case word == "inf":
		return math.Inf(1), true
	case word == "ind" || word == "qnan" || word == "snan":
		return math.NaN(), true
	}
	return 0, false
}
