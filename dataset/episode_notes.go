package dataset

import (
	"encoding/json"
	"strings"
)

// EpisodeNote is a note with the episodes that have it.
type EpisodeNote struct {
	Note     Note   `json:"note"`
	Episode  string `json:"episode"`  // the name of the first; empty if the note concerns the whole dataset
	Number   int    `json:"number"`   // the number of the first
	Episodes int    `json:"episodes"` // how many episodes have it
}

// EpisodeNotes lists notes from several episodes, in the order in which they were found. Notes with equal Code, Subject and Names
// share an entry. The entry has the sums of Count, Of and Bytes, and the other fields of the first note.
type EpisodeNotes struct {
	List []EpisodeNote
	at   map[string]int // indices in List
}

// Add adds the notes from an episode.
func (l *EpisodeNotes) Add(number int, episode string, notes Notes) {
	for _, n := range notes {
		l.Join(EpisodeNote{n, episode, number, 1})
	}
}

// Join adds an entry from another list.
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

// JoinAll adds each entry from another list.
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
