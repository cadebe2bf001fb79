package main

import (
	"regexp"
	"slices"
	"strings"
)

// strict matches the rules that change only a comparison's result for equal operands.
var strict = regexp.MustCompile(`^\.(lt|le|gt|ge|lo|hi) becomes \.(lt|le|gt|ge|ls|hs)$`)

var (
	compare  = regexp.MustCompile(`^\s*setp\.\w+\.([a-z]\d+)\s+(%p\d+),\s*([^,;]+),\s*([^,;]+);`)
	choose   = regexp.MustCompile(`^\s*selp\.\w+\s+%\w+,\s*([^,;]+),\s*([^,;]+),\s*(%p\d+);`)
	target   = regexp.MustCompile(`\bbra(?:\.uni)?\s+(\$\w+);`)
	noOpcode = regexp.MustCompile(`^\s*(//.*)?$|^\$\w+:`)
)

// changesNothing reports whether the kernel in lines[from:to] certainly does the same after rule changes line i, judged by the lines
// around it. Such changes are not tried.
//
// A comparison may have either result for equal operands if it only chooses one of the two operands, or if they are never equal. A
// branch to the next instruction has no effect. The rounding mode has no effect for an exact conversion, a conversion of NaN, a sum
// with zero, a product with 1 or -1, or a float64 product of two float32 numbers.
func changesNothing(lines []string, from, to, i int, rule string) bool {
	if m := convert.FindStringSubmatch(lines[i]); m != nil && rule == ".rn. becomes .rz." {
		return exact.MatchString(m[1]) || onlyNaN(lines[from:to], m[2])
	}
	if m := plus.FindStringSubmatch(lines[i]); m != nil && rule == ".rn becomes .rz" && (isZero(m[1]) || isZero(m[2])) {
		return true
	}
	if m := product.FindStringSubmatch(lines[i]); m != nil && rule == ".rn becomes .rz" {
		is := func(form *regexp.Regexp, x string) bool {
			at := written(lines, from, i, x)
			return at >= 0 && form.MatchString(lines[at])
		}
		if is(ones, m[1]) || is(ones, m[2]) || is(widened, m[1]) && is(widened, m[2]) {
			return true
		}
	}
	if m := compare.FindStringSubmatch(lines[i]); m != nil && strict.MatchString(rule) {
		a, b := strings.TrimSpace(m[3]), strings.TrimSpace(m[4])
		if apart(lines, from, i, a, b) {
			return true
		}
		uses, at := 0, 0
		for n, line := range lines[from:to] {
			if mentions(line, m[2]) {
				uses++
				if choose.MatchString(line) {
					at = from + n
				}
			}
		}
		c := choose.FindStringSubmatch(lines[at])
		if uses != 2 || c == nil || c[3] != m[2] {
			return false
		}
		// +0 and -0 are equal but differ in their bits.
		zeros := strings.HasPrefix(m[1], "f") && !nonZero(a) && !nonZero(b)
		same := func(x, y string) bool { return x == y || lowerHalf(lines, from, i, at, x, y) }
		return !zeros && (same(c[1], a) && same(c[2], b) || same(c[1], b) && same(c[2], a))
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

var (
	convert  = regexp.MustCompile(`^\s*cvt\.rn\.(\w+\.\w+)\s+[^,]+,\s*(%\w+);`)
	exact    = regexp.MustCompile(`^(f64\.[us](8|16|32)|f32\.[us](8|16))$`)
	plus     = regexp.MustCompile(`^\s*(?:add|sub)\.rn\.f\d+\s+[^,]+,\s*([^,;]+),\s*([^,;]+);`)
	product  = regexp.MustCompile(`^\s*mul\.rn\.f64\s+[^,]+,\s*([^,;]+),\s*([^,;]+);`)
	ones     = regexp.MustCompile(`^\s*selp\.f64\s+[^,]+,\s*0d[3B]FF0{13},\s*0d[3B]FF0{13},`)
	widened  = regexp.MustCompile(`^\s*cvt\.f64\.f32\s`)
	writes   = regexp.MustCompile(`^\s*(?:@!?%p\d+\s+)?[a-z][a-z0-9_.:]*\s+(\{[^}]*\}|[^,;]+)`)
	nan      = regexp.MustCompile(`^\s*mov\.f(32|64)\s+%\w+,\s*0(f7FC00000|d7FF8000000000000);`)
	sum      = regexp.MustCompile(`^\s*add\.s(?:32|64)\s+%\w+,\s*(%\w+),\s*(-?\d+);`)
	half     = regexp.MustCompile(`^\s*cvt\.u(32\.u64|64\.u32)\s+(%\w+),\s*(%\w+);`)
	newBlock = regexp.MustCompile(`^\$\w+:|\bbra\b`)
)

// onlyNaN reports whether a kernel assigns only NaN to a register.
func onlyNaN(kernel []string, register string) bool {
	found := false
	for _, line := range kernel {
		if writesTo(line, register) {
			if !nan.MatchString(line) {
				return false
			}
			found = true
		}
	}
	return found
}

// writesTo reports whether a line may assign a value to a register.
func writesTo(line, register string) bool {
	if strings.HasPrefix(strings.TrimSpace(line), "{") {
		return mentions(line, register)
	}
	m := writes.FindStringSubmatch(line)
	return m != nil && mentions(m[1], register)
}

// written returns the index of the line before i that assigns a simple value to a register, if there is no branch or label between
// the two lines. It returns -1 if there is no such line.
func written(lines []string, from, i int, register string) int {
	for i--; i > from && !newBlock.MatchString(lines[i]); i-- {
		if writesTo(lines[i], register) {
			return i
		}
	}
	return -1
}

// apart reports whether two registers certainly differ at line i, because both are a third register plus constants, and the constants
// differ.
func apart(lines []string, from, i int, a, b string) bool {
	root := func(x string) (base, distance string, at int) {
		if at = written(lines, from, i, x); at >= 0 {
			if m := sum.FindStringSubmatch(lines[at]); m != nil {
				return m[1], m[2], at
			}
		}
		return x, "0", i
	}
	baseA, distanceA, atA := root(a)
	baseB, distanceB, atB := root(b)
	if baseA != baseB || distanceA == distanceB || !strings.HasPrefix(baseA, "%") {
		return false
	}
	return !changed(lines[min(atA, atB):i], baseA)
}

// lowerHalf reports whether at line use one of the registers x and y has the lower 32 bits of the other, as it was compared at line
// i. Then equal wide operands also have equal lower halves.
func lowerHalf(lines []string, from, i, use int, x, y string) bool {
	for _, p := range [][2]string{{x, y}, {y, x}} {
		at := written(lines, from, use, p[0])
		if at < 0 {
			continue
		}
		m := half.FindStringSubmatch(lines[at])
		if m == nil || m[3] != p[1] {
			continue
		}
		wide, kept := p[1], !changed(lines[min(i, at):max(i, at)], p[1])
		if m[1] == "64.u32" {
			wide, kept = p[0], at < i && !changed(lines[at:use], p[1])
		}
		if wide == y && kept {
			return true
		}
	}
	return false
}

// changed reports whether one of the lines may assign a value to a register.
func changed(lines []string, register string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return writesTo(line, register) })
}

