package blosc

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Error is the reason why a chunk cannot be read.
type Error struct {
	// Unsupported is true if the chunk may be valid, for example if its compressor is blosclz.
	Unsupported bool
	Part        string // the wrong part: "block offset"
	Got, Want   string
	Err         error // the decompressor's error, or nil
}

func (e *Error) Error() string {
	s := fmt.Sprintf("blosc: %s: got %s, want %s", e.Part, e.Got, e.Want)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// zstdDecoder decodes into a given buffer and never beyond it. Its DecodeAll may be called from any goroutine.
var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(1<<31))
	if err != nil {
		panic(err) // cannot fail, because the options are constant
	}
	return d
})

// zlibReaders keeps readers with their working memory.
var zlibReaders sync.Pool

// Expand decompresses src into dst, which it must fill exactly. format is "zstd", "zlib", "gzip", "lz4" (one block), or "blosc". Any
// goroutine may call it. If src breaks its format, or has another size, the error is an *Error.
func Expand(format string, dst, src []byte) error {
	n, err := 0, error(nil)
	switch format {
	case "blosc":
		return decode(dst, src)
	case "zstd":
		var out []byte
		if out, err = zstdDecoder().DecodeAll(src, dst[:0:len(dst)]); err == nil {
			n = len(out)
		}
	case "lz4":
		n, err = lz4.UncompressBlock(src, dst)
	case "zlib":
		r, _ := zlibReaders.Get().(io.ReadCloser)
		if r == nil {
			r, err = zlib.NewReader(bytes.NewReader(src))
		} else {
			err = r.(zlib.Resetter).Reset(bytes.NewReader(src), nil)
		}
		if err == nil {
			n, err = fill(dst, r)
			zlibReaders.Put(r)
		}
	case "gzip":
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(src)); err == nil {
			n, err = fill(dst, r)
		}
	default:
		return &Error{Unsupported: true, Part: "compressor", Got: format, Want: "zstd, lz4 or zlib"}
	}
	if err != nil || n != len(dst) {
		return &Error{Part: format, Got: fmt.Sprintf("%d compressed bytes", len(src)), Want: fmt.Sprintf("compressed %d bytes", len(dst)), Err: err}
	}
	return nil
}

// fill reads dst from r, to its end, so that the checksum there is verified. It returns how many bytes r has, or one more than dst.
func fill(dst []byte, r io.Reader) (int, error) {
	n, err := io.ReadFull(r, dst)
	if err != nil {
		return n, err
	}
	var more [1]byte
	k, err := io.ReadFull(r, more[:])
	if err == io.EOF {
		err = nil
	}
	return n + k, err
}
