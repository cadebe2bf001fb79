package dataset

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Note is one fact about data that was skipped, damaged, lost, changed, absent or left out. Readers add notes to an [Episode] or an [Info]; packages that
// use recordings add notes to their reports. A note holds a code, numbers and names. Package notetext has the sentence of each code.
//
//	Note{Code: ImageUndecodable, Subject: "/camera", Count: 3, Row: At(17), Detail: Detail{Of: 200}} // 3 of 200 images, the first is number 17
type Note struct {
	Code Code
	// Subject is the name of the stream, camera, topic, array, file or episode that the note is about; empty if it is about the recording as a whole.
	Subject string
	// Count is the number of elements: samples, frames, rows, files or episodes (see the comment of the code); 0 if it is unknown.
	Count int
	// Row is the first of these elements.
	Row Row
	Detail
}

// Detail holds the numbers, names and units of a note. The comment of a code lists the fields that it uses; the others are zero.
type Detail struct {
	Of    int      // the number of all elements, if Count is a part of them
	Bytes int64    // the size of the elements in the file
	Got   string   // a value that was found: a shape, a type, a number, a name
	Want  string   // the value that was expected
	Names []string // names of columns, fields or files
	Unit  string   // the unit of Got and Want
	Cause error    // the first error, or nil
}

// Row is the index of a row, sample or frame. The zero value is "no row".
type Row int

// At returns the Row of an index that counts from 0.
func At(index int) Row { return Row(index + 1) }

// Index returns the index, which counts from 0. It reports false if there is no row.
func (r Row) Index() (int, bool) { return int(r) - 1, r > 0 }

// Code names a kind of note: its class and its name, such as "left-out:no-samples". Programs compare codes. Tables in
// JSON have the name alone.
type Code string

// Class is the meaning of a note for the data.
type Class string

// The classes of notes.
const (
	// ClassDamage: bytes of a file break its format, and the reader passed over them.
	ClassDamage Class = "damage"
	// ClassProblem: a dataset declares something that is missing or different.
	ClassProblem Class = "problem"
	// ClassLeftOut: the recording has the data, and the streams do not.
	ClassLeftOut Class = "left-out"
	// ClassRemark: a package made a choice that a user may want to change, or changed values.
	ClassRemark Class = "remark"
	// ClassSkipped: an episode was not used.
	ClassSkipped Class = "skipped"
)

// The beginnings of codes.
const (
	damage  = Code(ClassDamage + ":")
	problem = Code(ClassProblem + ":")
	leftOut = Code(ClassLeftOut + ":")
	remark  = Code(ClassRemark + ":")
	skipped = Code(ClassSkipped + ":")
)

// Class returns the class of a code.
func (c Code) Class() Class { return Class(c[:max(0, strings.IndexByte(string(c), ':'))]) }

// String returns the name of a code without the class, for logs: "no-samples".
func (c Code) String() string { return string(c[strings.IndexByte(string(c), ':')+1:]) }

// MarshalText returns String. A [Note] in a file has the class too.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String returns the code and the fields of a note for logs: "image-undecodable /camera: 3 of 200". Package notetext returns sentences.
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

// NoteError is an error that a note explains. Error returns the note's Reason; package notetext has the sentence.
type NoteError struct {
	Note Note
	Kind error // such as ErrUnsupported; may be nil
}

func (e *NoteError) Error() string { return e.Note.Reason() }

// Unwrap returns the kind. The cause of the note explains it and is no error of the caller's arguments, so errors.As does not find it.
func (e *NoteError) Unwrap() error { return e.Kind }

// ErrorNotes returns the note.
func (e *NoteError) ErrorNotes() Notes { return Notes{e.Note} }

// noteJSON is a note as files have it.
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
}

// MarshalJSON writes {"code", "subject", "count", "row"} and the fields of Detail that are not zero. Cause becomes its text.
func (n Note) MarshalJSON() ([]byte, error) {
	j := noteJSON{Code: string(n.Code), Subject: n.Subject, Count: n.Count, Of: n.Of, Bytes: n.Bytes, Got: n.Got, Want: n.Want, Names: n.Names, Unit: n.Unit}
	if i, ok := n.Row.Index(); ok {
		j.Row = &i
	}
	if n.Cause != nil {
		j.Cause = n.Cause.Error()
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the output of MarshalJSON. Cause becomes an error that has the text alone.
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

// Add adds a note. If the list has one that differs in Count, Of, Row, Bytes and Cause alone, Add adds Count and Bytes to that one, which keeps its first
// row and cause.
func (l *Notes) Add(n Note) {
	for i := range *l {
		if o := &(*l)[i]; o.same(&n) {
			o.Count, o.Bytes, o.Of = o.Count+n.Count, o.Bytes+n.Bytes, max(o.Of, n.Of)
			return
		}
	}
	*l = append(*l, n)
}

// AddDamage adds one broken part of a file to the note of its code, with its size in the file and the error.
func (l *Notes) AddDamage(code Code, bytes int64, cause *FormatError) {
	n := Note{Code: code, Count: 1, Detail: Detail{Bytes: bytes}}
	if cause != nil {
		n.Cause = cause
	}
	l.Add(n)
}

// same reports whether two notes are about the same thing.
func (n *Note) same(o *Note) bool {
	return n.Code == o.Code && n.Subject == o.Subject && n.Got == o.Got && n.Want == o.Want && n.Unit == o.Unit && slices.Equal(n.Names, o.Names)
}

// Join adds each note of another list.
func (l *Notes) Join(others Notes) {
	for _, n := range others {
		l.Add(n)
	}
}

// Of returns the notes of some classes.
func (l Notes) Of(classes ...Class) (list Notes) {
	for _, n := range l {
		if slices.Contains(classes, n.Code.Class()) {
			list = append(list, n)
		}
	}
	return list
}

// Damage returns the notes of ClassDamage.
func (l Notes) Damage() Notes { return l.Of(ClassDamage) }

// Find returns the first note of a code, or nil.
func (l Notes) Find(code Code) *Note {
	for i := range l {
		if l[i].Code == code {
			return &l[i]
		}
	}
	return nil
}

// LeftOut returns the first note of ClassLeftOut with a subject, or nil.
func (l Notes) LeftOut(subject string) *Note {
	for i := range l {
		if l[i].Subject == subject && l[i].Code.Class() == ClassLeftOut {
			return &l[i]
		}
	}
	return nil
}

// About returns the notes about streams, cameras or clouds, about their topics, and about the recording as a whole.
func (l Notes) About(names []string) (list Notes) {
	sorted := slices.Sorted(slices.Values(names))
	for _, n := range l {
		if n.Subject == "" || anyIsOf(sorted, n.Subject) {
			list = append(list, n)
		}
	}
	return list
}

// LostBytes returns the sum of Bytes over notes of ClassDamage.
func (l Notes) LostBytes() (sum int64) {
	for _, n := range l {
		if n.Code.Class() == ClassDamage {
			sum += n.Bytes
		}
	}
	return sum
}

// SetPath sets the path of each cause that is a *FormatError.
func (l Notes) SetPath(path string) {
	for _, n := range l {
		var bad *FormatError
		if errors.As(n.Cause, &bad) {
			bad.Path = path
		}
	}
}

// anyIsOf reports whether sorted names of streams have the topic itself or one of its streams.
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
