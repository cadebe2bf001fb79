package align

import (
	"fmt"
	"strings"
	"time"

	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/planorigin"
)

// said reports whether a plan that was read from a file has a key of a stream, be its value the zero one.
func (p *Plan) said(stream int, key string) bool {
	if p.origin == nil {
		return false
	}
	_, ok := p.origin.Values[fmt.Sprintf("streams[%d].%s", p.placeOf(stream), key)]
	return ok
}

// OffsetOf is the offset of a stream: its own, which a file may say is 0, else that of the defaults.
func (p *Plan) OffsetOf(stream int) time.Duration {
	if own := p.Streams[stream].Offset; own != 0 || p.said(stream, "offset") {
		return own
	}
	return p.Defaults.Offset
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
		_, said := o.Values[own]
		if _, other := o.Values[of]; other && !said {
			return of
		}
	}
	return own
}

// Mistake is a mistake in what the plan has at a key, such as "windows.action", with its place if the plan was read from a file.
func (p *Plan) Mistake(key, got, want string) *PlanError {
	e := &PlanError{Key: key, Got: got, Want: want}
	if o := p.origin; o != nil {
		e.Path = o.Path
		e.Line, e.Column = o.Place(key)
	}
	return e
}

// At returns an error as a *clocks.InPlanError, with the place in the plan's file of what is said of a stream, by its place in Streams; the error itself,
// if the plan was read from none, or does not say it.
func (p *Plan) At(stream int, key string, err error) error {
	full := p.Key(stream, key)
	o := p.origin
	if o == nil {
		return err
	}
	if _, said := o.Values[full]; !said && strings.HasPrefix(full, "defaults.") {
		return err
	}
	line, column := o.Place(full)
	if at, named := o.Keys[full]; named && strings.Contains(key, ".") { // what is said of a column is wrong for its name
		line, column = at[0], at[1]
	}
	return &clocks.InPlanError{Path: o.Path, Line: line, Column: column, Err: err}
}

// SetOrigin sets the places of the keys in the file that the plan was read from, which its errors have. Package planfile calls it.
func (p *Plan) SetOrigin(o *planorigin.Origin) { p.origin = o }
