package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// count writes a number with a word that agrees with it.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

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

// names lists some names.
func names(list []string) string {
	const most = 4
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// firstOf returns as many times as a finding lists.
func firstOf(at []int64) []int64 { return at[:min(len(at), MostTimes)] }

// tokens are the words of a name, in lower case: "observation", "state" of "observation.state", and "q", "pos" of "qPos".
func tokens(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
}

// commands are words in the names of streams that say what was asked for, not what was measured.
var commands = map[string]bool{"action": true, "actions": true, "cmd": true, "command": true, "commands": true, "commanded": true, "control": true,
	"controls": true, "setpoint": true, "setpoints": true, "target": true, "targets": true, "desired": true, "goal": true, "goals": true, "reference": true,
	"leader": true, "leaders": true, "master": true, "joy": true, "rc": true, "teleop": true, "manual": true, "actuator": true, "outputs": true}

// isCommand reports whether a stream is one of commands by its name: these hold still, and stop at limits, because somebody wanted it so.
func isCommand(name string) bool {
	for _, t := range tokens(name) {
		if commands[t] {
			return true
		}
		for _, part := range []string{"action", "cmd", "command", "setpoint"} {
			if strings.HasSuffix(t, part) || strings.HasPrefix(t, part) {
				return true
			}
		}
	}
	return false
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
