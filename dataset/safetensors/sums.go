package safetensors

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
)

// SumsName is the name of the tensor with a file's checksums; see [Writer.AddSums].
const SumsName = "robocache.sums"

const (
	sumBlock = 64 << 10 // bytes of the tensors that one checksum covers
	sumSize  = 4        // bytes of a checksum
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumWriter computes the checksums of the tensors that it writes.
type sumWriter struct {
	w    io.Writer
	list []byte // the sum of the header, then of each whole block
	sum  uint32 // of the block so far
	n    int    // bytes of the block so far
}

func (s *sumWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), sumBlock-s.n)
		s.sum, rest = crc32.Update(s.sum, castagnoli, rest[:n]), rest[n:]
		if s.n += n; s.n == sumBlock {
			s.end()
		}
	}
	return s.w.Write(b)
}

// end ends a block.
func (s *sumWriter) end() {
	if s.n > 0 {
		s.list, s.sum, s.n = binary.LittleEndian.AppendUint32(s.list, s.sum), 0, 0
	}
}

// write writes the sums, and their own sum.
func (s *sumWriter) write(w io.Writer) error {
	s.end()
	list := slices.Clip(s.list) // because w may be s
	_, err := w.Write(binary.LittleEndian.AppendUint32(list, crc32.Checksum(list, castagnoli)))
	return err
}

// sumsShape returns the shape of the checksums for bytes of tensors.
func sumsShape(bytes int) []int { return []int{sumSize * ((bytes+sumBlock-1)/sumBlock + 2)} }

// sums are the checksums of a file that has some.
type sums struct {
	list []byte
	end  int64         // where the tensors end that they are of
	good []atomic.Bool // the blocks that were compared since the file was opened
}

// readSums reads a file's sums, and compares the ones of its header and of themselves.
func (f *File) readSums() error {
	h, ok := f.tensors[SumsName]
	if !ok {
		return nil
	}
	if err := f.cut(SumsName); err != nil {
		return err
	}
	if h.End != f.end || h.End-h.Begin != int64(sumsShape(int(h.Begin - f.data))[0]) {
		return bad(dataset.ErrCorrupt, h.Begin, "tensor "+SumsName, h.String(), "a sum of each 64 KiB of the tensors before it, and two")
	}
	list := make([]byte, h.End-h.Begin)
	if _, err := f.r.ReadAt(list, h.Begin); err != nil && err != io.EOF {
		return err
	}
	last := len(list) - sumSize
	if err := compareSum(list[last:], list[:last], h.Begin, "tensor "+SumsName); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(list) != f.sum {
		return badSum(0, "header", f.sum, list)
	}
	f.sums = &sums{list[sumSize:last], h.Begin, make([]atomic.Bool, last/sumSize-1)}
	return nil
}

// compareSum returns an error if a block, at a byte of the file, has another sum than the first of list.
func compareSum(list, block []byte, at int64, what string) error {
	if sum := crc32.Checksum(block, castagnoli); sum != binary.LittleEndian.Uint32(list) {
		return badSum(at, what, sum, list)
	}
	return nil
}

func badSum(at int64, what string, got uint32, list []byte) error {
	return bad(dataset.ErrCorrupt, at, what, fmt.Sprintf("a checksum of %08x", got),
		fmt.Sprintf("%08x, as written: the file is damaged, copy it or pack it again", binary.LittleEndian.Uint32(list)))
}

// compare compares the blocks of the file's bytes [begin,end) with their sums, each once. memory are bytes of the file from byte at on: a block
// outside of them is read.
func (f *File) compare(name string, begin, end int64, memory []byte, at int64) error {
	if f.sums == nil {
		return nil
	}
	var room []byte
	for lo := begin - (begin-f.data)%sumBlock; lo < min(end, f.sums.end); lo += sumBlock {
		i, hi := int((lo-f.data)/sumBlock), min(lo+sumBlock, f.sums.end)
		if f.sums.good[i].Load() {
			continue
		}
		var block []byte
		if lo >= at && hi <= at+int64(len(memory)) {
			block = memory[lo-at : hi-at]
		} else {
			if room == nil {
				room = make([]byte, sumBlock)
			}
			block = room[:hi-lo]
			if n, err := f.r.ReadAt(block, lo); n < len(block) {
				return f.explain(err)
			}
		}
		if err := compareSum(f.sums.list[i*sumSize:], block, lo, "tensor "+quote(name)); err != nil {
			return f.explain(err)
		}
		f.sums.good[i].Store(true)
	}
	return nil
}

// checkedView is the memory of a tensor that is a view of a file with sums.
type checkedView struct {
	f    *File
	name string
	size int64       // bytes of an element
	good atomic.Bool // all of it was compared
}

// Check compares elements with the file's sums.
func (v *checkedView) Check(lo, hi int) error {
	if v.good.Load() {
		return nil
	}
	h := v.f.tensors[v.name]
	begin, end := h.Begin+int64(lo)*v.size, h.Begin+int64(hi)*v.size
	if err := v.f.compare(v.name, begin, end, v.f.views.file.Bytes(), 0); err != nil {
		return err
	}
	v.good.Store(begin == h.Begin && end == h.End)
	return nil
}

// Close does nothing, because the file has the memory.
func (v *checkedView) Close() error { return nil }
