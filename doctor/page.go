package doctor

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg":     func(p *plot) template.HTML { return template.HTML(p.svg()) }, // whose texts are escaped there
	"plural":  count,
	"columns": names,
}).Parse(pageText))

// pageGroup is the findings of one kind on the page.
type pageGroup struct {
	Kind     Kind
	Severity Severity // the worst
	Count    int
	Findings []pageFinding
}

type pageFinding struct {
	Finding
	Plot *plot
}

// WriteHTML writes the report as a page of its own, which needs no network and no other file: the findings by kind, the worst first, with pictures of the
// first of each kind and stream.
func (r *Report) WriteHTML(w io.Writer) error {
	data := struct {
		*Report
		Errors, Warnings int
		Groups           []*pageGroup
		Clean            bool
	}{Report: r, Errors: r.Count(Error), Clean: len(r.Findings) == 0}
	data.Warnings = len(r.Findings) - data.Errors
	groups := map[Kind]*pageGroup{}
	for _, f := range r.Findings {
		g := groups[f.Kind]
		if g == nil {
			g = &pageGroup{Kind: f.Kind, Severity: f.Severity}
			groups[f.Kind] = g
		}
		if f.Severity == Error {
			g.Severity = Error
		}
		g.Count += f.Count
		g.Findings = append(g.Findings, pageFinding{f, f.drawn})
	}
	for _, severity := range []Severity{Error, Warning} {
		for _, k := range Kinds() {
			if g := groups[k]; g != nil && g.Severity == severity {
				data.Groups = append(data.Groups, g)
			}
		}
	}
	return page.Execute(w, data)
}

// mostTold is how many of a finding's times the page has in words.
const mostTold = 12

// When says when it is there, in seconds of its picture's axis, and what time the axis begins at; empty where it has no time.
func (f pageFinding) When() string {
	if len(f.At) == 0 {
		return ""
	}
	var list []string
	for _, t := range f.At[:min(len(f.At), mostTold)] {
		list = append(list, seconds(t-f.zero))
	}
	when := "at " + strings.Join(list, ", ")
	if len(f.At) > mostTold {
		when += ", …"
	}
	if f.zero != 0 {
		when += "; 0 s is " + moment(f.zero)
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

func seconds(ns int64) string {
	return strings.TrimRight(strings.TrimRight(short2(float64(ns)/1e9), "0"), ".") + " s"
}
