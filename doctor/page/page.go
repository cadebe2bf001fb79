package page

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/text"
)

// head is the page up to its body, in which TITLE stands for the title. The body is written without html/template, which calls methods by their names:
// with it the linker keeps every method of every type, a quarter of the program.
//
//go:embed page.html
var head string

// group is the findings of one kind on the page.
type group struct {
	kind     doctor.Kind
	severity doctor.Severity // the worst
	count    int
	findings []int // places in the report
}

// Write writes a report as one page, which needs no network and no other file. Findings are grouped by kind, the most severe first,
// with pictures for the first findings of each kind and stream. Findings with a Note show its sentence from package notetext.
func Write(w io.Writer, r *doctor.Report) error {
	groups := map[doctor.Kind]*group{}
	for i := range r.Findings {
		f := &r.Findings[i]
		g := groups[f.Kind]
		if g == nil {
			g = &group{kind: f.Kind, severity: f.Severity}
			groups[f.Kind] = g
		}
		if f.Severity.AtLeast(g.severity) {
			g.severity = f.Severity
		}
		g.count += f.Count
		g.findings = append(g.findings, i)
	}
	var list []*group
	for _, severity := range doctor.Severities() {
		for _, k := range doctor.Kinds() {
			if g := groups[k]; g != nil && g.severity == severity {
				list = append(list, g)
			}
		}
	}
	_, err := io.WriteString(w, render(r, list))
	return err
}

// render returns the text of the page, in which all names and sentences are escaped.
func render(r *doctor.Report, groups []*group) string {
	var b strings.Builder
	put := func(format string, args ...any) {
		for i, a := range args {
			args[i] = html.EscapeString(fmt.Sprint(a))
		}
		fmt.Fprintf(&b, format, args...)
	}
	c := &r.Checked
	var titles []string
	for _, s := range c.Paths {
		titles = append(titles, s.Name)
	}
	b.WriteString(strings.Replace(head, "TITLE", html.EscapeString(strings.Join(titles, ", ")), 1))
	b.WriteString(`<h1 id="verdict">`)
	if len(r.Findings) == 0 {
		put(`<span class="good">Nothing found</span>`)
	} else {
		for i, n := range r.Tally() {
			class := n.Severity
			if n.Count == 0 {
				class = "soft"
			}
			put(`%s<span class="%s">%s</span>`, ", "[:min(2*i, 2)], class, n)
		}
	}
	b.WriteString("</h1>\n<p class=\"soft\">")
	for _, s := range c.Paths {
		put("%s (%s, %s)", s.Name, s.Format, text.Count(s.Episodes, "episode"))
		if s.Path != "" {
			put(`: %s; <code>robocache view %s</code> shows it`, s.Path, quoted(s.Path))
		}
		put("<br>")
	}
	put("\nLooked at %s, %s of %s and %s, for %s kinds of fault", text.Count(c.Episodes, "episode"), text.Count(c.Streams, "stream"),
		text.Count(c.Samples, "sample"), text.Count(c.Frames, "frame"), fmt.Sprint(len(c.Kinds)))

	if c.Unread > 0 {
		put(`; <span class="error">%s could not be read</span>`, text.Count(c.Unread, "episode"))
	}
	if c.Unlisted > 0 {
		put("; %s more of the same are not listed", text.Count(c.Unlisted, "finding"))
	}
	many := len(groups) > 0 && c.Episodes+c.Unread > 1
	if many {
		put(`. <a href="#episodes">Findings by episode</a>`)
	}
	put(".</p>\n")
	if len(groups) > 0 {
		put("<table>\n<tr><th>kind</th><th>severity</th><th>findings</th><th>occurrences</th></tr>\n")
		for _, g := range groups {
			put(`<tr><td><a href="#%s">%s</a></td><td class="%s">%s</td><td class="number">%s</td><td class="number">%s</td></tr>`+"\n",
				g.kind, g.kind, g.severity, g.severity, fmt.Sprint(len(g.findings)), fmt.Sprint(g.count))
		}
		put("</table>\n")
	}
	for _, g := range groups {
		put(`<details open id="%s"><summary><h2 class="%s">%s</h2></summary>`+"\n", g.kind, g.severity, g.kind)
		advised := map[string]bool{} // a remedy is written at its first finding
		for _, i := range g.findings {
			f := &r.Findings[i]
			put(`<article class="finding" data-kind="%s" id="finding-%s">`+"\n<h3>", f.Kind, fmt.Sprint(i))
			put("%s", f.Where())
			if who := text.Names(f.Streams); who != "" {
				put(", %s", who)
			}
			if len(f.Columns) > 0 {
				put(` <span class="soft">(%s)</span>`, text.List(f.Columns, mostNames))
			}
			put("</h3>\n<p>%s.</p>\n", why(f))
			if f.WhatToDo != "" && !advised[f.WhatToDo] {
				advised[f.WhatToDo] = true
				put(`<p class="soft">%s</p>`+"\n", f.WhatToDo)
			}
			if f.Plot != nil {
				b.WriteString(svg(f)) // its texts are already escaped
				if others := undrawn(f); len(others) > 0 {
					put(`<p class="when">not drawn: %s</p>`+"\n", text.Names(others))
				}
			}
			if times := when(f); times != "" {
				put(`<p class="when">%s</p>`+"\n", times)
			}
			put("</article>\n")
		}
		put("</details>\n")
	}
	if many {
		episodes(r, put)
	}
	put("</body>\n</html>\n")
	return b.String()
}

