package dataset

import "strconv"

// Grouped splits a list into groups with equal keys, in the order of each group's first entry.
func Grouped[S ~[]E, E any, K comparable](list S, key func(*E) K) (groups []S) {
	at := map[K]int{}
	for i := range list {
		k := key(&list[i])
		if _, there := at[k]; !there {
			at[k], groups = len(groups), append(groups, nil)
		}
		groups[at[k]] = append(groups[at[k]], list[i])
	}
	return groups
}

// Groups returns groups of notes that differ only in Subject, Count, Of and Row.
func (l Notes) Groups() []Notes {
	return Grouped(l, func(n *Note) string {
		alike := *n
		alike.Count, alike.Row, alike.Of = 0, 0, 0
		return alike.Reason()
	})
}

// Who returns the subjects in a group: "imu", or "imu and 3 more".
func (l Notes) Who() string {
	if len(l) == 1 {
		return l[0].Subject
	}
	return l[0].Subject + " and " + strconv.Itoa(len(l)-1) + " more"
}
