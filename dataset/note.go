package dataset

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Note is one fact about data that was skipped, damaged, lost, changed, absent or left out. Readers add notes to an [Episode] or an
// [Info]; packages that process recordings add notes to their reports. A note holds a code, numbers and names. Package notetext has
// the sentence for each code. Example for 3 images in 200, the first with index 17:
//
//	Note{Code: ImageUndecodable, Subject: "/camera", Count: 3, Row: At(17), Detail: Detail{Of: 200}}
type Note struct {
	Code Code
	// Subject is the stream, camera, topic, array, file or episode with the problem; empty if the note concerns the whole
	// recording.
	Subject string
	// Count is the number of affected elements: samples, frames, rows, files or episodes, as the code's comment defines; 0 if
	// unknown.
	Count int
	// Row is the first affected element.
	Row Row
	Detail
}

// Detail holds the numbers, names and units of a note. The comment on a code lists the fields that it uses; the others are zero.
type Detail struct {
	Of    int      // the number of all elements, if Count is a part of them
	Bytes int64    // the size of the elements in the file
	Got   string   // the value that was found: a shape, a type, a number, a name
	Want  string   // the value that was expected
	Names []string // names of columns, fields or files
	Unit  string   // the unit of Got and Want
	Cause error    // the first error, or nil
}

// Row is the index of a row, sample or frame. The zero value is "no row".
type Row int

// At returns the Row for an index that counts from 0.
func At(index int) Row { return Row(index + 1) }

// Index returns the index, which counts from 0. It reports false if there is no row.
func (r Row) Index() (int, bool) { return int(r) - 1, r > 0 }

// Code identifies a kind of note by its class and its name, such as "left-out:no-samples". Programs compare codes. Tables in JSON
// contain the name alone.
type Code string

// Class is the effect of a note on the data.
type Class string

// The classes of notes.
const (
	// ClassDamage: bytes in a file break its format, and the reader skipped them.
	ClassDamage Class = "damage"
	// ClassProblem: a dataset declares something that is missing or different.
	ClassProblem Class = "problem"
	// ClassLeftOut: the recording has the data, and the streams do not contain it.
	ClassLeftOut Class = "left-out"
	// ClassRemark: a package changed values, or made a choice that a user may want to change.
	ClassRemark Class = "remark"
	// ClassSkipped: an episode was not used.
	ClassSkipped Class = "skipped"
)

// Prefixes of codes, one per class.
const (
	damage  = Code(ClassDamage + ":")
	problem = Code(ClassProblem + ":")
	leftOut = Code(ClassLeftOut + ":")
	remark  = Code(ClassRemark + ":")
	skipped = Code(ClassSkipped + ":")
)

// Class returns the class: the part before the colon.
func (c Code) Class() Class { return Class(c[:max(0, strings.IndexByte(string(c), ':'))]) }

// String returns the name without the class, for logs: "no-samples".
func (c Code) String() string { return string(c[strings.IndexByte(string(c), ':')+1:]) }

// MarshalText returns String. In files a [Note] keeps the class.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String returns the code and the fields for logs: "image-undecodable /camera: 3 of 200". Package notetext has sentences for
// people.
func (n Note) String() string {
	s := n.Code.String()
	if n.Subject != "" {
		s += " " + n.Subject
	}
	var parts []string
	if n.Count > 0 {
		count := strconv.Itoa(n.Count)
		if n.Of > 0 {
			count += " of " + strconv.Itoa(n.Of)
		}
		parts = append(parts, count)
	}
	if n.Bytes > 0 {
		parts = append(parts, strconv.FormatInt(n.Bytes, 10)+" bytes")
	}
	if n.Got != "" {
		parts = append(parts, "got "+n.Got)
	}
	if n.Want != "" {
		parts = append(parts, "want "+n.Want)
	}
	if n.Unit != "" {
		parts = append(parts, n.Unit)
	}
	parts = append(parts, n.Names...)
	if n.Cause != nil {
		parts = append(parts, n.Cause.Error())
	}
	if len(parts) > 0 {
		s += ": " + strings.Join(parts, ", ")
	}
	return s
}

