package recognise

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/tensor"
)

// Recogniser finds the kinds of one stream's columns from names and samples, in one recording or several. The zero value is ready for [Recogniser.Add].
// Its methods are for one goroutine at a time.
type Recogniser struct {
	stream  string
	Columns []dataset.Column // the columns in the first Add
	facts   []facts
	maybe   []int // columns at which a quaternion may begin
	unit    []int // for each column i: rows in which columns i to i+3 have the norm 1
	set     []int // for each column i: rows in which columns i to i+3 are finite and not all 0
}

// Quaternion is a group of four neighbouring columns with a unit quaternion.
type Quaternion struct {
	At    int              // the first column
	Order dataset.Rotation // RotationNone if neither the format nor a name shows which column is the scalar
	By    Evidence
}

// Angle is a column with an angle that wraps around.
type Angle struct {
	Column int
	Period float64 // 2 pi or 360
	Wraps  int     // the number of steps between the ends of the period
	By     Evidence
}

// Evidence is the reason for a recognition.
type Evidence uint8

// Reasons, the surest first.
const (
	ByFormat Evidence = iota // the format declares it
	ByName                   // the name shows it, and the values agree
	ByValue                  // the values alone
)

// String returns a phrase for a message.
func (e Evidence) String() string {
	return [...]string{"as the format says", "by its name", "by its values"}[min(e, ByValue)]
}

const (
	unitSlack = 1e-3 // the largest difference between a quaternion's norm and 1: half floats round it by 5e-4
	mostUnit  = 0.99 // the smallest share of samples with that norm: some recorders write zeros before the first pose
	few       = 20   // the fewest samples for a recognition by values alone
)

// Add reads the samples of a stream. A stream with other columns than the first one is ignored.
func (r *Recogniser) Add(s *dataset.Stream) error {
	if r.Columns == nil {
		r.stream, r.Columns = s.Name, s.Columns
		r.facts = make([]facts, len(s.Columns))
		r.unit, r.set = make([]int, len(s.Columns)), make([]int, len(s.Columns))
		for i := range len(s.Columns) - 3 {
			r.maybe = append(r.maybe, i)
		}
	}
	if !dataset.SameColumns(r.Columns, s.Columns) || s.Len() == 0 || len(s.Columns) == 0 {
		return nil
	}
	switch s.Values.DType() {
	case tensor.F32:
		list, err := tensor.Packed[float32](s.Values)
		look(r, list)
		return err
	case tensor.F64:
		list, err := tensor.Packed[float64](s.Values)
		look(r, list)
		return err
	}
	list, err := tensor.Floats(s.Values)
	look(r, list)
	return err
}

// facts are counts over a column's values.
type facts struct {
	n, unfinite    int // finite values, and the others
	min, max, last float64
	steps, same    int  // steps between finite neighbours, and steps with the same value
	alone          int  // changes without a change directly before or after
	run            int  // the number of successive changes up to the last sample
	hole           bool // the last value is not finite, so there is no step to the next
	falls          int
	levels         []float64 // the different values, at most mostLevels+1
	wraps          [2]int    // for each of Periods: steps over more than three quarters of it
	rest           [2]float64
}

// mostLevels is the largest number of different values for a flag or a switch.
const mostLevels = 3

// Periods are the periods of angles in radians and in degrees.
var Periods = [2]float64{2 * math.Pi, 360}

// look adds rows of values to the facts.
func look[T float32 | float64](r *Recogniser, values []T) {
	d := len(r.Columns)
	for row := 0; row+d <= len(values); row += d {
		line := values[row : row+d]
		for i := range line {
			r.facts[i].add(float64(line[i]), row > 0)
		}
		for k := 0; k < len(r.maybe); k++ {
			i := r.maybe[k]
			if r.quaternion(i, float64(line[i]), float64(line[i+1]), float64(line[i+2]), float64(line[i+3])) {
				continue
			}
			r.maybe = slices.Delete(r.maybe, k, k+1)
			k--
		}
	}
	for i := range r.facts {
		r.facts[i].pause()
	}
}

