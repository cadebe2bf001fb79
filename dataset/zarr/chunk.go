package zarr

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/zarr/internal/blosc"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// chunkKey identifies a chunk in the dataset's cache.
type chunkKey struct {
	of     *array
	number int // in the grid, row-major
}

// chunk is a chunk that was read.
type chunk struct {
	at   []int  // in the grid
	data []byte // decoded and read-only; nil if it has no file
	size int    // its file's bytes, or decoded bytes from the cache
	err  error
}

// rows returns rows from to to-1 as they are in the file, row-major. The caller owns the slice. Missing rows are an error, also if from is
// to. The memory grows with the chunks that exist. absent gets a note about chunks without a file, unless it is nil.
func (s *Set) rows(ctx context.Context, a *array, from, to int, absent *dataset.Notes) (out []byte, err error) {
	if s.closed.Load() {
		return nil, fmt.Errorf("zarr: %s: %w", s.path, dataset.ErrClosed)
	}
	if to > a.Shape[0] {
		return nil, fail(dataset.ErrCorrupt, s.files.where(a.path), "rows", strconv.Itoa(a.Shape[0]), fmt.Sprintf("%d, by %s", to, endsPath))
	}
	if from == to {
		return nil, nil
	}
	first := from / a.chunks[0]
	high := (to-1)/a.chunks[0] + 1 - first
	row, _ := tensor.NumElements(append([]int{a.item}, a.Shape[1:]...)...) // Set.add limits both
	n, _ := tensor.NumElements(append([]int{high}, a.grid[1:]...)...)
	missing, name := 0, "" // chunks without a file, and the first one's name
	workers, stored := max(runtime.GOMAXPROCS(0), storage.AtOnce(s.path)), 0
	for _, c := range inorder.Each(ctx, n, workers, workers, func(chunk) int { return workers }, func(ctx context.Context, i int) chunk {
		return s.chunk(ctx, a, first*(n/high)+i, from, to)
	}) {
		if c.err != nil {
			return nil, c.err
		}
		stored += c.size
		if want := (min((c.at[0]+1)*a.chunks[0], to) - from) * row; want > len(out) {
			if err := memory.Check(a.path, int64(want), int64(stored)); err != nil {
				return nil, err
			}
			out = append(out, bytes.Repeat(a.fill, (want-len(out))/a.item)...)
		}
		if c.data != nil {
			a.place(out, c, from, to)
		} else if missing++; missing == 1 {
			name = a.file(c.at)
		}
	}
	if missing > 0 && absent != nil {
		absent.Add(dataset.Note{Code: dataset.CodeChunksAbsent, Subject: a.Name, Count: missing,
			Detail: dataset.Detail{Of: n, Names: []string{name}}})
	}
	return out, nil
}

// file returns the path to a chunk's file.
func (a *array) file(at []int) string {
	name := make([]string, len(at))
	for d, i := range at {
		name[d] = strconv.Itoa(i)
	}
	return a.path + "/" + a.prefix + strings.Join(name, a.sep)
}

// chunk reads a chunk for rows from to to-1. One with other rows, too, stays in the cache.
func (s *Set) chunk(ctx context.Context, a *array, number, from, to int) (c chunk) {
	key := chunkKey{a, number}
	c.at = make([]int, len(a.grid))
	for d, n := range slices.Backward(a.grid) {
		c.at[d], number = number%n, number/n
	}
	if c.data = s.chunks.Get(key); c.data != nil {
		c.size = len(c.data)
		return c
	}
	path := a.file(c.at)
	if c.err = ctx.Err(); c.err == nil {
		c.data, c.err = s.files.read(ctx, path)
	}
	if errors.Is(c.err, fs.ErrNotExist) {
		c.err = nil
		return c
	}
	if c.size = len(c.data); c.err == nil {
		c.data, c.err = a.decode(c.data)
	}
	if c.err != nil {
		c.err = dataset.InFile(c.err, s.files.where(path))
		return c
	}
	if lo := c.at[0] * a.chunks[0]; lo < from || min(lo+a.chunks[0], a.Shape[0]) > to {
		s.chunks.Put(key, c.data)
	}
	return c
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// decode decodes a chunk's file. Its errors have no path.
func (a *array) decode(data []byte) ([]byte, error) {
	for i, c := range slices.Backward(a.codecs) {
		if c == checksum {
			n := max(len(data)-4, 0)
			if sum := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(data[:n], castagnoli)); !bytes.Equal(sum, data[n:]) {
				return nil, fail(dataset.ErrCorrupt, "", checksum, fmt.Sprintf("% x", data[n:]), fmt.Sprintf("% x", sum))
			}
			data = data[:n]
			continue
		}
		if c == "lz4" { // numcodecs writes the size before the block
			data = data[min(4, len(data)):]
		}
		want := a.bytes + 4*i // the codecs before a compressor are checksums
		if err := memory.Check("chunk", int64(want), int64(len(data))); err != nil {
			return nil, err
		}
		out := make([]byte, want)
		if err := blosc.Expand(c, out, data); err != nil {
			return nil, err
		}
		data = out
	}
	if len(data) != a.bytes {
		return nil, fail(dataset.ErrCorrupt, "", "chunk", fmt.Sprintf("%d bytes", len(data)), strconv.Itoa(a.bytes))
	}
	return data, nil
}

// strides returns the bytes from an element to the next along each dimension. order has the dimensions from the slowest to the fastest.
func strides(shape, order []int, item int) []int {
	list := make([]int, len(shape))
	for _, d := range slices.Backward(order) {
		list[d] = item
		item *= shape[d]
	}
	return list
}

// place copies a chunk's rows to out, which begins with row from.
func (a *array) place(out []byte, c chunk, from, to int) {
	rank, item := len(a.Shape), a.item
	rows := slices.Sorted(slices.Values(a.order)) // row-major
	into, of, size := strides(a.Shape, rows, item), strides(a.chunks, a.order, item), make([]int, rank)
	data := c.data
	for d, n := range a.chunks {
		begin, lo, hi := 0, c.at[d]*n, min((c.at[d]+1)*n, a.Shape[d])
		skip := lo
		if d == 0 {
			begin, lo, hi = from, max(lo, from), min(hi, to)
		}
		size[d] = hi - lo
		out, data = out[(lo-begin)*into[d]:], data[(lo-skip)*of[d]:]
	}
	for rank > 0 && into[rank-1] == item && of[rank-1] == item { // elements that are next to each other in both
		rank--
		item *= size[rank]
	}
	copyBox(out, data, into[:rank], of[:rank], size, item)
}

// copyBox copies a box from the beginning of src to the beginning of dst. to and from are the distances along its dimensions, and an
// element has item bytes.
func copyBox(dst, src []byte, to, from, size []int, item int) {
	if len(to) == 0 {
		copy(dst, src[:item])
		return
	}
	for i := range size[0] {
		copyBox(dst[i*to[0]:], src[i*from[0]:], to[1:], from[1:], size[1:], item)
	}
}
