package dav1d

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"

	"github.com/robocache/robocache/internal/video"
)

const driver = "dav1d"

var loaded = sync.OnceValues(load)

func init() {
	video.Register(video.Driver{Name: driver, Library: "libdav1d", Open: openStream})
}

func openStream(s video.Stream) (video.Decoder, error) {
	if s.Codec != "av1" {
		return nil, &video.Refusal{Driver: driver, Reason: video.OtherCodec}
	}
	lib, err := loaded()
	if err != nil {
		return nil, err
	}
	return newDecoder(lib, s.Config)
}

// decoder is an open dav1d context with one thread.
type decoder struct {
	lib      *library
	context  []byte // a pointer to the C context; these structures are on the heap, because C gets their addresses
	settings []byte // Dav1dSettings
	data     []byte // Dav1dData
	picture  []byte // Dav1dPicture
	first    []byte // OBUs that precede the first packet's
}

// newDecoder opens a context. config is the body of av1C: four bytes, then OBUs.
func newDecoder(lib *library, config []byte) (*decoder, error) {
	d := &decoder{
		lib: lib, context: make([]byte, 8), settings: make([]byte, settingsSize), data: make([]byte, dataSize),
		picture: make([]byte, lib.layout.picture),
	}
	if len(config) > 4 {
		d.first = config[4:]
	}
	d.call(defaultSettings, address(d.settings))
	for _, at := range lib.layout.threads {
		put(d.settings, at, 1)
	}
	put(d.settings, applyGrain, 1)
	put(d.settings, allLayers, 0) // the highest one only
	put(d.settings, sizeLimit, video.MaxPixels)
	clear(d.settings[logger : logger+8])
	if c := d.code(open, address(d.context), address(d.settings)); c != 0 {
		return nil, failed(open, c)
	}
	return d, nil
}

// call calls a function, and keeps the structures meanwhile.
func (d *decoder) call(f function, args ...uintptr) uintptr {
	defer runtime.KeepAlive(d)
	return d.lib.call(f, args...)
}

// code calls a function with a result: 0, or a negative system error.
func (d *decoder) code(f function, args ...uintptr) int { return int(int32(d.call(f, args...))) }

func (d *decoder) handle() uintptr { return uintptr(word(d.context, 0)) }

// failed returns the error for a negative result.
func failed(f function, code int) error {
	return fmt.Errorf("%s: %w", functions[f], syscall.Errno(-code))
}

const again = -int(syscall.EAGAIN)

// Decode decodes a temporal unit.
func (d *decoder) Decode(packet []byte, number int64, show video.Show) error {
	if len(bytes.Trim(packet, "\x00")) == 0 {
		return errEmpty
	}
	if d.first != nil {
		packet, d.first = bytes.Join([][]byte{d.first, packet}, nil), nil
	}
	at := d.call(dataCreate, address(d.data), uintptr(len(packet)))
	if at == 0 {
		return failed(dataCreate, -int(syscall.ENOMEM))
	}
	copy(memory(at, len(packet)), packet)
	binary.NativeEndian.PutUint64(d.data[dataTimestamp:], uint64(number))
	pictures := 0
	for word(d.data, dataLeft) > 0 {
		c := d.code(sendData, d.handle(), address(d.data))
		if c != 0 && c != again {
			d.call(dataUnref, address(d.data))
			return failed(sendData, c)
		}
		left := word(d.data, dataLeft)
		shown, err := d.show(show)
		pictures += shown
		if err == nil && c == again && shown == 0 && left == word(d.data, dataLeft) {
			err = failed(sendData, c) // the library neither takes bytes nor has a picture
		}
		if err != nil {
			d.call(dataUnref, address(d.data))
			return err
		}
	}
	if pictures == 0 {
		return video.ErrNoPicture // later pictures may refer to it
	}
	return nil
}

var errEmpty = errors.New("the packet has no bytes but zeros")

// Flush shows the pictures that are left.
func (d *decoder) Flush(show video.Show) error {
	_, err := d.show(show)
	return err
}

// show shows the pictures that are ready, and returns how many.
func (d *decoder) show(show video.Show) (n int, err error) {
	for {
		clear(d.picture)
		c := d.code(getPicture, d.handle(), address(d.picture))
		if c == again {
			return n, nil
		}
		if c != 0 {
			return n, failed(getPicture, c)
		}
		p := d.planes()
		err := show(int64(word(d.picture, pictureTimestamp)), p, nil)
		d.call(pictureUnref, address(d.picture))
		if err != nil {
			return n, err
		}
		n++
	}
}

// planes describes the current picture. Its rows lie in the library's memory.
func (d *decoder) planes() *video.Planes {
	header := memory(uintptr(word(d.picture, pictureHeader)), d.lib.layout.colorRange+1)
	p := &video.Planes{
		Width: half(d.picture, pictureWidth), Height: half(d.picture, pictureHeight), Bits: half(d.picture, pictureBits),
		Layout: video.Layout(half(d.picture, pictureLayout)),
		Matrix: uint8(half(header, headerMatrix)), FullRange: header[d.lib.layout.colorRange] == 1,
	}
	for i := range p.Data {
		w, h := p.Size(i)
		if p.Bits > 8 {
			w *= 2
		}
		p.Stride[i] = int(word(d.picture, pictureStride+8*min(i, 1)))
		p.Data[i] = memory(uintptr(word(d.picture, pictureData+8*i)), p.Stride[i]*(h-1)+w)
	}
	return p
}

// Close frees the context.
func (d *decoder) Close() error {
	if d.handle() != 0 {
		d.call(closeDecoder, address(d.context)) // sets it to null
	}
	return nil
}