// quaternion counts the norm of four neighbouring values in a row, and reports whether their columns may still be a quaternion.
func (r *Recogniser) quaternion(i int, a, b, c, d float64) bool {
	square := a*a + b*b + c*c + d*d
	if square == 0 || square-square != 0 {
		return true
	}
	r.set[i]++
	if math.Abs(math.Sqrt(square)-1) <= unitSlack {
		r.unit[i]++
	}
	return r.set[i] <= few || float64(r.unit[i]) >= mostUnit*float64(r.set[i])
}

func (f *facts) add(x float64, neighbour bool) {
	if x-x != 0 {
		f.unfinite++
		f.hole = true
		f.pause()
		return
	}
	switch {
	case f.n == 0:
		f.min, f.max = x, x
	case x < f.min:
		f.min = x
	case x > f.max:
		f.max = x
	}
	if len(f.levels) <= mostLevels && !slices.Contains(f.levels, x) {
		f.levels = append(f.levels, x)
	}
	if neighbour && f.n > 0 && !f.hole {
		f.step(x - f.last)
	}
	f.n++
	f.last, f.hole = x, false
}

func (f *facts) step(d float64) {
	f.steps++
	if d == 0 {
		f.same++
		f.pause()
		return
	}
	f.run++
	if d < 0 {
		f.falls++
	}
	d = math.Abs(d)
	if d <= math.Pi { // in either period
		f.rest[0], f.rest[1] = max(f.rest[0], d), max(f.rest[1], d)
		return
	}
	for i, period := range Periods {
		if d > .75*period {
			f.wraps[i]++
		}
		f.rest[i] = max(f.rest[i], min(d, math.Abs(period-d)))
	}
}

// pause ends a run of successive changes.
func (f *facts) pause() {
	if f.run == 1 {
		f.alone++
	}
	f.run = 0
}

// constant reports whether a column never changes.
func (f *facts) constant() bool { return f.n > 0 && f.min == f.max }

// flag reports whether a column has as few different values as a switch.
func (f *facts) flag() bool { return f.n >= few && !f.constant() && len(f.levels) <= mostLevels }

// held reports whether a column repeats each value several times and then jumps. A set value does so, for example a command; a measurement does not.
func (f *facts) held() bool {
	changes := f.steps - f.same
	return f.n >= few && changes > 1 && float64(f.same) > .6*float64(f.steps) && float64(f.alone) > .9*float64(changes)
}

// Quaternions returns the groups of columns that are unit quaternions. A column is in at most one group. Without a declaration or a name, a group is
// recognised by its values if at least three columns change and are not switches.
func (r *Recogniser) Quaternions() (list []Quaternion) {
	for i := 0; i+4 <= len(r.Columns); i++ {
		q, found := r.quaternionAt(i)
		if found && q.By == ByValue { // its last columns may belong to a named quaternion
			for k := i + 1; k < i+4 && k+4 <= len(r.Columns); k++ {
				if next, named := r.quaternionAt(k); named && next.By != ByValue {
					found = false
				}
			}
		}
		if found {
			list = append(list, q)
			i += 3
		}
	}
	return list
}

func (r *Recogniser) quaternionAt(i int) (Quaternion, bool) {
	if rotation := columns.RotationAt(r.Columns, i); rotation != dataset.RotationNone {
		return Quaternion{i, rotation, ByFormat}, true
	}
	if r.set[i] == 0 || float64(r.unit[i]) < mostUnit*float64(r.set[i]) {
		return Quaternion{}, false
	}
	changing, levels := 0, 0
	for k, c := range r.Columns[i : i+4] {
		if c.Integer || NoQuaternion(c.Name) {
			return Quaternion{}, false
		}
		if f := &r.facts[i+k]; !f.constant() {
			changing, levels = changing+1, max(levels, len(f.levels))
		}
	}
	if order, named := QuaternionNames(r.stream, r.Columns[i:i+4]); named {
		return Quaternion{i, order, ByName}, true
	}
	return Quaternion{At: i, By: ByValue}, r.set[i] >= few && changing >= 3 && levels > mostLevels
}

