package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/robocache/robocache/dataset/internal/bz2"
	"github.com/robocache/robocache/dataset/internal/lzf"
)

// compression undoes a filter that changes the size of data.
type compression struct {
	ratio  int                                                        // of a byte come no more bytes
	expand func(dst, src []byte, values []uint32) (in int, err error) // fills dst; with an error, in is the place in src to blame
}

// maxRatio is for filters that have no bound below the size of a block of one byte.
const maxRatio = 1 << 16

const compressionNames = "deflate, lzf, scaleoffset, zstd, lz4, bzip2 or blosc"

var compressions = map[int]compression{
	filterDeflate:     {deflateRatio, func(dst, src []byte, _ []uint32) (int, error) { return inflate(dst, src) }},
	filterLZF:         {lzf.MaxRatio, func(dst, src []byte, _ []uint32) (int, error) { return lzf.Decompress(dst, src) }},
	filterScaleOffset: {maxRatio, unscale},
	filterBzip2:       {maxRatio, func(dst, src []byte, _ []uint32) (int, error) { return 0, bunzip2(dst, src) }},
	filterZstd:        {maxRatio, func(dst, src []byte, _ []uint32) (int, error) { return 0, unzstd(dst, src) }},
	filterLZ4:         {maxRatio, unlz4},
	filterBlosc:       {maxRatio, unblosc},
}

// filled returns errShort unless as many bytes were made as dst has, in its memory.
func filled(dst, out []byte, err error) error {
	if err == nil && len(out) != len(dst) {
		return errShort
	}
	return err
}

func bunzip2(dst, src []byte) error {
	out, err := new(bz2.Decoder).Append(dst[:0], src, len(dst))
	return filled(dst, out, err)
}

var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are ours
	}
	return d
})

func unzstd(dst, src []byte) error {
	out, err := zstdDecoder().DecodeAll(src, dst[:0:len(dst)])
	return filled(dst, out, err)
}

func lz4Block(dst, src []byte) error {
	n, err := lz4.UncompressBlock(src, dst)
	return filled(dst, dst[:n], err)
}

// unlz4 undoes the filter lz4: the size, that of a block, and blocks with their sizes, of which those that are not smaller are stored.
func unlz4(dst, src []byte, _ []uint32) (int, error) {
	if len(src) < 12 {
		return 0, errShort
	}
	block := int(binary.BigEndian.Uint32(src[8:]))
	at := 12
	for len(dst) > 0 {
		n := min(block, len(dst))
		part, err := sized(src, &at, binary.BigEndian)
		if err != nil || n == 0 {
			return at, errors.Join(err, errShort)
		}
		if len(part) == n {
			copy(dst, part)
		} else if err := lz4Block(dst[:n], part); err != nil {
			return at, err
		}
		dst = dst[n:]
	}
	return at, nil
}

// sized returns the bytes that follow their number.
func sized(src []byte, at *int, order binary.ByteOrder) ([]byte, error) {
	if *at < 0 || *at > len(src)-4 {
		return nil, errShort
	}
	n := int(order.Uint32(src[*at:]))
	if *at += 4; n > len(src)-*at {
		return nil, errShort
	}
	*at += n
	return src[*at-n : *at], nil
}

// unblosc undoes the filter blosc: blocks of streams, one for each byte of an element where the compressor splits them.
func unblosc(dst, src []byte, _ []uint32) (int, error) {
	if len(src) < 16 {
		return 0, errShort
	}
	flags, size, block := src[2], int(src[3]), int(binary.LittleEndian.Uint32(src[8:]))
	if int(binary.LittleEndian.Uint32(src[4:])) != len(dst) || block == 0 || size == 0 {
		return 4, errShort
	}
	if flags&2 != 0 { // stored
		return 16, filled(dst, dst[:copy(dst, src[16:])], nil)
	}
	if flags&4 != 0 {
		return 2, errors.New("shuffled bits, which are not read")
	}
	shuffled := make([]byte, min(block, len(dst)))
	for i, from := 0, 0; from < len(dst); i, from = i+1, from+block {
		if 20+4*i > len(src) {
			return len(src), errShort
		}
		at := int(binary.LittleEndian.Uint32(src[16+4*i:]))
		out := dst[from:min(from+block, len(dst))]
		to, streams := out, 1
		if flags&1 != 0 && size > 1 {
			to = shuffled[:len(out)]
		}
		if flags&16 == 0 && size <= 16 && block/size >= 128 && len(out) == block {
			streams = size
		}
		for k := range streams {
			part, err := sized(src, &at, binary.LittleEndian)
			piece := to[k*(len(to)/streams):][:len(to)/streams]
			switch {
			case err != nil:
			case len(part) == len(piece):
				copy(piece, part)
			default:
				err = bloscBlock(int(flags>>5), piece, part)
			}
			if err != nil {
				return at, err
			}
		}
		if flags&1 != 0 && size > 1 {
			n := len(to) / size
			for i := range n {
				for k := range size {
					out[i*size+k] = to[k*n+i]
				}
			}
			copy(out[n*size:], to[n*size:])
		}
	}
	return 0, nil
}

