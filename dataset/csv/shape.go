package csv

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/clockname"
	"github.com/robocache/robocache/dataset/internal/texttable"
)

const (
	comments   = "#%"
	separators = ",;\t "
	maxRows    = 1000 // rows that are examined
	maxFields  = 1 << 14
)

// shape is the structure of a table, found in the beginning of a text.
type shape struct {
	head   *texttable.Head
	sep    byte
	header bool     // the names are the file's
	in     int      // number of lines up to the header; 0 if it is a comment or missing
	names  []string // [fields], each once, without units
	units  []string // [fields], from brackets after the names
	stats  []stats  // [fields]
	rows   int      // rows that were examined
	broken int      // and had another number of fields
}

// stats counts the types of the first fields in a column.
type stats struct {
	numbers, dates, texts int
	words                 [][]byte // that are not missing
}

// times reports whether most of the fields are times.
func (s *stats) times(c texttable.Clock) bool {
	n := 0
	for _, w := range s.words {
		if _, _, ok := c.Read(w); ok {
			n++
		}
	}
	return n > 0 && 3*n >= 2*len(s.words)
}

// text reports whether most of the fields that are there are no numbers.
func (s *stats) text() bool { return s.dates+s.texts > s.numbers }

// split returns the fields of a line. Quotes that do not end make none.
func split(line []byte, sep byte) (fields [][]byte) {
	for {
		for len(line) > 0 && (line[0] == ' ' || line[0] == '\t' && sep != '\t') {
			line = line[1:]
		}
		if len(line) == 0 && sep == ' ' && fields != nil {
			return fields // spaces at the line's end
		}
		word, n, ok := texttable.Word(line, sep, true)
		if !ok || len(fields) == maxFields {
			return nil
		}
		if fields = append(fields, word); n >= len(line) {
			return fields
		}
		line = line[n+1:]
	}
}

// look finds the table at the beginning of a text; nil if there is none. It takes the first separator that divides the lines into
// equally many fields.
func look(head []byte, whole bool) *shape {
	h := texttable.HeadOf(head, whole, comments)
	if h == nil || len(h.Lines) == 0 {
		return nil
	}
	for _, sep := range []byte(separators) {
		if s := lookBy(h, sep); s != nil {
			return s
		}
	}
	return nil
}

