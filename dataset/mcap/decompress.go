package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strconv"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
)

const (
	// maxChunk is the maximum size of a chunk in bytes, both compressed and uncompressed.
	maxChunk = 1 << 30
	// zstdBlock is the largest output of a zstd block, and lz4Ratio the largest output per byte of lz4.
	zstdBlock = 128 << 10
	lz4Ratio  = 255
)

// zstdDecoder decodes into a given buffer and never beyond it. Its DecodeAll may be called from any goroutine.
var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxChunk))
	if err != nil {
		panic(err) // cannot fail, because the options are constant
	}
	return d
})

var lz4Readers = sync.Pool{New: func() any { return lz4.NewReader(nil) }}

// buffers is a pool of memory for chunks that are read, and for their records.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// grown returns n bytes in the memory of b. If b is too small, it gets new memory with an eighth more, so that slightly larger chunks fit
// later.
func grown(b *[]byte, n int) []byte {
	if cap(*b) < n {
		*b = make([]byte, n+n/8)
	}
	*b = (*b)[:n]
	return *b
}

// uncompress returns the records of a chunk that begins at byte at of the file. If they are compressed, they are written to into. If cut is
// set, Records is incomplete: it returns the available bytes, without verifying their CRC. A damaged chunk is a *dataset.FormatError.
func (k *Chunk) uncompress(into *[]byte, at int64, cut bool) ([]byte, error) {
	bad := func(kind error, msg, got, want string, err error) ([]byte, error) {
		return nil, &dataset.FormatError{Format: "mcap", Offset: at, Kind: kind, Msg: "Chunk: " + msg, Got: got, Want: want, Err: err}
	}
	most := int64(len(k.Records))
	switch k.Compression {
	case "":
	case "lz4":
		most = most*lz4Ratio + lz4Ratio
	case "zstd":
		most = zstdMost(k.Records)
	default:
		return bad(dataset.ErrUnsupported, "compression", fmt.Sprintf("%.40q", k.Compression), `"", lz4 or zstd`, nil)
	}
	if most = min(most, maxChunk); k.UncompressedSize > uint64(most) && !cut {
		return bad(dataset.ErrTooLarge, "uncompressed size", strconv.FormatUint(k.UncompressedSize, 10), fmt.Sprintf("at most the %d that its bytes may give", most), nil)
	}
	size := int(min(k.UncompressedSize, uint64(most)))
	if size > cap(*into) && k.Compression != "" {
		if err := memory.Check("Chunk", int64(size), int64(len(k.Records))); err != nil {
			return nil, err
		}
	}
	out := k.Records
	var err error
	switch k.Compression {
	case "lz4":
		out = grown(into, size)
		r := lz4Readers.Get().(*lz4.Reader)
		r.Reset(bytes.NewReader(k.Records))
		var n int
		if n, err = io.ReadFull(r, out); err == nil {
			var more int
			if more, err = r.Read(make([]byte, 1)); more > 0 {
				return bad(dataset.ErrCorrupt, "uncompressed size", strconv.Itoa(size), "more: the data goes on", nil)
			} else if err == io.EOF {
				err = nil
			}
		}
		out = out[:n]
		r.Reset(nil)
		lz4Readers.Put(r)
	case "zstd":
		out, err = zstdDecoder().DecodeAll(k.Records, grown(into, size)[:0])
	}
	switch {
	case cut:
		return out, nil
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return bad(dataset.ErrCorrupt, "uncompressed size", strconv.Itoa(size), "more: the data goes on", err)
	case err != nil:
		return bad(dataset.ErrCorrupt, k.Compression, fmt.Sprintf("%d bytes of %d", len(out), size), "", err)
	case len(out) != size:
		return bad(dataset.ErrCorrupt, "uncompressed size", strconv.Itoa(size), strconv.Itoa(len(out)), nil)
	}
	if k.UncompressedCRC != 0 {
		if sum := crc32.ChecksumIEEE(out); sum != k.UncompressedCRC {
			return bad(dataset.ErrCorrupt, "CRC of its records", fmt.Sprintf("%08x", sum), fmt.Sprintf("%08x", k.UncompressedCRC), nil)
		}
	}
	return out, nil
}

// zstdMost returns the largest possible output of zstd data, from the headers of its blocks; 0 if it is not zstd.
func zstdMost(b []byte) (most int64) {
	for len(b) >= 5 {
		magic := le.Uint32(b)
		if magic&^0xf == 0x184d2a50 { // a frame to be skipped
			if len(b) < 8 || uint64(len(b)-8) < uint64(le.Uint32(b[4:])) {
				return most
			}
			b = b[8+le.Uint32(b[4:]):]
			continue
		}
		if magic != 0xfd2fb528 {
			return most
		}
		flags := b[4]
		head := 5 + []int{0, 1, 2, 4}[flags&3] + []int{0, 2, 4, 8}[flags>>6]
		if single := flags>>5&1 == 1; !single || flags>>6 == 0 {
			head++ // the window's size, or that of content of less than 256 bytes
		}
		if head > len(b) {
			return most
		}
		b = b[head:]
		for last := false; !last; {
			if len(b) < 3 {
				return most
			}
			block := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
			size, gives := block>>3, int64(block>>3)
			switch block >> 1 & 3 {
			case 1:
				size = 1 // a byte, so often
			case 2:
				gives = zstdBlock
			}
			last, most = block&1 == 1, min(most+gives, math.MaxInt32)
			if b = b[3:]; size > len(b) {
				return most
			}
			b = b[size:]
		}
		if flags&4 != 0 {
			b = b[min(4, len(b)):] // a checksum
		}
	}
	return most
}
