package hdf5

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Methods for finding chunks. The first is for layouts before version 4; the others have their numbers in version 4.
const (
	indexTree1 = iota
	indexSingle
	indexImplicit
	indexFixed
	indexExtensible
	indexTree2
)

// chunked is an array stored in boxes of equal size, also at the array's ends.
type chunked struct {
	addr       uint64 // the index's address
	index      int
	filters    []Filter
	plainEdges bool // boxes that extend past the array's end have no filters
	size       uint64
	mask       uint32 // filter mask of a single chunk

	dims  []int // a chunk's dimensions in elements
	grid  []int // chunks along each dimension
	bytes int   // bytes per chunk

	mu   sync.Mutex
	list []chunk // by number; nil until they are read
}

// chunk is a written chunk.
type chunk struct {
	number int // in row-major grid order
	addr   uint64
	size   uint64
	mask   uint32
}

// chunks sets the dimensions of a chunk. The last number in dims is the element size in bytes.
func (v *Values) chunks(c *cursor, d *chunked, dims []uint64) {
	if c.err != nil {
		return
	}
	rank := len(v.space.shape)
	if rank == 0 || len(dims) != rank+1 || dims[rank] != uint64(v.stored) {
		c.bad(0, dataset.ErrCorrupt, "chunk", fmt.Sprintf("%d of %d bytes", dims, v.stored), fmt.Sprintf("one of the rank of %s, and these bytes", tensor.FormatShape(v.space.shape)))
		return
	}
	d.bytes = v.stored
	for i, n := range dims[:rank] {
		if n == 0 || n > uint64(math.MaxUint32/d.bytes) {
			c.bad(0, dataset.ErrCorrupt, "chunk", fmt.Sprint(dims), "more than nothing and less than 2^32 bytes")
			return
		}
		d.bytes *= int(n)
		d.dims = append(d.dims, int(n))
		d.grid = append(d.grid, (v.space.shape[i]+int(n)-1)/int(n))
	}
	if d.size == 0 {
		d.size = uint64(d.bytes)
	}
	v.data = d
	if d.addr == none {
		v.data = unwritten{}
	}
}

// chunks returns the chunks that contain rows lo to hi-1.
func (d *chunked) chunks(v *Values, lo, hi int) ([]chunk, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.list == nil {
		found := &found{v: v, d: d, list: []chunk{}}
		if err := found.all(); err != nil {
			return nil, err
		}
		slices.SortFunc(found.list, func(a, b chunk) int { return a.number - b.number })
		for i, k := range found.list[min(1, len(found.list)):] {
			if k.number == found.list[i].number {
				return nil, v.fail(dataset.ErrCorrupt, "", fmt.Sprintf("chunk %d twice", k.number), "each once")
			}
		}
		d.list = found.list
	}
	if lo == hi {
		return nil, nil
	}
	row := d.perRow()
	first, end := lo/d.dims[0]*row, ((hi-1)/d.dims[0]+1)*row
	at := func(number int) int {
		return sort.Search(len(d.list), func(i int) bool { return d.list[i].number >= number })
	}
	return d.list[at(first):at(end)], nil
}

// perRow returns how many chunks a row of chunks has.
func (d *chunked) perRow() int {
	n, _ := tensor.NumElements(d.grid[1:]...)
	return n
}

func (d *chunked) whole(v *Values, lo, hi int) (bool, error) {
	list, err := d.chunks(v, lo, hi)
	if err != nil || lo == hi {
		return true, err
	}
	return len(list) == ((hi-1)/d.dims[0]-lo/d.dims[0]+1)*d.perRow(), nil
}

