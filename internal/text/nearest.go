package text

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean returns the end of an error about a misspelt name, " (did you mean linear?)", or nothing if no name is near.
func DidYouMean(got string, names []string) string {
	if best := Nearest(got, names); best != "" {
		return " (did you mean " + best + "?)"
	}
	return ""
}

// Nearest returns the name at the least edit distance from got, regardless of case. It returns nothing if that is more than a third of got's
// length.
func Nearest(got string, names []string) (best string) {
	least := len(got)/3 + 1
	for _, name := range names {
		if d := distance(strings.ToLower(got), strings.ToLower(name), least); d < least {
			best, least = name, d
		}
	}
	return best
}

// Closest returns the three names nearest to a wrong one, and the number of the others: "imu, odom, gps and 67 more". Names that
// contain the wrong one are nearest, such as observation/state for state; the others have an edit distance.
func Closest(got string, names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	far := func(name string) int {
		if len(got) > 2 && strings.Contains(strings.ToLower(name), strings.ToLower(got)) {
			return 0
		}
		return distance(strings.ToLower(got), strings.ToLower(name), len(got)+len(name))
	}
	near := slices.SortedStableFunc(slices.Values(names), func(a, b string) int { return far(a) - far(b) })
	return fmt.Sprintf("%s and %d more", strings.Join(near[:most], ", "), len(names)-most)
}

// NearestStreams returns the streams that a misspelt name may stand for: the stream called "/" + name, or else the parts of a topic, such as
// "/odom.pose or /odom.twist" for "odom", or else the nearest name. It returns nothing if no name is near.
func NearestStreams(name string, names []string) string {
	topic := "/" + strings.TrimPrefix(name, "/")
	var parts []string
	for _, n := range names {
		if n == topic {
			return n
		}
		if strings.HasPrefix(n, topic+".") || strings.HasPrefix(n, topic+" (") {
			parts = append(parts, n)
		}
	}
	if len(parts) == 0 {
		return Nearest(name, names)
	}
	const most = 8
	list := strings.Join(parts[:min(len(parts), most)], " or ")
	if len(parts) > most {
		list += fmt.Sprintf(", or %d more of it", len(parts)-most)
	}
	return list
}

// distance returns the edit distance between a and b: the least number of letters to insert, delete or replace, or neighbours to swap (optimal string
// alignment). It returns most + 1 if the lengths alone differ by more than most.
func distance(a, b string, most int) int {
	if max(len(a)-len(b), len(b)-len(a)) > most {
		return most + 1
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)} // the last one is row i, after i letters of a
	for j := range rows[2] {
		rows[2][j] = j
	}
	for i := range len(a) {
		rows[0], rows[1], rows[2] = rows[1], rows[2], rows[0]
		rows[2][0] = i + 1
		for j := range len(b) {
			change := rows[1][j]
			if a[i] != b[j] {
				change++
			}
			least := min(change, rows[2][j]+1, rows[1][j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				least = min(least, rows[0][j-1]+1)
			}
			rows[2][j+1] = least
		}
	}
	return rows[2][len(b)]
}
