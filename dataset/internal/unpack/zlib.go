package unpack

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// Errors for an inflated chunk's length. Errors inside a stream come from the library.
var (
	errShort = errors.New("fewer bytes than expected")
	errLong  = errors.New("more bytes than expected")
)

// zlibReaders holds idle readers, because each has a window and tables of about 40 kB.
var zlibReaders sync.Pool

// Zlib decodes a zlib stream, which must fill dst exactly, and verifies its checksum. Bytes in src after the stream are ignored. in
// is how many bytes of src it read, which locates an error.
func Zlib(dst, src []byte) (in int, err error) {
	from := bytes.NewReader(src)
	r, ok := zlibReaders.Get().(io.ReadCloser)
	if ok {
		err = r.(zlib.Resetter).Reset(from, nil)
	} else {
		r, err = zlib.NewReader(from)
	}
	if err != nil {
		return 0, err
	}
	err = Exactly(dst, r)
	in = len(src) - from.Len()
	from.Reset(nil) // so that an idle reader does not keep the chunk
	zlibReaders.Put(r)
	return in, err
}

// Exactly fills dst. Then r must end without an error; a checksum error at the end counts too.
func Exactly(dst []byte, r io.Reader) (err error) {
	n := 0
	for n < len(dst) && err == nil {
		var k int
		k, err = r.Read(dst[n:])
		n += k
	}
	if err == nil {
		if _, err = io.ReadFull(r, make([]byte, 1)); err == nil {
			return errLong
		}
	}
	switch {
	case err == io.EOF && n < len(dst):
		return errShort
	case err == io.EOF:
		return nil
	}
	return err
}
