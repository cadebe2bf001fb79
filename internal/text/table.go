package text

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table is a tabwriter for tables with a heading. If its output is a terminal, tables that are too wide have their last column clipped, or leave columns
// out and name them.
type Table struct {
	bytes.Buffer
	to      io.Writer
	width   int // 0 is no limit
	flags   uint
	leaving []string
	left    []string // headings of the omitted columns
}

// NewTable returns a table that Flush writes to w. The output's method Width() int, if it has one, returns the limit; 0 is none. flags are those
// of package tabwriter. leaving are the headings with columns that are left out first.
func NewTable(w io.Writer, flags uint, leaving ...string) *Table {
	t := &Table{to: w, flags: flags, leaving: leaving}
	if s, is := w.(interface{ Width() int }); is {
		t.width = s.Width()
	}
	return t
}

// Flush writes the tables. Lines without tabs are between them, as they are.
func (t *Table) Flush() error {
	lines := strings.SplitAfter(t.String(), "\n")
	w := tabwriter.NewWriter(t.to, 0, 0, gap, ' ', t.flags)
	for len(lines) > 0 {
		n := max(1, slices.IndexFunc(append(lines, ""), func(line string) bool { return !strings.Contains(line, "\t") }))
		if _, err := io.WriteString(w, strings.Join(t.fit(lines[:n]), "")); err != nil {
			return err
		}
		lines = lines[n:]
	}
	if len(t.left) > 0 {
		fmt.Fprintf(w, "--wide also shows: %s\n", strings.Join(t.left, ", "))
	}
	t.Reset()
	return w.Flush()
}

const (
	gap     = 2  // between columns
	legible = 10 // the least width of a clipped column
)

// fit returns a table's lines within the width.
func (t *Table) fit(lines []string) []string {
	rows, widths := make([][]string, len(lines)), []int{}
	for i, line := range lines {
		rows[i] = strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for k, cell := range rows[i] {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	total := func() (n int) {
		for _, w := range widths {
			n += w + gap
		}
		return n - gap
	}
	if t.width == 0 || len(widths) < 2 || total() <= t.width {
		return lines
	}
	clip := func(k int) {
		widths[k] = max(legible, widths[k]-(total()-t.width))
		for _, row := range rows {
			if k < len(row) {
				row[k] = Clip(row[k], widths[k])
			}
		}
	}
	heads, end, tail := slices.Clone(rows[0]), len(widths)-1, "\n"
	if widths[end] == 0 { // each line ends in a tab
		end--
	}
	for total() > t.width {
		if end == len(widths)-1 && total()-widths[end]+legible <= t.width {
			clip(end)
			break
		}
		if end < 2 {
			clip(0)
			break
		}
		k := end
		if i := slices.IndexFunc(t.leaving, func(name string) bool { return slices.Index(rows[0], name) > 0 }); i >= 0 {
			k = slices.Index(rows[0], t.leaving[i])
		}
		if k == len(widths)-1 && t.flags&tabwriter.AlignRight != 0 {
			tail = "\t\n" // aligns the column that is the last now
		}
		for i, row := range rows {
			if k < len(row) {
				rows[i] = slices.Delete(row, k, k+1)
			}
		}
		widths, end = slices.Delete(widths, k, k+1), end-1
	}
	for i, row := range rows {
		lines[i] = strings.Join(row, "\t") + tail
	}
	for _, head := range heads {
		if !slices.Contains(rows[0], head) && !slices.Contains(t.left, head) {
			t.left = append(t.left, strings.TrimSpace(head))
		}
	}
	return lines
}
