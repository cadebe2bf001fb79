package notetext

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
)

// mostLines bounds the lines from EpisodeLines, without the line that counts the others.
const mostLines = 20

// EpisodeLines returns one line per note group in a dataset; episodes is its size. Example: "episode run_3 and 2 more:
// /imu: the log is cut". Notes with the same sentence and the same episodes share a line. If there are more than 20 lines, the last
// one counts the others.
func EpisodeLines(list []dataset.EpisodeNote, episodes int) []string {
	groups := Groups(list)
	lines := []string{}
	for i := range groups[:min(len(groups), mostLines)] {
		lines = append(lines, who(&groups[i].First, episodes)+groups[i].Line)
	}
	if n := len(groups) - mostLines; n > 0 {
		lines = append(lines, fmt.Sprintf("%d more remarks about recordings", n))
	}
	return lines
}

// Group contains notes with the same sentence and the same episodes.
type Group struct {
	Line  string // the sentence with all subjects
	First dataset.EpisodeNote
	Count int // their counts, added up
}

// Groups returns the groups in the order of their first notes.
func Groups(list []dataset.EpisodeNote) (groups []Group) {
	type key struct {
		text, episode    string
		number, episodes int
	}
	for _, notes := range dataset.Grouped(list, func(n *dataset.EpisodeNote) key { return key{Text(n.Note), n.Episode, n.Number, n.Episodes} }) {
		g := Group{First: notes[0]}
		var subjects []string
		for _, n := range notes {
			subjects = append(subjects, subjectOf(&n.Note))
			g.Count += n.Note.Count
		}
		g.Line = beginnings[g.First.Note.Code.Class()] + line(Text(g.First.Note), subjects)
		groups = append(groups, g)
	}
	return groups
}

// who returns a line's beginning, which names the first episode.
func who(n *dataset.EpisodeNote, episodes int) string {
	switch {
	case n.Episode == "" || episodes == 1:
		return ""
	case n.Episodes == 1:
		return "episode " + n.Episode + ": "
	}
	return fmt.Sprintf("episode %s and %d more: ", n.Episode, n.Episodes-1)
}

// EpisodeEntry is an entry in the JSON list notes. Its text begins with the subject, like a line on standard error.
type EpisodeEntry struct {
	Entry
	Episode  string `json:"episode"`           // the first; empty if the note is about the dataset as a whole
	First    int    `json:"first"`             // the first one's number
	Episodes int    `json:"episodes"`          // that have it
	Dataset  int    `json:"dataset,omitempty"` // the dataset's index, if there are several
}

// ofWhole returns notes about a recording or dataset as a whole.
func ofWhole(notes dataset.Notes) []dataset.EpisodeNote {
	list := make([]dataset.EpisodeNote, len(notes))
	for i, n := range notes {
		list[i].Note = n
	}
	return list
}

// NoteEntries returns an entry for each note about a whole recording or dataset.
func NoteEntries(notes dataset.Notes) []EpisodeEntry { return EpisodeEntries(ofWhole(notes)) }

// EpisodeEntries returns an entry for each note. The list is never nil.
func EpisodeEntries(list []dataset.EpisodeNote) []EpisodeEntry {
	entries := []EpisodeEntry{}
	for _, n := range list {
		e := EpisodeEntry{Entry: EntryOf(n.Note), Episode: n.Episode, First: n.Number, Episodes: n.Episodes}
		e.Text = beginnings[n.Note.Code.Class()] + Line(n.Note)
		entries = append(entries, e)
	}
	return entries
}