var aQuaternion = regexp.MustCompile(`quat|orient|rotation|(^|[^a-z])(q|rot)([^a-z]|$)`)

// noQuaternion matches names of covariances, which often lie beside a quaternion.
var noQuaternion = regexp.MustCompile(`(^|[^a-z])cov|covar|varianc`)

// NoQuaternion reports whether a column's name excludes it from a quaternion, for example "orientation_covariance[0]".
func NoQuaternion(column string) bool { return noQuaternion.MatchString(strings.ToLower(column)) }

// QuaternionNames reports whether four columns have names of a quaternion's parts: the letters x, y, z and w in any order, or an array of four with a
// quaternion's name. An array without its own name takes the stream's. The order is RotationNone if the scalar is neither first nor last, or unknown.
func QuaternionNames(stream string, columns []dataset.Column) (order dataset.Rotation, named bool) {
	var last [4]byte
	before := ""
	if len(columns) != len(last) {
		return order, false
	}
	for i, c := range columns {
		name := strings.TrimRight(strings.ToLower(c.Name), "])")
		if name == "" || i > 0 && name[:len(name)-1] != before {
			return order, false
		}
		last[i], before = name[len(name)-1], name[:len(name)-1]
	}
	letters := string(last[:])
	slices.Sort(last[:])
	if text := string(last[:]); text != "wxyz" && text != "0123" && text != "1234" {
		return order, false
	}
	if strings.Trim(before, "[(.") == "" { // an array without its own name takes the stream's
		before = strings.ToLower(stream) + "["
	}
	switch {
	case !aQuaternion.MatchString(before) || NoQuaternion(before):
		return order, false
	case letters == "xyzw":
		return dataset.RotationXYZW, true
	case letters == "wxyz":
		return dataset.RotationWXYZ, true
	}
	return dataset.RotationNone, true
}

var (
	anAngle = regexp.MustCompile(`(^|[^a-z])(yaw|roll|heading|theta|azimuth|bearing|course|cog|euler|rpy|psi|phi|angles?)([^a-z]|$)`)
	// noAngle matches names that contain an angle word but do not wrap around: a joint stops at its limits; a rate or a variance has no period.
	noAngle = regexp.MustCompile(`joint|motor|servo|speed|rate|vel|acc|var|cov|std|reset|integ|drift|error|innov|ratio|count|` +
		`delta|torque|control|offset|_sp_|weight`)
	aJoint = regexp.MustCompile(`shoulder|elbow|wrist|hand|thumb|finger|hip|knee|ankle|waist|neck|torso|leg|arm`)
)

// Angles returns the columns with angles that wrap around. A column is one if its values jump between the ends of a turn and otherwise move in small steps,
// or if it has an angle's name and its values lie within a turn, because it may wrap in another recording. Parts of quaternions are excluded.
func (r *Recogniser) Angles() (list []Angle) {
	taken := make([]bool, len(r.Columns))
	for _, q := range r.Quaternions() {
		for k := range 4 {
			taken[q.At+k] = true
		}
	}
	for i := range r.Columns {
		f, c := &r.facts[i], &r.Columns[i]
		if taken[i] || c.Integer || f.constant() || f.n == 0 {
			continue
		}
		if a, found := f.wrapped(); found {
			a.Column = i
			list = append(list, a)
			continue
		}
		name := strings.ToLower(c.Name)
		if !anAngle.MatchString(name) || noAngle.MatchString(name) || aJoint.MatchString(name) {
			continue
		}
		if period := f.within(strings.Contains(name, "deg")); period > 0 {
			list = append(list, Angle{Column: i, Period: period, By: ByName})
		}
	}
	return list
}

