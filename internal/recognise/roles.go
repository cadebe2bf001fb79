package recognise

import (
	"regexp"
	"slices"
	"strings"
)

// What a stream is for, by its name alone.

// IsAction reports whether a stream is called as that of the actions is, which a policy predicts.
func IsAction(stream string) bool { return stream == "action" || stream == "actions" }

// notStates are what is no state of a robot: what knows the future, what no robot senses, and the action in another form. An element of a stream's
// name, between dots or slashes, is of a kind if the expression finds something in it; the first kind counts.
var notStates = []struct {
	reason string
	names  *regexp.Regexp
}{
	{"of the tick to come", regexp.MustCompile(`^next($|_)`)},
	{"an annotation", regexp.MustCompile(`^annotations?($|_)`)},
	{"a reward, or where an episode ends", regexp.MustCompile(`^(rewards?|discount|dones?|terminals?|terminated|truncated|success)$|^is_`)},
	{"a form of the action", regexp.MustCompile(`^(rel_|abs_|delta_)?actions?($|_)`)},
	{"language", regexp.MustCompile(`^(language|instruction)|(^|_)embeddings?$`)},
	{isTime, regexp.MustCompile(`(^|_)(timestamps?|index)$|^(capture_)?times?$|^(step|tick)s?$`)},
}

// isTime is the reason of what is a time or an index.
const isTime = "a time or an index"

// IsTime reports whether a column, by its name, is a time or an index and not what a robot senses or does.
func IsTime(column string) bool {
	return NotState(column) == isTime || aTimestamp.MatchString(strings.ToLower(column))
}

var aTimestamp = regexp.MustCompile(`(^|[_.])timestamps?([_.]|$)`)

// NotState returns why a stream is no state that a policy may see; "" if it can be one.
func NotState(stream string) string {
	elements := strings.FieldsFunc(strings.ToLower(stream), func(r rune) bool { return r == '.' || r == '/' })
	for _, kind := range notStates {
		if slices.ContainsFunc(elements, kind.names.MatchString) {
			return kind.reason
		}
	}
	return ""
}

var (
	aCommand = regexp.MustCompile(`(^|[^a-z])(cmd|commands?|commanded|set_?points?|goals?|targets?|desired|actions?|joy|` +
		`actuator_[a-z]*(controls|outputs|motors|servos))([^a-z]|$)`)
	// aSensor is what measures with noise, so that a mean of its samples tells more than one of them; of streams and types that are it alone, too.
	aSensor  = regexp.MustCompile(`gyro|accel|(^|[^a-z])acc([^a-z]|$)|force|torque|wrench|effort|magnet|(^|[^a-z])mag([^a-z]|$)|baro|pressure|tactile`)
	ofSensor = regexp.MustCompile(`imu([^a-z]|$)|angular_velocity|(^|[^a-z])ft([^a-z]|$)`)
)

// IsCommand reports whether what is called so is set and holds until it is set again, by a stream's or a column's name.
func IsCommand(name string) bool { return aCommand.MatchString(strings.ToLower(name)) }

// aProgram is what tells of programs and their health, and not of the robot and the world.
var aProgram = regexp.MustCompile(`status|estimator|innov|diagnos|debug|rosout|(^|[^a-z])log|cpu|telemetry|parameter|heartbeat|preflight|drift`)

func IsInternal(name string) bool { return aProgram.MatchString(strings.ToLower(name)) }

var aLog = regexp.MustCompile(`^/?(rosout(_agg)?|parameter_events|diagnostics(_agg)?)$`)

func IsLog(name string) bool { return aLog.MatchString(name) }

// IsSensor reports whether a column is of such, by its name and those of its stream and its type.
func IsSensor(stream, typ, column string) bool {
	stream, typ = strings.ToLower(stream), strings.ToLower(typ)
	return aSensor.MatchString(strings.ToLower(column)) || aSensor.MatchString(stream) || ofSensor.MatchString(stream) ||
		aSensor.MatchString(typ) || ofSensor.MatchString(typ)
}
