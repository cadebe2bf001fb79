package nvdec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/video/picture"
)

// Config describes a decoder.
type Config struct {
	Codec               Codec
	Bits                int // 8, 10 or 12
	Width, Height       int // coded size in pixels
	MaxWidth, MaxHeight int // largest size for Reconfigure; 0 means Width and Height
	Surfaces            int // pictures that the decoder holds: 1 to 32
	Mapped              int // frames that may be mapped at once
}

const maxSurfaces = 32

// Decoder is a decoder on the GPU. Its methods may be called from any goroutine, and run one after another.
type Decoder struct {
	lib    *Library
	ctx    *cudadrv.Context
	limits Capabilities
	config Config
	mu     sync.Mutex
	h      uintptr
	mapped int
}

// CUVIDDECODECREATEINFO, with 8 bytes a field unless stated
const (
	createSize       = 176
	createWidth      = 0
	createHeight     = 8
	createSurfaces   = 16
	createCodec      = 24 // 4 bytes
	createChroma     = 28 // 4 bytes
	createFlags      = 32
	createBits       = 40
	createMaxWidth   = 56
	createMaxHeight  = 64
	createDisplay    = 80 // 4 numbers of 2 bytes: left, top, right, bottom
	createFormat     = 88 // 4 bytes
	createTarget     = 96
	createTargetHigh = 104
	createMapped     = 112
	preferEngines    = 4 // cudaVideoCreate_PreferCUVID
)

// NewDecoder creates a decoder. It takes about 40 ms. If the GPU's engines cannot decode such a stream, the error is a *[LimitError]. If
// memory is short, because many decoders are open, it is a *[SessionError]. The caller closes the decoder before the context.
func (l *Library) NewDecoder(ctx *cudadrv.Context, c Config) (*Decoder, error) {
	c.MaxWidth, c.MaxHeight = max(c.MaxWidth, c.Width), max(c.MaxHeight, c.Height)
	if c.Surfaces < 1 || c.Surfaces > maxSurfaces || c.Mapped < 1 {
		return nil, invalid("NewDecoder", "Surfaces and Mapped", fmt.Sprintf("%d and %d", c.Surfaces, c.Mapped),
			fmt.Sprintf("1 to %d surfaces, and 1 or more mapped", maxSurfaces))
	}
	limits, err := l.Capabilities(ctx, c.Codec, c.Bits)
	if err != nil {
		return nil, err
	}
	d := &Decoder{lib: l, ctx: ctx, limits: limits, config: c}
	if err := d.fits(c.Width, c.Height); err != nil {
		return nil, err
	}
	s := make([]byte, createSize)
	for at, v := range map[int]int{
		createWidth: c.Width, createHeight: c.Height, createTarget: c.Width, createTargetHigh: c.Height,
		createMaxWidth: c.MaxWidth, createMaxHeight: c.MaxHeight, createBits: c.Bits - 8,
		createSurfaces: c.Surfaces, createMapped: c.Mapped, createFlags: preferEngines,
	} {
		putLong(s, at, uint64(v))
	}
	put(s, createCodec, int(c.Codec))
	put(s, createChroma, chroma420)
	putSize(s, createDisplay, c.Width, c.Height)
	if c.Bits > 8 {
		put(s, createFormat, 1) // P016; 0 is NV12
	}
	h := make([]byte, 8)
	err = l.call(ctx, createDecoder, cudadrv.Addr(h), cudadrv.Addr(s))
	if errors.Is(err, cudadrv.ErrOutOfMemory) {
		err = &SessionError{err}
	}
	if err != nil {
		return nil, err
	}
	runtime.KeepAlive(s)
	d.h = uintptr(getLong(h, 0))
	return d, nil
}

func invalid(op, what, got, want string) error {
	return &cudadrv.ValueError{Op: op, What: what, Kind: cudadrv.ErrOption, Got: got, Want: want}
}

// fits checks a size.
func (d *Decoder) fits(width, height int) error {
	l := d.limits
	format := d.config.Bits == 8 && l.OutputsNV12 || d.config.Bits > 8 && l.OutputsP016
	if !format || width < l.MinWidth || height < l.MinHeight ||
		width > min(l.MaxWidth, d.config.MaxWidth) || height > min(l.MaxHeight, d.config.MaxHeight) ||
		width*height/256 > l.MaxMacroblocks || width%2 != 0 || height%2 != 0 {
		return &LimitError{Codec: d.config.Codec, Bits: d.config.Bits, Width: width, Height: height, Limits: l}
	}
	return nil
}

// putSize sets a rectangle that begins at 0: left, top, right and bottom as 2 bytes each.
func putSize(s []byte, at, width, height int) {
	binary.NativeEndian.PutUint16(s[at+4:], uint16(width))
	binary.NativeEndian.PutUint16(s[at+6:], uint16(height))
}

// CUVIDRECONFIGUREDECODERINFO, with 4 bytes a field
const (
	reconfigureSize    = 128
	reconfigureDisplay = 68
)

