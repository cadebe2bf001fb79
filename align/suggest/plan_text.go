package suggest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/robocache/robocache/internal/printed"
)

// planText is a plan file's text. Reasons are written as comments, and are collected in reasons.
type planText struct {
	bytes.Buffer
	reasons []Reason
}

const (
	commentAt = 34  // the text column at which comments after values begin
	planWidth = 118 // maximum characters in a line
)

// above writes a comment in its own lines.
func (t *planText) above(indent int, text string) {
	t.comment(strings.Repeat(" ", indent)+"# ", strings.Repeat(" ", indent)+"# ", text)
}

// item writes a comment that is an entry of a list.
func (t *planText) item(text string) { t.comment("# - ", "#   ", text) }

func (t *planText) comment(margin, next, text string) {
	line := ""
	for _, word := range strings.Fields(plainText(text)) {
		if line != "" && utf8.RuneCountInString(margin+line+" "+word) > planWidth {
			t.WriteString(margin + line + "\n")
			margin, line = next, ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	if line != "" {
		t.WriteString(margin + line + "\n")
	}
}

// plainText returns text for a comment: in one line, with ? for characters that cannot be printed.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, printed.Text(text))
}

// value writes a line of the plan with its reason after it, or above it if the line would be too long.
func (t *planText) value(indent int, text, why string) {
	line := strings.Repeat(" ", indent) + text
	if why == "" {
		t.WriteString(line + "\n")
		return
	}
	behind := fmt.Sprintf("%-*s# %s", commentAt-1, line, plainText(why))
	if len(line) > commentAt-2 {
		behind = line + "  # " + plainText(why)
	}
	if utf8.RuneCountInString(behind) > planWidth {
		t.above(indent, why)
		behind = line
	}
	t.WriteString(behind + "\n")
}

func (t *planText) because(key, stream, why string) {
	if why != "" {
		t.reasons = append(t.reasons, Reason{key, stream, why})
	}
}

// bare matches names that YAML reads as text without quotes, except for noText.
var bare = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./\[\]-]*$`)

// noText lists names that YAML reads as booleans or null unless they are quoted.
var noText = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// quoted returns a name as a YAML scalar, with quotes if needed. inside is true inside a list in brackets.
func quoted(name string, inside bool) string {
	if !bare.MatchString(name) || inside && strings.ContainsAny(name, "[]") || slices.Contains(noText, strings.ToLower(name)) {
		return strconv.Quote(name)
	}
	return name
}

// writable reports whether a plan file can have a name: a text without control characters.
func writable(name string) bool {
	return utf8.ValidString(name) && printed.Text(name) == name
}
