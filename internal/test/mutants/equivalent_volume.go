package main

import (
	"slices"
	"strings"
)

// volumeArguments are the arguments for Integrate.
var volumeArguments = []argument{
	{"a small whole number as a float", re(`^integrate `), rounding, re(`cvt\.rn\.f32\.[us](16|32)\b`), anything, 0,
		"pixels' coordinates, sizes, samples and shades are below 2^24, and voxels' coordinates at most 2^23 from 0, so all are exact"},
	{"a block's coordinate", re(`^integrate integrate_mark$`), ".rzi. becomes .rpi.", re(`cvt\.rzi\.s32\.f32`), re(`cvt\.rmi\.f32\.f32[^\n]*\n[^\n]*\n\s*cvt\.rzi`), 2,
		"block_at converts a floor, which is a whole number"},
	{"a sphere's rounding", re(`^integrate integrate_update$`), rounding, re(`(add|sub|mul)\.rn`), anything, 0,
		"the test of the sphere around a block has a margin of a voxel, which is far above a rounding"},
	{"a sphere that touches the view", re(`^integrate integrate_update$`), ".", re(`setp\.[gl]t\.f32`), anything, 0, "the margin, as before"},
	{"a sphere that is not tested", re(`^integrate integrate_update$`), leftOut, re(`@%p\d+ bra`), anything, 0, "the test only saves time"},
	{"a sphere before and behind the view", re(`^integrate integrate_update$`), "or becomes and", re(`or\.pred`), anything, 0, "the test only saves time"},
	{"a sphere's centre", re(`^integrate integrate_update$`), rounding, re(`mul\.rn\.f32`), re(`or\.b32[^\n]*, 4;\n\s*cvt\.rn\.f32\.s32[^\n]*\n\s*mul\.rn\.f32[^\n]*(\n[^\n]*){2}$`), 2,
		"only the test of the sphere uses it"},
	{"who writes the control", re(`^integrate integrate_clear$`), "", re(`setp\.ne\.s64|@%p\d+ bra`), re(`setp\.ne\.s64\s+%p\d+, %rd\d+, 0;\n\s*@%p\d+ bra`), 1,
		"all threads, or all but one, write the same numbers"},
	{"a block that the next lane shows", re(`^integrate integrate_mark$`), leftOut, re(`@%p\d+ bra`), re(`setp\.eq\.s64[^\n]*\n\s*and\.pred[^\n]*\n\s*@%p\d+ bra`), 2,
		"a lane leaves it to the next to save time, and may show it too"},
	{"a key beyond the room", re(`^integrate integrate_mark$`), leftOut, re(`@%p\d+ bra`), anything, 0,
		"place_of then adds more keys than there is room for, but the images are refused either way"},
	{"a sample between two in range", re(`^integrate integrate_mark$`), "and becomes or", re(`and\.pred`), re(`0fC9800000;\n[^\n]*, 0f49800000;\n\s*and\.pred`), 2,
		"only rays whose first and last samples are in range show blocks"},
	{"a distance at its limit", re(`^integrate integrate_update$`), ".", re(`setp\.[gl]t\.f32\s.*, 0f[3B]F800000;`), re(`selp\.f32`), 3,
		"the limit and the distance are equal then"},
}

// branchAt returns the predicate and the label of a conditional branch, or "" and "".
func branchAt(line string) (predicate, label string) {
	if f := strings.Fields(line); len(f) == 3 && f[1] == "bra" && strings.HasPrefix(f[0], "@") {
		return strings.Trim(f[0], "@!"), strings.Trim(f[2], ";")
	}
	return "", ""
}

// onlyCulls reports whether line i belongs to the test of a block's sphere: the comparisons that lead to one label, and the 11 lines before the
// first.
func onlyCulls(kernel []string, i int) bool {
	or := slices.IndexFunc(kernel, func(line string) bool { return strings.Contains(line, "or.pred") })
	if or < 0 || i < or-11 {
		return false
	}
	_, label := branchAt(kernel[or+1])
	end := or + 1
	for n := end; n < len(kernel); n++ {
		switch _, to := branchAt(kernel[n]); to {
		case label:
			end = n
		case "":
		default:
			return label != "" && i <= end
		}
	}
	return false
}

// asksForRoom reports whether line i is the branch on the number of keys that were found.
func asksForRoom(kernel []string, i int) bool {
	predicate, _ := branchAt(kernel[i])
	for n := i; n > max(i-6, 3); n-- {
		if strings.Contains(kernel[n], "setp.gt.u32 \t"+predicate+",") {
			return strings.Contains(kernel[n-2], "ld.relaxed")
		}
	}
	return false
}

// inLoop reports whether line i comes after the first head of a loop.
func inLoop(kernel []string, i int) bool {
	return slices.ContainsFunc(kernel[:i], func(line string) bool { return strings.Contains(line, "Loop Header") })
}
