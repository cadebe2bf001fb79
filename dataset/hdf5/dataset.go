package hdf5

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// Dataset is a named array. Several goroutines may read it.
type Dataset struct {
	object
	Values
}

// Attr is an attribute on a group, a dataset or a type: values with a name.
type Attr struct {
	Name string
	Values
}

// dataset reads a header. Unsupported features are errors when the values are read; broken ones are errors immediately.
func (f *File) dataset(o object) (Object, error) {
	d := &Dataset{object: o, Values: Values{f: f, name: o.path, at: f.offset(o.header.addr)}}
	v := &d.Values
	if o.header.lost != nil {
		return nil, o.header.lost // the lost part may contain a filter
	}
	need := func(kind int, what string) (*message, error) {
		m := o.header.find(kind)
		if m == nil {
			return nil, v.fail(dataset.ErrCorrupt, "", "no "+what, "one")
		}
		return f.shared(m, kind)
	}
	m, err := need(msgDataspace, "dataspace")
	if err != nil {
		return nil, err
	}
	if err := v.shaped(m); err != nil {
		return nil, err
	}
	if m, err = need(msgType, "type"); err != nil {
		return nil, err
	}
	if err := v.typed(m); err != nil {
		return nil, err
	}
	if err := v.filled(o.header); err != nil {
		return nil, err
	}
	var filters []Filter
	if m := o.header.find(msgFilters); m != nil {
		if m, err = f.shared(m, msgFilters); err != nil {
			return nil, err
		}
		c := f.source.open(o.path+": filters", m)
		if filters = c.filters(); c.err != nil {
			return nil, c.err
		}
	}
	if m, err = need(msgLayout, "layout"); err != nil {
		return nil, err
	}
	v.layout(m, filters)
	if o.header.find(msgExternal) != nil {
		v.err = v.fail(dataset.ErrUnsupported, "", "elements in other files", "elements in this one")
	}
	if _, broken := dataset.AsBroken(v.err); broken {
		return nil, v.err
	}
	if v.space.empty {
		v.data = unwritten{}
	}
	return d, nil
}

// described reads an attribute's type and shape.
func (v *Values) described(typ, space *message) error {
	v.typ = &Type{}
	m, err := v.f.shared(typ, msgType)
	if err != nil {
		return err
	}
	if err := v.typed(m); err != nil {
		return err
	}
	if m, err = v.f.shared(space, msgDataspace); err != nil {
		return err
	}
	return v.shaped(m)
}

func (v *Values) shaped(m *message) error {
	c := v.f.open(v.name+": dataspace", m)
	v.space = c.space()
	return c.err
}

func (v *Values) typed(m *message) error {
	c := v.f.open(v.name+": type", m)
	v.typ = c.dtype(0)
	v.stored = v.typ.Size
	return c.err
}

// filled reads the value for elements that were never written.
func (v *Values) filled(h *header) error {
	m, kind := h.find(msgFill), msgFill
	if m == nil {
		m, kind = h.find(msgOldFill), msgOldFill
	}
	if m == nil {
		return nil
	}
	m, err := v.f.shared(m, kind)
	if err != nil {
		return err
	}
	c := v.f.open(v.name+": fill value", m)
	given := true
	if kind == msgFill {
		switch version := c.version(1, 2, 3); version {
		case 3:
			given = c.u8()&(1<<5) != 0
		default:
			c.skip(2)
			given = c.u8() != 0 || version == 1
		}
	}
	if !given || c.err != nil {
		return c.err
	}
	if n := c.u32(); n > 0 && n < 1<<31 {
		if v.fill = c.bytes(n); c.err == nil && len(v.fill) != v.stored {
			c.bad(int(n), dataset.ErrCorrupt, "value", fmt.Sprintf("%d bytes", n), fmt.Sprint(v.stored))
		}
	}
	return c.err
}

// Attrs returns the attributes in name order. If an attribute is broken or not supported, reading its values returns the error. If
// even its name is unknown, or a list of attributes is broken, an attribute without a name holds the error.
func (o *object) Attrs() ([]*Attr, error) {
	var list []*Attr
	take := func(c *cursor) error {
		a, err := o.attribute(c)
		if err == nil {
			list = append(list, a)
		}
		return err
	}
	for i := range o.header.messages {
		m := &o.header.messages[i]
		var err error
		switch m.kind {
		case msgAttribute:
			if m, err = o.f.shared(m, msgAttribute); err == nil {
				err = take(o.f.source.open(o.path+": attribute", m))
			}
		case msgAttributeInfo:
			err = o.denseAttributes(m, take)
		}
		var bad *dataset.FormatError
		if err != nil && !errors.As(err, &bad) {
			return nil, err
		}
		if err != nil {
			list = append(list, &Attr{"", Values{f: o.f, name: o.path + ": attribute", at: o.header.messages[i].at, typ: &Type{}, stored: 1, data: unwritten{}, err: err}})
		}
	}
	slices.SortStableFunc(list, func(a, b *Attr) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Attr returns an attribute, or an error that is dataset.ErrNotFound.
func (o *object) Attr(name string) (*Attr, error) {
	list, err := o.Attrs()
	if err != nil {
		return nil, err
	}
	var unknown error // why the name may exist anyway
	for _, a := range list {
		switch a.Name {
		case name:
			return a, nil
		case "":
			unknown = cmp.Or(unknown, a.err)
		}
	}
	if unknown = cmp.Or(unknown, o.header.lost); unknown != nil {
		return nil, unknown
	}
	return nil, o.f.fail(o.f.offset(o.header.addr), dataset.ErrNotFound, o.path+": attribute", fmt.Sprintf("%.60q", name), "")
}

// attribute reads an attribute message.
func (o *object) attribute(c *cursor) (*Attr, error) {
	version := c.version(1, 2, 3)
	flags := c.u8()
	sizes := [3]int{c.u16(), c.u16(), c.u16()}
	if version == 3 {
		c.skip(1)
	}
	var parts [3]message
	for i, n := range sizes {
		parts[i].at, parts[i].body = c.here(), c.bytes(uint64(n))
		if version == 1 {
			c.skip((8 - n%8) % 8)
		} else if i > 0 && flags>>(i-1)&1 != 0 {
			parts[i].flags = flagShared
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	name, _, _ := strings.Cut(string(parts[0].body), "\x00")
	a := &Attr{name, Values{f: o.f, name: fmt.Sprintf("%s: attribute %.60q", o.path, name), at: c.here()}}
	a.data = inline(c.bytes(uint64(c.left())))
	a.err = a.described(&parts[1], &parts[2])
	return a, nil
}

// denseAttributes reads the attributes stored in a heap, if there is one.
func (o *object) denseAttributes(m *message, take func(*cursor) error) error {
	what := o.path + ": attributes"
	c := o.f.source.open(what, m)
	c.version(0)
	if c.u8()&1 != 0 {
		c.skip(2)
	}
	heap, tree := c.address(), c.address()
	if c.err != nil || heap == none {
		return c.err
	}
	w := o.f.walk()
	h, err := w.fractal(what, heap)
	if err != nil {
		return err
	}
	return w.tree2(what, tree, 8, h.id+1+4+4, func(record *cursor) error {
		id := w.cursor(what, record.bytes(uint64(h.id)), record.start)
		if record.u8()&flagShared != 0 {
			return record.bad(1, dataset.ErrUnsupported, "attribute", "one in the file's table of shared messages", "one of its own")
		}
		at, err := h.object(id)
		if err != nil {
			return err
		}
		return take(at)
	})
}