// wrapped recognises an angle by its steps between the ends of a turn.
func (f *facts) wrapped() (Angle, bool) {
	for i, period := range Periods {
		slack := period * 1e-3
		inside := f.max-f.min <= period+slack && (f.min >= -slack && f.max <= period+slack || f.min >= -period/2-slack && f.max <= period/2+slack)
		if inside && f.wraps[i] > 0 && f.rest[i] < period/4 && f.max-f.min > .9*period && len(f.levels) > mostLevels {
			return Angle{Period: period, Wraps: f.wraps[i], By: ByValue}, true
		}
	}
	return Angle{}, false
}

// within returns the period for a column with an angle's name if its values lie within one turn, else 0.
func (f *facts) within(degrees bool) float64 {
	size := max(math.Abs(f.min), math.Abs(f.max))
	switch {
	case size > 360*1.001:
		return 0
	case degrees || size > 2*math.Pi*1.001:
		return 360
	case f.max-f.min > 2*math.Pi*1.001:
		return 0
	}
	return 2 * math.Pi
}

var (
	aStamp = regexp.MustCompile(`(^|[^a-z])(time_?stamps?|stamp|time_utc|utc_time)([^a-z]|$)`)
	aTime  = regexp.MustCompile(`(^|[^a-z])(time|t|date)(_?(s|sec|secs|ms|us|usec|ns|nsec|nanosec|seconds))?([^a-z]|$)`)
)

// Times returns the columns with times or counts of ticks: their names match, and their values never decrease or are whole numbers.
func (r *Recogniser) Times() (list []int) {
	for i, c := range r.Columns {
		f, name := &r.facts[i], strings.ToLower(c.Name)
		rising := f.n > 1 && f.falls == 0 && f.same == 0
		if aStamp.MatchString(name) && (c.Integer || rising) || aTime.MatchString(name) && rising {
			list = append(list, i)
		}
	}
	return list
}

var anID = regexp.MustCompile(`(^|[^a-z])(id|uuid)$`)

// Labels returns the columns that are no measurements: times, and constant device identifiers.
func (r *Recogniser) Labels() []int {
	list := r.Times()
	for i, c := range r.Columns {
		if c.Integer && r.facts[i].constant() && anID.MatchString(strings.ToLower(c.Name)) {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}

// NotFinite returns the number of NaN and infinite samples in each column, and the columns without a finite sample.
func (r *Recogniser) NotFinite() (counts []int, never []int) {
	for i := range r.facts {
		f := &r.facts[i]
		counts = append(counts, f.unfinite)
		if f.n == 0 && f.unfinite > 0 {
			never = append(never, i)
		}
	}
	return counts, never
}

// Constant returns the columns with a single finite value.
func (r *Recogniser) Constant() (list []int) {
	for i := range r.facts {
		if r.facts[i].constant() {
			list = append(list, i)
		}
	}
	return list
}

var aGripper = regexp.MustCompile(`gripper|grasp|suction|vacuum|(^|[^a-z])claw([^a-z]|$)`)

// Switch is a column of floats that is set from time to time and keeps its value in between, for example a flag or a gripper command.
type Switch struct {
	Column int
	Why    string // in words for a person: "a gripper of 2 values"
}

// Switches returns the columns that are switches.
func (r *Recogniser) Switches() (list []Switch) {
	for i, c := range r.Columns {
		f, what := &r.facts[i], "it"
		if c.Integer || f.constant() {
			continue
		}
		if aGripper.MatchString(strings.ToLower(c.Name)) {
			what = "a gripper that"
		}
		switch {
		case f.flag():
			list = append(list, Switch{i, fmt.Sprintf("%s has %d values", what, len(f.levels))})
		case f.held():
			list = append(list, Switch{i, fmt.Sprintf("%s keeps each value for about %d samples", what, f.steps/max(f.steps-f.same, 1))})
		}
	}
	return list
}
