package near

import "strings"

// DidYouMean names what Nearest does, in words that follow an error.
func DidYouMean(got string, list []string) string {
	if best := Nearest(got, list); best != "" {
		return " (did you mean " + best + "?)"
	}
	return ""
}

// Nearest is the entry of a list that is nearest to what was given; empty if none is near.
func Nearest(got string, list []string) (best string) {
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
