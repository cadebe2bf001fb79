package doctor

import (
	"slices"
	"strings"
)

// role is the kind of quantity that a stream or a column has, judged by its name.
type role struct {
	command   bool // a setpoint rather than a measurement, such as action or cmd_vel
	bounded   bool // it rests at its limits by nature, such as a gripper's width
	impulsive bool // it has short peaks by nature, such as a force or an acceleration
}

// tokens returns the words of a name in lower case: "observation" and "state" for "observation.state".
func tokens(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
}

// commandWords are words in the names of streams that hold setpoints rather than measurements.
var commandWords = []string{"action", "actions", "cmd", "command", "commands", "commanded", "control",
	"controls", "setpoint", "setpoints", "target", "targets", "desired", "goal", "goals", "reference",
	"leader", "leaders", "master", "joy", "rc", "teleop", "manual", "actuator", "outputs"}

// isCommand reports whether a word is one of commandWords or has one as its beginning or end. Commands hold still and stop at limits on purpose.
func isCommand(word string) bool {
	return slices.Contains(commandWords, word) || slices.ContainsFunc([]string{"action", "cmd", "command", "setpoint"}, func(part string) bool {
		return strings.HasSuffix(word, part) || strings.HasPrefix(word, part)
	})
}

// boundedWords are words in the names of columns that rest at their limits by nature, without a plural s.
var boundedWords = []string{"gripper", "grip", "finger", "thumb", "hand", "claw", "trigger",
	"throttle", "axe", "range", "distance", "depth", "lidar", "touch", "tactile", "contact", "button", "pedal", "brake", "door", "drawer", "switch", "flag", "statu",
	"confidence", "quality", "percent", "battery"}

// impulsiveWords are words in the names of columns that have short peaks by nature.
var impulsiveWords = []string{"acc", "accel", "acceleration", "accelerometer", "force", "torque", "wrench", "effort",
	"current", "power", "shock", "vibration", "jerk", "gyro", "ft", "imu", "reward", "error", "innovation"}

// roleOf returns the role of a stream or a column by its name.
func roleOf(name string) (r role) {
	for _, word := range tokens(name) {
		one := strings.TrimSuffix(word, "s")
		r.command = r.command || isCommand(word)
		r.bounded = r.bounded || slices.Contains(boundedWords, one) || strings.Contains(word, "varianc")
		r.impulsive = r.impulsive || slices.Contains(impulsiveWords, word) || slices.Contains(impulsiveWords, one)
	}
	return r
}

// sideWords are words for the sides of a body.
var sideWords = []string{"left", "right", "l", "r", "front", "rear", "back", "fl", "fr", "rl", "rr", "bl", "br"}

// areSides reports whether two streams belong to two sides of a body, because their names differ only in sideWords. Sides move alike, one after the other.
func areSides(a, b string) bool {
	p, q := tokens(a), tokens(b)
	if len(p) != len(q) {
		return false
	}
	other := false
	for i := range p {
		if p[i] == q[i] {
			continue
		}
		if !slices.Contains(sideWords, p[i]) || !slices.Contains(sideWords, q[i]) {
			return false
		}
		other = true
	}
	return other
}
