package blosc

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	headerSize = 16
	// version is the number for Blosc 1. Blosc 2 writes higher numbers.
	version = 2
	// A block has a stream for each byte in an element if that has at most maxSplits bytes, and a stream has minStream or more.
	maxSplits, minStream = 16, 128
)

// A chunk's flags. The compressor's number is above them.
const (
	byteShuffled = 1 << iota
	stored       // the chunk has no blocks
	bitShuffled
	_
	whole // blocks are not split into streams
)

// compressors are stream formats by their numbers in a header. Blosc names blosclz and snappy too, which Expand refuses.
var compressors = [8]string{"blosclz", "lz4", "snappy", "zlib", "zstd", "compressor 5", "compressor 6", "compressor 7"}

// scratches keeps the memory for blocks before their elements are in order.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

var le = binary.LittleEndian

// Size returns a chunk's size in bytes after decompression, as its header states it. The chunk may be cut.
func Size(chunk []byte) (int, error) {
	if len(chunk) < headerSize {
		return 0, broken("header", len(chunk), "16 bytes")
	}
	return int(le.Uint32(chunk[4:])), nil
}

func broken(part string, got any, want string) error {
	return &Error{Part: part, Got: fmt.Sprint(got), Want: want}
}

// decode expands a chunk into dst, which it must fill exactly.
func decode(dst, src []byte) error {
	n, err := Size(src)
	switch {
	case err != nil:
		return err
	case src[0] > version || src[0] == 0:
		return &Error{Unsupported: true, Part: "version", Got: fmt.Sprint(src[0]), Want: "1 or 2"}
	case n != len(dst):
		return broken("size", n, fmt.Sprint(len(dst)))
	case n == 0:
		return nil
	}
	flags, element, size := src[2], int(src[3]), int(le.Uint32(src[8:]))
	if end := int(le.Uint32(src[12:])); end > len(src) || end < headerSize {
		return broken("compressed size", end, fmt.Sprintf("16 to %d", len(src)))
	} else {
		src = src[:end]
	}
	if flags&stored != 0 {
		if len(src)-headerSize != n {
			return broken("stored bytes", len(src)-headerSize, fmt.Sprint(n))
		}
		copy(dst, src[headerSize:])
		return nil
	}
	blocks := (n-1)/max(size, 1) + 1
	if size <= 0 || size > n || element == 0 || blocks > (len(src)-headerSize)/4 {
		return broken("block size", size, fmt.Sprintf("1 to %d, and %d bytes for offsets", n, 4*blocks))
	}
	buffer := scratches.Get().(*[]byte)
	defer scratches.Put(buffer)
	for i := range blocks {
		out := dst[i*size : min((i+1)*size, n)]
		bytes, bits := element > 1 && flags&byteShuffled != 0, flags&bitShuffled != 0 && len(out)/element%8 == 0
		if cap(*buffer) < len(out) && (bytes || bits) {
			*buffer = make([]byte, size)
		}
		block := out
		if bytes && !bits {
			block = (*buffer)[:len(out)]
		}
		streams := 1
		if flags&whole == 0 && element <= maxSplits && size/element >= minStream && len(out) == size {
			streams = element
		}
		at := int(le.Uint32(src[headerSize+4*i:]))
		if err := expandBlock(block, src, at, streams, compressors[flags>>5]); err != nil {
			return err
		}
		if bits {
			bytes, block = true, (*buffer)[:len(out)]
			unshuffleBits(block, out, element)
		}
		if bytes {
			unshuffleBytes(out, block, element)
		}
	}
	return nil
}

// expandBlock expands a block's streams, which begin at byte at in the chunk.
func expandBlock(block, chunk []byte, at, streams int, format string) error {
	size := len(block) / streams
	for k := range streams {
		if at < headerSize || at > len(chunk)-4 {
			return broken("stream", at, fmt.Sprintf("an offset from 16 to %d", len(chunk)-4))
		}
		n := int(int32(le.Uint32(chunk[at:])))
		if at += 4; n < 0 || n > len(chunk)-at {
			return broken("stream size", n, fmt.Sprintf("0 to %d", len(chunk)-at))
		}
		out := block[k*size : (k+1)*size]
		if n == size {
			copy(out, chunk[at:])
		} else if err := Expand(format, out, chunk[at:at+n]); err != nil {
			return err
		}
		at += n
	}
	if rest := len(block) % streams; rest > 0 {
		return broken("block size", len(block), fmt.Sprintf("a multiple of %d", streams))
	}
	return nil
}

