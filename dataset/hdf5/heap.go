package hdf5

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
)

// collection is a part of the global heap, which stores variable-length elements.
type collection struct {
	objects map[int]span
	err     error
}

// span locates an object's bytes.
type span struct{ addr, size uint64 }

// window is how many bytes of a collection are read together to list its objects.
const window = 1 << 16

// collection returns a part of the global heap. Each is read once; together they may not exceed the file's size.
func (f *File) collection(addr uint64) (*collection, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if found := f.heaps[addr]; found != nil {
		return found, found.err
	}
	h := &collection{objects: map[int]span{}}
	h.err = h.read(f, addr)
	if bad := (*dataset.FormatError)(nil); h.err == nil || errors.As(h.err, &bad) {
		f.heaps[addr] = h
	}
	return h, h.err
}

func (h *collection) read(f *File, addr uint64) error {
	const what = "global heap"
	c, err := f.source.read(what, addr, uint64(8+f.lengths))
	if err != nil {
		return err
	}
	c.magic("GCOL", 1)
	c.skip(3)
	size := c.length()
	if c.err != nil {
		return c.err
	}
	if err := f.fits(what, addr, size); err != nil {
		return err
	}
	if f.spent += int64(size); f.spent > f.size {
		return f.fail(f.offset(addr), dataset.ErrCorrupt, what, "more bytes in all than the file has", "parts that do not overlap")
	}
	prefix := uint64(8 + f.lengths)
	begin, end := uint64(0), uint64(0) // range in memory, relative to addr
	for at := prefix; at+prefix <= size; {
		if at < begin || at+prefix > end {
			begin, end = at, min(at+window, size)
			if c, err = f.source.read(what, addr+begin, end-begin); err != nil {
				return err
			}
		}
		c.at = int(at - begin)
		index := c.u16()
		c.skip(2 + 4)
		n := c.length()
		if index == 0 {
			return nil // the rest is free
		}
		if n > size-at-prefix {
			return c.bad(f.lengths, dataset.ErrCorrupt, "object", fmt.Sprintf("%d bytes", n), fmt.Sprintf("at most %d", size-at-prefix))
		}
		h.objects[index] = span{addr + at + prefix, n}
		at += prefix + n + (8-n%8)%8
	}
	return nil
}

// variable returns the bytes of a variable-length element.
func (f *File) variable(v *Values, t *Type, element []byte) ([]byte, error) {
	c := f.cursor(v.name, element, v.at)
	n, addr, index := c.u32(), c.address(), int(c.u32())
	if n == 0 || addr == 0 || addr == none {
		return nil, nil
	}
	h, err := f.collection(addr)
	if err != nil {
		return nil, err
	}
	o, ok := h.objects[index]
	if !ok {
		return nil, v.fail(dataset.ErrCorrupt, "", fmt.Sprintf("object %d of the global heap at byte %d", index, f.offset(addr)), "one that is there")
	}
	want := n * uint64(t.Elem.Size)
	if want > o.size {
		return nil, v.fail(dataset.ErrCorrupt, ": element of variable length", fmt.Sprintf("%d bytes", o.size), fmt.Sprint(want))
	}
	found, err := f.source.read(v.name, o.addr, want)
	if err != nil {
		return nil, err
	}
	return found.data, nil
}