// undrawn returns the streams without a line in the picture of a finding about several. A line or the axis has a stream's name.
func undrawn(f *doctor.Finding) []string {
	if len(f.Streams) < 2 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.Streams), func(s string) bool {
		return s == f.Plot.Y || slices.ContainsFunc(f.Plot.Lines, func(l doctor.Line) bool { return l.Name == s })
	})
}

// episodes writes the index: the episodes that have findings, with links to these.
func episodes(r *doctor.Report, put func(format string, args ...any)) {
	var places []int
	for i := range r.Findings {
		places = append(places, i)
	}
	where := func(i *int) string {
		f := &r.Findings[*i]
		if len(r.Checked.Paths) > 1 {
			return f.Path + ": " + f.Where()
		}
		return f.Where()
	}
	put("<details open id=\"episodes\"><summary><h2>Episodes with findings</h2></summary>\n<ul>\n")
	for _, list := range dataset.Grouped(places, where) {
		put("<li>%s: ", where(&list[0]))
		for _, i := range list {
			f := &r.Findings[i]
			put(`<a class="%s" href="#finding-%s">%s</a> `, f.Severity, fmt.Sprint(i), f.Kind)
		}
		if f := &r.Findings[list[0]]; f.Path != "" && f.Episode != doctor.Whole {
			put("<br><code>robocache view %s <nobr>--episode %s</nobr></code>", quoted(f.Path), fmt.Sprint(f.Episode))
		}
		put("</li>\n")
	}
	put("</ul>\n</details>\n")
}

// quoted returns a path as an argument for a shell.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t'\"$&;()<>*?[]`\\|!#~") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// why returns the sentence of a finding: that of its note if it has one.
func why(f *doctor.Finding) string {
	if f.Note != nil {
		return notetext.Line(*f.Note)
	}
	return f.Why
}

const (
	mostNames = 4  // columns that a heading names before it counts the others
	mostTimes = 12 // times of a finding that the page has in words
)

// when returns the times of a finding in seconds on the axis of its picture, and the time at which the axis begins; empty if it has no times.
func when(f *doctor.Finding) string {
	if len(f.At) == 0 {
		return ""
	}
	at := f.At
	if len(f.Streams) > 1 { // which have nearly the same times
		at = nil
		for _, p := range f.Places() {
			at = append(at, p.From)
		}
	}
	var list []string
	for _, t := range at[:min(len(at), mostTimes)] {
		list = append(list, seconds(t-f.Start))
	}
	when := "at " + strings.Join(list, ", ")
	if len(at) > mostTimes {
		when += ", …"
	}
	if f.Start != 0 {
		when += "; 0 s is " + moment(f.Start)
	}
	return when
}

// moment writes a time on a recording's clock for a person: a date if it is one of this century, else seconds.
func moment(ns int64) string {
	const from2000, until2100 = 946_684_800e9, 4_102_444_800e9
	if float64(ns) > from2000 && float64(ns) < until2100 {
		return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000000") + " UTC"
	}
	return seconds(ns) + " on the recording's clock"
}

// seconds writes a length of time with up to six decimals.
func seconds(ns int64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(float64(ns)/1e9, 'f', 6, 64), "0"), ".") + " s"
}
