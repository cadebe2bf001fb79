package dataset

import (
	"encoding/json"
	"strings"
)

// EpisodeNote is a note with the episodes that have it.
type EpisodeNote struct {
	Note     Note   `json:"note"`
	Episode  string `json:"episode"`  // the name of the first; empty if the note is about the dataset as a whole
	Number   int    `json:"number"`   // of the first
	Episodes int    `json:"episodes"` // that have it
}

// EpisodeNotes lists the notes of several episodes, in the order in which they were found. Notes of one code, subject and list of names share an entry,
// which has the sums of their numbers, and the row, values and cause of the first.
type EpisodeNotes struct {
	List []EpisodeNote
	at   map[string]int // of entries in List
}

// Add adds the notes of an episode.
func (l *EpisodeNotes) Add(number int, episode string, notes Notes) {
	for _, n := range notes {
		l.Join(EpisodeNote{n, episode, number, 1})
	}
}

// Join adds an entry of another list.
func (l *EpisodeNotes) Join(e EpisodeNote) {
	key := strings.Join(append([]string{string(e.Note.Code), e.Note.Subject}, e.Note.Names...), "\x00")
	k, there := l.at[key]
	if !there {
		if l.at == nil {
			l.at = map[string]int{}
		}
		l.at[key], l.List = len(l.List), append(l.List, e)
		return
	}
	to := &l.List[k]
	to.Episodes += e.Episodes
	to.Note.Count += e.Note.Count
	to.Note.Of += e.Note.Of
	to.Note.Bytes += e.Note.Bytes
}

// JoinAll joins each entry of another list.
func (l *EpisodeNotes) JoinAll(other EpisodeNotes) {
	for _, e := range other.List {
		l.Join(e)
	}
}

// MarshalJSON writes the list.
func (l EpisodeNotes) MarshalJSON() ([]byte, error) {
	return json.Marshal(append([]EpisodeNote{}, l.List...))
}

// UnmarshalJSON reads the output of MarshalJSON.
func (l *EpisodeNotes) UnmarshalJSON(b []byte) error {
	var list []EpisodeNote
	err := json.Unmarshal(b, &list)
	*l = EpisodeNotes{}
	l.JoinAll(EpisodeNotes{List: list})
	return err
}
