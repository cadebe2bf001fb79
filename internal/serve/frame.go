package serve

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	headerBytes = 16
	magic       = "RCF1"

	// MaxJSON and MaxBlob limit the JSON and the blob in a frame, in bytes.
	MaxJSON = 64 << 20
	MaxBlob = 1 << 30

	// firstRead is the first allocation for a part of a frame, in bytes. After that the buffer doubles as bytes arrive.
	firstRead = 64 << 10
)

// Frame is one message in either direction.
type Frame struct {
	JSON []byte // an object
	Blob []byte
	File *os.File // a descriptor that is sent with it, or nil; the holder of the frame closes it
}

// FrameError is input that is no frame. The connection cannot be read any further.
type FrameError struct{ Got, Want string }

func (e *FrameError) Error() string { return "frame: got " + e.Got + ", want " + e.Want }

// receiver is the connection that frames are read from.
type receiver interface {
	io.Reader
	// receive is Read that also returns the descriptors received. The caller owns them, after an error too.
	receive(p []byte) (n int, files []*os.File, err error)
}

// header returns a frame's header, or an error if the frame is too large.
func (f *Frame) header() ([]byte, error) {
	if len(f.JSON) > MaxJSON || len(f.Blob) > MaxBlob {
		return nil, &FrameError{fmt.Sprintf("%d bytes of JSON and %d of blob", len(f.JSON), len(f.Blob)), limits}
	}
	h := append(make([]byte, 0, headerBytes), magic...)
	h = binary.LittleEndian.AppendUint32(h, uint32(len(f.JSON)))
	h = binary.LittleEndian.AppendUint32(h, uint32(len(f.Blob)))
	files := uint32(0)
	if f.File != nil {
		files = 1
	}
	return binary.LittleEndian.AppendUint32(h, files), nil
}

var limits = fmt.Sprintf("at most %d and %d", MaxJSON, MaxBlob)

// readFrame reads a frame. It returns io.EOF if the connection ends before a frame, io.ErrUnexpectedEOF if it ends within one, a
// *FrameError if the input is no frame, or the connection's own error.
func readFrame(r receiver) (f *Frame, err error) {
	var head [headerBytes]byte
	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	for n := 0; n < headerBytes; {
		k, more, err := r.receive(head[n:])
		files = append(files, more...)
		if n += k; n == headerBytes {
			break
		}
		if err == io.EOF && n > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(head[4*i:]) }
	switch {
	case string(head[:4]) != magic:
		return nil, &FrameError{fmt.Sprintf("%q first", head[:4]), fmt.Sprintf("%q", magic)}
	case word(1) > MaxJSON || word(2) > MaxBlob:
		return nil, &FrameError{fmt.Sprintf("%d bytes of JSON and %d of blob", word(1), word(2)), limits}
	case word(3) > 1 || int(word(3)) != len(files):
		return nil, &FrameError{fmt.Sprintf("%d descriptors, and %d in the header", len(files), word(3)), "0 or 1, the same"}
	}
	f = &Frame{}
	if f.JSON, err = readPart(r, int(word(1))); err == nil {
		f.Blob, err = readPart(r, int(word(2)))
	}
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		f.File = files[0]
	}
	return f, nil
}

// readPart reads n bytes. It allocates at most firstRead, or twice the bytes that have arrived if that is more. If the connection ends
// before, the error is io.ErrUnexpectedEOF.
func readPart(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, min(n, firstRead))
	for have := 0; have < n; {
		if have == len(b) {
			b = append(make([]byte, 0, min(n, 2*have)), b...)
			b = b[:cap(b)]
		}
		k, err := io.ReadFull(r, b[have:min(n, len(b))])
		have += k
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return b[:n], nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // it was only read
	}
}
