package recognise

import (
	"regexp"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// The role of a stream, by its name alone.

// IsAction reports whether a stream has the name of the actions that a policy predicts: "action" or "actions".
func IsAction(stream string) bool { return stream == "action" || stream == "actions" }

// notStates are the kinds of streams and columns that a policy cannot see at the time when it chooses an action. A kind's expression is matched with the
// whole path or with each element between dots or slashes. The first match counts.
var notStates = []struct {
	reason         string
	element, whole *regexp.Regexp
}{
	{"of the tick to come", regexp.MustCompile(`^(next|future)($|_)|_(next|future)$`), nil},
	{"recorded after the step", regexp.MustCompile(`^post_|_(post|after)(_step)?$|(^|_)after_step($|_)`),
		regexp.MustCompile(`(^|/)states/(articulation|rigid_object|deformable_object|(surface_)?gripper)/`)}, // from Isaac Lab's PostStepStatesRecorder
	{"an annotation", regexp.MustCompile(`^annotations?($|_)`), nil},
	{"a reward, or where an episode ends", regexp.MustCompile(`(^|_)(rewards?|discounts?)$|^(dones?|terminals?|terminated|truncated|success)$`), nil},
	{"a reward, or where an episode ends", endOfEpisode, nil},
	{"an estimate of rewards to come", regexp.MustCompile(`(^|_)(returns?|advantages?|returns?_to_go|rtg)$|(^|_)(state_|action_|[qv]_)values?$|^value_`), regexp.MustCompile(`^/?values?$`)},
	{"a form of the action", regexp.MustCompile(`(^|_)actions?($|_)`), nil},
	{"of the leader arm, or of who steers", regexp.MustCompile(`(^|_)(leaders?|masters?|teleop|teleoperation|gello|joy|joystick|spacemouse)($|_)`), nil},
	{"a target or command", regexp.MustCompile(`(^|_)(targets?|set_?points?|cmds?|commands?|commanded|desired)($|_)`), nil},
	{"language", regexp.MustCompile(`^(language|instruction)|(^|_)embeddings?$`), nil},
	{isTime, regexp.MustCompile(`(^|_)(timestamps?|index|idx)$|^__index|^(capture_)?times?$|^(step|tick)s?$|^(episode|frame|task|step)_id$`), nil},
}

// endOfEpisode matches streams such as is_first. A column may have such a name and be a sensor: is_grasped.
var endOfEpisode = regexp.MustCompile(`^is_`)

// isTime is the reason against a time or an index.
const isTime = "a time or an index"

// IsTime reports whether a column has the name of a time or an index, which no robot senses.
func IsTime(column string) bool {
	column = strings.ToLower(column) // after the split at capitals, so that kLeftHandIndex, a finger, stays one word
	return NotState(column) == isTime || aTimestamp.MatchString(column)
}

var aTimestamp = regexp.MustCompile(`(^|[_.])timestamps?([_.]|$)`)

// NotState returns the reason against a stream as a policy's state, "" if there is none.
func NotState(stream string) string { return notState(stream, false) }

func notState(name string, column bool) string {
	name = strings.ToLower(wordStart.ReplaceAllString(name, "${1}_$2"))
	elements := strings.FieldsFunc(strings.NewReplacer("-", "_", " ", "_").Replace(name), func(r rune) bool { return strings.ContainsRune("./[]", r) })
	for _, kind := range notStates {
		if column && kind.element == endOfEpisode {
			continue
		}
		if slices.ContainsFunc(elements, kind.element.MatchString) || !column && kind.whole != nil && kind.whole.MatchString(name) {
			return kind.reason
		}
	}
	return ""
}

// wordStart matches the start of a word inside a name, as in processedActions.
var wordStart = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// undeclared is the reason against streams that a dataset's list of features lacks.
const undeclared = "not declared by the dataset"

// Exclusion is a reason against a stream, or some of its columns, as a policy's state.
type Exclusion struct {
	Reason  string
	Columns []int // nil for all
}

// Exclusions returns the reasons against a stream as a policy's state: its name, a missing declaration in the dataset, or names of columns. The first two
// exclude all columns.
func Exclusions(info *dataset.Info, stream string, columns []dataset.Column) (list []Exclusion) {
	reason := NotState(stream)
	if reason == "" && len(info.Features) > 0 && !slices.ContainsFunc(info.Features, func(f dataset.Feature) bool { return strings.HasPrefix(stream, f.Name) }) {
		reason = undeclared
	}
	if reason != "" {
		return []Exclusion{{Reason: reason}}
	}
	hand := slices.ContainsFunc(columns, func(c dataset.Column) bool { return aFinger.MatchString(strings.ToLower(c.Name)) })
	for i, c := range columns {
		reason := notState(c.Name, true)
		if reason == "" || reason == isTime && hand {
			continue
		}
		at := slices.IndexFunc(list, func(x Exclusion) bool { return x.Reason == reason })
		if at < 0 {
			at, list = len(list), append(list, Exclusion{Reason: reason})
		}
		list[at].Columns = append(list[at].Columns, i)
	}
	return list
}

// aFinger matches names of fingers. A column "index" beside one is a finger too.
var aFinger = regexp.MustCompile(`thumb|middle|ring|pinky|little`)

var (
	aCommand = regexp.MustCompile(`(^|[^a-z])(cmd|commands?|commanded|set_?points?|goals?|targets?|desired|actions?|joy|` +
		`actuator_[a-z]*(controls|outputs|motors|servos))([^a-z]|$)`)
	// aSensor matches sensors with noise, for which a mean over samples is better than one sample.
	aSensor  = regexp.MustCompile(`gyro|accel|(^|[^a-z])acc([^a-z]|$)|force|torque|wrench|effort|magnet|(^|[^a-z])mag([^a-z]|$)|baro|pressure|tactile`)
	ofSensor = regexp.MustCompile(`imu([^a-z]|$)|angular_velocity|(^|[^a-z])ft([^a-z]|$)`)
)

// IsCommand reports whether a stream or column has the name of a command: a value that holds until the next one.
func IsCommand(name string) bool { return aCommand.MatchString(strings.ToLower(name)) }

// aProgram matches streams about programs and their health, not about the robot or the world.
var aProgram = regexp.MustCompile(`status|estimator|innov|diagnos|debug|rosout|(^|[^a-z])log|cpu|telemetry|parameter|heartbeat|preflight|drift`)

func IsInternal(name string) bool { return aProgram.MatchString(strings.ToLower(name)) }

var aLog = regexp.MustCompile(`^/?(rosout(_agg)?|parameter_events|diagnostics(_agg)?)$`)

func IsLog(name string) bool { return aLog.MatchString(name) }

// IsSensor reports whether a column comes from a sensor with noise, by its name and the names of its stream and type.
func IsSensor(stream, typ, column string) bool {
	stream, typ = strings.ToLower(stream), strings.ToLower(typ)
	return aSensor.MatchString(strings.ToLower(column)) || aSensor.MatchString(stream) || ofSensor.MatchString(stream) ||
		aSensor.MatchString(typ) || ofSensor.MatchString(typ)
}
