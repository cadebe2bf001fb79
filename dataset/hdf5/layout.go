package hdf5

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// inline holds elements stored in a header.
type inline []byte

func (d inline) whole(*Values, int, int) (bool, error) { return true, nil }

func (d inline) read(v *Values, lo, hi int, put func(int, []byte) error) error {
	row := v.perRow() * v.stored
	if hi*row > len(d) {
		return v.fail(dataset.ErrCorrupt, "", fmt.Sprintf("%d bytes", len(d)), fmt.Sprint(hi*row))
	}
	return put(0, d[lo*row:hi*row])
}

// unwritten is storage that was never allocated.
type unwritten struct{}

func (unwritten) whole(*Values, int, int) (bool, error)                 { return false, nil }
func (unwritten) read(*Values, int, int, func(int, []byte) error) error { return nil }

// contiguous is storage with all elements consecutive.
type contiguous struct{ addr uint64 }

func (contiguous) whole(*Values, int, int) (bool, error) { return true, nil }

func (d contiguous) read(v *Values, lo, hi int, put func(int, []byte) error) error {
	row := uint64(v.perRow()) * uint64(v.stored)
	from, size := d.addr+uint64(lo)*row, uint64(hi-lo)*row
	if err := v.f.fits(v.name, from, size); err != nil {
		return err
	}
	part := max(1<<18/v.stored, 1) // elements read together, so that they stay in a core's cache
	buf := make([]byte, min(uint64(part*v.stored), size))
	for at := 0; size > 0; at += part {
		n := min(uint64(len(buf)), size)
		if err := v.f.into(v.name, from, buf[:n]); err != nil {
			return err
		}
		if err := put(at, buf[:n]); err != nil {
			return err
		}
		from, size = from+n, size-n
	}
	return nil
}

// direct reads rows straight into out.
func (d contiguous) direct(v *Values, lo, hi int, out []byte) error {
	return v.f.into(v.name, d.addr+uint64(lo)*uint64(v.perRow())*uint64(v.stored), out)
}

// layout reads the layout message, which locates the elements.
func (v *Values) layout(m *message, filters []Filter) {
	c := v.f.open(v.name+": layout", m)
	switch version := c.version(1, 2, 3, 4); version {
	case 1, 2:
		v.layout1(c, filters)
	default:
		v.layout3(c, version, filters)
	}
	if c.err != nil {
		v.err = c.err
	}
}

func (v *Values) layout1(c *cursor, filters []Filter) {
	rank, class := c.u8(), c.u8()
	c.skip(5)
	addr := uint64(none)
	if class != 0 {
		addr = c.address()
	}
	dims := make([]uint64, rank)
	for i := range dims {
		dims[i] = c.u32()
	}
	switch class {
	case 0:
		v.data = inline(c.bytes(c.u32()))
	case 1:
		v.place(c, addr, none)
	case 2:
		v.chunks(c, &chunked{addr: addr, filters: filters, index: indexTree1}, dims)
	default:
		c.bad(0, dataset.ErrUnsupported, "class", fmt.Sprint(class), "0 to 2")
	}
}

func (v *Values) layout3(c *cursor, version int, filters []Filter) {
	switch class := c.u8(); {
	case class == 0:
		v.data = inline(c.bytes(uint64(c.u16())))
	case class == 1:
		addr := c.address()
		v.place(c, addr, c.length())
	case class == 2 && version == 3:
		rank := c.u8()
		d := &chunked{addr: c.address(), filters: filters, index: indexTree1}
		dims := make([]uint64, rank)
		for i := range dims {
			dims[i] = c.u32()
		}
		v.chunks(c, d, dims)
	case class == 2:
		v.layout4(c, filters)
	case class == 3:
		c.bad(1, dataset.ErrUnsupported, "class", "a virtual dataset, whose elements are in others", "elements of its own")
	default:
		c.bad(1, dataset.ErrUnsupported, "class", fmt.Sprint(class), "0 to 3")
	}
}

func (v *Values) layout4(c *cursor, filters []Filter) {
	flags := c.u8()
	rank, bytes := c.u8(), c.u8()
	if bytes < 1 || bytes > 8 {
		c.bad(1, dataset.ErrCorrupt, "bytes of a dimension", fmt.Sprint(bytes), "1 to 8")
		return
	}
	dims := make([]uint64, rank)
	for i := range dims {
		dims[i] = c.number(bytes)
	}
	d := &chunked{filters: filters, plainEdges: flags&1 != 0}
	d.index = c.u8()
	switch d.index {
	case indexSingle:
		if flags&2 != 0 {
			d.size, d.mask = c.length(), uint32(c.u32())
		}
	case indexImplicit:
	case indexFixed:
		c.skip(1)
	case indexExtensible:
		c.skip(5)
	case indexTree2:
		c.skip(4 + 1 + 1)
	default:
		c.bad(1, dataset.ErrUnsupported, "chunk index", fmt.Sprint(d.index), "1 to 5")
	}
	d.addr = c.address()
	v.chunks(c, d, dims)
}

// place sets the location of contiguous elements.
func (v *Values) place(c *cursor, addr, size uint64) {
	if c.err != nil {
		return
	}
	n, _ := tensor.NumElements(v.space.shape...)
	if n > tensor.MaxBytes/v.stored {
		c.bad(0, dataset.ErrTooLarge, "shape", tensor.FormatShape(v.space.shape), "at most 2^62 bytes")
		return
	}
	switch want := uint64(n * v.stored); {
	case addr == none:
		v.data = unwritten{}
	case size < want:
		c.bad(c.lengths, dataset.ErrCorrupt, "size", fmt.Sprint(size), fmt.Sprint(want))
	default:
		v.data = contiguous{addr}
	}
}
