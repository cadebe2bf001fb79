package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kernelOf is the kernel that line i of a text is in, and the line's place in it.
func kernelOf(lines []string, i int) (kernel []string, at int) {
	entry := func(line string) bool { return strings.Contains(line, ".entry ") }
	from := i
	for from > 0 && !entry(lines[from]) {
		from--
	}
	to := len(lines)
	if n := slices.IndexFunc(lines[i+1:], entry); n >= 0 {
		to = i + 1 + n
	}
	return lines[from:to], i - from
}

// givers are the lines that may give a register of a kernel a value.
func givers(kernel []string, register string) (list []string) {
	for _, line := range kernel {
		if writesTo(line, register) {
			list = append(list, line)
		}
	}
	return list
}

// allGivers reports whether a register of a kernel is given values, and only by lines that are of a form.
func allGivers(kernel []string, register string, of func(line string) bool) bool {
	list := givers(kernel, register)
	return len(list) > 0 && !slices.ContainsFunc(list, func(line string) bool { return !of(line) })
}

var (
	compared     = regexp.MustCompile(`^\s*setp\.(\w+)\.u32\s+(%p\d+),\s*(%r\d+),\s*(%r\d+);`)
	farther      = regexp.MustCompile(`^\s*(?:add\.s32|or\.b32)\s+%r\d+,\s*(%r\d+),\s*(\d+);`)
	bitSet       = regexp.MustCompile(`^\s*or\.b32\s+(%r\d+),\s*%r\d+,\s*(\d+);`)
	chosen       = regexp.MustCompile(`^\s*selp\.b32\s+%r\d+,\s*(%r\d+),\s*(%r\d+),\s*(%p\d+);`)
	unseenScore  = regexp.MustCompile(`^\s*selp\.f32\s+%f\d+,\s*0fFB800000,\s*%f\d+,\s*(%p\d+);`)
	mulOfTwo     = regexp.MustCompile(`^\s*mul\.rn\.f32\s+%f\d+,\s*(%f\d+),\s*(%f\d+);`)
	movedBits    = regexp.MustCompile(`^\s*mov\.b32\s+%f\d+,\s*(%r\d+);`)
	widenedHalf  = regexp.MustCompile(`^\s*(shl\.b32\s+%r\d+,\s*%r\d+,\s*16|and\.b32\s+%r\d+,\s*%r\d+,\s*-65536);`)
	storedShared = regexp.MustCompile(`^\s*st\.shared\.u32\s+\[%r\d+\],\s*(%r\d+);`)
	zeroMoved    = regexp.MustCompile(`^\s*mov\.b32\s+%r\d+,\s*0;`)
	threadMoved  = regexp.MustCompile(`^\s*mov\.u32\s+%r\d+,\s*%tid\.x;`)
	depthLoaded  = regexp.MustCompile(`^\s*ld\.param\.u32\s+%r\d+,\s*\[[^\]]+\+32\];`)
	comparedWith = regexp.MustCompile(`^\s*setp\.\w+\.u32\s+%p\d+,\s*(%r\d+),\s*\d+;`)
)

// placeOf is how far a register is from another, as far as it is a constant that is added in one place or some.
func placeOf(kernel []string, register string) int {
	all := 0
	for range 4 {
		list := givers(kernel, register)
		if len(list) != 1 {
			break
		}
		m := farther.FindStringSubmatch(list[0])
		if m == nil {
			break
		}
		n, _ := strconv.Atoi(m[2])
		register, all = m[1], all+n
	}
	return all
}

// eighths are in which 8 of the rows of its tiles a comparison's two numbers lie: a key's and a query's, of which a lane has lane/4 or twice lane%4 or one
// more, and what placeOf tells. Rows of a warp of attention_32 begin at a multiple of 32, those of others at one of 16.
func eighths(kernel []string, line string) (key, query int, predicate string, ok bool) {
	m := compared.FindStringSubmatch(line)
	if m == nil {
		return 0, 0, "", false
	}
	of := 2
	if strings.Contains(kernel[0], " attention_32") {
		of = 4
	}
	return placeOf(kernel, m[3]) / 8 % of, placeOf(kernel, m[4]) / 8 % of, m[2], true
}

// neverItsOwn reports whether line i hides a key from a query, each of another 8: so they are not equal. Of a forward kernel the line is followed by the bit of
// the key's number.
func neverItsOwn(kernel []string, i int) bool {
	key, query, predicate, ok := eighths(kernel, kernel[i])
	if !ok || key == query || i+1 >= len(kernel) {
		return false
	}
	if m := unseenScore.FindStringSubmatch(kernel[i+1]); m != nil || i+2 >= len(kernel) {
		return m != nil && m[1] == predicate
	}
	bit, choice := bitSet.FindStringSubmatch(kernel[i+1]), chosen.FindStringSubmatch(kernel[i+2])
	return bit != nil && choice != nil && choice[3] == predicate && choice[1] == bit[1] && keyOfBit(bit[2])/8 == placeOf(kernel, compared.FindStringSubmatch(kernel[i])[3])/8
}

