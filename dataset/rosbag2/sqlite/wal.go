package sqlite

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
)

// A write-ahead log has a header with walHeader bytes, then frames: frameHeader bytes, then a page. See
// https://www.sqlite.org/fileformat2.html#walformat.
const (
	walHeader   = 32
	frameHeader = 24
)

// overlay reads the write-ahead log, and records the pages of all complete transactions in over. Frames after them belong to an earlier
// log, if their numbers differ from the header's, or to a transaction that was not completed, because the recorder stopped or the file was
// cut. A broken log is counted as damage, and is no error.
func (m *image) overlay(ctx context.Context, path string, damage *dataset.Notes) error {
	in := bufio.NewReaderSize(io.NewSectionReader(m.wal, 0, m.wal.Size()), 1<<20)
	head := make([]byte, walHeader)
	open := func(from, to int64) {
		if from < to {
			damage.Add(dataset.Note{Code: dataset.CodeTransactionOpen, Subject: filepath.Base(path) + "-wal", Count: 1, Detail: dataset.Detail{Bytes: to - from}})
		}
	}
	if n, err := io.ReadFull(in, head); err != nil {
		open(0, int64(n))
		return ended(err)
	}
	broken := func(at int64, what, got, want string) {
		damage.AddDamage(dataset.CodeWALBroken, m.wal.Size()-at, &dataset.FormatError{Format: "rosbag2", Path: path + "-wal", Offset: at, Kind: dataset.ErrCorrupt,
			Msg: what + " of the write-ahead log", Got: got, Want: want})
	}
	var order binary.ByteOrder = binary.LittleEndian
	kind := binary.BigEndian.Uint32(head)
	if kind&1 == 1 {
		order = binary.BigEndian
	}
	page := int64(binary.BigEndian.Uint32(head[8:]))
	var sum checksum
	sum.add(order, head[:24])
	if kind&^1 != 0x377f0682 || !sum.is(head[24:]) || page < 512 || page > 65536 || page&(page-1) != 0 {
		broken(0, "header", fmt.Sprintf("%x", head[:12]), "377f0682 or 377f0683, and a checksum that is right")
		return nil
	}
	highest, whole := m.file.Size(), int64(walHeader)
	pending, frame := map[uint32]int64{}, make([]byte, frameHeader+page)
	for at := int64(walHeader); ; at += int64(len(frame)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n, err := io.ReadFull(in, frame); err != nil {
			open(whole, at+int64(n))
			return ended(err)
		}
		number, pages := binary.BigEndian.Uint32(frame), binary.BigEndian.Uint32(frame[4:])
		sum.add(order, frame[:8])
		sum.add(order, frame[frameHeader:])
		if string(frame[8:16]) != string(head[16:24]) {
			open(whole, at)
			return nil
		}
		if number == 0 || !sum.is(frame[16:]) {
			broken(at, "frame", fmt.Sprintf("page %d with the sums %x", number, frame[16:frameHeader]), fmt.Sprintf("%08x%08x", sum.a, sum.b))
			return nil
		}
		pending[number] = at + frameHeader
		if pages == 0 {
			continue
		}
		if m.over == nil {
			m.over, m.page = map[uint32]int64{}, page
		}
		for number, at := range pending {
			m.over[number] = at
			highest = max(highest, int64(number)*page)
		}
		clear(pending)
		whole = at + int64(len(frame))
		m.size = min(int64(pages)*page, highest) // SQLite reads bytes that neither file has as zeros
	}
}

// ended returns nil if err means that the log has no more complete frames, else err.
func ended(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

// checksum is the log's checksum, over pairs of 32-bit words.
type checksum struct{ a, b uint32 }

func (c *checksum) add(order binary.ByteOrder, data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		c.a += order.Uint32(data) + c.b
		c.b += order.Uint32(data[4:]) + c.a
	}
}

func (c *checksum) is(stored []byte) bool {
	return binary.BigEndian.Uint32(stored) == c.a && binary.BigEndian.Uint32(stored[4:]) == c.b
}
