package dataset

import "strconv"

// NoteGroup is a note, and the number of others that differ from it in the subject and the number of elements alone.
type NoteGroup struct {
	Note
	Others int
}

// Who returns the subjects of a group: "imu", or "imu and 3 more".
func (g *NoteGroup) Who() string {
	if g.Others == 0 {
		return g.Subject
	}
	return g.Subject + " and " + strconv.Itoa(g.Others) + " more"
}

// Groups returns the notes grouped by their Reason without Count and Row, in the order of the first note of each.
func (l Notes) Groups() []NoteGroup {
	var all []NoteGroup
	at := map[string]int{}
	for _, n := range l {
		alike := n
		alike.Count, alike.Row, alike.Of = 0, 0, 0
		reason := alike.Reason()
		if k, seen := at[reason]; seen {
			all[k].Others++
			continue
		}
		at[reason] = len(all)
		all = append(all, NoteGroup{Note: n})
	}
	return all
}
