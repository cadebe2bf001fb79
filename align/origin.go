package align

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// origin is where in a file a plan's keys are: line and column.
type origin struct {
	path   string
	values map[string][2]int // of what keys have
	keys   map[string][2]int // of the keys themselves
}

func newOrigin(path string, d *decoder) *origin {
	o := &origin{path, map[string][2]int{}, map[string][2]int{}}
	for to, from := range map[*map[string][2]int]map[string]ast.Node{&o.values: d.at, &o.keys: d.keys} {
		for key, n := range from {
			line, column := position(n)
			(*to)[key] = [2]int{line, column}
		}
	}
	return o
}

// place returns where the value of a key is, or of the nearest key around it.
func (o *origin) place(key string) (line, column int) {
	for {
		if at, ok := o.values[key]; ok {
			return at[0], at[1]
		}
		i := strings.LastIndexAny(key, ".[")
		if i < 0 {
			return 1, 1
		}
		key = key[:i]
	}
}

// Key is the key that a file has for what is said of a stream, by its place in Streams: "streams[0].kind"; that of the defaults, where these say it
// and the stream does not.
func (p *Plan) Key(stream int, key string) string {
	place, of := p.placeOf(stream), "defaults."+key
	if stream >= len(p.Streams) || place < 0 { // the plan names none, or not this one
		return of
	}
	own := fmt.Sprintf("streams[%d].%s", place, key)
	if o := p.origin; o != nil {
		_, said := o.values[own]
		if _, other := o.values[of]; other && !said {
			return of
		}
	}
	return own
}

// Mistake is a mistake in what the plan has at a key, such as "windows.action", with its place if the plan was read from a file.
func (p *Plan) Mistake(key, got, want string) *PlanError {
	e := &PlanError{Key: key, Got: got, Want: want}
	if o := p.origin; o != nil {
		e.Path = o.path
		e.Line, e.Column = o.place(key)
	}
	return e
}

// At returns an error as an *InPlanError, with the place in the plan's file of what is said of a stream, by its place in Streams; the error itself,
// if the plan was read from none, or does not say it.
func (p *Plan) At(stream int, key string, err error) error {
	full := p.Key(stream, key)
	o := p.origin
	if o == nil {
		return err
	}
	if _, said := o.values[full]; !said && strings.HasPrefix(full, "defaults.") {
		return err
	}
	line, column := o.place(full)
	if at, named := o.keys[full]; named && strings.Contains(key, ".") { // what is said of a column is wrong for its name
		line, column = at[0], at[1]
	}
	return &InPlanError{Path: o.path, Line: line, Column: column, Err: err}
}
