package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Count returns a number and a noun that agrees with it: "1 gap", "2 gaps". The argument plural is for nouns that take more than an s, and for
// nouns with a verb: Count(2, "value jumps", "values jump").
func Count(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(plural) > 0:
		return strconv.Itoa(n) + " " + plural[0]
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Names is List with at most 20 names.
func Names(names []string) string { return List(names, 20) }

// List joins names by commas: "a, b, c". If more than one name is beyond most, it counts those: "a, b and 3 more".
func List(names []string, most int) string {
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Join joins descriptions of entries. If there are more than most, it counts the others: with "; ", "a; b; and 3 more".
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

// Wrap breaks a line at spaces, so that its lines have at most width runes where words allow it. The later ones are indented by spaces.
// The line stays whole if width is 0.
func Wrap(s string, width, indent int) string {
	var b strings.Builder
	rest, begin := []rune(s), []rune(strings.Repeat(" ", indent))
	for width > 0 && len(rest) > width {
		at := -1
		for i := indent + 1; i < len(rest) && (i <= width || at < 0); i++ {
			if rest[i] == ' ' {
				at = i
			}
		}
		if at < 0 {
			break
		}
		b.WriteString(string(rest[:at]) + "\n")
		rest = slices.Concat(begin, rest[at+1:])
	}
	return b.String() + string(rest)
}

// Clip returns a text of at most width runes. Where it is longer, it ends in three dots.
func Clip(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:max(0, width-3)]) + "..."
	}
	return s
}
