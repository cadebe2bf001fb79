package video

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/robocache/robocache/tensor"
)

// Stream is an encoded video, as far as the choice of a decoder depends on it.
type Stream struct {
	Codec  string // as in Job
	Config []byte // the body of the file's avcC, hvcC or av1C box; nil if the packets contain the parameters
	// Device is the name of a device, such as "cuda:0", whose memory may hold the pictures. "" means that they must be in host memory.
	Device string
	// Wanted reports whether a packet's picture is wanted. A driver may show other pictures without their samples. nil means all.
	Wanted func(number int64) bool
}

// Decoder decodes the packets of a stream in decoding order. Its methods must not be called concurrently.
type Decoder interface {
	// Decode decodes a packet with a number, and calls show for each picture that becomes ready, with its packet's number. After an
	// error only Close may be called. If the error is a *Refusal, the packets have a feature that the stream's Config does not show, and
	// another kind of decoder may decode them.
	Decode(packet []byte, number int64, show Show) error
	// Flush calls show for the pictures that are left after the last packet. The next packet must be one where decoding can begin.
	Flush(show Show) error
	Close() error
}

// Show receives a picture. Its memory is valid until Show returns. If the packet has no picture, p is nil, and err is the reason: one of
// the errors below, or the packet's own error.
type Show func(number int64, p *Planes, err error) error

// Reasons for a packet without a picture.
var (
	ErrNoPicture   = errors.New("the packet has no picture")
	ErrHidden      = errors.New("the picture is not meant to be shown")
	ErrUndecodable = errors.New("the picture refers to absent or damaged pictures")
	ErrDamaged     = errors.New("the decoder found damage in the picture")
)

// Planes is a decoded picture: luma, and two chroma planes that may be smaller.
type Planes struct {
	Width, Height int
	Bits          int // 8, or more if samples are 16-bit words, low byte first
	Shift         int // a sample of more than 8 bits is word >> Shift
	Layout        Layout
	Data          [3][]byte // Gray has the first one only
	Stride        [3]int    // bytes between rows
	// Memory is set if the picture is on a device. Data is then nil, and plane i begins at byte Start[i].
	Memory    tensor.Buffer
	Start     [3]int
	Matrix    uint8 // the colour matrix in ITU-T H.273; 2 if the stream does not state it
	FullRange bool
}

// Layout is the size of the chroma planes.
type Layout uint8

const (
	Gray   Layout = iota // no chroma
	YUV420               // half the width and height, rounded up
	YUV422               // half the width, rounded up
	YUV444               // equal sizes
	NV12                 // as YUV420, with alternating samples of both chroma planes in Data[1]
)

// Driver opens decoders of one kind.
type Driver struct {
	Name    string
	Library string // the package with its shared library, such as "libdav1d"; "" if there is none
	// Open returns a decoder for a stream, or a *Refusal if this machine or this kind of decoder cannot decode it.
	Open func(s Stream) (Decoder, error)
}

// Refusal means that a driver does not decode a stream, so that another one may.
type Refusal struct {
	Driver string
	Reason Reason
	Err    error  // may be nil
	Cure   string // as in Absent, if it is not the driver's own library that is missing
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Driver, r.Reason) }

func (r *Refusal) Unwrap() error { return r.Err }

// Reason is a refusal's reason.
type Reason string

const (
	NoLibrary  Reason = "no library"  // Err names the files that were tried
	OldLibrary Reason = "old library" // or one that is too new
	NoProgram  Reason = "no program"
	NoDecoder  Reason = "no decoder" // in this version of ffmpeg
	OtherCodec Reason = "other codec"
	Feature    Reason = "feature" // Err is a *picture.UnsupportedError
	Invalid    Reason = "invalid" // Err is a *picture.InvalidError; another driver may read the stream nevertheless
	NoDevice   Reason = "no device"
	Limits     Reason = "limits"     // beyond the device's sizes, or a bit depth that it lacks
	NoSession  Reason = "no session" // all are in use
)

var drivers struct {
	sync.Mutex
	list []Driver
}

// Register adds a driver. A stream is offered to the drivers in the order of their names.
func Register(d Driver) {
	drivers.Lock()
	defer drivers.Unlock()
	at, there := slices.BinarySearchFunc(drivers.list, d.Name, func(d Driver, name string) int { return cmp.Compare(d.Name, name) })
	if there {
		panic("video: the driver " + d.Name + " is registered twice")
	}
	drivers.list = slices.Insert(drivers.list, at, d)
}

func registered() []Driver {
	drivers.Lock()
	defer drivers.Unlock()
	return slices.Clone(drivers.list)
}

// Size returns the width and height of a plane: 0 is luma, 1 and 2 are chroma.
func (p *Planes) Size(plane int) (width, height int) {
	width, height = p.Width, p.Height
	if plane > 0 {
		switch p.Layout {
		case Gray:
			return 0, 0
		case YUV420:
			width, height = (width+1)/2, (height+1)/2
		case NV12:
			if plane == 2 {
				return 0, 0
			}
			width, height = (width+1)/2*2, (height+1)/2
		case YUV422:
			width = (width + 1) / 2
		}
	}
	return width, height
}
