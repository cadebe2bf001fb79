package mcap

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/robocache/robocache/dataset"
)

// compressor returns b compressed. The result is valid until the next call.
type compressor func(b []byte) ([]byte, error)

// name returns the compression's name in chunks.
func (c Compression) name() string {
	switch c {
	case Zstd:
		return "zstd"
	case LZ4:
		return "lz4"
	}
	return ""
}

func (c Compression) compressor() (compressor, error) {
	switch c {
	case Zstd:
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		var out []byte
		return func(b []byte) ([]byte, error) {
			out = encoder.EncodeAll(b, out[:0])
			return out, nil
		}, err
	case LZ4:
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		if err := w.Apply(lz4.BlockSizeOption(lz4.Block256Kb)); err != nil { // which readers take at a time; 4 MiB is the library's own
			return nil, err
		}
		return func(b []byte) ([]byte, error) {
			out.Reset()
			w.Reset(&out)
			_, err := w.Write(b)
			if closing := w.Close(); err == nil {
				err = closing
			}
			return out.Bytes(), err
		}, nil
	case NoCompression:
		return func(b []byte) ([]byte, error) { return b, nil }, nil
	}
	return nil, &Error{"option Compression", dataset.ErrOption, fmt.Sprint(uint8(c)), "Zstd, LZ4 or NoCompression"}
}