var floatWord = regexp.MustCompile(`^0[df]([0-9A-F]+)$`)

// nonZero reports whether an operand is a floating-point constant other than zero.
func nonZero(operand string) bool {
	m := floatWord.FindStringSubmatch(operand)
	return m != nil && strings.Trim(m[1], "08") != ""
}

// isZero reports whether an operand is the floating-point constant 0 or -0.
func isZero(operand string) bool { return floatWord.MatchString(operand) && !nonZero(operand) }

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

// argument is a reason why surviving mutants of one kind are equivalent: they compute the same, or differ only in results that no
// documentation promises. The reason depends on the kernels' source, so review it after each change to the kernels.
type argument struct {
	name     string
	families *regexp.Regexp // matches a kernel's family and name, separated by a space
	rule     string         // the beginning of the mutant's rule
	line     *regexp.Regexp
	around   *regexp.Regexp // matches the nearby lines, joined
	reach    int            // the number of nearby lines before, and after, the changed line
	why      string
}

var (
	re       = regexp.MustCompile
	sampling = re(`^(resample|fuse)`)
	voxels   = re(`^voxel`)
	rounding = ".rn"
	anything = re("")
	// Kernels of networks.
	networks = re(`^(tokens|embed|norm|loss|gradient|adamw|attention(_backward)?|matmul(_norm(_back)?)?) `)
	// The first to the last coefficients of sine, cosine and arc tangent.
	series = re(`0d(3CE952C77030AD4A|BD6AE7F3E733B81F|3DE6124613A86D09|BE5AE64567F544E4|3EC71DE3A556C734|BF2A01A01A01A01A|3F81111111111111|BFC5555555555555|` +
		`BCA6827863B97D97|3D2AE7F3E733B81F|BDA93974A8C07C9D|3E21EED8EFF8D898|BE927E4FB7789F5C|3EFA01A01A01A01A|BF56C16C16C16C17|3FA5555555555555|BFE0000000000000|` +
		`BFA642C8590B2164|3FA8618618618618|BFAAF286BCA1AF28|3FAE1E1E1E1E1E1E|BFB1111111111111|3FB3B13B13B13B14|BFB745D1745D1746|3FBC71C71C71C71C|` +
		`BFC2492492492492|3FC999999999999A|BFD5555555555555)`)
	// Coefficients of acos_ratio and sin_ratio.
	ratios = re(`0d(3FEFFFFFFFFFFFFE|3FD5555555555F82|3FC1111111069E05|3FAD41D425C34C22|3F9A019E463897F8|3F87A4A044ADC375|3F75CD7D674C5744|3F64B1A22BAAE8BB|` +
		`3F4EEF1A4774B466|3F58D76DA62E0BAB|BF67578E22319DD0|3F801D9928BE5728|BF8E50B69E52F10E|3F968BBE5D35B43B|BF9971ADD2211940|3F95A18B4EDF7F86|` +
		`BF8AC0C637646ACE|3F76D8B99BF0B4C8|BF582653D340237F|3F282DE544E186D3|3FEFFFFFFFFFFFFF|BFC5555555555459|3F81111111108FCB|BF2A01A0199C07F6|` +
		`3EC71DE37DE52AF4|BE5AE634B1880842|3DE60E55581F0209|BD69EEE72299B20B)`)
)