// Reconfigure changes the picture size, up to MaxWidth and MaxHeight, and the number of surfaces. No frame may be mapped. The pictures
// in the decoder are lost.
func (d *Decoder) Reconfigure(width, height, surfaces int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable("Reconfigure"); err != nil {
		return err
	}
	if d.mapped > 0 || surfaces < 1 || surfaces > maxSurfaces {
		return invalid("Reconfigure", "mapped frames and surfaces", fmt.Sprintf("%d and %d", d.mapped, surfaces),
			fmt.Sprintf("0 mapped, and 1 to %d surfaces", maxSurfaces))
	}
	if err := d.fits(width, height); err != nil {
		return err
	}
	s := make([]byte, reconfigureSize)
	for i, v := range []int{width, height, width, height, surfaces} {
		put(s, 4*i, v)
	}
	putSize(s, reconfigureDisplay, width, height)
	if err := d.lib.call(d.ctx, reconfigureDecoder, d.h, cudadrv.Addr(s)); err != nil {
		return err
	}
	runtime.KeepAlive(s)
	d.config.Width, d.config.Height, d.config.Surfaces = width, height, surfaces
	return nil
}

func (d *Decoder) usable(op string) error {
	if d.h == 0 {
		return &cudadrv.ClosedError{Op: op, What: "decoder"}
	}
	return nil
}

// surface checks a surface's number.
func (d *Decoder) surface(op string, n int) error {
	if err := d.usable(op); err != nil {
		return err
	}
	if n < 0 || n >= d.config.Surfaces {
		return invalid(op, "surface", fmt.Sprint(n), fmt.Sprintf("0 to %d", d.config.Surfaces-1))
	}
	return nil
}

// Decode queues a picture. The driver has read its bytes when Decode returns. It waits if the engine's queue is full.
func (d *Decoder) Decode(p *picture.Picture) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.surface("Decode", p.Params.Int(picture.Surface)); err != nil {
		return err
	}
	slices := make([]byte, 0, 4*len(p.Slices))
	for _, at := range p.Slices {
		slices = binary.NativeEndian.AppendUint32(slices, at)
	}
	s := p.Params[:]
	putLong(s, picture.DataAddress, uint64(cudadrv.Addr(p.Data)))
	putLong(s, picture.SliceAddress, uint64(cudadrv.Addr(slices)))
	put(s, picture.DataSize, len(p.Data))
	put(s, picture.SliceCount, len(p.Slices))
	err := d.lib.call(d.ctx, decodePicture, d.h, cudadrv.Addr(s))
	runtime.KeepAlive(slices)
	runtime.KeepAlive(p)
	return err
}

// Status is the state of a decoded picture, as in the enumeration cuvidDecodeStatus.
type Status int

// The states of a picture.
const (
	Invalid    Status = 0 // no picture was decoded there
	InProgress Status = 1
	Success    Status = 2
	Damaged    Status = 8 // the engine found an error
	Concealed  Status = 9 // the engine replaced damaged parts
)

const statusSize = 192

// Status returns the state of the picture on a surface.
func (d *Decoder) Status(surface int) (Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.surface("Status", surface); err != nil {
		return Invalid, err
	}
	s := make([]byte, statusSize)
	err := d.lib.call(d.ctx, getDecodeStatus, d.h, uintptr(surface), cudadrv.Addr(s))
	return Status(get(s, 0)), err
}

// Frame is a mapped frame: luma rows, then rows of alternating chroma samples, NV12 with 8 bits a sample or P016 with 16. In P016 the
// sample is in the high bits.
type Frame struct {
	Address cudadrv.DevicePtr
	Pitch   int // bytes between rows
	Height  int // luma rows; the chroma follows at Address + Pitch*Height
	decoder *Decoder
}

// CUVIDPROCPARAMS
const (
	processSize        = 264
	processProgressive = 0
	processStream      = 56 // 8 bytes
)

// Map waits for the picture on a surface and returns its frame. Later work on the stream may read the frame until Unmap. At most
// Config.Mapped frames are mapped at once.
func (d *Decoder) Map(surface int, s *cudadrv.Stream) (*Frame, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.surface("Map", surface); err != nil {
		return nil, err
	}
	if d.mapped == d.config.Mapped {
		return nil, invalid("Map", "mapped frames", fmt.Sprint(d.mapped+1), fmt.Sprintf("at most %d", d.config.Mapped))
	}
	process, out := make([]byte, processSize), make([]byte, 16)
	put(process, processProgressive, 1)
	err := s.Use("Map", func(h uintptr) error {
		putLong(process, processStream, uint64(h))
		at := cudadrv.Addr(out)
		return d.lib.call(d.ctx, mapVideoFrame, d.h, uintptr(surface), at, at+8, cudadrv.Addr(process))
	})
	runtime.KeepAlive(process)
	if err != nil {
		return nil, err
	}
	d.mapped++
	return &Frame{Address: cudadrv.DevicePtr(getLong(out, 0)), Pitch: get(out, 8), Height: d.config.Height, decoder: d}, nil
}

// Unmap ends the use of the frame. A second Unmap does nothing.
func (f *Frame) Unmap() error {
	d := f.decoder
	if d == nil {
		return nil
	}
	f.decoder = nil
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mapped--
	if d.h == 0 {
		return nil
	}
	return d.lib.call(d.ctx, unmapVideoFrame, d.h, uintptr(f.Address))
}

// Close destroys the decoder and its frames. A second Close does nothing.
func (d *Decoder) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.h == 0 {
		return nil
	}
	h := d.h
	d.h = 0
	return d.lib.call(d.ctx, destroyDecoder, h)
}