// recordsOf returns the fields of the first rows. A field in quotes may go on in the lines that follow; a line that makes no row has no fields.
func recordsOf(lines [][]byte, sep byte) (rows [][][]byte) {
	const most = 100 // lines over which a field goes on
	for i := 0; i < len(lines) && len(rows) <= maxRows; i++ {
		row := split(lines[i], sep)
		for k := i + 2; row == nil && k <= min(len(lines), i+most); k++ {
			if !bytes.Contains(lines[k-1], []byte{'"'}) {
				continue
			}
			if row = split(bytes.Join(lines[i:k], []byte{'\n'}), sep); row != nil {
				i = k - 1
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func lookBy(h *texttable.Head, sep byte) *shape {
	s := &shape{head: h, sep: sep}
	rows := recordsOf(h.Lines, sep)
	if last := len(rows) - 1; h.Cut && last > 0 && len(rows[last]) != len(rows[0]) {
		rows = rows[:last]
	}
	counts := map[int]int{}
	for i, row := range rows {
		if i > 0 || len(rows) == 1 {
			counts[len(row)]++
		}
	}
	width, total := 0, 0
	for n, times := range counts {
		if total += times; times > counts[width] || times == counts[width] && n > width {
			width = n
		}
	}
	if width < 2 || 3*counts[width] < 2*total {
		return nil
	}
	first := rows[0]
	body := rows[1:]
	s.measure(body, width)
	named := isHeader(first, s.stats)
	comment := ""
	switch {
	case named && len(first) == width+1 && len(first[width]) == 0:
		first = first[:width] // a separator after the last name
	case named && len(first) == width-1 && s.stats[width-1].words == nil:
		width-- // separators after the rows
	case named && len(first) != width:
		return nil
	case !named && len(h.Comments) > 0:
		comment = h.Comments[len(h.Comments)-1]
	}
	switch fields := split([]byte(comment), sep); {
	case named:
		s.header, s.in = true, h.First
	case len(fields) == width && comment != "":
		s.header, first = true, fields
		rest := *h
		rest.Comments = h.Comments[:len(h.Comments)-1]
		s.head = &rest
	}
	if !s.header || !named { // the first line is a row
		body = rows
	}
	s.measure(body, width)
	s.name(first)
	return s
}

// measure looks at the fields of rows of a width.
func (s *shape) measure(rows [][][]byte, width int) {
	s.stats, s.rows, s.broken = make([]stats, width), len(rows), 0
	for _, row := range rows {
		if len(row) != width && !(len(row) == width+1 && len(row[width]) == 0) {
			s.broken++
			continue
		}
		for i, w := range row[:width] {
			st := &s.stats[i]
			if texttable.Missing(w) {
				continue
			}
			st.words = append(st.words, w)
			_, _, number := texttable.Value(w)
			_, _, date := texttable.Clock{ISO: true}.Read(w)
			switch {
			case number:
				st.numbers++
			case date:
				st.dates++
			default:
				st.texts++
			}
		}
	}
}

// isHeader reports whether a line names columns: it has text where rows have numbers or dates. Where there are no rows, it has no number.
func isHeader(line [][]byte, below []stats) bool {
	rows := false
	for i, w := range line {
		_, _, number := texttable.Value(w)
		_, _, date := texttable.Clock{ISO: true}.Read(w)
		if i < len(below) && below[i].words != nil {
			rows = true
			if !number && !date && !texttable.Missing(w) && below[i].numbers+below[i].dates > below[i].texts {
				return true
			}
		}
	}
	return !rows && !slices.ContainsFunc(line, func(w []byte) bool {
		_, _, number := texttable.Value(w)
		return number || len(w) == 0
	})
}

// name gives the columns their names: the header's, or their places.
func (s *shape) name(header [][]byte) {
	whole := make([]string, len(s.stats))
	s.names, s.units = make([]string, len(s.stats)), make([]string, len(s.stats))
	for i := range s.stats {
		if s.header && i < len(header) {
			whole[i] = strings.ToValidUTF8(string(header[i]), "?")
		}
		if i == 0 && s.in > 0 {
			whole[i] = strings.TrimSpace(strings.TrimLeft(whole[i], comments))
		}
		if whole[i] == "" {
			whole[i] = fmt.Sprint(i)
		}
		if s.names[i], s.units[i] = splitUnit(whole[i]); s.names[i] == "" {
			s.names[i] = whole[i]
		}
	}
	times := map[string]int{}
	for _, n := range s.names {
		times[n]++
	}
	for i, n := range s.names {
		if times[n] > 1 {
			s.names[i] = whole[i] // in two units
		}
	}
	seen := make(map[string]bool, len(s.names))
	next := map[string]int{}
	for i, n := range s.names {
		for seen[s.names[i]] {
			next[n] = max(next[n], 1) + 1
			s.names[i] = fmt.Sprintf("%s_%d", n, next[n])
		}
		seen[s.names[i]] = true
	}
}

// match reports whether a text is a table with a header that contains a clock, and with rows that fit the header. Eight numbers
// separated by spaces below a comment belong to package tum, unless the comment names them differently.
func match(head []byte, whole bool) bool {
	s := look(head, whole)
	if s == nil || !s.header || s.rows == 0 || 3*s.broken > s.rows {
		return false
	}
	list := s.clocks()
	return len(list) > 0 && s.hasNumbers(&list[0]) && !(s.sep == ' ' && s.in == 0 && s.isTrajectory())
}

// hasNumbers reports whether a column besides the clock's has numbers.
func (s *shape) hasNumbers(c *clock) bool {
	for i := range s.stats {
		if (c == nil || i != c.column && i != c.low) && s.stats[i].numbers > 0 && !s.stats[i].text() {
			return true
		}
	}
	return false
}

// isTrajectory reports whether the columns are a time, a position and a quaternion with the scalar last.
func (s *shape) isTrajectory() bool {
	if len(s.names) != 8 {
		return false
	}
	columns := make([]dataset.Column, 8)
	for i := range columns {
		columns[i].Name = s.names[i]
	}
	texttable.MarkRotations(columns)
	return columns[4].Rotation == dataset.RotationXYZW
}

// named reports whether a text of a file that is called as tables are can be one: rows of numbers, or only the beginning of a header with a clock.
func named(head []byte, whole bool) bool {
	if s := look(head, whole); s != nil {
		return 3*s.broken <= s.rows && (s.hasNumbers(nil) || s.header && s.rows == 0 && slices.ContainsFunc(s.names, isClockName))
	}
	if whole || texttable.HeadOf(head, true, "") == nil {
		return false
	}
	for _, sep := range []byte(separators[:3]) {
		isClock := func(w []byte) bool { return isClockName(strings.TrimLeft(string(w), comments)) }
		if names := split(head, sep); len(names) > 8 && slices.ContainsFunc(names, isClock) {
			return true
		}
	}
	return false
}

func isClockName(name string) bool {
	_, _, ok := clockname.Of(splitUnit(name))
	return ok
}
