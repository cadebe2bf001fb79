package decimal

import (
	"math"
	"strconv"
	"strings"
)

// number is one as text has it: (-1)^neg * mant * 10^exp.
type number struct {
	mant  uint64 // of the first 19 digits
	exp   int    // held within +-maxExp
	n     int    // bytes that it takes; 0 if there is none
	neg   bool
	whole bool // without a point and an exponent
	more  bool // digits than mant has
}

const (
	maxDigits = 19 // that any uint64 has room for
	maxExp    = 1 << 20
)

// scan reads the number that b begins with.
func scan(b []byte) (x number) {
	i := 0
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		x.neg = b[i] == '-'
		i++
	}
	first, digits := i, 0 // digits counts those from the first that is not 0
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

// powers are those of 10 that float64 holds exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Prefix returns the number of digits that b begins with, rounded as ParseFloat does, the bytes that it takes, and whether it is written as a whole
// one, without a point and an exponent. It takes 0 bytes if there is none, or none that float64 has room for.
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
	// Both are exact, so that one operation rounds as it should.
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

// Float returns the number that a text is: what Prefix takes, and what ParseFloat and NotFinite do for NaN and infinity.
func Float(b []byte) (v float64, whole, ok bool) {
	v, n, whole := Prefix(b)
	if n == len(b) && n > 0 {
		return v, whole, true
	}
	if len(b) == 0 || b[len(b)-1] <= '9' && b[0] <= '9' && n > 0 { // no number, and no word
		return 0, false, false
	}
	if v, err := ParseFloat(string(b), 64); err == nil {
		return v, false, true
	}
	v, ok = NotFinite(string(b))
	return v, false, ok
}

// maxTime is how far from 0 a time may lie, ns.
const maxTime = 1 << 62

// Nanoseconds returns a text of digits that is a time in units of 10^exponent seconds, in nanoseconds: as the digits say it, not as a float would.
// What lies below a nanosecond is rounded to the nearest, halves away from 0, and then it is not exact. A text that is no number, or a time beyond
// +-2^62 ns, is not ok.
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

// divide returns a quotient rounded to the nearest, and whether it is exact.
func divide(u, by uint64) (uint64, bool) {
	q, r := u/by, u%by
	if r >= by-r {
		return q + 1, r == 0
	}
	return q, r == 0
}

// long returns digits * 10^shift of a number of more digits than uint64 holds, of which the first 19 count 10^shift: more than maxTime if it is more.
func long(b []byte, shift int) (u uint64, exact bool) {
	end := len(b)
	for i, c := range b {
		if c|0x20 == 'e' {
			end = i
			break
		}
	}
	digits := strings.TrimLeft(strings.NewReplacer(".", "", "-", "", "+", "").Replace(string(b[:end])), "0")
	whole := maxDigits + shift // digits before the point: the first 19 are followed by shift more
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

// NotFinite takes what C libraries print for NaN and infinity besides what ParseFloat knows: "-nan", "nan(snan)", "-1.#IND00", "1.#INF".
func NotFinite(text string) (float64, bool) {
	bare := strings.ToLower(text)
	if bare != "" && (bare[0] == '-' || bare[0] == '+') {
		bare = bare[1:]
	}
	if bare == "nan" || strings.HasPrefix(bare, "nan(") && strings.HasSuffix(bare, ")") {
		return math.NaN(), true
	}
	bare, _, _ = strings.Cut(bare, "e+")
	word, ok := strings.CutPrefix(strings.TrimRight(bare, "0"), "1.#") // zeros fill the digits that were asked for
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
