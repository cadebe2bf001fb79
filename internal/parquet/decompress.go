package parquet

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/robocache/robocache/internal/memory"
)

// unzstd decodes zstd frames. It stops when its output buffer is full.
var unzstd = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are valid
	}
	return d
})

// decompress appends the decompressed data to to. It returns an error if the result does not have size bytes. It allocates only size
// bytes even if data declares more, because the library's codecs would allocate the declared size.
func decompress(to []byte, codec format.CompressionCodec, data []byte, size int) ([]byte, error) {
	if codec == format.Snappy {
		n, err := s2.DecodedLen(data)
		if err == nil && (n != size || size > 32*len(data)) { // a 64-byte copy takes 3 bytes
			err = fmt.Errorf("%d bytes of snappy data that declare %d, want %d", len(data), n, size)
		}
		if err != nil {
			return to, err
		}
	}
	begin := len(to)
	if size > cap(to)-begin {
		if err := memory.Check("page", int64(size), int64(len(data))); err != nil {
			return to, err
		}
	}
	to = slices.Grow(to, size)[:begin+size]
	out := to[begin:]
	switch codec {
	case format.Snappy:
		_, err := s2.Decode(out, data)
		return to, err
	case format.Lz4Raw:
		n, err := lz4.UncompressBlock(data, out)
		if err == nil && n != size {
			err = fmt.Errorf("%d bytes of lz4 data, want %d", n, size)
		}
		return to, err
	case format.Gzip, format.Brotli:
		var r io.Reader = brotli.NewReader(bytes.NewReader(data))
		if codec == format.Gzip {
			unzip, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				return to, err
			}
			r = unzip
		}
		if _, err := io.ReadFull(r, out); err != nil {
			return to, err
		}
		more, err := io.Copy(io.Discard, io.LimitReader(r, 1))
		if more > 0 {
			err = fmt.Errorf("compressed data of more than %d bytes", size)
		}
		return to, err
	}
	got, err := unzstd().DecodeAll(data, out[:0:size])
	if err == nil && len(got) != size {
		err = fmt.Errorf("%d bytes of zstd data, want %d", len(got), size)
	}
	return append(to[:begin], got...), err
}
