package align

import (
	"fmt"
	"strings"
	"time"

	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/planorigin"
)

// said reports whether the plan file has a key for a stream, even if its value is zero.
func (p *Plan) said(stream int, key string) bool {
	if p.origin == nil {
		return false
	}
	_, ok := p.origin.Values[fmt.Sprintf("streams[%d].%s", p.placeOf(stream), key)]
	return ok
}

// OffsetOf returns a stream's clock offset: its own, even if a plan file sets it to 0, or else the one in Defaults.
func (p *Plan) OffsetOf(stream int) time.Duration {
	if own := p.Streams[stream].Offset; own != 0 || p.said(stream, "offset") {
		return own
	}
	return p.Defaults.Offset
}

// Key returns the plan file's key for a field of Streams[stream], for example "streams[0].kind". If only the defaults have the
// field, it returns their key, "defaults.kind".
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

// Mistake returns the error for a key, for example "windows.action", with its line and column if the plan comes from a file.
func (p *Plan) Mistake(key, got, want string) *PlanError {
	e := &PlanError{Key: key, Got: got, Want: want}
	if o := p.origin; o != nil {
		e.Path = o.Path
		e.Line, e.Column = o.Place(key)
	}
	return e
}

// At wraps err in a *clocks.InPlanError with the line and column of a key of Streams[stream]. It returns err itself if the plan
// does not come from a file, or the file lacks the key.
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
	if at, named := o.Keys[full]; named && strings.Contains(key, ".") { // the mistake is in the name of the column
		line, column = at[0], at[1]
	}
	return &clocks.InPlanError{Path: o.Path, Line: line, Column: column, Err: err}
}

// SetOrigin sets the lines and columns of the keys in the plan file, for error messages. Package planfile calls it.
func (p *Plan) SetOrigin(o *planorigin.Origin) { p.origin = o }