// keyOfBit is how far the key is from a lane's first that a bit stands for.
func keyOfBit(bit string) int {
	n, _ := strconv.Atoi(bit)
	i := 0
	for n > 1 {
		n, i = n/2, i+1
	}
	return i/2*8 + i%2
}

// neverHidden reports whether line i of attention_32 sets the bit of a key that the query sees all the same, as it is of 8 before the query's own.
func neverHidden(kernel []string, i int) bool {
	bit := bitSet.FindStringSubmatch(kernel[i])
	if bit == nil || i == 0 || i+1 >= len(kernel) || !strings.Contains(kernel[0], " attention_32") {
		return false
	}
	choice := chosen.FindStringSubmatch(kernel[i+1])
	key, query, predicate, ok := eighths(kernel, kernel[i-1])
	if choice == nil || !ok || choice[3] != predicate || keyOfBit(bit[2])/8 != key || key >= query {
		return false
	}
	greater := compared.FindStringSubmatch(kernel[i-1])[1] == "gt" // else the first of the 8, which is less
	return greater && choice[1] == bit[1] || !greater && choice[2] == bit[1]
}

// ofHalves reports whether line i multiplies two numbers that were bfloat16.
func ofHalves(kernel []string, i int) bool {
	m := mulOfTwo.FindStringSubmatch(kernel[i])
	half := func(register string) bool {
		return allGivers(kernel, register, func(line string) bool {
			from := movedBits.FindStringSubmatch(line)
			return from != nil && allGivers(kernel, from[1], widenedHalf.MatchString)
		})
	}
	return m != nil && half(m[1]) && half(m[2])
}

// storesZero reports whether line i writes a zero to shared memory.
func storesZero(kernel []string, i int) bool {
	m := storedShared.FindStringSubmatch(kernel[i])
	return m != nil && allGivers(kernel, m[1], zeroMoved.MatchString)
}

// comparesDepth and comparesThread report whether line i compares a matrix product's depth, or a thread's number, with a constant.
func comparesDepth(kernel []string, i int) bool  { return comparesWhat(kernel, i, depthLoaded) }
func comparesThread(kernel []string, i int) bool { return comparesWhat(kernel, i, threadMoved) }

func comparesWhat(kernel []string, i int, what *regexp.Regexp) bool {
	m := comparedWith.FindStringSubmatch(kernel[i])
	return m != nil && allGivers(kernel, m[1], what.MatchString)
}

// comparesSecondFour reports whether line i asks whether the second of a lane's fours of columns is in a row.
func comparesSecondFour(kernel []string, i int) bool {
	m := compared.FindStringSubmatch(kernel[i])
	return m != nil && allGivers(kernel, m[3], secondFour.MatchString)
}

var secondFour = regexp.MustCompile(`^\s*or\.b32\s+%r\d+,\s*%r\d+,\s*128;`)

var (
	aheadBit    = regexp.MustCompile(`^\s*bfe\.u32\s+%r\d+,\s*(%r\d+),\s*6,\s*1;`)
	flagsLoaded = regexp.MustCompile(`^\s*ld\.param\.u32\s+%r\d+,\s*\[[^\]]+\+300\];`)
	orNone      = regexp.MustCompile(`^\s*selp\.b32\s+%r\d+,\s*(%r\d+),\s*0,\s*%p\d+;`)
	asked       = regexp.MustCompile(`^\s*setp\.ne\.u32\s+p,\s*(%r\d+),\s*0;`)
	assigned    = regexp.MustCompile(`^\s*(?:add|sub|shl|shr|or|and|xor|mul|mad|cvt|cvta|selp|setp|mov|min|bfe)\.[a-z0-9_.]+\s+(%\w+),(.*)$`)
)

// ahead reports whether a register of a kernel of matmul_norm holds that the residual comes ahead, or 0.
func ahead(kernel []string, register string) bool {
	return allGivers(kernel, register, func(line string) bool {
		if m := aheadBit.FindStringSubmatch(line); m != nil {
			return allGivers(kernel, m[1], flagsLoaded.MatchString)
		}
		m := orNone.FindStringSubmatch(line)
		return m != nil && m[1] != register && ahead(kernel, m[1])
	})
}

// onlyAhead reports whether line i of a kernel of matmul_norm makes nothing but what a copy needs that brings the residual ahead.
func onlyAhead(kernel []string, i int) bool {
	m := assigned.FindStringSubmatch(kernel[i])
	if m == nil {
		return false
	}
	if ahead(kernel, m[1]) {
		return orNone.MatchString(kernel[i])
	}
	made, copies := []string{m[1]}, false
	for n := 0; n < len(made) && n < 64; n++ {
		for k, line := range kernel {
			m := assigned.FindStringSubmatch(line)
			switch {
			case !mentions(line, made[n]) || strings.HasPrefix(strings.TrimSpace(line), "."):
			case strings.Contains(line, "@p cp.async."):
				by := asked.FindStringSubmatch(kernel[k-1])
				if by == nil || !ahead(kernel, by[1]) {
					return false
				}
				copies = true
			case m == nil:
				return false
			case mentions(m[2], made[n]) && !slices.Contains(made, m[1]):
				made = append(made, m[1])
			}
		}
	}
	return copies && len(made) < 64
}
