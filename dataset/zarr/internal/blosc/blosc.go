package blosc

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/unpack"
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
var compressors = [8]string{"blosclz", "lz4", "snappy", "zlib", "zstd"}

// scratches keeps the memory for blocks before their elements are in order.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

var le = binary.LittleEndian

// decode expands a chunk into dst, which it must fill exactly.
func decode(dst, src []byte) error {
	if len(src) < headerSize {
		return fail(dataset.ErrCorrupt, "header", len(src), "16 bytes")
	}
	flags, element, n := src[2], int(src[3]), len(dst)
	size, end := int(le.Uint32(src[8:])), int(le.Uint32(src[12:])) // of a block, and of the chunk
	blocks := (n-1)/max(size, 1) + 1
	switch {
	case src[0] > version || src[0] == 0:
		return fail(dataset.ErrUnsupported, "version", src[0], "1 or 2")
	case int(le.Uint32(src[4:])) != n || end < headerSize || end > len(src):
		got := fmt.Sprintf("%d bytes from %d in its header", le.Uint32(src[4:]), end)
		return fail(dataset.ErrCorrupt, "size", got, fmt.Sprintf("%d from %d, the file's size", n, len(src)))
	case n == 0:
		return nil
	case flags&stored != 0 && end == headerSize+n:
		copy(dst, src[headerSize:])
		return nil
	case flags&stored != 0 || size <= 0 || size > n || element == 0 || blocks > (end-headerSize)/4:
		return fail(dataset.ErrCorrupt, "block size", size, fmt.Sprintf("1 to %d, and offsets for %d blocks", n, blocks))
	}
	buffer := scratches.Get().(*[]byte)
	defer scratches.Put(buffer)
	if cap(*buffer) < size {
		*buffer = make([]byte, size)
	}
	for i := range blocks {
		out := dst[i*size : min((i+1)*size, n)]
		shuffled, block, streams := (*buffer)[:len(out)], out, 1
		bits := flags&bitShuffled != 0 && len(out)/element%8 == 0
		bytes := flags&byteShuffled != 0 && element > 1 && !bits
		if bytes {
			block = shuffled
		}
		if flags&whole == 0 && element <= maxSplits && size/element >= minStream && len(out) == size {
			streams = element
		}
		at := int(le.Uint32(src[headerSize+4*i:]))
		if err := expandBlock(block, src[:end], at, streams, compressors[flags>>5]); err != nil {
			return err
		}
		if bits {
			unshuffleBits(shuffled, out, element)
		}
		if bytes || bits {
			unpack.Unshuffle(out, shuffled, element)
		}
	}
	return nil
}

// expandBlock expands a block's streams, which begin at byte at in the chunk.
func expandBlock(block, chunk []byte, at, streams int, format string) error {
	size := len(block) / streams
	if len(block)%streams > 0 {
		return fail(dataset.ErrCorrupt, "block size", len(block), fmt.Sprintf("a multiple of %d", streams))
	}
	for k := range streams {
		n := -1
		if at >= headerSize && at <= len(chunk)-4 {
			n = int(int32(le.Uint32(chunk[at:])))
		}
		if at += 4; n < 0 || n > len(chunk)-at {
			return fail(dataset.ErrCorrupt, "stream", fmt.Sprintf("%d bytes at byte %d", n, at), fmt.Sprintf("some up to byte %d", len(chunk)))
		}
		out := block[k*size : (k+1)*size]
		if n == size {
			copy(out, chunk[at:])
		} else if err := Expand(format, out, chunk[at:at+n]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// unshuffleBits makes shuffled bytes, as unpack.Unshuffle takes them, from shuffled bits: src has bit 0 from the first byte in each
// element, then bit 1, and so on, a byte's lowest bit first. The number of elements is a multiple of 8.
func unshuffleBits(dst, src []byte, element int) {
	row := len(src) / element / 8 // bytes for one bit from each element
	copy(dst[8*row*element:], src[8*row*element:])
	for k := range element {
		planes, out := src[8*k*row:8*(k+1)*row], dst[8*k*row:8*(k+1)*row]
		for i := range row {
			x := uint64(0)
			for bit := range 8 {
				x |= uint64(planes[bit*row+i]) << (8 * bit)
			}
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
	count := n / element
	block := make([]byte, n)
	for k := range element {
		for i := range count {
			block[k*count+i] = src[i*element+k]
		}
	}
	copy(block[count*element:], src[count*element:])
	flags := byte(4<<5 | whole | byteShuffled)
	chunk := encoder().EncodeAll(block, make([]byte, headerSize+8, headerSize+8+n))
	if len(chunk) >= headerSize+n {
		flags |= stored
		chunk = append(chunk[:headerSize], src...)
	} else {
		le.PutUint32(chunk[headerSize:], headerSize+4)
		le.PutUint32(chunk[headerSize+4:], uint32(len(chunk)-headerSize-8))
	}
	copy(chunk, []byte{version, 1, flags, byte(element)})
	for i, size := range []int{n, n, len(chunk)} {
		le.PutUint32(chunk[4+4*i:], uint32(size))
	}
	return chunk
}
