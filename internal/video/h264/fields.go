package h264

import (
	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

const codec = "H.264"

func invalid(element string, got int) error {
	return &picture.InvalidError{Codec: codec, Element: element, Got: int64(got)}
}

func unsupported(f picture.Feature, got int) error {
	return &picture.UnsupportedError{Codec: codec, Feature: f, Got: got}
}

// fields reads syntax elements and checks their range. After the first error all reads return 0.
type fields struct {
	bits *bitstream.Reader
	err  error
}

// newFields returns a NAL unit's fields after its first byte.
func newFields(unit []byte) *fields { return &fields{bits: bitstream.NewReader(unit, 1)} }

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// checked returns v, or 0 after an error.
func (f *fields) checked(element string, v, least, most int) int {
	if err := f.bits.Err(); err != nil {
		f.fail(&picture.InvalidError{Codec: codec, Element: element, Err: err})
	} else if v < least || v > most {
		f.fail(invalid(element, v))
	}
	if f.err != nil {
		return 0
	}
	return v
}

func (f *fields) number(element string, bits int) int {
	return f.checked(element, int(f.bits.Bits(bits)), 0, 1<<bits)
}

func (f *fields) flag(element string) bool { return f.number(element, 1) == 1 }

func (f *fields) ue(element string, most int) int {
	return f.checked(element, int(f.bits.UE()), 0, most)
}

func (f *fields) se(element string, least, most int) int {
	return f.checked(element, int(f.bits.SE()), least, most)
}

// more reports whether elements remain before the trailing bits.
func (f *fields) more() bool { return f.err == nil && f.bits.More() }
