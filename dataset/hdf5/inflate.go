package hdf5

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// deflateRatio is the largest number of bytes that one byte of a deflate stream can become. No other filter reaches it.
const deflateRatio = 1032

// Errors about the length of an inflated chunk. Errors inside a stream come from the library.
var (
	errShort = errors.New("fewer bytes than expected")
	errLong  = errors.New("more bytes than expected")
)

// zlibReaders holds idle readers, because each has a window and tables of some 40 kB.
var zlibReaders sync.Pool

// inflate decodes a zlib stream, which must fill dst exactly, and compares its checksum. It ignores bytes of src after the stream. It returns the
// number of bytes of src that it read, which is the place of an error.
func inflate(dst, src []byte) (in int, err error) {
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
	err = readExactly(dst, r)
	in = len(src) - from.Len()
	from.Reset(nil) // so that an idle reader keeps no chunk
	zlibReaders.Put(r)
	return in, err
}

// readExactly reads dst, after which r must end. A reader that fails at its end, for example at a checksum, fails.
func readExactly(dst []byte, r io.Reader) (err error) {
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
