package dataset

import (
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/listed"
)

// RemarkAbout says what one of an episode's remarks is about.
type RemarkAbout struct {
	Remark int      // its number
	What   string   // what it says, without the names
	About  []string // streams, media, clouds, or topics that have several
}

// text is the remark about some names: "/imu: what", or "what: /imu, /odom".
func (n *RemarkAbout) text(about []string) string {
	if len(about) == 1 {
		return about[0] + ": " + n.What
	}
	return n.What + ": " + listed.Names(about)
}

// Remark adds a remark, about streams or topics if there are any.
func (e *Episode) Remark(what string, about ...string) {
	if len(about) == 0 {
		e.Remarks = append(e.Remarks, what)
		return
	}
	n := RemarkAbout{Remark: len(e.Remarks), What: what, About: slices.Clone(about)}
	e.RemarksAbout, e.Remarks = append(e.RemarksAbout, n), append(e.Remarks, n.text(n.About))
}

// RemarksOf returns the remarks that bear on some streams, media or clouds: those about them or their topics, and those about nothing in particular.
func (e *Episode) RemarksOf(names []string) (list []string) {
	sorted := slices.Sorted(slices.Values(names))
	notes := e.RemarksAbout // in the order of the remarks
	for i, text := range e.Remarks {
		if len(notes) == 0 || notes[0].Remark != i {
			list = append(list, text)
			continue
		}
		n := &notes[0]
		notes = notes[1:]
		var about []string
		for _, a := range n.About {
			if anyIsOf(sorted, a) {
				about = append(about, a)
			}
		}
		if len(about) > 0 {
			list = append(list, n.text(about))
		}
	}
	return list
}

// anyIsOf reports whether one of some streams, which are sorted, is a topic's, or the stream itself.
func anyIsOf(sorted []string, topic string) bool {
	if _, is := slices.BinarySearch(sorted, topic); is {
		return true
	}
	for _, more := range []string{".", " ("} {
		if i, _ := slices.BinarySearch(sorted, topic+more); i < len(sorted) && strings.HasPrefix(sorted[i], topic+more) {
			return true
		}
	}
	return false
}
