package notetext

import (
	"strings"

	"github.com/robocache/robocache/dataset"
)

// LeftOutLines returns a line for each different sentence among notes in ClassLeftOut, with all subjects. Example: "left out, no samples:
// /imu, /odom".
func LeftOutLines(notes dataset.Notes) (lines []string) {
	for _, group := range dataset.Grouped(notes.Of(dataset.ClassLeftOut), func(n *dataset.Note) string { return Text(*n) }) {
		line := "left out, " + Text(group[0]) + ": " + group[0].Subject
		for _, n := range group[1:] {
			line += ", " + n.Subject
		}
		lines = append(lines, line)
	}
	return lines
}

// ErrorText returns an error's text with the sentences of its notes in place of their codes. Example: "no stream: /imu
// (no-messages)" becomes "no stream: /imu (no messages)". It finds notes in err and in every wrapped error with a method
// ErrorNotes.
func ErrorText(err error) string {
	text := err.Error()
	for _, n := range dataset.NotesIn(err) {
		text = strings.Replace(text, n.Reason(), Text(n), 1)
	}
	return text
}
