package rlds

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/openfiles"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
)

// A record consists of the data length (u64), the length's checksum (u32), the data, and the data's checksum (u32), little-endian.
const (
	headSize = 12
	tailSize = 4
)

// maxRecord limits a record, because protobuf messages are no longer.
const maxRecord = math.MaxInt32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// record is the position of a record's data in its file, or in the decompressed content.
type record struct{ at, size int64 }

// head returns the length at the start of a record, and whether its checksum is valid.
func head(b []byte) (size uint64, sound bool) {
	return binary.LittleEndian.Uint64(b), checksum(b[:8]) == binary.LittleEndian.Uint32(b[8:headSize])
}

// shard is a record file.
type shard struct {
	path    string
	records []record
	packed  *packed // nil unless the file is compressed
	files   *openfiles.Cache[storage.File]

	split   string
	first   int // index of its first record in the split
	episode int // index of its first record in the dataset
}

// openShard finds the records in a file by their lengths. Broken parts are damage; the error is from reading.
func openShard(ctx context.Context, path string) (*shard, dataset.Notes, error) {
	file, err := storage.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	s := &shard{path: path}
	begin := make([]byte, min(headSize, file.Size()))
	if _, err := file.ReadAt(begin, 0); err != nil {
		return nil, nil, err
	}
	var damage dataset.Notes
	if how := compression(begin); how != notPacked {
		s.packed = &packed{path: path, how: how}
		s.records, damage, err = s.packed.index(ctx)
	} else {
		s.records, damage, err = index(ctx, storage.Bound(ctx, file), file.Size())
	}
	damage.SetPath(path)
	return s, damage, err
}

// index finds the records in a file. After an invalid length it continues at the next record that is followed by another one or by the
// end of the file.
func index(ctx context.Context, r io.ReaderAt, size int64) (list []record, damage dataset.Notes, err error) {
	b := make([]byte, headSize)
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if size-at < headSize+tailSize {
			damage.AddDamage(dataset.CodeRecordCut, size-at, formatError(dataset.ErrTruncated, "", at, "record", fmt.Sprintf("%d bytes to the end", size-at), "at least 16"))
			break
		}
		if err := readAt(r, b, at); err != nil {
			return nil, nil, err
		}
		n, sound := head(b)
		switch rest := uint64(size - at - headSize - tailSize); {
		case !sound:
			next, err := nextRecord(ctx, r, at+1, size)
			if err != nil {
				return nil, nil, err
			}
			damage.AddDamage(dataset.CodeNoRecords, next-at, formatError(dataset.ErrCorrupt, "", at, "record length", fmt.Sprintf("%d with checksum %#08x", n, binary.LittleEndian.Uint32(b[8:])), fmt.Sprintf("checksum %#08x", checksum(b[:8]))))
			at = next
		case n > rest:
			damage.AddDamage(dataset.CodeRecordCut, size-at, formatError(dataset.ErrTruncated, "", at, "record", fmt.Sprintf("%d bytes to the end", rest), fmt.Sprint(n)))
			return list, damage, nil
		default:
			list = append(list, record{at + headSize, int64(n)})
			at += headSize + int64(n) + tailSize
		}
	}
	return list, damage, nil
}

// nextRecord returns the offset, at or after at, of the next record that is followed by a valid length or the end of the file; the
// size if there is none.
func nextRecord(ctx context.Context, r io.ReaderAt, at, size int64) (int64, error) {
	window, after := make([]byte, 1<<16), make([]byte, headSize)
	for ; size-at >= headSize+tailSize; at += int64(len(window) - headSize + 1) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		window = window[:min(int64(len(window)), size-at)]
		if err := readAt(r, window, at); err != nil {
			return 0, err
		}
		for i := 0; i+headSize <= len(window); i++ {
			begin := at + int64(i)
			if size-begin < headSize+tailSize || binary.LittleEndian.Uint64(window[i:]) > uint64(size-begin-headSize-tailSize) {
				continue
			}
			n, sound := head(window[i:])
			if !sound {
				continue
			}
			end := begin + headSize + int64(n) + tailSize
			if end == size {
				return begin, nil
			}
			if size-end < headSize {
				continue
			}
			if err := readAt(r, after, end); err != nil {
				return 0, err
			}
			if _, sound := head(after); sound {
				return begin, nil
			}
		}
	}
	return size, nil
}

// readAt fills b. If the file ends early, it has become shorter since it was opened.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	_, err := r.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		return formatError(dataset.ErrTruncated, "", at, "file", "its end", fmt.Sprintf("%d bytes, as there were when it was opened", len(b)))
	}
	return err
}

// read returns the record data, and verifies its checksum. For a file without compression it uses room if that is large
// enough.
func (s *shard) read(ctx context.Context, i int, room []byte) ([]byte, error) {
	rec := s.records[i]
	if rec.size > maxRecord {
		return nil, formatError(dataset.ErrTooLarge, s.path, rec.at, "record", fmt.Sprintf("%d bytes", rec.size), fmt.Sprintf("at most %d, as a protobuf message has", maxRecord))
	}
	var data []byte
	var err error
	if s.packed != nil {
		data, err = s.packed.read(ctx, rec.at, rec.size+tailSize)
	} else {
		var file *openfiles.File[storage.File]
		if file, err = s.files.Get(s.path); err != nil {
			return nil, err
		}
		data, err = readFrom(storage.Bound(ctx, file.File), s.path, rec.at, rec.size+tailSize, room)
		s.files.Give(file)
	}
	if err != nil {
		return nil, err
	}
	data, tail := data[:rec.size], binary.LittleEndian.Uint32(data[rec.size:])
	if sum := checksum(data); sum != tail {
		return nil, formatError(dataset.ErrCorrupt, s.path, rec.at, "record data", fmt.Sprintf("checksum %#08x", tail), fmt.Sprintf("%#08x, that of the data", sum))
	}
	return data, nil
}

// readFile returns n bytes from a file, in room if that is large enough.
func readFile(path string, at, n int64, room []byte) ([]byte, error) {
	file, err := storage.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readFrom(file, path, at, n, room)
}

// readFrom is like readFile for an open file.
func readFrom(file storage.File, path string, at, n int64, room []byte) ([]byte, error) {
	if n > int64(cap(room)) {
		if file.Size()-at < n {
			return nil, formatError(dataset.ErrTruncated, path, at, "file", fmt.Sprintf("%d bytes", file.Size()), fmt.Sprintf("%d, as there were when it was opened", at+n))
		}
		var err error
		if room, err = memory.Make[byte]("record", int(n)); err != nil {
			return nil, err
		}
	}
	data := room[:n]
	if err := readAt(file, data, at); err != nil {
		return nil, withPath(err, path)
	}
	return data, nil
}
