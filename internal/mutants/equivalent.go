package main

import (
	"regexp"
	"strings"
)

// strict are the rules that change what a comparison says of equal operands, and nothing else.
var strict = regexp.MustCompile(`^\.(lt|le|gt|ge|lo|hi) becomes \.(lt|le|gt|ge|ls|hs)$`)

var (
	compare  = regexp.MustCompile(`^\s*setp\.\w+\.([a-z]\d+)\s+(%p\d+),\s*([^,;]+),\s*([^,;]+);`)
	choose   = regexp.MustCompile(`^\s*selp\.\w+\s+%\w+,\s*([^,;]+),\s*([^,;]+),\s*(%p\d+);`)
	target   = regexp.MustCompile(`\bbra(?:\.uni)?\s+(\$\w+);`)
	noOpcode = regexp.MustCompile(`^\s*(//.*)?$|^\$\w+:`)
)

// changesNothing reports whether line i of a kernel, which is lines from..to, means the same after a change: what the text around
// it shows for sure. Such changes are not drawn.
//
// A comparison may treat equal operands either way if all that it does is choose one of the two. A branch to what follows anyway
// may be left out.
func changesNothing(lines []string, from, to, i int, rule string) bool {
	if m := compare.FindStringSubmatch(lines[i]); m != nil && strict.MatchString(rule) {
		uses := 0
		var use string
		for _, line := range lines[from:to] {
			if mentions(line, m[2]) {
				uses++
				if choose.MatchString(line) {
					use = line
				}
			}
		}
		c := choose.FindStringSubmatch(use)
		if uses != 2 || c == nil || c[3] != m[2] {
			return false
		}
		a, b := strings.TrimSpace(m[3]), strings.TrimSpace(m[4])
		// Zeros of either sign are equal and not the same.
		zeros := strings.HasPrefix(m[1], "f") && !nonZero(a) && !nonZero(b)
		return !zeros && (c[1] == a && c[2] == b || c[1] == b && c[2] == a)
	}
	if m := target.FindStringSubmatch(lines[i]); m != nil && rule == leftOut {
		for _, line := range lines[i+1 : to] {
			if strings.HasPrefix(line, m[1]+":") {
				return true
			}
			if next := target.FindStringSubmatch(line); next != nil && !strings.Contains(line, "@") {
				return next[1] == m[1] && strings.Contains(lines[i], "@")
			}
			if !noOpcode.MatchString(line) {
				return false
			}
		}
	}
	return false
}

var floatWord = regexp.MustCompile(`^0[df]([0-9A-F]+)$`)

// nonZero reports whether an operand is a constant of floating point other than zero.
func nonZero(operand string) bool {
	m := floatWord.FindStringSubmatch(operand)
	return m != nil && strings.Trim(m[1], "08") != ""
}

// mentions reports whether a line names a register.
func mentions(line, register string) bool {
	for rest := line; ; {
		_, after, ok := strings.Cut(rest, register)
		if !ok {
			return false
		}
		if after == "" || after[0] < '0' || after[0] > '9' {
			return true
		}
		rest = after
	}
}

// argument says why survivors of a kind compute the same, or the same but for what no promise covers. It is an argument about the
// kernels' source; whoever changes that reads it again.
type argument struct {
	name     string
	families *regexp.Regexp
	rule     string // of the change, its beginning
	line     *regexp.Regexp
	around   *regexp.Regexp // in the lines near it, joined
	reach    int            // how many lines before and after
	why      string
}

var (
	re       = regexp.MustCompile
	sampling = re(`^(resample|fuse)`)
	rounding = ".rn"
	anything = re("")
	// The coefficients of sine and cosine, first to last.
	series = re(`0d(3CE952C77030AD4A|BD6AE7F3E733B81F|3DE6124613A86D09|BE5AE64567F544E4|3EC71DE3A556C734|BF2A01A01A01A01A|3F81111111111111|BFC5555555555555|` +
		`BCA6827863B97D97|3D2AE7F3E733B81F|BDA93974A8C07C9D|3E21EED8EFF8D898|BE927E4FB7789F5C|3EFA01A01A01A01A|BF56C16C16C16C17|3FA5555555555555|BFE0000000000000)`)
)

var arguments = []argument{
	{"a count as a float", sampling, rounding, re(`cvt\.rn\.f32\.u(32|64)\b`), anything, 0,
		"where it makes a weight it is below 2^24, and exact (ratio asks); elsewhere it guides the search's first guess, which may be any"},
	{"nanoseconds of a tick", sampling, rounding, re(`mul\.rn\.f64\s.*, 0d41CDCD6500000000;`), anything, 0,
		"the product of 1e9 and a target's number is exact up to 9 million targets a row"},
	{"a product by a power of two", sampling, rounding, re(`mul\.rn\.f64\s.*, 0d[34BC][0-9A-F]{2}0{13};`), anything, 0,
		"it is exact; the numbers are far from the ends of the range"},
	{"a length cut to what fits", sampling, ".lt becomes .le", re(`setp\.lt\.s64`), re(`(?s)min\.s64.*selp\.b64`), 5,
		"row_extent's bounds: what is chosen between is equal where what is compared is, 0 and min(0, n), or 0 and hi - lo"},
	{"a row found twice", sampling, "sub becomes add", re(`sub\.s64`), re(`min\.s64[^\n]*\n\s*sub\.s64[^\n]*\n\s*min\.s64[^\n]*, 2147483647`), 1,
		"row_extent's length, where place_in asks only whether its search has found the row: of good offsets it always has"},
	{"a row of 2^31 samples", sampling, ".", re(`setp\.\w+\.[su]64\s.*, 214748364[78];`), anything, 0,
		"the longest row is 2^31 - 1 samples, and longer ones are refused"},
	{"the first step up", sampling, "sub becomes add", re(`sub\.s32`), re(`sub\.s32[^\n]*\n\s*setp\.lt\.u32[^\n]*, 3;`), 1,
		"a target beyond the window and before the last stamp has three stamps or more to look at, and the bound says no other"},
	{"the search's end", sampling, ".lt becomes .le", re(`setp\.lt\.u32`), re(`selp\.b32[^\n]*\n\s*mul\.wide\.u32[^\n]*\n\s*add\.s64[^\n]*\n[^\n]*\n\s*ld\.global\.nc`), 6,
		"halving ends with lo < hi <= n-1, so that the bound lo < n-1 always holds: it stands for stamps that change meanwhile"},
	{"a term of a sine", sampling, rounding, re(`(add|mul)\.rn\.f64`), series, 1,
		"in a divisor of the arc cosine's steps, which correct themselves, or so far up the series that the last place is below the sum's"},
	{"a step of the arc cosine", sampling, rounding, re(`div\.rn\.f64`), series, 24,
		"a step is below 1e-4 of the angle, so that its last place is below the angle's"},
	{"whole periods", sampling, rounding, re(`(div|add|mul)\.rn\.f64`), re(`cvt\.rmi\.f64\.f64`), 5,
		"wrap_angle takes back a period too many or too few"},
}

// argued names the argument that holds for a mutant, or "".
func argued(lines []string, m *Mutant) string {
	for _, a := range arguments {
		if !a.families.MatchString(m.Family) || !strings.HasPrefix(m.Rule, a.rule) || !a.line.MatchString(m.Old) {
			continue
		}
		from, to := max(m.Line-1-a.reach, 0), min(m.Line+a.reach, len(lines))
		if a.around.MatchString(strings.Join(lines[from:to], "\n")) {
			return a.name
		}
	}
	return ""
}