// Reason returns String without the subject.
func (n Note) Reason() string {
	n.Subject = ""
	return n.String()
}

// NoteError is an error with a note as its reason. Error returns the note's Reason; package notetext has the sentence.
type NoteError struct {
	Note Note
	Kind error // for example ErrUnsupported; may be nil
}

func (e *NoteError) Error() string { return e.Note.Reason() }

// Unwrap returns Kind. errors.As does not search the note's Cause, because the cause does not concern the caller's arguments.
func (e *NoteError) Unwrap() error { return e.Kind }

// ErrorNotes returns the note.
func (e *NoteError) ErrorNotes() Notes { return Notes{e.Note} }

// NotesIn returns the notes of an error and of every error that it wraps, from their methods ErrorNotes.
func NotesIn(err error) (list Notes) {
	if with, ok := err.(interface{ ErrorNotes() Notes }); ok {
		list = with.ErrorNotes()
	}
	var below []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		below = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		below = e.Unwrap()
	}
	for _, err := range below {
		list = slices.Concat(list, NotesIn(err))
	}
	return list
}

// noteJSON is the JSON form of a note.
type noteJSON struct {
	Code    string   `json:"code"` // with the class
	Subject string   `json:"subject"`
	Count   int      `json:"count"`
	Row     *int     `json:"row"` // from 0; null if there is none
	Of      int      `json:"of,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
	Got     string   `json:"got,omitempty"`
	Want    string   `json:"want,omitempty"`
	Names   []string `json:"names,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Cause   string   `json:"cause,omitempty"`
	// CauseNotes has the notes of each code in Cause.
	CauseNotes Notes `json:"cause_notes,omitempty"`
}

// storedCause is a note's cause from JSON, if its text has codes.
type storedCause struct {
	error
	notes Notes
}

// ErrorNotes returns the notes with these codes.
func (e *storedCause) ErrorNotes() Notes { return e.notes }

