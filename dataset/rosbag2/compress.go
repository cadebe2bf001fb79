package rosbag2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
)

const (
	compressedName = ".zstd"
	zstdMagic      = "\x28\xb5\x2f\xfd"
	mostWindow     = 64 << 20
	mostMessage    = 1 << 30 // bytes in a decompressed message
	blockGrowth    = 1 << 15 // maximum output per input byte: a block of 4 bytes may expand to 128 KiB
	fileGrowth     = 64      // a decompressed file may have fileGrowth times its compressed size, plus fileRoom bytes
)

var fileRoom int64 = 1 << 30 // bytes; less in a test

// decompress writes a file's content to a temporary file, which disappears when it is closed. A broken file returns the content
// before the broken part, and damage.
func decompress(ctx context.Context, path string, from storage.File, damage *dataset.Notes) (_ storage.File, err error) {
	to, err := atomicfile.NewScratch(filepath.Join(os.TempDir(), strings.TrimSuffix(storage.Base(path), compressedName)))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, to.Close())
		}
	}()
	most := from.Size()*fileGrowth + fileRoom
	in := &failing{r: io.NewSectionReader(from, 0, from.Size())}
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(mostWindow))
	if err != nil {
		return nil, broken(path, err)
	}
	defer z.Close()
	var reading error
	_, err = to.Append(func(w io.Writer) error {
		buf := make([]byte, 1<<18)
		for size := int64(0); ; {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, err := z.Read(buf)
			if size += int64(n); size > most {
				return &dataset.FormatError{Format: "rosbag2", Path: path, Offset: -1, Kind: dataset.ErrTooLarge, Msg: "decompressed file", Got: fmt.Sprintf("more than %d bytes of %d", most, from.Size())}
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				reading = err
				return nil
			}
		}
	})
	if err == nil {
		err = in.err
	}
	if err != nil {
		return nil, err
	}
	if reading != nil {
		damage.AddDamage(dataset.CodeCompressionBroken, 0, broken(path, reading))
	}
	return to, nil
}

// failing is a reader that records the last error except io.EOF.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

func broken(path string, err error) *dataset.FormatError {
	bad := &dataset.FormatError{Format: "rosbag2", Path: path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: "zstd", Got: err.Error()}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		bad.Kind, bad.Got = dataset.ErrTruncated, ""
	case errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		bad.Kind = dataset.ErrTooLarge
	}
	return bad
}

// isCompressed reports whether a message has its own zstd compression. A message in CDR begins with a zero byte instead.
func isCompressed(data []byte) bool { return bytes.HasPrefix(data, []byte(zstdMagic)) }

// newMessages returns a decoder for compressed messages. It may be used from any goroutine.
func newMessages() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostMessage), zstd.WithDecoderMaxWindow(mostWindow))
}

// decompressMessage returns a message's decompressed bytes, in the memory of into if they fit.
func decompressMessage(z *zstd.Decoder, data, into []byte) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(data); err != nil {
		return nil, broken("", err)
	}
	if most := uint64(len(data)) * blockGrowth; head.HasFCS && head.FrameContentSize > min(most, mostMessage) {
		return nil, &dataset.FormatError{Format: "rosbag2", Offset: -1, Kind: dataset.ErrTooLarge, Msg: "decompressed message",
			Got: fmt.Sprintf("%d bytes of %d", head.FrameContentSize, len(data))}
	}
	if err := memory.Check("message", int64(head.FrameContentSize), int64(len(data))); err != nil {
		return nil, err
	}
	out, err := z.DecodeAll(data, into[:0])
	if err != nil {
		return nil, broken("", err)
	}
	return out, nil
}
