package notetext

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
)

// mostLines is the number of lines that EpisodeLines returns, besides one that counts the others.
const mostLines = 20

// EpisodeLines returns the lines of notes of a dataset with a number of episodes: "episode run_3 and 2 more: /imu: the log is cut". Notes of the same
// episodes with the same sentence share a line. Beyond 20 lines, the last has the number of the others.
func EpisodeLines(list []dataset.EpisodeNote, episodes int) []string {
	groups := Groups(list)
	lines := []string{}
	for i := range groups[:min(len(groups), mostLines)] {
		lines = append(lines, who(&groups[i].First, episodes)+groups[i].Line)
	}
	if n := len(groups) - mostLines; n > 0 {
		lines = append(lines, fmt.Sprintf("%d remarks more of recordings", n))
	}
	return lines
}

// Group is notes of the same episodes with the same sentence.
type Group struct {
	Line  string // of all their subjects
	First dataset.EpisodeNote
	Count int // the sum of their counts
}

// Groups puts notes together, in the order of their first.
func Groups(list []dataset.EpisodeNote) []Group {
	type key struct {
		text, episode    string
		number, episodes int
	}
	at := map[key]int{}
	var groups []Group
	var subjects [][]string
	for _, n := range list {
		k := key{Text(n.Note), n.Episode, n.Number, n.Episodes}
		i, there := at[k]
		if !there {
			i = len(groups)
			at[k], groups, subjects = i, append(groups, Group{k.text, n, 0}), append(subjects, nil)
		}
		subjects[i] = append(subjects[i], subjectOf(&n.Note))
		groups[i].Count += n.Note.Count
	}
	for i := range groups {
		groups[i].Line = beginnings[groups[i].First.Note.Code.Class()] + line(groups[i].Line, subjects[i])
	}
	return groups
}

// who returns the beginning of a line, which names the first episode.
func who(n *dataset.EpisodeNote, episodes int) string {
	switch {
	case n.Episode == "" || episodes == 1:
		return ""
	case n.Episodes == 1:
		return "episode " + n.Episode + ": "
	}
	return fmt.Sprintf("episode %s and %d more: ", n.Episode, n.Episodes-1)
}

// EpisodeEntry is a note of several episodes in the JSON of the command line.
type EpisodeEntry struct {
	Entry
	Episode  string `json:"episode"`  // the first; empty if the note is about the dataset as a whole
	Episodes int    `json:"episodes"` // that have it
}

// EpisodeEntries returns the entries of notes, an empty list if there are none.
func EpisodeEntries(list []dataset.EpisodeNote) []EpisodeEntry {
	entries := []EpisodeEntry{}
	for _, n := range list {
		e := EpisodeEntry{EntryOf(n.Note), n.Episode, n.Episodes}
		e.Text = beginnings[n.Note.Code.Class()] + Line(n.Note)
		entries = append(entries, e)
	}
	return entries
}
