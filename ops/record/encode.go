package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// An encoded plan consists of the magic, the header's length in 4 bytes, the payload's length in 8 bytes (least significant first), the
// header, and the payload.
const (
	magic  = "RCEP"
	prefix = len(magic) + 4 + 8
)

// FormatError reports that bytes are not an encoded plan. What is the reason.
type FormatError struct {
	What string
	Err  error // the JSON error, if the JSON is bad
}

func (e *FormatError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("record: not an exported plan: %s: %v", e.What, e.Err)
	}
	return "record: not an exported plan: " + e.What
}

func (e *FormatError) Unwrap() error { return e.Err }

// VersionError reports that a plan has another version of the format.
type VersionError struct{ Got, Want int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("record: the exported plan is of version %d, and this program has version %d", e.Got, e.Want)
}

// Header returns the plan without its payload, as JSON.
func (p *Plan) Header() []byte {
	header, err := json.Marshal(p)
	if err != nil {
		panic(err) // a struct of numbers and strings never fails
	}
	return header
}

// Encode returns the plan as bytes. Equal plans give equal bytes.
func (p *Plan) Encode() []byte {
	header := p.Header()
	out := make([]byte, 0, prefix+len(header)+len(p.Payload))
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(header)))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(p.Payload)))
	return append(append(out, header...), p.Payload...)
}

// Decode reads bytes from Encode. The error is a *[FormatError] or a *[VersionError]. It also checks that the plan is
// consistent: every number and range in the result refers to something that exists.
func Decode(data []byte) (*Plan, error) {
	if len(data) < prefix || string(data[:len(magic)]) != magic {
		return nil, &FormatError{What: "it does not begin as one"}
	}
	header, payload := uint64(binary.LittleEndian.Uint32(data[len(magic):])), binary.LittleEndian.Uint64(data[len(magic)+4:])
	if rest := uint64(len(data) - prefix); header > rest || payload != rest-header {
		return nil, &FormatError{What: fmt.Sprintf("%d bytes, and it says %d of header and %d of payload", rest, header, payload)}
	}
	p, err := parse(data[prefix:][:header])
	if err != nil {
		return nil, err
	}
	if p.Payload = bytes.Clone(data[prefix+int(header):]); len(p.Payload) == 0 {
		p.Payload = nil
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if !bytes.Equal(p.Header(), data[prefix:][:header]) { // rejects lists that are too long, repeated names, and spaces
		return nil, &FormatError{What: "its header is not as it is written"}
	}
	return p, nil
}

// parse reads a header: first only the version, then all fields.
func parse(header []byte) (*Plan, error) {
	var of struct {
		Version *int `json:"version"`
	}
	switch err := json.Unmarshal(header, &of); {
	case err != nil:
		return nil, &FormatError{"its header", err}
	case of.Version == nil:
		return nil, &FormatError{What: "its header has no version"}
	case *of.Version != Version:
		return nil, &VersionError{*of.Version, Version}
	}
	d := json.NewDecoder(bytes.NewReader(header))
	d.DisallowUnknownFields()
	p := &Plan{}
	if err := d.Decode(p); err != nil {
		return nil, &FormatError{"its header", err}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &FormatError{What: "there is something behind its header"}
	}
	return p, nil
}
