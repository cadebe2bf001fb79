package notetext

import (
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// Text returns a note's sentence without its subject. Example: "3 of 200 images cannot be decoded". If the code has no sentence, it
// returns the note's String.
func Text(n dataset.Note) string {
	t, ok := templateOf(n.Code)
	if !ok {
		return n.String()
	}
	if n.Code.Class() == dataset.ClassDamage && t != n.Code.String() {
		t += damageEnd
		if n.Count > 1 {
			t = strings.Replace(t, " ({cause})", " (first: {cause})", 1)
		}
	}
	return expand(t, &n)
}

// damageEnd ends each sentence about damage.
const damageEnd = "[: {count}][, {bytes} bytes][ ({cause})]"

// Line returns a note's sentence with its subject. Example: "/camera: 3 of 200 images cannot be decoded".
func Line(n dataset.Note) string { return line(Text(n), []string{subjectOf(&n)}) }

// subjectOf returns the subject for the beginning of a line. It is empty if the sentence contains the subject.
func subjectOf(n *dataset.Note) string {
	if t, _ := templateOf(n.Code); strings.Contains(t, "{subject}") {
		return ""
	}
	return n.Subject
}

func line(sentence string, subjects []string) string {
	switch {
	case len(subjects) == 1 && subjects[0] == "":
		return sentence
	case len(subjects) == 1:
		return subjects[0] + ": " + sentence
	}
	return sentence + ": " + text.Names(subjects)
}

// beginnings maps a note's class to the prefix of its line. Example: "left out: " in "left out: split odd: ...". Other classes have
// no prefix.
var beginnings = map[dataset.Class]string{dataset.ClassDamage: "lost: ", dataset.ClassLeftOut: "left out: "}

// Lines returns a line for each different sentence, in the order of the notes, with all subjects. Example: "messages without a
// header have the clock log: /imu, /odom".
func Lines(notes dataset.Notes) []string {
	lines := []string{}
	for _, g := range Groups(ofWhole(notes)) {
		lines = append(lines, g.Line)
	}
	return lines
}

// Entry is a note in JSON for users. Programs select notes by class and code; people read the text.
type Entry struct {
	Class   dataset.Class `json:"class"`
	Code    dataset.Code  `json:"code"`
	Subject string        `json:"subject"`
	Count   int           `json:"count"`
	Of      int           `json:"of,omitempty"`    // the number of all elements, if Count is a part of them
	Bytes   int64         `json:"bytes,omitempty"` // size in the file
	Row     *int          `json:"row"`             // from 0; null if the note is about no row
	Text    string        `json:"text"`
}

// EntryOf returns the entry for a note.
func EntryOf(n dataset.Note) Entry {
	e := Entry{Class: n.Code.Class(), Code: n.Code, Subject: n.Subject, Count: n.Count, Of: n.Of, Bytes: n.Bytes, Text: Text(n)}
	if i, ok := n.Row.Index(); ok {
		e.Row = &i
	}
	return e
}

// Entries returns an entry for each note. The list is never nil.
func Entries(notes dataset.Notes) []Entry {
	list := make([]Entry, len(notes))
	for i, n := range notes {
		list[i] = EntryOf(n)
	}
	return list
}

// expand replaces a template's fields by a note's values:
//
//	{count}          the number; {count frame} is "1 frame" or "3 frames", and {count entry|entries} gives the plural
//	{is|are}         the first word if Count is 1, else the second
//	{total} {bytes} {got} {want} {names} {unit} {cause} {row} {subject}
//	{list}           the names in brackets
//	{first}          "3, the first: " if Count is more than 1
//	[ of {total}]       nothing if a field inside is zero
func expand(t string, n *dataset.Note) string {
	s, _ := expandPart(t, n)
	return s
}

// expandPart is expand, and also reports whether every field has a value other than "" and "0".
func expandPart(t string, n *dataset.Note) (string, bool) {
	var b strings.Builder
	full := true
	for t != "" {
		i := strings.IndexAny(t, "{[")
		if i < 0 {
			b.WriteString(t)
			break
		}
		b.WriteString(t[:i])
		end := strings.IndexByte(t[i:], "}]"[strings.IndexByte("{[", t[i])])
		if end < 0 {
			panic("notetext: " + t + " is not closed")
		}
		inside := t[i+1 : i+end]
		if t[i] == '[' {
			if s, ok := expandPart(inside, n); ok {
				b.WriteString(s)
			}
		} else {
			s := field(inside, n)
			full = full && s != "" && s != "0"
			b.WriteString(s)
		}
		t = t[i+end+1:]
	}
	return b.String(), full
}

// field returns the value for a template's field.
func field(name string, n *dataset.Note) string {
	name, noun, hasNoun := strings.Cut(name, " ")
	switch {
	case name == "count" && hasNoun:
		forms := strings.Split(noun, "|")
		return text.Count(n.Count, forms[0], forms[1:]...)
	case strings.Contains(name, "|"):
		one, many, _ := strings.Cut(name, "|")
		return pick(n.Count, one, many)
	}
	switch name {
	case "first":
		if n.Count > 1 {
			return strconv.Itoa(n.Count) + ", the first: "
		}
		return ""
	case "count":
		return strconv.Itoa(n.Count)
	case "total":
		return strconv.Itoa(n.Of)
	case "bytes":
		return strconv.FormatInt(n.Bytes, 10)
	case "got":
		return n.Got
	case "want":
		return n.Want
	case "names":
		return text.Names(n.Names)
	case "list":
		return "[" + text.Names(n.Names) + "]"
	case "unit":
		return n.Unit
	case "subject":
		return n.Subject
	case "row":
		if i, ok := n.Row.Index(); ok {
			return strconv.Itoa(i)
		}
		return ""
	case "cause":
		if n.Cause != nil {
			return ErrorText(n.Cause)
		}
		return ""
	}
	panic("notetext: no field " + name)
}

func pick(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
