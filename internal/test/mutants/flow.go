package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kernelOf returns the lines of the kernel that contains line i, and the index of that line in them.
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

// givers returns the lines that may assign a value to a register of a kernel.
func givers(kernel []string, register string) (list []string) {
	for _, line := range kernel {
		if writesTo(line, register) {
			list = append(list, line)
		}
	}
	return list
}

// allGivers reports whether at least one line of a kernel may assign a value to a register, and `of` returns true for each such line.
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

// placeOf returns the sum of the constants in the additions that lead to a register, up to four additions back. It is 0 if the
// register's value is not made by adding a constant.
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

// eighths returns the groups of 8 rows of a tile that the two operands of a comparison lie in: the first operand is a key's number,
// the second a query's. The number inside a group depends on the lane: lane/4, or 2*(lane%4) and the next. The group is placeOf/8,
// modulo 4 in attention_32, where a warp's rows begin at multiples of 32, and modulo 2 elsewhere, where they begin at multiples
// of 16. ok is false if the line is no such comparison.
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

// neverItsOwn reports whether line i hides a key from a query if their numbers compare so, and both lie in different groups of 8
// rows. The numbers are then never equal. In a forward kernel, the line after it sets the bit of the key.
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

// keyOfBit returns the number of a key relative to the lane's first key, from the key's bit.
func keyOfBit(bit string) int {
	n, _ := strconv.Atoi(bit)
	i := 0
	for n > 1 {
		n, i = n/2, i+1
	}
	return i/2*8 + i%2
}

// neverHidden reports whether line i of attention_32 sets the bit of a key that the query always sees, because the key lies in an
// earlier group of 8 rows.
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
	greater := compared.FindStringSubmatch(kernel[i-1])[1] == "gt" // otherwise the comparison with the group's first key is by less
	return greater && choice[1] == bit[1] || !greater && choice[2] == bit[1]
}

// ofHalves reports whether line i multiplies two numbers that were converted from bfloat16.
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

// storesZero reports whether line i stores a zero in shared memory.
func storesZero(kernel []string, i int) bool {
	m := storedShared.FindStringSubmatch(kernel[i])
	return m != nil && allGivers(kernel, m[1], zeroMoved.MatchString)
}

// comparesDepth reports whether line i compares the depth of a matrix product with a constant. comparesThread reports the same for
// the thread's index in its block.
func comparesDepth(kernel []string, i int) bool  { return comparesWhat(kernel, i, depthLoaded) }
func comparesThread(kernel []string, i int) bool { return comparesWhat(kernel, i, threadMoved) }

func comparesWhat(kernel []string, i int, what *regexp.Regexp) bool {
	m := comparedWith.FindStringSubmatch(kernel[i])
	return m != nil && allGivers(kernel, m[1], what.MatchString)
}

// comparesSecondFour reports whether line i checks that the second group of four columns of a lane lies inside the row.
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

// ahead reports whether a register of a matmul_norm kernel holds only 0 or the flag for loading the residual early.
func ahead(kernel []string, register string) bool {
	return allGivers(kernel, register, func(line string) bool {
		if m := aheadBit.FindStringSubmatch(line); m != nil {
			return allGivers(kernel, m[1], flagsLoaded.MatchString)
		}
		m := orNone.FindStringSubmatch(line)
		return m != nil && m[1] != register && ahead(kernel, m[1])
	})
}

// onlyAhead reports whether line i of a matmul_norm kernel computes a value that only an early copy of the residual uses.
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
