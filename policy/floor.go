package policy

import (
	"math"
	"strings"
)

// Floor is the smallest standard deviation, in rad, that scales the action of a joint. See Config.Floor.
const Floor = 0.05

// joints are words that occur in the names of a robot's joints.
var joints = []string{"joint", "shoulder", "elbow", "wrist", "hand", "waist", "hip", "knee", "ankle", "neck"}

// jointed reports whether a column is a joint by its name. Its unit is then assumed to be rad. Grippers and coordinates are no joints.
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

// measure sets Mean and Std. Std is the standard deviation, but at least the caller's floor. Without one, it is at least Floor for a
// joint, and a thousandth of the range for other columns. If the column is constant, Std is its absolute value.
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
