package zarr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

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

// rowBytes returns a row's size in bytes.
func (a *array) rowBytes() int {
	n, _ := tensor.NumElements(a.shape[1:]...)
	return n * a.head.ItemSize()
}

// mostAtOnce is the largest size in bytes that is allocated before chunks are read. For more rows the memory grows with the chunks that exist.
const mostAtOnce = 64 << 20

// rows returns rows from to to-1 as they are in the file, row-major. The rows exist. The caller owns the slice.
func (s *Set) rows(ctx context.Context, a *array, from, to int) (out []byte, err error) {
	if s.closed.Load() {
		return nil, fmt.Errorf("zarr: %s: %w", s.path, dataset.ErrClosed)
	}
	some, stored := max(mostAtOnce/max(a.rowBytes(), 1), 1), new(atomic.Int64)
	if to-from <= some {
		return s.someRows(ctx, a, from, to, stored)
	}
	for ; from < to; from += some {
		part, err := s.someRows(ctx, a, from, min(from+some, to), stored)
		if err == nil {
			err = memory.Check(a.path, int64(len(out)+len(part)), stored.Load())
		}
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// someRows is rows for at most mostAtOnce bytes. It adds the sizes of the files that it reads to stored.
func (s *Set) someRows(ctx context.Context, a *array, from, to int, stored *atomic.Int64) ([]byte, error) {
	out, err := memory.Make[byte](a.path, (to-from)*a.rowBytes())
	if err != nil || len(out) == 0 {
		return nil, err
	}
	if a.fill != nil {
		for n := copy(out, a.fill); n < len(out); n *= 2 {
			copy(out[n:], out[:n])
		}
	}
	across, err := tensor.NumElements(a.grid[1:]...)
	first, last := from/a.chunks[0], (to-1)/a.chunks[0]
	if err != nil || across > math.MaxInt/(last-first+1) {
		return nil, s.bad(a, dataset.ErrTooLarge, "grid", tensor.FormatShape(a.grid), "less than 2^63 chunks")
	}
	workers := max(runtime.GOMAXPROCS(0), storage.AtOnce(s.path))
	for _, err := range inorder.Each(ctx, (last-first+1)*across, workers, workers, func(error) int { return workers }, func(ctx context.Context, i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		at, number := make([]int, len(a.grid)), first*across+i
		for d, n := len(at)-1, number; d >= 0; d-- {
			at[d] = n % a.grid[d]
			n /= a.grid[d]
		}
		lo, hi := at[0]*a.chunks[0], min((at[0]+1)*a.chunks[0], a.shape[0])
		data, err := s.chunk(ctx, a, at, number, lo < from || hi > to, stored)
		if err == nil && data != nil {
			a.place(out, data, at, from, to)
		}
		return err
	}) {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// chunk returns a chunk, decoded, row-major and read-only; nil if it has no file. With keep they stay in the cache. It adds
// the bytes that it reads to stored.
func (s *Set) chunk(ctx context.Context, a *array, at []int, number int, keep bool, stored *atomic.Int64) ([]byte, error) {
	if data := s.chunks.Get(chunkKey{a, number}); data != nil {
		stored.Add(int64(len(data)))
		return data, nil
	}
	numbers := make([]string, len(at))
	for i, n := range at {
		numbers[i] = strconv.Itoa(n)
	}
	name := a.path + "/" + a.prefix + strings.Join(numbers, a.sep)
	data, err := s.files.read(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		stored.Add(int64(len(data)))
		data, err = a.decode(data)
	}
	var bad *dataset.FormatError
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = s.files.where(name)
		err = dataset.StandIn(ctx, err, bad.Path)
	}
	if err == nil && keep {
		s.chunks.Put(chunkKey{a, number}, data)
	}
	return data, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// decode decodes a chunk's file, row-major. Its errors have no path.
func (a *array) decode(data []byte) ([]byte, error) {
	for i, c := range slices.Backward(a.codecs) {
		want := a.bytes + 4*i // the codecs before a compressor are checksums
		switch {
		case c == checksum:
			n := len(data) - 4
			if n < 0 || binary.LittleEndian.Uint32(data[n:]) != crc32.Checksum(data[:n], castagnoli) {
				return nil, fail(dataset.ErrCorrupt, "", "crc32c", "another", "the one in its last 4 bytes")
			}
			data = data[:n]
			continue
		case c == "lz4": // numcodecs writes the size before the block
			if len(data) < 4 || int(binary.LittleEndian.Uint32(data)) != want {
				return nil, fail(dataset.ErrCorrupt, "", "chunk size", fmt.Sprintf("% x", data[:min(4, len(data))]), strconv.Itoa(want))
			}
			data = data[4:]
		case c == "blosc":
			if n, err := blosc.Size(data); err == nil && n != want {
				return nil, fail(dataset.ErrCorrupt, "", "chunk size", strconv.Itoa(n), strconv.Itoa(want))
			}
		}
		if err := memory.Check("chunk", int64(want), int64(len(data))); err != nil {
			return nil, err
		}
		out := make([]byte, want)
		if err := blosc.Expand(c, out, data); err != nil {
			kind, bad := dataset.ErrCorrupt, (*blosc.Error)(nil)
			if errors.As(err, &bad) && bad.Unsupported {
				kind = dataset.ErrUnsupported
			}
			wrong := fail(kind, "", "chunk", "", "")
			wrong.Err = err
			return nil, wrong
		}
		data = out
	}
	if len(data) != a.bytes {
		return nil, fail(dataset.ErrCorrupt, "", "chunk", fmt.Sprintf("%d bytes", len(data)), strconv.Itoa(a.bytes))
	}
	if a.order == nil {
		return data, nil
	}
	item := a.head.ItemSize()
	flat, err := tensor.Of(data, len(data))
	if err != nil {
		return nil, err
	}
	strides := make([]int, len(a.chunks)+1)
	strides[len(a.chunks)] = 1
	for _, d := range slices.Backward(a.order) {
		strides[d] = item
		item *= a.chunks[d]
	}
	view, err := flat.AsStrided(append(slices.Clone(a.chunks), a.head.ItemSize()), strides, 0)
	if err == nil {
		flat, err = view.Contiguous()
	}
	if err != nil {
		return nil, err
	}
	return tensor.Data[uint8](flat)
}

// place copies a chunk's rows to out, which has the rows from to to-1.
func (a *array) place(out, data []byte, at []int, from, to int) {
	rank, item := len(a.shape), a.head.ItemSize()
	shape, size := slices.Clone(a.shape), make([]int, rank) // the dimensions in out, and in the copied box
	shape[0] = to - from
	target, source := 0, 0 // elements before the box
	for d := range rank {
		lo, hi := at[d]*a.chunks[d], min((at[d]+1)*a.chunks[d], a.shape[d])
		begin, skip := lo, 0
		if d == 0 {
			lo, hi = max(lo, from), min(hi, to)
			begin, skip = lo-from, lo-at[0]*a.chunks[0]
		}
		target, source, size[d] = target*shape[d]+begin, source*a.chunks[d]+skip, hi-lo
	}
	target, source = target*item, source*item
	for rank > 1 && size[rank-1] == shape[rank-1] && size[rank-1] == a.chunks[rank-1] { // dimensions that are whole in both
		rank--
		item *= size[rank]
	}
	copyBox(out[target:], data[source:], shape[:rank], a.chunks[:rank], size[:rank], item)
}

// copyBox copies a box from the beginning of src to the beginning of dst. to and from are the dimensions in both, size are the box's
// dimensions, and an element has item bytes.
func copyBox(dst, src []byte, to, from, size []int, item int) {
	if len(size) == 1 {
		copy(dst, src[:size[0]*item])
		return
	}
	into, of := item, item
	for d := 1; d < len(size); d++ {
		into, of = into*to[d], of*from[d]
	}
	for i := range size[0] {
		copyBox(dst[i*into:], src[i*of:], to[1:], from[1:], size[1:], item)
	}
}

func (s *Set) bad(a *array, kind error, msg, got, want string) error {
	return fail(kind, s.files.where(a.path), msg, got, want)
}
