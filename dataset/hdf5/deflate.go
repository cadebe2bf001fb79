package hdf5

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// deflateRatio is how many bytes a byte of deflate can become: of all filters the most.
const deflateRatio = 1032

// inflater decompresses one stream after the other: its tables and its window take some 50 kB.
type inflater struct {
	src bytes.Reader
	z   io.ReadCloser // nil before the first stream
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// inflate decompresses a zlib stream that must fill dst exactly. What follows the stream in src is passed over. It returns how much of src was read,
// which of an error is where it is.
func inflate(dst, src []byte) (in int, err error) {
	f := inflaters.Get().(*inflater)
	f.src.Reset(src)
	err = f.fill(dst)
	in = len(src) - f.src.Len()
	f.src.Reset(nil)
	inflaters.Put(f)
	return in, err
}

func (f *inflater) fill(dst []byte) (err error) {
	if f.z == nil {
		f.z, err = zlib.NewReader(&f.src)
	} else {
		err = f.z.(zlib.Resetter).Reset(&f.src, nil)
	}
	if err != nil {
		return err
	}
	n, _ := io.ReadFull(f.z, dst) // an error comes again
	var more [1]byte
	switch k, err := io.ReadFull(f.z, more[:]); {
	case k > 0:
		return errors.New("more bytes than expected")
	case err != io.EOF:
		return err
	case n < len(dst):
		return errors.New("fewer bytes than expected")
	}
	return nil
}
