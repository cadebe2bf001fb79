package hevc

import (
	"math"

	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

const codec = "hevc"

func invalid(element string, got int) error {
	return &picture.InvalidError{Codec: codec, Element: element, Got: int64(got)}
}

func short(element string, got int) error {
	return &picture.InvalidError{Codec: codec, Element: element, Got: int64(got), Err: bitstream.ErrShort}
}

func unsupported(feature picture.Feature, got int) error {
	return &picture.UnsupportedError{Codec: codec, Feature: feature, Got: got}
}

// reader reads a NAL unit after its header. After the first error all reads return 0.
type reader struct {
	*bitstream.Reader
	failed error
}

func newReader(unit []byte) *reader { return &reader{Reader: bitstream.NewReader(unit, headerSize)} }

func (r *reader) fail(err error) {
	if r.failed == nil && r.Err() == nil {
		r.failed = err
	}
}

// check records an error unless a syntax element has a value that the standard allows.
func (r *reader) check(element string, value int, valid bool) {
	if !valid {
		r.fail(invalid(element, value))
	}
}

// err returns the first error. structure is the syntax structure that is read; Got is the bit where it ended too early.
func (r *reader) err(structure string) error {
	if r.failed == nil && r.Err() != nil {
		return short(structure, r.Pos())
	}
	return r.failed
}

func (r *reader) ranged(element string, value int64, least, most int) int {
	if value < int64(least) || value > int64(most) {
		r.fail(&picture.InvalidError{Codec: codec, Element: element, Got: value})
	}
	if r.failed != nil || r.Err() != nil {
		return 0
	}
	return int(value)
}

func (r *reader) flag() bool { return r.bits(1) == 1 }

func (r *reader) bits(n int) int {
	if r.failed != nil {
		return 0
	}
	return int(r.Bits(n))
}

func (r *reader) unsigned(element string, most int) int {
	return r.ranged(element, int64(r.UE()), 0, most)
}

func (r *reader) signed(element string, least, most int) int {
	return r.ranged(element, int64(r.SE()), least, most)
}

// ignored reads an unsigned Exp-Golomb code without limits.
func (r *reader) ignored() int { return r.unsigned("", math.MaxUint32) }

func flag(v bool) int {
	if v {
		return 1
	}
	return 0
}
