package text

import (
	"fmt"
	"strconv"
	"strings"
)

// Count writes a number with a noun that agrees with it: "1 gap", "2 gaps". plural is that of a noun that takes more than an s, or has a verb:
// Count(2, "value jumps", "values jump").
func Count(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(plural) > 0:
		return strconv.Itoa(n) + " " + plural[0]
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// List joins names by commas: "a, b, c". If there are more than one beyond most, it names the first and the number of the others: "a, b and 3 more".
func List(names []string, most int) string {
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Join joins what describe returns for the first entries, at most most of them, and the number of the others: "a; b; and 3 more" with "; ".
func Join[T any](list []T, most int, separator string, describe func(*T) string) string {
	var parts []string
	for i := range list {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, describe(&list[i]))
	}
	return strings.Join(parts, separator)
}
