package table

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// checkCompressed returns an error unless data, which is compressed, gives size bytes when it is decompressed. It does not rely on what a page says,
// for the library allocates what the compressed data asks for.
func checkCompressed(codec format.CompressionCodec, data []byte, size int64) error {
	switch codec {
	case format.Snappy:
		n, head := binary.Uvarint(data)
		if head <= 0 || n != uint64(size) {
			return fmt.Errorf("snappy data of %d bytes, want %d", n, size)
		}
		if size > 32*int64(len(data)) { // a copy of 64 bytes takes 3
			return errors.New("snappy data that is too short for what it declares")
		}
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, io.LimitReader(r, size+1))
		if err == nil && n != size {
			err = fmt.Errorf("gzip data of %d bytes or more, want %d", n, size)
		}
		return err
	case format.Zstd:
		return checkZstd(data, size)
	}
	return nil
}

// checkZstd walks over the frames of zstd data, RFC 8878, and adds up what their blocks can hold.
func checkZstd(data []byte, size int64) error {
	const block = 128 << 10
	most := int64(0)
	for len(data) > 0 {
		if len(data) < 5 {
			return errors.New("zstd data that ends in a frame's header")
		}
		magic := binary.LittleEndian.Uint32(data)
		if magic&0xfffffff0 == 0x184d2a50 { // a frame to be skipped
			if len(data) < 8 || uint64(len(data)-8) < uint64(binary.LittleEndian.Uint32(data[4:])) {
				return errors.New("zstd data that ends in a frame to be skipped")
			}
			data = data[8+binary.LittleEndian.Uint32(data[4:]):]
			continue
		}
		if magic != 0xfd2fb528 {
			return fmt.Errorf("zstd data that begins with %08x", magic)
		}
		descriptor := data[4]
		single := descriptor&0x20 != 0
		at := 5
		if !single {
			at++
		}
		at += []int{0, 1, 2, 4}[descriptor&3]
		width := []int{0, 2, 4, 8}[descriptor>>6]
		if width == 0 && single {
			width = 1
		}
		if len(data) < at+width {
			return errors.New("zstd data that ends in a frame's header")
		}
		var field [8]byte
		copy(field[:], data[at:at+width])
		content := binary.LittleEndian.Uint64(field[:])
		if width == 2 {
			content += 256
		}
		if width > 0 && content > uint64(size) {
			return fmt.Errorf("a zstd frame of %d bytes, want %d", content, size)
		}
		data = data[at+width:]
		for last := false; !last; {
			if len(data) < 3 {
				return errors.New("zstd data that ends before its last block")
			}
			head := int(data[0]) | int(data[1])<<8 | int(data[2])<<16
			last = head&1 != 0
			n := head >> 3
			switch head >> 1 & 3 {
			case 0:
				most += int64(n)
			case 1:
				most += int64(n)
				n = 1
			default:
				most += block
			}
			if len(data) < 3+n {
				return errors.New("zstd data that ends in a block")
			}
			data = data[3+n:]
		}
		if descriptor&4 != 0 {
			if len(data) < 4 {
				return errors.New("zstd data that ends in a checksum")
			}
			data = data[4:]
		}
		if most > 8*size+8*block {
			return fmt.Errorf("zstd blocks that can hold %d bytes, want %d", most, size)
		}
	}
	return nil
}