// unshuffleBytes puts elements in order: src has the first bytes of all elements, then the second bytes, and so on. Bytes after the last
// whole element are as they were.
func unshuffleBytes(dst, src []byte, element int) {
	n := len(src) / element
	copy(dst[n*element:], src[n*element:])
	switch element {
	case 2:
		a, b := src[:n], src[n:2*n]
		for i := range a {
			le.PutUint16(dst[2*i:], uint16(a[i])|uint16(b[i])<<8)
		}
	case 4:
		a, b, c, d := src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n]
		for i := range a {
			le.PutUint32(dst[4*i:], uint32(a[i])|uint32(b[i])<<8|uint32(c[i])<<16|uint32(d[i])<<24)
		}
	default:
		for k := range element {
			for i, v := range src[k*n : (k+1)*n] {
				dst[i*element+k] = v
			}
		}
	}
}

// unshuffleBits makes shuffled bytes, as unshuffleBytes takes them, from shuffled bits: src has bit 0 from the first byte in each element,
// then bit 1, and so on, a byte's lowest bit first. The number of elements is a multiple of 8.
func unshuffleBits(dst, src []byte, element int) {
	row := len(src) / element / 8 // bytes for one bit from each element
	copy(dst[8*row*element:], src[8*row*element:])
	for k := range element {
		planes, out := src[8*k*row:8*(k+1)*row], dst[8*k*row:8*(k+1)*row]
		a, b, c, d := planes[:row], planes[row:2*row], planes[2*row:3*row], planes[3*row:4*row]
		e, f, g, h := planes[4*row:5*row], planes[5*row:6*row], planes[6*row:7*row], planes[7*row:8*row]
		for i := range a {
			x := uint64(a[i]) | uint64(b[i])<<8 | uint64(c[i])<<16 | uint64(d[i])<<24 | uint64(e[i])<<32 | uint64(f[i])<<40 | uint64(g[i])<<48 | uint64(h[i])<<56
			// The transpose for 8x8 bits is from Hacker's Delight, section 7-3.
			t := (x ^ x>>7) & 0x00aa00aa00aa00aa
			x ^= t ^ t<<7
			t = (x ^ x>>14) & 0x0000cccc0000cccc
			x ^= t ^ t<<14
			t = (x ^ x>>28) & 0x00000000f0f0f0f0
			le.PutUint64(out[8*i:], x^t^t<<28)
		}
	}
}

// encoder compresses with the level that c-blosc uses by default. Its EncodeAll may be called from any goroutine.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // cannot fail, because the options are constant
	}
	return e
})

// Encode returns a chunk with one block: zstd after a byte shuffle. An element has 1 to 255 bytes. If that is not
// smaller, the bytes are stored. src has less than 2^31-16 bytes.
func Encode(src []byte, element int) []byte {
	n := len(src)
	chunk := make([]byte, headerSize+8, headerSize+8+n)
	flags := byte(4<<5 | whole)
	block := src
	if element > 1 {
		flags |= byteShuffled
		block = make([]byte, n)
		for i := range n / element {
			for k := range element {
				block[k*(n/element)+i] = src[i*element+k]
			}
		}
		copy(block[n/element*element:], src[n/element*element:])
	}
	chunk = encoder().EncodeAll(block, chunk)
	if len(chunk) >= headerSize+n {
		flags |= stored
		chunk = append(chunk[:headerSize], src...)
	} else {
		le.PutUint32(chunk[headerSize:], headerSize+4)
		le.PutUint32(chunk[headerSize+4:], uint32(len(chunk)-headerSize-8))
	}
	copy(chunk, []byte{version, 1, flags, byte(element)})
	le.PutUint32(chunk[4:], uint32(n))
	le.PutUint32(chunk[8:], uint32(n))
	le.PutUint32(chunk[12:], uint32(len(chunk)))
	return chunk
}
