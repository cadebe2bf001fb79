package doctor

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// span writes a length of time for a person: "12.5 ms".
func span(ns int64) string {
	d := time.Duration(ns)
	abs := max(d, -d)
	switch {
	case abs >= time.Second:
		return short(d.Seconds()) + " s"
	case abs >= time.Millisecond:
		return short(float64(d)/1e6) + " ms"
	case abs >= time.Microsecond:
		return short(float64(d)/1e3) + " us"
	}
	return strconv.FormatInt(ns, 10) + " ns"
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// planTime writes a length of time as a plan takes it.
func planTime(ns int64) string { return time.Duration(ns).String() }

func hertz(rate float64) string { return short(rate) + " Hz" }

// mostNames is how many names a sentence has before it counts the others.
const mostNames = 4

// firstOf returns as many times as a finding lists.
func firstOf(at []int64) []int64 { return at[:min(len(at), MostTimes)] }

// tokens are the words of a name, in lower case: "observation", "state" of "observation.state".
func tokens(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
}

// commands are words in the names of streams that say what was asked for, not what was measured.
var commands = map[string]bool{"action": true, "actions": true, "cmd": true, "command": true, "commands": true, "commanded": true, "control": true,
	"controls": true, "setpoint": true, "setpoints": true, "target": true, "targets": true, "desired": true, "goal": true, "goals": true, "reference": true,
	"leader": true, "leaders": true, "master": true, "joy": true, "rc": true, "teleop": true, "manual": true, "actuator": true, "outputs": true}

// isCommand reports whether a word is one of commands: these hold still, and stop at limits, because somebody wanted it so.
func isCommand(word string) bool {
	return commands[word] || slices.ContainsFunc([]string{"action", "cmd", "command", "setpoint"}, func(part string) bool {
		return strings.HasSuffix(word, part) || strings.HasPrefix(word, part)
	})
}

// grips are words in the names of columns that rest at their limits by nature.
var grips = map[string]bool{"gripper": true, "grip": true, "finger": true, "thumb": true, "hand": true, "claw": true, "trigger": true,
	"throttle": true, "axe": true, "range": true, "distance": true, "depth": true, "lidar": true, "touch": true, "tactile": true, "contact": true, "button": true, "pedal": true, "brake": true, "door": true, "drawer": true, "switch": true, "flag": true, "statu": true,
	"confidence": true, "quality": true, "percent": true, "battery": true}

// sudden are words in the names of columns that strike and are gone.
var sudden = map[string]bool{"acc": true, "accel": true, "acceleration": true, "accelerometer": true, "force": true, "torque": true, "wrench": true, "effort": true,
	"current": true, "power": true, "shock": true, "vibration": true, "jerk": true, "gyro": true, "ft": true, "imu": true, "reward": true, "error": true, "innovation": true}

// saysOf returns what the name of a stream or a column says.
func saysOf(name string) (s says) {
	for _, word := range tokens(name) {
		one := strings.TrimSuffix(word, "s")
		s.command = s.command || isCommand(word)
		s.rests = s.rests || grips[one] || strings.Contains(word, "varianc")
		s.strikes = s.strikes || sudden[word] || sudden[one]
	}
	return s
}

// short2 writes a number with six decimals.
func short2(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }

// sides are words for the sides of a body.
var sides = map[string]bool{"left": true, "right": true, "l": true, "r": true, "front": true, "rear": true, "back": true, "fl": true, "fr": true, "rl": true, "rr": true, "bl": true, "br": true}

// areSides reports whether two streams are of two sides of a body, which move alike and one after the other: their names differ by that.
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
		if !sides[p[i]] || !sides[q[i]] {
			return false
		}
		other = true
	}
	return other
}