// MarshalJSON writes "code", "subject", "count", "row" and the Detail fields that are not zero. Cause becomes its text, and
// "cause_notes" the notes in it.
func (n Note) MarshalJSON() ([]byte, error) {
	j := noteJSON{Code: string(n.Code), Subject: n.Subject, Count: n.Count, Of: n.Of, Bytes: n.Bytes, Got: n.Got, Want: n.Want, Names: n.Names, Unit: n.Unit}
	if i, ok := n.Row.Index(); ok {
		j.Row = &i
	}
	if n.Cause != nil {
		j.Cause, j.CauseNotes = n.Cause.Error(), NotesIn(n.Cause)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the output of MarshalJSON. Cause becomes an error with the text and its notes.
func (n *Note) UnmarshalJSON(b []byte) error {
	var j noteJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*n = Note{Code: Code(j.Code), Subject: j.Subject, Count: j.Count, Detail: Detail{Of: j.Of, Bytes: j.Bytes, Got: j.Got, Want: j.Want, Names: j.Names, Unit: j.Unit}}
	if j.Row != nil {
		n.Row = At(*j.Row)
	}
	if j.Cause != "" {
		n.Cause = errors.New(j.Cause)
	}
	if j.CauseNotes != nil {
		n.Cause = &storedCause{n.Cause, j.CauseNotes}
	}
	return nil
}

// Notes is a list of notes in the order in which they were found.
type Notes []Note

// String returns the notes for logs: "array-cut: 1; record-cut: 2, 38 bytes".
func (l Notes) String() string {
	list := make([]string, len(l))
	for i, n := range l {
		list[i] = n.String()
	}
	return strings.Join(list, "; ")
}

// Add adds a note. If the list already has a note that differs only in Count, Of, Row, Bytes and Cause, Add merges the two: it sums
// Count and Bytes, takes the larger Of, and keeps the first Row and Cause.
func (l *Notes) Add(n Note) {
	for i := range *l {
		if o := &(*l)[i]; o.same(&n) {
			o.Count, o.Bytes, o.Of = o.Count+n.Count, o.Bytes+n.Bytes, max(o.Of, n.Of)
			return
		}
	}
	*l = append(*l, n)
}

// AddDamage adds a note about one broken part of a file, with its size in bytes and the error.
func (l *Notes) AddDamage(code Code, bytes int64, cause *FormatError) {
	n := Note{Code: code, Count: 1, Detail: Detail{Bytes: bytes}}
	if cause != nil {
		n.Cause = cause
	}
	l.Add(n)
}

// same reports whether Add merges two notes.
func (n *Note) same(o *Note) bool {
	return n.Code == o.Code && n.Subject == o.Subject && n.Got == o.Got && n.Want == o.Want && n.Unit == o.Unit && slices.Equal(n.Names, o.Names)
}

// Join adds each note from another list.
func (l *Notes) Join(others Notes) {
	for _, n := range others {
		l.Add(n)
	}
}

// Of returns the notes in some classes.
func (l Notes) Of(classes ...Class) (list Notes) {
	for _, n := range l {
		if slices.Contains(classes, n.Code.Class()) {
			list = append(list, n)
		}
	}
	return list
}

// Damage returns the notes in ClassDamage.
func (l Notes) Damage() Notes { return l.Of(ClassDamage) }

// Find returns the first note with a code, or nil.
func (l Notes) Find(code Code) *Note {
	for i := range l {
		if l[i].Code == code {
			return &l[i]
		}
	}
	return nil
}

// LeftOut returns the first note in ClassLeftOut with a subject, or nil.
func (l Notes) LeftOut(subject string) *Note {
	for i := range l {
		if l[i].Subject == subject && l[i].Code.Class() == ClassLeftOut {
			return &l[i]
		}
	}
	return nil
}

// About returns the notes about the named streams, cameras and clouds, about the topics that they come from, and about the whole
// recording.
func (l Notes) About(names []string) (list Notes) {
	sorted := slices.Sorted(slices.Values(names))
	for _, n := range l {
		if n.Subject == "" || anyIsOf(sorted, n.Subject) {
			list = append(list, n)
		}
	}
	return list
}

// Moving returns the coordinate frame that moves in a stream of transforms, its parent and their topic, by CodeFrameParents. All are empty
// if the stream is not one frame in one parent. Example: "/tf", "base" and "map" for /tf.base, and for /tf if base alone moves there.
func (l Notes) Moving(stream string) (topic, child, parent string) {
	for _, n := range l {
		if n.Code != CodeFrameParents || !strings.HasPrefix(stream, n.Subject) {
			continue
		}
		for _, pair := range n.Names {
			child, parent, _ := strings.Cut(pair, " in ")
			name := n.Subject + "." + child
			if stream == name || stream == name+" ("+parent+")" || stream == n.Subject && len(n.Names) == 1 {
				return n.Subject, child, parent
			}
		}
	}
	return "", "", ""
}

// LostBytes returns the sum of Bytes over the notes in ClassDamage.
func (l Notes) LostBytes() (sum int64) {
	for _, n := range l {
		if n.Code.Class() == ClassDamage {
			sum += n.Bytes
		}
	}
	return sum
}

// SetPath sets the path in each Cause that is a *FormatError.
func (l Notes) SetPath(path string) {
	for _, n := range l {
		_ = InFile(n.Cause, path)
	}
}

// anyIsOf reports whether sorted stream names contain the topic itself or one of its streams.
func anyIsOf(sorted []string, topic string) bool {
	if _, is := slices.BinarySearch(sorted, topic); is {
		return true
	}
	for _, more := range []string{".", " ("} {
		if i, _ := slices.BinarySearch(sorted, topic+more); i < len(sorted) && strings.HasPrefix(sorted[i], topic+more) {
			return true
		}
	}
	return false
}
