package picture

import "encoding/binary"

// Offsets in Params of int32 values, unless stated.
const (
	WidthInMacroblocks  = 0
	HeightInMacroblocks = 4
	Surface             = 8 // where the picture is decoded to
	DataSize            = 24
	DataAddress         = 32 // uint64
	SliceCount          = 40
	SliceAddress        = 48 // uint64, of an array of uint32 offsets in the data
	IsReference         = 56
	IsIntra             = 60
	Codec               = 184 // the codec's own parameters
	Size                = 4280
)

// Params are a picture's parameters. The addresses are zero until the decoder sets them.
type Params [Size]byte

// Put sets an int32.
func (p *Params) Put(at int, v int) { binary.NativeEndian.PutUint32(p[at:], uint32(int32(v))) }

// PutFlag sets an int32 to 1 or 0.
func (p *Params) PutFlag(at int, v bool) {
	p[at] = 0
	if v {
		p.Put(at, 1)
	}
}

// Int returns an int32.
func (p *Params) Int(at int) int { return int(int32(binary.NativeEndian.Uint32(p[at:]))) }

// Picture is a picture to decode.
type Picture struct {
	Params Params
	Data   []byte   // the slices, each after a start code 00 00 01
	Slices []uint32 // the offsets of the start codes
	Format *Format  // of its sequence; the same pointer until the format changes
	// Undecodable means that the picture refers to absent pictures: it comes before the first key frame, or it leads an open group after an
	// absent group. A decoder must not show it.
	Undecodable bool
	Hidden      bool // not meant to be shown
	// A recovery is the pictures from a message to its recovery point. Recoveries is the number of recoveries that began before this
	// picture or at it. After is the number of recoveries with their point before this picture or at it. Damage in a picture with fewer
	// Recoveries than After does not matter here. A picture that leads a point has the numbers from before the point's recovery.
	Recoveries, After int
}

// Format is the format that consecutive pictures share.
type Format struct {
	Width, Height int      // coded, in pixels
	Crop          [4]int   // the visible part: left, top, right, bottom
	Bits          int      // a sample: 8, 10 or 12
	Surfaces      int      // least number for the decoder: the reference pictures and the current one
	Colour        [3]uint8 // primaries, transfer, matrix as in ITU-T H.273; 2 if the stream does not state them
	FullRange     bool
}

// Feature is a stream's property that the parsers do not read.
type Feature string

const (
	Interlaced  Feature = "interlaced"
	Profile     Feature = "profile"
	BitDepth    Feature = "bit depth"
	Chroma      Feature = "chroma format"
	SliceGroups Feature = "slice groups" // flexible macroblock order
	Layers      Feature = "layers"       // scalable or multi-view
	Extension   Feature = "extension"    // range or screen content extensions
	Resolution  Feature = "resolution"   // beyond the codec's greatest level
	Tiles       Feature = "tiles"        // smaller than the profile allows
)

// UnsupportedError is the error for a valid stream with a feature that the parsers do not read. Got is the feature's value.
type UnsupportedError struct {
	Codec   string
	Feature Feature
	Got     int
}

func (e *UnsupportedError) Error() string {
	return "unsupported " + e.Codec + " feature: " + string(e.Feature)
}

// InvalidError is the error for a packet that breaks the codec's rules. Element is the syntax element's name in the standard.
type InvalidError struct {
	Codec   string
	Element string
	Got     int64
	Err     error // bitstream.ErrShort if the packet ends too early
}

func (e *InvalidError) Error() string { return "invalid " + e.Codec + " " + e.Element }

func (e *InvalidError) Unwrap() error { return e.Err }
