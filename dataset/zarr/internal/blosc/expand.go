package blosc

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/unpack"
)

// zstdDecoder decodes into a given buffer and never beyond it. Its DecodeAll may be called from any goroutine.
var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(1<<31))
	if err != nil {
		panic(err) // cannot fail, because the options are constant
	}
	return d
})

// Expand decompresses src into dst, which it must fill exactly. format is "zstd", "zlib", "gzip", "lz4" (one block), or "blosc". Any
// goroutine may call it. If src breaks its format, or has another size, the error is a *dataset.FormatError without a path.
func Expand(format string, dst, src []byte) (err error) {
	n := len(dst)
	switch format {
	case "blosc":
		return decode(dst, src)
	case "zstd":
		var out []byte
		out, err = zstdDecoder().DecodeAll(src, dst[:0:n])
		n = len(out)
	case "lz4":
		n, err = lz4.UncompressBlock(src, dst)
	case "zlib":
		_, err = unpack.Zlib(dst, src)
	case "gzip":
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(src)); err == nil {
			err = unpack.Exactly(dst, r)
		}
	default:
		return fail(dataset.ErrUnsupported, "compressor", format, "zstd, lz4 or zlib")
	}
	if err != nil || n != len(dst) {
		bad := fail(dataset.ErrCorrupt, format, n, fmt.Sprint(len(dst), " bytes"))
		bad.Err = err
		return bad
	}
	return nil
}

func fail(kind error, part string, got any, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "blosc", Offset: -1, Kind: kind, Msg: part, Got: fmt.Sprint(got), Want: want}
}
