package nvdec

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/robocache/robocache/cudadrv"
)

// function is an index into functions.
type function int

const (
	getDecoderCaps function = iota
	createDecoder
	destroyDecoder
	reconfigureDecoder
	decodePicture
	mapVideoFrame
	unmapVideoFrame
	getDecodeStatus
	functionCount
)

var functions = [functionCount]string{
	"cuvidGetDecoderCaps", "cuvidCreateDecoder", "cuvidDestroyDecoder", "cuvidReconfigureDecoder",
	"cuvidDecodePicture", "cuvidMapVideoFrame64", "cuvidUnmapVideoFrame64", "cuvidGetDecodeStatus",
}

// Library is an open libnvcuvid. Its methods may be called from any goroutine.
type Library struct{ procs [functionCount]cudadrv.Proc }

// Open opens the driver's library for video. The environment variable ROBOCACHE_LIBNVCUVID may name another file. The error is a
// *cudadrv.LoadError that matches cudadrv.ErrNVDECMissing, or cudadrv.ErrNVDECLocked in a container without the capability video. If the
// library is too old, it has a Symbol.
func Open(d *cudadrv.Driver) (*Library, error) {
	table, err := d.NVDEC()
	if err != nil {
		return nil, err
	}
	l := &Library{}
	for f, name := range functions {
		p, there := table.Lookup(name, 0)
		if !there {
			lacks := errors.New("it lacks " + name + ", which driver 520 has")
			return nil, &cudadrv.LoadError{Kind: cudadrv.ErrNVDECMissing, Path: table.Path, Symbol: name, Err: lacks}
		}
		l.procs[f] = p
	}
	return l, nil
}

func (l *Library) call(ctx *cudadrv.Context, f function, args ...uintptr) error {
	return ctx.Call(functions[f], l.procs[f], args...)
}

// Codec is a compression format, as in the enumeration cudaVideoCodec.
type Codec int32

// The codecs that the engines decode and callers can parse.
const (
	H264 Codec = 4
	HEVC Codec = 8
)

func (c Codec) String() string {
	switch c {
	case H264:
		return "H.264"
	case HEVC:
		return "HEVC"
	}
	return fmt.Sprintf("codec %d", int32(c))
}

// Capabilities are the limits of a GPU's engines for a codec and a bit depth with 4:2:0 chroma. They are zero if the GPU cannot decode it.
type Capabilities struct {
	Engines                  int
	MinWidth, MinHeight      int // pixels
	MaxWidth, MaxHeight      int
	MaxMacroblocks           int // width times height, divided by 256
	OutputsNV12, OutputsP016 bool
}

// CUVIDDECODECAPS
const (
	capsSize     = 88
	capsCodec    = 0
	capsChroma   = 4
	capsBits     = 8
	capsIs       = 24 // a byte
	capsEngines  = 25 // a byte
	capsFormats  = 26 // 2 bytes
	capsMaxWidth = 28
	capsMax      = 36 // macroblocks
	capsMinWidth = 40 // 2 bytes each
)

const chroma420 = 1

// Capabilities returns the limits for a codec with samples of 8, 10 or 12 bits.
func (l *Library) Capabilities(ctx *cudadrv.Context, codec Codec, bits int) (Capabilities, error) {
	s := make([]byte, capsSize)
	put(s, capsCodec, int(codec))
	put(s, capsChroma, chroma420)
	put(s, capsBits, bits-8)
	if err := l.call(ctx, getDecoderCaps, cudadrv.Addr(s)); err != nil || s[capsIs] == 0 {
		return Capabilities{}, err
	}
	short := func(at int) int { return int(binary.NativeEndian.Uint16(s[at:])) }
	return Capabilities{
		Engines: int(s[capsEngines]), MinWidth: short(capsMinWidth), MinHeight: short(capsMinWidth + 2),
		MaxWidth: get(s, capsMaxWidth), MaxHeight: get(s, capsMaxWidth+4), MaxMacroblocks: get(s, capsMax),
		OutputsNV12: short(capsFormats)&1 != 0, OutputsP016: short(capsFormats)&2 != 0,
	}, nil
}

// LimitError means that the GPU's engines cannot decode a stream.
type LimitError struct {
	Codec         Codec
	Bits          int
	Width, Height int
	Limits        Capabilities // zero if no size is supported
}

func (e *LimitError) Error() string {
	text := fmt.Sprintf("nvdec: got %s with %d bits and %dx%d pixels, ", e.Codec, e.Bits, e.Width, e.Height)
	if l := e.Limits; l.Engines > 0 {
		return text + fmt.Sprintf("want an even size from %dx%d to %dx%d and at most %d macroblocks; ffmpeg has no such limit",
			l.MinWidth, l.MinHeight, l.MaxWidth, l.MaxHeight, l.MaxMacroblocks)
	}
	return text + "which this GPU does not decode; ffmpeg does"
}

// Unwrap returns cudadrv.ErrUnsupported.
func (e *LimitError) Unwrap() error { return cudadrv.ErrUnsupported }

// SessionError means that there is no memory for another decoder. Err is the driver's error.
type SessionError struct{ Err error }

func (e *SessionError) Error() string {
	return "nvdec: no memory for another decoder; close one, or lower Surfaces or MaxWidth and MaxHeight: " + e.Err.Error()
}

// Unwrap returns the driver's error.
func (e *SessionError) Unwrap() error { return e.Err }

func put(s []byte, at, v int) { binary.NativeEndian.PutUint32(s[at:], uint32(int32(v))) }

func putLong(s []byte, at int, v uint64) { binary.NativeEndian.PutUint64(s[at:], v) }

func get(s []byte, at int) int { return int(int32(binary.NativeEndian.Uint32(s[at:]))) }

func getLong(s []byte, at int) uint64 { return binary.NativeEndian.Uint64(s[at:]) }
