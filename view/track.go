package view

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// track is a position in space: three columns in a stream.
type track struct {
	Stream  string `json:"stream"`
	Name    string `json:"name"` // the common part in its columns' names
	Columns [3]int `json:"columns"`
}

var (
	lastAxis   = regexp.MustCompile(`^(.*?)([xX])([^a-zA-Z]*)$`)
	firstOf3   = regexp.MustCompile(`^(.*)\[0\]$|^(.*[._])0$`)
	isPosition = regexp.MustCompile(`(?i)pos|translation|trans|point|location|xyz|eef|(^|[._/])(t|p|ee|tcp|odom)?$`)
	isOther    = regexp.MustCompile(`(?i)vel|acc|gyro|mag|force|torque|wrench|effort|angular|orient|rot|quat|euler|rpy|joint|linear|twist|gravity|covariance|scale|control|setpoint|stick|joy|input|position\[\d+\]\[`)
)

// tracks returns an episode's positions by the columns' names: x, y and z, or an array with three columns and a position's name.
func (e *entry) tracks() []track {
	list := []track{}
	for i := range e.Streams {
		s := &e.Streams[i]
		if e.curves[i] == nil {
			continue
		}
		for k := 0; k+2 < len(s.Columns); k++ {
			if name, ok := position(s, k); ok {
				list = append(list, track{s.Name, name, [3]int{k, k + 1, k + 2}})
				k += 2
			}
		}
	}
	// Likely names come first, and among these the stream with most samples.
	slices.SortStableFunc(list, func(a, b track) int {
		return cmp.Or(-cmp.Compare(likely(a), likely(b)), cmp.Compare(e.Stream(b.Stream).Len(), e.Stream(a.Stream).Len()))
	})
	return list
}

var isLikely = regexp.MustCompile(`(?i)pos|odom|truth|trajectory|eef`)

// likely returns 1 for names such as odom and position, 0 for others.
func likely(t track) int {
	if isLikely.MatchString(t.Stream + " " + t.Name) {
		return 1
	}
	return 0
}

// position returns the position's name in three columns, and whether they are one.
func position(s *dataset.Stream, k int) (string, bool) {
	a, b, c := s.Columns[k].Name, s.Columns[k+1].Name, s.Columns[k+2].Name
	if m := lastAxis.FindStringSubmatch(a); m != nil {
		y, z := "y", "z"
		if m[2] == "X" {
			y, z = "Y", "Z"
		}
		name := m[1]
		return strings.Trim(name, "._/"), b == name+y+m[3] && c == name+z+m[3] && isPosition.MatchString(name) && !isOther.MatchString(s.Name+" "+s.Type+" "+name)
	}
	m := firstOf3.FindStringSubmatch(a)
	if m == nil {
		return "", false
	}
	name := m[1] + m[2]
	numbered := func(i int) string {
		return strings.TrimSuffix(strings.TrimSuffix(a, "[0]"), "0") + fmt.Sprintf(map[bool]string{true: "[%d]", false: "%d"}[m[1] != ""], i)
	}
	if b != numbered(1) || c != numbered(2) || k+3 < len(s.Columns) && s.Columns[k+3].Name == numbered(3) {
		return "", false
	}
	return strings.Trim(name, "._/"), isPosition.MatchString(name) && !isOther.MatchString(s.Name+" "+name)
}
