package main

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
)

// noteList is the list "notes" of a JSON report, with the lines for standard error.
type noteList struct {
	Entries []notetext.EpisodeEntry `json:"notes"`
	lines   []string                // lines that are not printed yet
}

// newNotes returns a list that is empty, not null, in JSON.
func newNotes() noteList { return noteList{Entries: []notetext.EpisodeEntry{}} }

// add adds notes, and their lines for standard error.
func (l *noteList) add(entries []notetext.EpisodeEntry, lines ...string) {
	l.Entries, l.lines = append(l.Entries, entries...), append(l.lines, lines...)
}

// notes adds notes about a recording or dataset as a whole.
func (l *noteList) notes(notes dataset.Notes) {
	l.add(notetext.NoteEntries(notes), notetext.Lines(notes)...)
}

// remark adds a note that the command itself makes, such as "resumed", with its sentence.
func (l *noteList) remark(code dataset.Code, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	l.add([]notetext.EpisodeEntry{{Entry: notetext.Entry{Class: dataset.ClassRemark, Code: code, Text: line}}}, line)
}

// print prints the new lines.
func (l *noteList) print(a interface{ Remarks(lines []string) }) {
	a.Remarks(l.lines)
	l.lines = nil
}

// absentIn returns a note about the declared episodes that a dataset lacks. There is none if all episodes are there.
func absentIn(path string, d dataset.Dataset) (notes dataset.Notes) {
	info := d.Info()
	if n := info.Absent(); n != nil {
		n.Subject = path
		notes.Add(*n)
	}
	return notes
}
