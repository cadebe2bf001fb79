package hdf5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/lzf"
)

const (
	filterDeflate    = 1
	filterShuffle    = 2
	filterFletcher32 = 3
	filterLZF        = 32000

	deflateRatio = 1032 // what a byte can become
)

var filterNames = map[int]string{
	filterDeflate: "deflate", filterShuffle: "shuffle", filterFletcher32: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset",
	307: "bzip2", filterLZF: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32026: "blosc2",
}

// Filter is a step by which chunks are written.
type Filter struct {
	ID     int
	Name   string
	values []uint32
}

// String returns the filter's name and number.
func (f Filter) String() string { return fmt.Sprintf("%.60s (%d)", f.Name, f.ID) }

// filters reads the filter message.
func (c *cursor) filters() []Filter {
	version := c.version(1, 2)
	n := c.u8()
	if version == 1 {
		c.skip(6)
	}
	var list []Filter
	for range n {
		f := Filter{ID: c.u16()}
		size := 0
		if version == 1 || f.ID >= 256 {
			size = c.u16()
		}
		c.skip(2) // whether a writer may go on without it
		count := c.u16()
		if version == 1 {
			size += (8 - size%8) % 8
		}
		name, _, _ := bytes.Cut(c.bytes(uint64(size)), []byte{0})
		for range count {
			f.values = append(f.values, uint32(c.u32()))
			if c.err != nil {
				return nil
			}
		}
		if version == 1 && count%2 == 1 {
			c.skip(4)
		}
		if f.Name = filterNames[f.ID]; f.Name == "" {
			f.Name = string(name)
		}
		list = append(list, f)
	}
	return list
}

// decode takes filters, the last first, from what is stored of a chunk, which must become want bytes. Bit i of the mask says that filter i was left
// out.
func decode(s *source, what string, at int64, data []byte, filters []Filter, mask uint32, want int) ([]byte, error) {
	full, compressed := want, false
	left := func(i int) bool { return i < 32 && mask>>i&1 != 0 }
	sizes := make([]int, len(filters)) // of what each filter was given
	for i, f := range filters {
		sizes[i] = want
		switch {
		case left(i):
		case f.ID == filterFletcher32:
			want += 4
		case f.ID == filterDeflate || f.ID == filterLZF:
			if compressed {
				return nil, s.fail(at, dataset.ErrUnsupported, what, "data compressed twice", "once")
			}
			compressed = true
		}
	}
	for i := len(filters) - 1; i >= 0; i-- {
		if left(i) {
			continue
		}
		var err error
		switch f := filters[i]; f.ID {
		case filterDeflate:
			data, err = inflate(s, what, at, data, sizes[i])
		case filterLZF:
			data, err = unlzf(s, what, at, data, sizes[i])
		case filterShuffle:
			data, err = unshuffle(s, what, at, data, f)
		case filterFletcher32:
			data, err = fletcher32(s, what, at, data)
		default:
			err = s.fail(at, dataset.ErrUnsupported, what, "filter "+f.String(), "deflate, shuffle, fletcher32 or lzf")
		}
		if err != nil {
			return nil, err
		}
	}
	if len(data) != full {
		return nil, wrongSize(s, what, at, len(data), full)
	}
	return data, nil
}

func wrongSize(s *source, what string, at int64, got, want int) error {
	return s.fail(at, dataset.ErrCorrupt, what, fmt.Sprintf("%d bytes", got), fmt.Sprint(want))
}

// inflaters are readers of deflate, which take 40 kB each.
var inflaters sync.Pool

func inflate(s *source, what string, at int64, data []byte, want int) ([]byte, error) {
	if want/deflateRatio > len(data) {
		return nil, s.fail(at, dataset.ErrCorrupt, what, fmt.Sprintf("%d bytes of deflate", len(data)), fmt.Sprintf("enough for %d", want))
	}
	r, _ := inflaters.Get().(io.ReadCloser)
	var err error
	if r == nil {
		r, err = zlib.NewReader(bytes.NewReader(data))
	} else {
		err = r.(zlib.Resetter).Reset(bytes.NewReader(data), nil)
	}
	out := make([]byte, want)
	if err == nil {
		if _, err = io.ReadFull(r, out); err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
	}
	if err == nil {
		// The end holds a checksum, which is compared as it is read.
		var n int
		if n, err = r.Read(make([]byte, 1)); n > 0 {
			return nil, wrongSize(s, what, at, want+1, want)
		}
	}
	if err != nil && err != io.EOF {
		bad := s.fail(at, dataset.ErrCorrupt, what, "broken deflate", "")
		bad.Err = err
		return nil, bad
	}
	inflaters.Put(r)
	return out, nil
}

func unlzf(s *source, what string, at int64, data []byte, want int) ([]byte, error) {
	if want/lzf.MaxRatio > len(data) {
		return nil, s.fail(at, dataset.ErrCorrupt, what, fmt.Sprintf("%d bytes of lzf", len(data)), fmt.Sprintf("enough for %d", want))
	}
	out := make([]byte, want)
	if in, err := lzf.Decompress(out, data); err != nil {
		return nil, s.fail(at+int64(in), dataset.ErrCorrupt, what, err.Error(), fmt.Sprintf("%d bytes of lzf", want))
	}
	return out, nil
}

// unshuffle brings the bytes of each element together, which the file has by their place in it.
func unshuffle(s *source, what string, at int64, data []byte, f Filter) ([]byte, error) {
	if len(f.values) < 1 || f.values[0] < 1 {
		return nil, s.fail(at, dataset.ErrCorrupt, what, "shuffle of elements of no size", "a size")
	}
	size := int(min(f.values[0], uint32(len(data))+1))
	n := len(data) / size
	if n < 2 || size < 2 {
		return data, nil
	}
	out := make([]byte, len(data))
	for k := range size {
		for i, b := range data[k*n : (k+1)*n] {
			out[i*size+k] = b
		}
	}
	copy(out[n*size:], data[n*size:])
	return out, nil
}

// fletcher32 checks the sum that follows the data, and cuts it off.
func fletcher32(s *source, what string, at int64, data []byte) ([]byte, error) {
	n := len(data) - 4
	if n < 0 {
		return nil, s.fail(at, dataset.ErrCorrupt, what, fmt.Sprintf("%d bytes", len(data)), "a checksum")
	}
	var a, b uint32 // modulo 2^16-1
	for i := 0; i < n; i += 2 {
		word := uint32(data[i]) << 8
		if i+1 < n {
			word |= uint32(data[i+1])
		}
		a = (a + word) % 0xffff
		b = (b + a) % 0xffff
	}
	want := binary.LittleEndian.Uint32(data[n:])
	// A sum that is 0 modulo 2^16-1 may be written as all ones.
	if got := b<<16 | a; got != want%0x10000%0xffff|want>>16%0xffff<<16 && !s.believe {
		return nil, s.fail(at+int64(n), dataset.ErrCorrupt, what+": checksum fletcher32", fmt.Sprintf("%08x", got), fmt.Sprintf("%08x", want))
	}
	return data[:n], nil
}
