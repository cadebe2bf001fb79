package hdf5

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/unpack"
	"github.com/robocache/robocache/internal/memory"
)

const (
	filterDeflate    = 1
	filterShuffle    = 2
	filterFletcher32 = 3
	filterLZF        = 32000
)

var filterNames = map[int]string{
	filterDeflate: "deflate", filterShuffle: "shuffle", filterFletcher32: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset", 305: "lzo",
	307: "bzip2", filterLZF: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32026: "blosc2",
}

// filtersRead is in the error for an unsupported filter, with the h5repack command that converts it.
const filtersRead = "deflate, shuffle, fletcher32 or lzf; h5repack -f GZIP=1 IN OUT makes them deflate"

// Filter is a step in the encoding of chunks, such as deflate.
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
		c.skip(2) // whether a writer may skip it
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

// decode undoes filters on a stored chunk, last filter first. The result must have want bytes. If bit i in the mask is set, filter i
// was skipped. The result is in the scratch.
func decode(s *source, what func() string, at int64, data []byte, filters []Filter, mask uint32, want int, space *scratch) ([]byte, error) {
	full, compressed := want, false
	left := func(i int) bool { return i < 32 && mask>>i&1 != 0 }
	sizes := make([]int, len(filters)) // each filter's input size
	for i, f := range filters {
		sizes[i] = want
		switch {
		case left(i) || f.ID == filterShuffle:
		case f.ID == filterFletcher32:
			want += 4
		case compressed:
			return nil, s.fail(at, dataset.ErrUnsupported, what(), "data compressed twice, at last by "+f.String(), "once")
		default:
			compressed = true
		}
	}
	for i := len(filters) - 1; i >= 0; i-- {
		if left(i) {
			continue
		}
		var err error
		switch f := filters[i]; f.ID {
		case filterShuffle:
			data, err = unshuffle(s, what, at, data, f, space)
		case filterFletcher32:
			data, err = fletcher32(s, what, at, data)
		default:
			data, err = expand(s, what, at, data, sizes[i], space, f)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(data) != full {
		return nil, wrongSize(s, what(), at, len(data), full)
	}
	return data, nil
}

func wrongSize(s *source, what string, at int64, got, want int) error {
	return s.fail(at, dataset.ErrCorrupt, what, fmt.Sprintf("%d bytes", got), fmt.Sprint(want))
}

// expand decompresses data to want bytes.
func expand(s *source, what func() string, at int64, data []byte, want int, space *scratch, f Filter) ([]byte, error) {
	c, ok := compressions[f.ID]
	if !ok {
		return nil, s.fail(at, dataset.ErrUnsupported, what(), "filter "+f.String(), filtersRead)
	}
	if want/c.ratio > len(data) {
		return nil, s.fail(at, dataset.ErrCorrupt, what(), fmt.Sprintf("%d bytes of %s", len(data), f.Name), fmt.Sprintf("enough for %d", want))
	}
	if err := memory.Fits(what(), int64(want)); err != nil {
		return nil, err
	}
	out := space.other(data, want)
	if in, err := c.expand(out, data); err != nil {
		return nil, s.fail(at+int64(in), dataset.ErrCorrupt, what(), err.Error(), fmt.Sprintf("%d bytes of %s", want, f.Name))
	}
	return out, nil
}

// unshuffle reorders bytes: the file groups them by their position in the element, and the result has each element's bytes together.
func unshuffle(s *source, what func() string, at int64, data []byte, f Filter, space *scratch) ([]byte, error) {
	if len(f.values) < 1 || f.values[0] < 1 {
		return nil, s.fail(at, dataset.ErrCorrupt, what(), "shuffle of elements of no size", "a size")
	}
	size := int(min(f.values[0], uint32(len(data))+1))
	n := len(data) / size
	if n < 2 || size < 2 {
		return data, nil
	}
	out := space.other(data, len(data))
	unpack.Unshuffle(out, data, size)
	return out, nil
}

// fletcher32 verifies the checksum after the data, and removes it.
func fletcher32(s *source, what func() string, at int64, data []byte) ([]byte, error) {
	n := len(data) - 4
	if n < 0 {
		return nil, s.fail(at, dataset.ErrCorrupt, what(), fmt.Sprintf("%d bytes", len(data)), "a checksum")
	}
	const block = 1 << 16 // bytes; their sums fit in 64 bits
	var a, b uint64       // modulo 2^16-1
	for rest := data[:n]; len(rest) > 0; {
		part := rest[:min(block, len(rest))]
		rest = rest[len(part):]
		for ; len(part) > 1; part = part[2:] {
			a += uint64(part[0])<<8 | uint64(part[1])
			b += a
		}
		if len(part) == 1 {
			a += uint64(part[0]) << 8
			b += a
		}
		a, b = a%0xffff, b%0xffff
	}
	want := binary.LittleEndian.Uint32(data[n:])
	// A sum equal to 0 modulo 2^16-1 may be written as all ones.
	if got := uint32(b<<16 | a); got != want%0x10000%0xffff|want>>16%0xffff<<16 && !s.believe {
		return nil, s.fail(at+int64(n), dataset.ErrCorrupt, what()+": checksum fletcher32", fmt.Sprintf("%08x", got), fmt.Sprintf("%08x", want))
	}
	return data[:n], nil
}
