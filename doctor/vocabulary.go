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
var commandWords = map[string]bool{"action": true, "actions": true, "cmd": true, "command": true, "commands": true, "commanded": true, "control": true,
	"controls": true, "setpoint": true, "setpoints": true, "target": true, "targets": true, "desired": true, "goal": true, "goals": true, "reference": true,
	"leader": true, "leaders": true, "master": true, "joy": true, "rc": true, "teleop": true, "manual": true, "actuator": true, "outputs": true}

// isCommand reports whether a word is one of commandWords or has one as its beginning or end. Commands hold still and stop at limits on purpose.
func isCommand(word string) bool {
	return commandWords[word] || slices.ContainsFunc([]string{"action", "cmd", "command", "setpoint"}, func(part string) bool {
		return strings.HasSuffix(word, part) || strings.HasPrefix(word, part)
	})
}

// boundedWords are words in the names of columns that rest at their limits by nature, without a plural s.
var boundedWords = map[string]bool{"gripper": true, "grip": true, "finger": true, "thumb": true, "hand": true, "claw": true, "trigger": true,
	"throttle": true, "axe": true, "range": true, "distance": true, "depth": true, "lidar": true, "touch": true, "tactile": true, "contact": true, "button": true, "pedal": true, "brake": true, "door": true, "drawer": true, "switch": true, "flag": true, "statu": true,
	"confidence": true, "quality": true, "percent": true, "battery": true}

// impulsiveWords are words in the names of columns that have short peaks by nature.
var impulsiveWords = map[string]bool{"acc": true, "accel": true, "acceleration": true, "accelerometer": true, "force": true, "torque": true, "wrench": true, "effort": true,
	"current": true, "power": true, "shock": true, "vibration": true, "jerk": true, "gyro": true, "ft": true, "imu": true, "reward": true, "error": true, "innovation": true}

// roleOf returns the role of a stream or a column by its name.
func roleOf(name string) (r role) {
	for _, word := range tokens(name) {
		one := strings.TrimSuffix(word, "s")
		r.command = r.command || isCommand(word)
		r.bounded = r.bounded || boundedWords[one] || strings.Contains(word, "varianc")
		r.impulsive = r.impulsive || impulsiveWords[word] || impulsiveWords[one]
	}
	return r
}

// sideWords are words for the sides of a body.
var sideWords = map[string]bool{"left": true, "right": true, "l": true, "r": true, "front": true, "rear": true, "back": true, "fl": true, "fr": true, "rl": true, "rr": true, "bl": true, "br": true}

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
		if !sideWords[p[i]] || !sideWords[q[i]] {
			return false
		}
		other = true
	}
	return other
}
