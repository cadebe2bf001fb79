package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/ops"
)

// voxelForm is a --mode value: an operation's mode and, for a dense grid, its reduction.
type voxelForm struct {
	name   string
	mode   ops.VoxelMode
	reduce ops.Reduce
}

func (f voxelForm) String() string { return f.name }

func voxelForms() []voxelForm {
	var list []voxelForm
	for _, r := range []ops.Reduce{ops.ReduceOccupancy, ops.ReduceCount, ops.ReduceSum, ops.ReduceMean, ops.ReduceMax, ops.ReduceMin} {
		list = append(list, voxelForm{r.String(), ops.VoxelDense, r})
	}
	for _, m := range []ops.VoxelMode{ops.VoxelHard, ops.VoxelSparse} {
		list = append(list, voxelForm{name: m.String(), mode: m})
	}
	return list
}

func sparseReductions() []ops.Reduce {
	return []ops.Reduce{ops.ReduceMean, ops.ReduceSum, ops.ReduceMax, ops.ReduceMin, ops.ReduceCount}
}

// preset names the library to imitate.
type preset string

func (p preset) String() string { return string(p) }

const (
	mmcv   preset = "mmcv"
	open3d preset = "open3d"
)

// vecFlag is three finite numbers separated by commas. A size is above 0, and may be one number for all axes.
type vecFlag struct {
	value [3]float64
	set   bool
	size  bool
}

func (v *vecFlag) String() string {
	if !v.set {
		return ""
	}
	return vecString(v.value)
}

func (v *vecFlag) Type() string {
	if v.size {
		return "S[,S,S]"
	}
	return "X,Y,Z"
}

func (v *vecFlag) Set(s string) error {
	want := fmt.Errorf("want three finite numbers: x,y,z")
	if v.size {
		want = fmt.Errorf("want one finite number above 0, or three: x,y,z")
	}
	parts := strings.Split(s, ",")
	if v.size && len(parts) == 1 {
		parts = []string{s, s, s}
	}
	if len(parts) != 3 {
		return want
	}
	for i, p := range parts {
		f, err := decimal.ParseFloat(strings.TrimSpace(p), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || v.size && f <= 0 {
			return want
		}
		v.value[i] = f
	}
	v.set = true
	return nil
}

// vecString formats numbers exactly, shortVec with seven digits.
func vecString(v [3]float64) string { return joinNumbers(v, -1) }

func shortVec(v [3]float64) string { return joinNumbers(v, 7) }

func joinNumbers(v [3]float64, digits int) string {
	var parts []string
	for _, x := range v {
		parts = append(parts, strconv.FormatFloat(x, 'g', digits, 64))
	}
	return strings.Join(parts, ",")
}

// countFlag is a whole number with a lower bound.
type countFlag struct {
	value, least int
	set          bool
}

func (c *countFlag) String() string {
	if c.value == 0 {
		return ""
	}
	return strconv.Itoa(c.value)
}

func (c *countFlag) Type() string { return "N" }

func (c *countFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < c.least || n > math.MaxInt32 {
		return fmt.Errorf("want a whole number from %d to 2^31-1", c.least)
	}
	c.value, c.set = n, true
	return nil
}
