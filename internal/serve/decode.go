package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// RequestError is a malformed request. Arg is the path of the field: "request.options.edge".
type RequestError struct{ Arg, Got, Want string }

func (e *RequestError) Error() string {
	s := "request: "
	if e.Arg != "" {
		s += e.Arg + ": "
	}
	s += "got " + e.Got
	if e.Want != "" {
		s += ", want " + e.Want
	}
	return s
}

// Decode reads the request into a struct that begins with [Do]. It returns an error if the request has a field that the struct does not
// have.
func (r *Request) Decode(v any) error { return decode(r.JSON, v) }

// decode reads an object strictly. It returns an error if a number does not fit its field exactly.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return malformed(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return &RequestError{Got: "more after the object", Want: "one object"}
	}
	return nil
}

// malformed returns the *RequestError for an error of encoding/json.
func malformed(err error) error {
	var kind *json.UnmarshalTypeError
	var own *RequestError
	switch name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); {
	case errors.As(err, &own):
		return own
	case unknown:
		return &RequestError{Arg: strings.Trim(name, `"`), Got: "a field that is not known"}
	case errors.As(err, &kind):
		return &RequestError{Arg: kind.Field, Got: kind.Value, Want: fmt.Sprint("a value for ", kind.Type)}
	}
	return &RequestError{Got: "no JSON object: " + err.Error()}
}