func bloscBlock(compressor int, dst, src []byte) (err error) {
	switch compressor {
	case 0:
		return unblosclz(dst, src)
	case 1:
		return lz4Block(dst, src)
	case 2:
		n, err := snappy.DecodedLen(src)
		if err != nil || n != len(dst) {
			return errors.Join(err, errShort)
		}
		_, err = snappy.Decode(dst, src)
		return err
	case 3:
		_, err = inflate(dst, src)
		return err
	case 4:
		return unzstd(dst, src)
	}
	return fmt.Errorf("compressor %d, which is not known", compressor)
}

// unblosclz expands blosc's own compression: runs of bytes, and copies of what is up to 73,727 bytes before.
func unblosclz(dst, src []byte) error {
	at, to := 0, 0
	next := func() int {
		if at++; at > len(src) {
			return 0
		}
		return int(src[at-1])
	}
	for first := true; at < len(src); first = false {
		op := next()
		if first {
			op &= 31
		}
		if op < 32 {
			n := op + 1
			if n > len(src)-at || n > len(dst)-to {
				return errShort
			}
			copy(dst[to:], src[at:at+n])
			at, to = at+n, to+n
			continue
		}
		n, far := op>>5+2, op&31<<8
		for more := op>>5 == 7; more; {
			b := next()
			n, more = n+b, b == 255 && at < len(src)
		}
		low := next()
		far += low
		if low == 255 && op&31 == 31 {
			far = next()<<8 + next() + 8191
		}
		if far++; far > to || n > len(dst)-to || at > len(src) {
			return errShort
		}
		for range n {
			dst[to] = dst[to-far]
			to++
		}
	}
	return filled(dst, dst[:to], nil)
}

// unscale undoes the filter scaleoffset: numbers less the least, in as few bits as they take, which floats were rounded to by a power of ten.
func unscale(dst, src []byte, v []uint32) (int, error) {
	const head = 21
	if len(v) < 8 || len(src) < head || v[4] < 1 || v[4] > 8 {
		return 0, errShort
	}
	size, scale := int(v[4]), math.Pow10(int(int32(v[1])))
	width := int(binary.LittleEndian.Uint32(src))
	least := binary.LittleEndian.Uint64(src[5:])
	if width >= 8*size {
		return head, filled(dst, dst[:copy(dst, src[head:])], nil)
	}
	if len(src)-head < (len(dst)/size*width+7)/8 {
		return len(src), errShort
	}
	var word [8]byte
	bit := 0
	for at := 0; at+size <= len(dst); at += size {
		n := uint64(0)
		for range width {
			n = n<<1 | uint64(src[head+bit/8]>>(7-bit%8)&1)
			bit++
		}
		switch {
		case v[7] == 1 && width > 0 && n == 1<<width-1: // the fill value
			for i := range v[8:min(len(v), 10)] {
				binary.LittleEndian.PutUint32(word[4*i:], v[8+i])
			}
		case v[3] == 0:
			binary.LittleEndian.PutUint64(word[:], n+least)
		case size == 4:
			binary.LittleEndian.PutUint32(word[:], math.Float32bits(float32(n)/float32(scale)+math.Float32frombits(uint32(least))))
		default:
			binary.LittleEndian.PutUint64(word[:], math.Float64bits(float64(n)/scale+math.Float64frombits(least)))
		}
		if copy(dst[at:at+size], word[:]); v[6] == 1 {
			slices.Reverse(dst[at : at+size])
		}
	}
	return 0, nil
}