func (d *chunked) read(v *Values, lo, hi int, put func(int, []byte) error) error {
	list, err := d.chunks(v, lo, hi)
	if err != nil {
		return err
	}
	at := make([]int, len(d.dims))
	space := scratches.Get().(*scratch)
	defer scratches.Put(space)
	var rows gathered
	short := d.short(v)
	for i, k := range list {
		if next := d.rowEnd(k.number); short && i+d.perRow() <= len(list) && k.number == next-d.perRow() && list[i+d.perRow()-1].number == next-1 {
			rows.begin(v, d, k.number/d.perRow()*d.dims[0], lo, hi)
		}
		number := k.number
		edge := false
		for i := len(at) - 1; i >= 0; i-- {
			at[i] = number % d.grid[i] * d.dims[i]
			number /= d.grid[i]
			edge = edge || d.dims[i] > v.space.shape[i]-at[i]
		}
		data, first, err := d.load(v, k, at, edge, lo, hi, space)
		if err != nil {
			return err
		}
		if rows.data == nil {
			err = d.spread(v, at, lo, hi, data, first, put)
		} else if rows.take(v, d, at, data, first); k.number == d.rowEnd(k.number)-1 {
			err = put((rows.from-lo)*v.perRow(), rows.data)
			rows.data = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one returns the bytes of rows that are exactly one chunk, without copying them; nil for other rows.
func (d *chunked) one(v *Values, lo, hi int) ([]byte, error) {
	if lo%d.dims[0] != 0 || hi != min(lo+d.dims[0], v.space.shape[0]) || !slices.Equal(d.dims[1:], v.space.shape[1:]) {
		return nil, nil
	}
	list, err := d.chunks(v, lo, hi)
	if err != nil || len(list) != 1 {
		return nil, err
	}
	place := make([]int, len(d.dims))
	place[0] = lo
	space := scratches.Get().(*scratch)
	defer scratches.Put(space)
	data, _, err := d.load(v, list[0], place, hi-lo < d.dims[0], lo, hi, space)
	if err != nil {
		return nil, err
	}
	space.forget(data)
	return data[: (hi-lo)*v.perRow()*v.stored : (hi-lo)*v.perRow()*v.stored], nil
}

// direct reads rows straight into out if all were written and chunks hold whole rows without filters. Adjacent chunks are one read. If
// a chunk is outside the file, it returns false, and read returns the error.
func (d *chunked) direct(v *Values, lo, hi int, out []byte) (bool, error) {
	if len(d.filters) > 0 || !slices.Equal(d.dims[1:], v.space.shape[1:]) {
		return false, nil
	}
	list, err := d.chunks(v, lo, hi)
	if err != nil {
		return false, err
	}
	for _, k := range list {
		if k.size != uint64(d.bytes) || v.f.fits(v.name, k.addr, 0) != nil {
			return false, nil
		}
	}
	row := d.bytes / d.dims[0]
	for at := lo; at < hi; {
		k, end := list[0], (list[0].number+1)*d.dims[0]
		addr := k.addr + uint64((at-k.number*d.dims[0])*row)
		for list = list[1:]; len(list) > 0 && list[0].addr == k.addr+k.size; end += d.dims[0] {
			k, list = list[0], list[1:]
		}
		end = min(end, hi)
		part := out[(at-lo)*row : (end-lo)*row]
		if v.f.fits(v.name, addr, uint64(len(part))) != nil {
			return false, nil
		}
		if err := v.f.into(v.name, addr, part); err != nil {
			return false, err
		}
		at = end
	}
	return true, nil
}

// rowEnd returns the number of the first chunk in the next row of chunks.
func (d *chunked) rowEnd(number int) int { return (number/d.perRow() + 1) * d.perRow() }

// load reads the chunk at a place in the array and undoes its filters. Without filters it reads only the rows lo to hi-1; first is the
// chunk's row at the start of the data. A chunk with filters and unused rows is kept for the next read.
func (d *chunked) load(v *Values, k chunk, place []int, edge bool, lo, hi int, space *scratch) (data []byte, first int, err error) {
	what := func() string { return fmt.Sprintf("%s: chunk at %s", v.name, tensor.FormatShape(place)) }
	filters := d.filters
	if edge && d.plainEdges {
		filters = nil
	}
	addr, size := k.addr, k.size
	from, to := max(lo-place[0], 0), min(hi-place[0], d.dims[0])
	part := from > 0 || to < min(d.dims[0], v.space.shape[0]-place[0])
	if len(filters) == 0 {
		if size != uint64(d.bytes) {
			return nil, 0, wrongSize(v.f.source, what(), v.f.offset(addr), int(min(size, math.MaxInt)), d.bytes)
		}
		row := uint64(d.bytes / d.dims[0])
		addr, size, first = addr+uint64(from)*row, uint64(to-from)*row, from
		if addr < k.addr {
			addr = none // past the end of any file
		}
	} else if data := v.f.chunks.Get(chunkKey{d, k.number}); part && data != nil {
		return data, 0, nil
	}
	err = v.f.fits(v.name, addr, size)
	if err == nil {
		data = space.take(0, int(size))
		err = v.f.into(v.name, addr, data)
	}
	if err != nil {
		return nil, 0, v.f.within(what(), err)
	}
	if len(filters) == 0 {
		return data, first, nil
	}
	if data, err = decode(v.f.source, what, v.f.offset(addr), data, filters, k.mask, d.bytes, space); err == nil && part {
		v.f.chunks.Put(chunkKey{d, k.number}, data)
		space.forget(data)
	}
	return data, 0, err
}

// spread passes a chunk's part of the array's rows lo to hi-1 to put, one contiguous run of elements at a time. data begins with the
// chunk's row first.
func (d *chunked) spread(v *Values, place []int, lo, hi int, data []byte, first int, put func(int, []byte) error) error {
	rank := len(d.dims)
	var from, to, skip, step [maxRank]int // first and last index; distance to the next element in the array and in the chunk
	skip[rank-1], step[rank-1] = 1, 1
	for i := rank - 1; i > 0; i-- {
		skip[i-1], step[i-1] = skip[i]*v.space.shape[i], step[i]*d.dims[i]
	}
	for i := range rank {
		from[i], to[i] = place[i], min(place[i]+d.dims[i], v.space.shape[i])
	}
	from[0], to[0] = max(from[0], lo), min(to[0], hi)
	// Trailing dimensions that are complete in both the chunk and the array form one run with the dimension before them.
	last := rank - 1
	for last > 0 && to[last]-from[last] == d.dims[last] && d.dims[last] == v.space.shape[last] {
		last--
	}
	run := (to[last] - from[last]) * step[last] * v.stored
	at := from
	for {
		target, begin := -lo*skip[0], -first*step[0]
		for i := range last + 1 {
			target += at[i] * skip[i]
			begin += (at[i] - place[i]) * step[i]
		}
		if err := put(target, data[begin*v.stored:][:run]); err != nil {
			return err
		}
		i := last - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < to[i] {
				break
			}
			at[i] = from[i]
		}
		if i < 0 {
			return nil
		}
	}
}
