package planfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/planorigin"
	ytext "github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
)

// Read reads a plan file: YAML, version 1. An unknown key, a wrong value or invalid YAML is an *align.PlanError with its line and
// column.
func Read(path string) (align.Plan, error) {
	text, err := fault.ReadFile(path)
	if err != nil {
		return align.Plan{}, err
	}
	return Parse(path, text)
}

// maxPlan limits a plan file, in bytes, because the parser's memory grows with it.
const maxPlan = 1 << 20

// maxDepth limits the nesting of a plan file, because the parser's memory grows with the square of the depth.
const maxDepth = 100

// Parse reads a plan file's text. path is for errors. They are the same as in Read.
func Parse(path string, text []byte) (align.Plan, error) {
	d := &decoder{path: path, at: map[string]ast.Node{}, keys: map[string]ast.Node{}}
	if len(text) > maxPlan {
		return align.Plan{}, &align.PlanError{Path: path, Got: fmt.Sprintf("%d bytes", len(text)), Want: fmt.Sprintf("a plan of at most %d", maxPlan)}
	}
	if n := ytext.Depth(text); n > maxDepth {
		return align.Plan{}, &align.PlanError{Path: path, Got: fmt.Sprintf("a nesting of %d: too deep", n), Want: fmt.Sprintf("at most %d", maxDepth)}
	}
	var file *ast.File
	err := caught.Do(func() (err error) { // the library panics on some unexpected input
		file, err = parser.ParseBytes(bytes.TrimPrefix(text, []byte("\ufeff")), 0) // the mark that some editors begin a file with
		return err
	})
	if err != nil {
		return align.Plan{}, d.syntax(err)
	}
	if len(file.Docs) == 0 || len(file.Docs) == 1 && file.Docs[0].Body == nil {
		return align.Plan{}, &align.PlanError{Path: path, Line: 1, Column: 1, Got: "nothing", Want: "a plan, with version and rate"}
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return align.Plan{}, &align.PlanError{Path: path, Line: 1, Column: 1, Got: fmt.Sprintf("%d documents", len(file.Docs)), Want: "one, with version and rate"}
	}
	p := d.plan(file.Docs[0].Body)
	if d.err != nil {
		return align.Plan{}, d.err
	}
	origin := newOrigin(path, d)
	p.SetOrigin(origin)
	err = p.Check()
	if err == nil {
		err = checkWindows(&p)
	}
	if err != nil {
		var e *align.PlanError
		if errors.As(err, &e) { // the value has a valid form, but Check refuses it
			e.Path = path
			e.Line, e.Column = origin.Place(e.Key)
		}
		return align.Plan{}, err
	}
	return p, nil
}

// newOrigin returns the line and column for each key that a decoder has read from a file.
func newOrigin(path string, d *decoder) *planorigin.Origin {
	o := &planorigin.Origin{Path: path, Values: map[string][2]int{}, Keys: map[string][2]int{}}
	for to, from := range map[*map[string][2]int]map[string]ast.Node{&o.Values: d.at, &o.Keys: d.keys} {
		for key, n := range from {
			line, column := position(n)
			(*to)[key] = [2]int{line, column}
		}
	}
	return o
}

// checkWindows returns an *align.PlanError for a window that no method in the plan can use, for any recording.
func checkWindows(p *align.Plan) error {
	windowed := func(kind string, kinds []align.ColumnKind) bool {
		one := func(kind string) bool {
			k, err := ops.ParseInterp(kind)
			return err == nil && kind != "" && k.Windowed()
		}
		return one(kind) || slices.ContainsFunc(kinds, func(k align.ColumnKind) bool { return one(k.Kind) })
	}
	wrong := func(key string, window ops.Limit) error {
		d, _ := window.Get()
		return &align.PlanError{Key: key, Got: d.String() + " without a method that looks at it", Want: "a method such as window-mean, or no window"}
	}
	defaults := windowed(p.Defaults.Kind, p.Defaults.Kinds)
	some := defaults
	for i := range p.Streams {
		s := &p.Streams[i]
		own := windowed(s.Kind, s.Kinds) || s.Kind == "" && windowed(p.Defaults.Kind, nil) || s.Kinds == nil && windowed("", p.Defaults.Kinds)
		if _, given := s.Window.Get(); given && !own {
			return wrong(fmt.Sprintf("streams[%d].window", i), s.Window)
		}
		some = some || own
	}
	if _, given := p.Defaults.Window.Get(); given && !some {
		return wrong("defaults.window", p.Defaults.Window)
	}
	return nil
}
