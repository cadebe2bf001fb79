package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/bz2"
	"github.com/robocache/robocache/dataset/internal/lzf"
)

// compression undoes a filter that changes the size of data.
type compression struct {
	ratio  int                                       // of a byte come no more bytes
	expand func(dst, src []byte) (in int, err error) // fills dst; with an error, in is the place in src to blame
}

// maxRatio is for filters that have no bound below the size of a block of one byte.
const maxRatio = 1 << 16

const compressionNames = "deflate, lzf, zstd, lz4, bzip2 or blosc"

var compressions = map[int]compression{
	filterDeflate: {deflateRatio, inflate},
	filterLZF:     {lzf.MaxRatio, lzf.Decompress},
	filterBzip2:   {maxRatio, bunzip2},
	filterZstd:    {maxRatio, unzstd},
	filterLZ4:     {maxRatio, unlz4},
	filterBlosc:   {maxRatio, unblosc},
}

// filled returns errShort unless as many bytes were made as dst has, in its memory.
func filled(dst, out []byte, err error) (in int, _ error) {
	if err == nil && len(out) != len(dst) {
		err = errShort
	}
	return 0, err
}

func bunzip2(dst, src []byte) (int, error) {
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

func unzstd(dst, src []byte) (int, error) {
	out, err := zstdDecoder().DecodeAll(src, dst[:0:len(dst)])
	return filled(dst, out, err)
}

func lz4Block(dst, src []byte) (int, error) {
	n, err := lz4.UncompressBlock(src, dst)
	return filled(dst, dst[:n], err)
}

// unlz4 undoes the filter lz4: the size, that of a block, and blocks with their sizes, of which those that are not smaller are stored.
func unlz4(dst, src []byte) (int, error) {
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
		} else if _, err := lz4Block(dst[:n], part); err != nil {
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
func unblosc(dst, src []byte) (int, error) {
	if len(src) < 16 {
		return 0, errShort
	}
	flags, size, block := src[2], int(src[3]), int(binary.LittleEndian.Uint32(src[8:]))
	if int(binary.LittleEndian.Uint32(src[4:])) != len(dst) || block == 0 || size == 0 {
		return 4, errShort
	}
	if flags&2 != 0 { // stored
		return filled(dst, dst[:copy(dst, src[16:])], nil)
	}
	expand := bloscCompressors[flags>>5]
	if flags&4 != 0 || expand == nil {
		return 2, fmt.Errorf("%w: flags %#x, which are of shuffled bits or of snappy", dataset.ErrUnsupported, flags)
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
				_, err = expand(piece, part)
			}
			if err != nil {
				return at, err
			}
		}
		if flags&1 != 0 && size > 1 {
			unshuffleTo(out, to, size)
		}
	}
	return 0, nil
}

var bloscCompressors = [8]func(dst, src []byte) (in int, err error){0: lzf.DecompressBlosc, 1: lz4Block, 3: inflate, 4: unzstd}
