package align

import "strings"

// didYouMean names what nearest does, in words that follow an error.
func didYouMean(got string, list []string) string {
	if near := nearest(got, list); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

// nearest is the entry of a list that is nearest to what was given; empty if none is near.
func nearest(got string, list []string) (best string) {
	least := len(got)/3 + 1
	for _, name := range list {
		if d := distance(strings.ToLower(got), strings.ToLower(name), least); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters have to be put in, left out or changed to make b of a (Levenshtein, 1966), or more than most.
func distance(a, b string, most int) int {
	if max(len(a)-len(b), len(b)-len(a)) > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
