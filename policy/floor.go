package policy

import (
	"math"
	"strings"
)

// Floor is the smallest standard deviation, in rad, that scales the action of a joint. See Config.Floor.
const Floor = 0.05

// joints are the words that the names of a robot's joints have.
var joints = []string{"joint", "shoulder", "elbow", "wrist", "hand", "waist", "hip", "knee", "ankle", "neck"}

// jointed reports whether a column's name is that of a joint, whose unit is taken for rad: not what opens a gripper, and no coordinate.
func jointed(name string) bool {
	name = strings.ToLower(name)
	for _, w := range []string{"gripper", "finger", "pos_", "position"} {
		if strings.Contains(name, w) {
			return false
		}
	}
	for _, end := range []string{"x", "y", "z"} {
		for _, sep := range []string{"_", ".", " ", "/", "["} {
			if strings.HasSuffix(strings.TrimSuffix(name, "]"), sep+end) {
				return false
			}
		}
	}
	for _, w := range joints {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// measure sets what a column of the action is measured by: its standard deviation, but no less than the floor that the caller has given, than Floor for a
// joint, and else than a thousandth of its range, which has its own unit. What does not vary at all is measured by its size.
func (y *Column) measure(m *moments, floor float64) {
	y.Mean, y.Std = m.stats()
	size := max(math.Abs(m.low), math.Abs(m.high))
	switch {
	case floor > 0:
	case jointed(y.Name):
		floor = Floor
	case y.Std > constant*size:
		floor = (m.high - m.low) / 1000
	case size > 0:
		floor = size
	default:
		floor = 1
	}
	if y.Floored = y.Std < floor; y.Floored {
		y.Std = floor
	}
}

// Floored returns the action columns with a standard deviation below their floor. See Config.Floor.
func (c *Config) Floored() (list []Column) {
	for _, y := range c.Targets {
		if y.Floored {
			list = append(list, y)
		}
	}
	return list
}