var arguments = append(append(networkArguments, volumeArguments...), []argument{
	{"a sample as a float", re(`^frames `), rounding, re(`cvt\.rn\.f32\.u32\b`), anything, 0,
		"it has at most 16 bits, or is the upper 24 bits of a choice, and is exact"},
	{"a choice as a fraction", re(`^frames `), rounding, re(`mul\.rn\.f32\s.*, 0f33800000;`), anything, 0,
		"a product of 24 bits and 2^-24 is exact"},
	{"a mean's operands", re(`^frames `), rounding, re(`cvt\.rn\.f64\.u64\b`), anything, 0,
		"a frame has at most 2^30 pixels, whose shades sum to less than 2^53"},
	{"a count as a float", sampling, rounding, re(`cvt\.rn\.f32\.(u32|u64|s32)\b`), anything, 0,
		"where it makes a weight it is below 2^24, and exact (ratio asks); elsewhere it guides the search's guesses, which may be any"},
	{"nanoseconds of a tick", sampling, rounding, re(`mul\.rn\.f64\s.*, 0d41CDCD6500000000;`), anything, 0,
		"the product of 1e9 and a target's number is exact up to 9 million targets a row"},
	{"a product by a power of two", sampling, rounding, re(`mul\.rn\.f64\s.*, 0d[34BC][0-9A-F]{2}0{13};`), anything, 0,
		"it is exact; the numbers are far from the ends of the range"},
	{"a length cut to what fits", sampling, ".lt becomes .le", re(`setp\.lt\.s64`), re(`(?s)min\.s64.*selp\.b64`), 5,
		"row_extent's bounds: what is chosen between is equal where what is compared is, 0 and min(0, n), or 0 and hi - lo"},
	{"a row found twice", sampling, "sub becomes add", re(`sub\.s64`), re(`min\.s64[^\n]*\n\s*sub\.s64[^\n]*\n\s*min\.s64[^\n]*, 2147483647`), 1,
		"row_extent's length, where place_in asks only whether its search has found the row: of good offsets it always has"},
	{"a row's end found twice", sampling, ".lt becomes .le", re(`setp\.lt\.s64`), re(`and\.b64[^\n]*, 4294967295;\n\s*setp\.lt\.s64[^\n]*\n\s*cvt\.u32\.u64[^\n]*\n\s*selp\.b32\s+%r\d+, %r\d+, 0, %p`), 2,
		"place_in asks whether the row that its search has found holds the index, as of good offsets it does; others are reported, and nothing before them"},
	{"a row of 2^31 samples", sampling, ".", re(`setp\.\w+\.[su]64\s.*, 214748364[78];`), anything, 0,
		"the longest row is 2^31 - 1 samples, and longer ones are refused"},
	{"the length of such a row", sampling, "sub becomes add", re(`sub\.s64`), re(`sub\.s64[^\n]*\n\s*setp\.lt\.s64[^\n]*, 2147483648;`), 1,
		"row_fits asks for offsets that are in order and in the tensor besides; the sum of two is as much as 2^31 where there are 2^30 samples"},
	{"where a search looks next", sampling, rounding, re(`(mul|add)\.rn\.f32`), re(`mul\.rn\.f32[^\n]*\n(\s*add\.rn\.f32[^\n]*\n)?\s*cvt\.rzi\.u32\.f32`), 2,
		"a guess, which may be any: what is found is compared with the target"},
	{"a search's rate", sampling, rounding, re(`cvt\.rn\.f32\.(f64|s64)`), re(`cvt\.rn\.f32\.[fs]64[^\n]*\n(\s*// begin[^\n]*\n\s*div\.full\.f32|\s*mul\.rn\.f32[^\n]*\n(\s*add\.rn\.f32[^\n]*\n)?\s*cvt\.rzi\.u32\.f32)`), 3,
		"as where a search looks next: a span or a distance that only guides it"},
	{"a tick as an integer", sampling, ".rzi. becomes .rpi.", re(`cvt\.rzi\.s64\.f64`), re(`cvt\.rmi\.f64\.f64(?s:.*)selp\.f64[^\n]*0d43D0000000000000,[^\n]*\n\s*cvt\.rzi\.s64\.f64`), 5,
		"tick gives it a floor or 2^62, which are whole numbers"},
	{"lanes that part", re(` (resample_(fast|unaligned)|fuse_(fast|unaligned))$`), leftOut, re(`bar\.warp\.sync`), anything, 0,
		"locate_block: it brings a warp's lanes together for speed; none has written yet what another reads, and the block's barrier follows"},
	{"an equal timestamp looked at again", re(` (resample_(fast|unaligned)|fuse_(fast|unaligned))$`), ".gt becomes .ge", re(`setp\.gt\.s64`), re(`setp\.gt\.s64\s+%p\d+, %rd\d+, %rd\d+;\n\s*add\.s64[^\n]*, -4611686018427387905;\n\s*setp\.lt\.u64[^\n]*, 9223372036854775807;\n\s*(or\.pred|selp\.b32)`), 3,
		"invalid_mask: report_timestamp asks again what is wrong with a timestamp that it lists, by itself, and finds nothing"},
	{"the least timestamp looked at again", re(` (resample_(fast|unaligned)|fuse_(fast|unaligned))$`), ".lt becomes .le", re(`setp\.lt\.u64\s.*, 9223372036854775807;`), re(`^\s*setp\.gt\.s64\s+%p\d+, %rd\d+, %rd\d+;\n\s*add\.s64[^\n]*, -4611686018427387905;\n\s*setp\.lt\.u64[^\n]*\n\s*(or\.pred|selp\.b32)`), 2,
		"invalid_mask: of -2^62, the only timestamp that is listed besides, report_timestamp finds that it is in range"},
	{"half a period", sampling, ".ge becomes .gt", re(`setp\.ge\.f64`), re(`setp\.ge\.f64[^\n]*\n\s*setp\.lt\.f64[^\n]*\n\s*and\.pred[^\n]*\n\s*@%p\d+ bra[^\n]*\n// %bb[^\n]*\n\s*// begin[^\n]*\n\s*div\.rn\.f64[^\n]*\n\s*// end[^\n]*\n\s*add\.rn\.f64[^\n]*, 0d3FE0000000000000;\n(\s*// begin[^\n]*\n)?\s*cvt\.rmi\.f64\.f64`), 10,
		"wrap_angle: what lies on -period/2 after one period at most was -1/2, 1/2 or -3/2 of one, exactly, and so is its quotient, which leads to the same; but for periods below 2^-1021 half of one is a number"},
	{"half of a sum", sampling, "add becomes sub", re(`add\.s64`), re(`^\s*shr\.u64[^\n]*, 63;\n\s*add\.s64[^\n]*\n\s*shr\.s64[^\n]*, 1;$`), 1,
		"the compiler's rounding to zero of what is below it; bounds that are halved are -1 and 1 or more, whose sum has no sign"},
	{"a term of slerp's ratios", sampling, rounding, re(`(add|mul)\.rn\.f64`), ratios, 3,
		"its last place moves a quaternion by less than 1e-15, of the 1e-14 or the unit of 16 bits that slerp may be off; no equal bits are promised of it"},
	{"what slerp blends", sampling, rounding, re(`(add|mul)\.rn\.f64`), re(`neg\.f64[^\n]*\n\s*selp\.f64[^\n]*\n((\s*mul\.rn\.f64[^\n]*\n){2}\s*add\.rn\.f64[^\n]*\n){4}`), 14,
		"as a term of its ratios: rounded to float32 or less it is another number once in 2^28 times, and a float64 may be off by more"},
	{"a turn's first target", re(`^resample `), ".ge becomes .gt", re(`setp\.ge\.u32`), re(`setp\.lt\.u32[^\n]*\n\s*@%p\d+ bra[^\n]*\n\s*bra\.uni[^\n]*\n\$\w+:\s*// =>This Inner Loop Header[^\n]*\n\s*setp\.ge\.u32[^\n]*\n\s*cvt\.u64\.u32[^\n]*\n\s*mov\.b32\s+%r\d+, 4;`), 4,
		"move goes round only while there is a target, so that the first of a turn is not the number of targets"},
	{"the search's end", sampling, ".lt becomes .le", re(`setp\.lt\.u32`), re(`selp\.b32[^\n]*\n\s*mul\.wide\.u32[^\n]*\n\s*add\.s64[^\n]*\n([^\n]*\n){1,2}\s*ld\.global\.nc`), 6,
		"halving ends with lo < hi <= n-1, so that the bound lo < n-1 always holds: it stands for timestamps that change meanwhile"},
	{"a term of a series", sampling, rounding, re(`(add|mul)\.rn\.f64`), series, 1,
		"in a divisor of the arc cosine's steps, which correct themselves, or so far up the series that the last place is below the sum's"},
	{"an index cut at zero", re(`^fuse_unaligned `), ".lt becomes .le", re(`setp\.lt\.s32\s.*, (0|-1);`), re(`selp\.b32[^\n]*\n\s*selp\.b32\s+%r\d+, 0, %r\d+, %p\d+;`), 4,
		"clamp_index: where what is compared makes the index 0, it is what is chosen either way, as a run is not empty"},
	{"elements at once, of f64", re(` resample_f64$`), ".g", re(`setp\.g[te]\.u32\s.*, 2;`), anything, 0,
		"of values of 8 bytes at most two are moved at once, of which the log2 is 1 (vectorOf): 2 does not come, nor what is after it"},
	{"rounded to odd on the way to 16 bits", re(` resample_channels$`), "", re(`(selp\.f32|setp\.\w+\.f64|cvt\.rz\.f32\.f64)`), re(`cvt\.rz\.f32\.f64(?s:.*)or\.b32[^\n]*, 1;(?s:.*)cvt\.rn\.b?f16\.f32`), 10,
		"of values that are no f64, what is in float64 is of a kind whose 16-bit results may be a unit in the last place apart, and an error there moves one by no more"},
	{"a step of the arc cosine", sampling, rounding, re(`div\.rn\.f64`), series, 24,
		"a step is below 1e-4 of the angle, so that its last place is below the angle's"},
	{"a quotient either way", sampling, ".", re(`setp\.\w+\.u64\s.*, 1677721[56];`), anything, 0,
		"lengths around 2^24 are exact floats, whose quotient is the same bits in float32 and by way of float64 (ratio)"},
	{"numbers that fit 32 bits", sampling, "or becomes and", re(`or\.b64`), re(`or\.b64[^\n]*\n\s*and\.b64[^\n]*, -4294967296;\n\s*setp\.ne\.s64[^\n]*, 0;`), 2,
		"the compiler's short way past a division of 64 bits; what is divided numbers timestamps and targets, of which no test's device holds 2^32"},
	{"a quarter turn's third part", sampling, rounding, re(`mul\.rn\.f64\s.*, 0dBBA3198A2E037073;`), anything, 0,
		"its last place is below that of what it is taken from, but within 2^-49 of a quarter turn after thousands of them"},
	{"whole periods", sampling, rounding, re(`(div|add|mul)\.rn\.f64`), re(`cvt\.rmi\.f64\.f64`), 5,
		"wrap_angle takes back a period too many or too few"},
	{"the long way to a quotient", voxels, leftOut, re(`@%p\d+ bra`), re(`@%p\d+ bra[^\n]*\n\s*bra\.uni[^\n]*\n\$\w+:[^\n]*\n(\s*cvt\.u32\.u64[^\n]*\n)+\s*div\.u32`), 5,
		"the compiler's short way past a division of 64 bits, which gives the same number"},
	{"a warp past the last key", re(`^voxel_sort voxel_(sort_pass|number)$`), ".lt becomes .le", re(`setp\.lt\.u64`), re(`sub\.s64[^\n]*\n\s*setp\.lt\.u64`), 1,
		"voxel_sort_pass skips what is none of a warp's keys: one that begins where they end counts none of its lanes either way"},
	{"a place found once more", re(` voxel_reduce$`), ".", re(`setp\.(ge|lt)\.u32`), re(`ld\.(shared|global\.v[24])(?s:.*)mov\.[bu]64\s+%rd\d+, -1;(?s:.*)selp\.b64\s+%rd\d+, %rd\d+, -1, %p`), 40,
		"place_of, of a voxel that waited: it has been found to be kept"},
	{"lanes that are left over", re(` voxel_reduce_large$`), ".lt becomes .le", re(`setp\.lt\.u16`), anything, 0,
		"reduce_pieces: lanes beyond those that share a group of features evenly would look at points again, and combine_lanes takes nothing of them"},
	{"a mean in float64", re(` voxel_(reduce|cells|bucket)$`), rounding, re(`(add|mul|div|fma)\.rn\.f64`), re(`cvt\.rn\.f32\.f64`), 8,
		"result, of at most 16 points: their sum has no more bits than a float64, and its quotient by so small a number is the middle of two floats or far from it"},
	{"what a quotient begins with", re(` voxel_(reduce|cells|bucket|reduce_large)$`), rounding, re(`mul\.rn\.f64`), re(`mul\.rn\.f64[^\n]*\n\s*// begin[^\n]*\n\s*fma\.rn\.f64`), 2,
		"quotient: it is corrected twice, and once is enough for what is within a unit of its last place"},
	{"a block without points", re(`^voxel_(sort voxel_histogram|write voxel_write)$`), ".g", re(`setp\.g[te]\.u64`), re(`setp\.g[te]\.u64[^\n]*\n(\s*bar\.sync[^\n]*\n)?\s*@%p\d+ bra[^\n]*\n([^\n]*\n){1,2}\s*griddepcontrol\.wait`), 5,
		"there are as many blocks as the points fill, so that each has its first"},
	{"how sure a cell is", re(` voxel_(partition_(cells|points)|write)$`), rounding, re(`add\.rn\.f32\s.*, 0f(BF000000|CB400000|40000000);`), anything, 0,
		"fast_index: where near_of lets any cell be sure, this is exact or moves a distance by less than 2^-25, and near_of leaves more than 2^-23 between what is told to be sure and what is"},
	{"a cell that is just sure", re(` voxel_partition_(cells|points)$`), ".lt becomes .le", re(`setp\.lt\.f32`), re(`add\.rn\.f32[^\n]*, 0fBF000000;\n\s*abs\.f32[^\n]*\n\s*setp\.lt\.f32`), 2,
		"fast_index: near_of leaves more than 2^-23, and what is not told to be sure is divided, to the same"},
	{"a cell that is just not sure", re(` voxel_write$`), ".ge becomes .gt", re(`setp\.geu\.f32`), re(`add\.rn\.f32[^\n]*, 0fBF000000;\n\s*abs\.f32[^\n]*\n\s*setp\.geu\.f32`), 2,
		"fast_index: near_of leaves more than 2^-23, and what is not told to be sure is divided, to the same"},
	{"a window asked again", re(` resample_thread_per_row$`), ".le becomes .lt", re(`setp\.le\.(s64|f64|f32)`), re(`selp\.b32[^\n]*\n\s*setp\.le\.(s64|f64|f32)[^\n]*\n\s*setp\.gt\.(s64|f64|f32)[^\n]*\n\s*and\.pred[^\n]*\n\s*@%p\d+ bra`), 4,
		"bracket_holds: a target on the first of the window's timestamps has been found before search is asked"},
	{"a cut of nothing", sampling, ".ge becomes .gt", re(`setp\.ge\.u32`), re(`selp\.b32[^\n]*\n\s*selp\.b32[^\n]*\n\s*add\.s32[^\n]*, 1;\n\s*setp\.ge\.u32[^\n]*\n\s*@%p\d+ bra`), 4,
		"search: where one bracket is left a cut in four leaves it"},
	{"within the row all the same", re(` resample_(thread_per_row|unaligned)$`), "add becomes sub", re(`add\.s32\s.*, -2;`), re(`setp\.lt\.u32[^\n]*\n\s*add\.s32[^\n]*, -2;\n\s*selp\.b32`), 1,
		"search: its last bracket begins before the row's last sample but for timestamps in disorder, which are refused, or any values will do"},
	{"a row of one sample", re(` resample_thread_per_row$`), ".gt becomes .ge", re(`setp\.gt\.u32\s.*, 1;`), re(`setp\.gt\.u32[^\n]*, 1;\n\s*selp\.s32[^\n]*, -1, 0,`), 1,
		"load_window: a row has at least four samples here"},
	{"a margin's scale", voxels, rounding, re(`mul\.rn\.f32\s.*, 0f3(48|58)00000;`), anything, 0,
		"a product by a power of two is exact, but for quotients below 2^-106, and those are beyond so small a margin all the same"},
	{"a floor as an integer", voxels, ".rzi. becomes .rpi.", re(`cvt\.rzi\.u32\.f(32|64)`), re(`setp\.lt\.f(32|64)[^\n]*, 0(f4F000000|d41E0000000000000);\n\s*cvt\.rzi`), 1,
		"index_of is given floors, which are whole numbers"},
	{"an index beyond any axis", voxels, ".lt becomes .le", re(`setp\.lt\.f(32|64)\s.*, 0(f4F000000|d41E0000000000000);`), anything, 0,
		"index_of: 2^31 has an index then, which no axis has, as it has fewer cells"},
	{"a wait once more", re(` voxel_write$`), leftOut, re(`@%p\d+ bra`), re(`@%p\d+ bra[^\n]*\n// %bb[^\n]*\n\s*// begin[^\n]*\n\s*griddepcontrol\.wait`), 3,
		"what has been waited for is not waited for again"},
	{"as many as 32 bits number", voxels, ".lt becomes .le", re(`setp\.lt\.u64\s.*, 4294967296;`), anything, 0,
		"what is numbered, items or cells of all rows, lies below how many there are, and so fits 32 bits if they are 2^32"},
	{"the long way to a key", voxels, leftOut, re(`@%p\d+ bra`), re(`@%p\d+ bra[^\n]*\n\s*bra\.uni[^\n]*\n\$\w+:[^\n]*\n(\s*cvt\.u32\.u64[^\n]*\n){2}(\s*mad\.lo\.s32[^\n]*\n){3}\s*cvt\.u64\.u32`), 8,
		"key_of: in 64 bits it is the same number, of a cell below 2^32 too"},
	{"the bits of no number", re(` voxel_(reduce|reduce_large|cells)$`), ".lt becomes .le", re(`setp\.lt\.s32\s.*, 0;`), re(`and\.b32[^\n]*, 2147483647;\n\s*not\.b32[^\n]*\n\s*setp\.lt\.s32[^\n]*, 0;\n\s*selp\.b32`), 2,
		"of_order: what comes before all numbers is a NaN of all bits, or that there were none; a voxel has a point, and NaNs are told before"},
	{"none to count", re(` voxel_number$`), leftOut, re(`@%p\d+ bra`), re(`selp\.u32\s+%r\d+, 1, 0, %p\d+;\n\s*setp\.lt\.u32[^\n]*, [2-8];\n\s*@%p\d+ bra[^\n]*\n// %bb[^\n]*\n\s*// begin[^\n]*\n([^\n]*\n){2}[^\n]*\n\s*vote\.sync\.ballot\.b32 %r\d+, p[^\n]*\n([^\n]*\n){3}\s*popc\.b32`), 10,
		"it goes round the votes on places that a thread does not take, of which none begins a voxel: no lane votes, and nothing is added"},
	{"nothing to add", re(`^voxel_(sort voxel_histogram$|count |group |write )`), leftOut, re(`@%p\d+ bra`), re(`setp\.eq\.s32[^\n]*, 0;\n\s*@%p\d+ bra[^\n]*\n// %bb[^\n]*\n(\s*(shl\.b64|add\.s(32|64)|cvt\.u(32\.u64|64\.u32)|// begin)[^\n]*\n)+\s*red\.(global\.add\.u(32|64)|shared\.add\.u32)`), 6,
		"it goes round the adding of a count that is 0"},
	{"all rows' voxels", re(` voxel_number$`), "add becomes sub", re(`add\.s32\s.*, -1;`), re(`^\s*add\.s32[^\n]*, -1;\n\s*selp\.b32\s+%r\d+, 0, %r\d+, %p\d+;\n\s*add\.s32[^\n]*, -1;`), 2,
		"block_scan's total is that of the last of its 16 warps; two lanes on stand for none, and have the same"},
}...)

// argued returns the name of the argument by which a mutant is equivalent, or "" if there is none.
func argued(lines []string, m *Mutant) string {
	kernel, at := kernelOf(lines, m.Line-1)
	for _, a := range arguments {
		if !a.families.MatchString(m.Family+" "+m.Kernel) || !strings.HasPrefix(m.Rule, a.rule) || !a.line.MatchString(m.Old) {
			continue
		}
		from, to := max(m.Line-1-a.reach, 0), min(m.Line+a.reach, len(lines))
		if check := holds[a.name]; a.around.MatchString(strings.Join(lines[from:to], "\n")) && (check == nil || check(kernel, at)) {
			return a.name
		}
	}
	return ""
}
