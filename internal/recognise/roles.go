package recognise

import (
	"regexp"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// What a stream is for, by its name alone.

// IsAction reports whether a stream is called as that of the actions is, which a policy predicts.
func IsAction(stream string) bool { return stream == "action" || stream == "actions" }

// notStates are kinds of streams and columns that a policy cannot see when it must choose an action. A path is of a kind if the expression matches it, and
// an element of a path, between dots or slashes, if the expression matches the element; the first kind counts.
var notStates = []struct {
	reason         string
	element, whole *regexp.Regexp
}{
	{"of the tick to come", regexp.MustCompile(`^(next|future)($|_)|_(next|future)$`), nil},
	{"recorded after the step", regexp.MustCompile(`^post_|_(post|after)(_step)?$|(^|_)after_step($|_)`),
		regexp.MustCompile(`(^|/)states/(articulation|rigid_object|deformable_object|(surface_)?gripper)/`)}, // of Isaac Lab's PostStepStatesRecorder
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

// endOfEpisode are names such as is_first, which columns have that robots sense: is_grasped.
var endOfEpisode = regexp.MustCompile(`^is_`)

// isTime is the reason of what is a time or an index.
const isTime = "a time or an index"

// IsTime reports whether a column, by its name, is a time or an index and not what a robot senses or does.
func IsTime(column string) bool {
	column = strings.ToLower(column) // so that kLeftHandIndex stays one word: it is a finger
	return NotState(column) == isTime || aTimestamp.MatchString(column)
}

var aTimestamp = regexp.MustCompile(`(^|[_.])timestamps?([_.]|$)`)

// NotState returns why a stream is no state that a policy may see; "" if it can be one.
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

// wordStart is a word that begins within a name: processedActions.
var wordStart = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// undeclared is the reason of streams that the list of features of a dataset lacks.
const undeclared = "not declared by the dataset"

// Exclusion is a reason why a policy may not see a stream, or some of its columns.
type Exclusion struct {
	Reason  string
	Columns []int // nil for all
}

// Exclusions returns why a policy may not see a stream: by its name, because the dataset declares other streams alone, or by the names of columns.
// A stream that is one exclusion has all columns in it.
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

// aFinger is a finger, so that a column "index" next to it is a finger too.
var aFinger = regexp.MustCompile(`thumb|middle|ring|pinky|little`)

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
