package hdf5

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// groupLinks holds a group's links, and the reason why some may be missing.
type groupLinks struct {
	list []Link
	err  error
}

// groupLinks returns a group's links in name order. With an error it returns the links read before it. Links are read once.
func (f *File) groupLinks(path string, h *header) ([]Link, error) {
	f.mu.Lock()
	links, ok := f.links[h.addr]
	f.mu.Unlock()
	if ok {
		return links.list, links.err
	}
	g := &linkReader{walk: f.walk(), what: path + ": links"}
	broken := g.all(h)
	slices.SortFunc(g.links, func(a, b Link) int { return strings.Compare(a.Name, b.Name) })
	for i, l := range g.links[min(1, len(g.links)):] {
		if l.Name == g.links[i].Name {
			return nil, f.fail(f.offset(h.addr), dataset.ErrCorrupt, g.what, fmt.Sprintf("%.60q twice", l.Name), "each once")
		}
	}
	f.mu.Lock()
	f.links[h.addr] = groupLinks{g.links, broken}
	f.mu.Unlock()
	return g.links, broken
}

type linkReader struct {
	*walk
	what  string
	links []Link
}

func (g *linkReader) all(h *header) error {
	for i := range h.messages {
		m := &h.messages[i]
		var err error
		switch m.kind {
		case msgSymbolTable:
			err = g.symbols(m)
		case msgLink:
			err = g.link(g.open(g.what, m))
		case msgLinkInfo:
			err = g.dense(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a link if its name is valid.
func (g *linkReader) add(c *cursor, l Link) error {
	if l.Name == "" || strings.Contains(l.Name, "/") {
		c.bad(0, dataset.ErrCorrupt, "name", fmt.Sprintf("%.60q", l.Name), "letters, and no slash")
	}
	if c.err == nil {
		g.links = append(g.links, l)
	}
	return c.err
}

// symbols reads the links in an old-style group: a B-tree of tables, with names in a heap.
func (g *linkReader) symbols(m *message) error {
	c := g.open(g.what, m)
	tree, heap := c.address(), c.address()
	if c.err != nil {
		return c.err
	}
	c, err := g.block(g.what, heap, uint64(8+2*g.lengths+g.offsets))
	if err != nil {
		return err
	}
	c.magic("HEAP", 0)
	c.skip(3)
	size := c.length()
	c.length()
	addr := c.address()
	if c.err != nil {
		return c.err
	}
	names := g.cursor(g.what, nil, 0)
	if size > 0 {
		if names, err = g.more(g.what, addr, size); err != nil {
			return err
		}
	}
	return g.tree1(g.what, tree, 0, -1, g.lengths, func(_ *cursor, addr uint64) error { return g.table(addr, names) })
}

// text returns a name in the heap.
func (g *linkReader) text(names *cursor, at uint64) (string, error) {
	c := *names
	if c.bytes(at); c.err != nil {
		return "", c.err
	}
	s := c.text()
	if c.err == nil {
		c.err = g.spend(g.what, at, uint64(len(s)))
	}
	return s, c.err
}

// table reads one table of links.
func (g *linkReader) table(addr uint64, names *cursor) error {
	c, err := g.block(g.what, addr, 8)
	if err != nil {
		return err
	}
	c.magic("SNOD", 1)
	c.skip(1)
	count := c.u16()
	if c.err != nil {
		return c.err
	}
	if c, err = g.more(g.what, addr+8, uint64(count*(2*g.offsets+24))); err != nil {
		return err
	}
	for range count {
		var l Link
		name := c.number(g.offsets)
		l.addr = c.address()
		kind := c.u32()
		c.skip(4)
		at, pad := c.here(), c.bytes(16)
		if c.err != nil {
			return c.err
		}
		if kind == 1 {
			l.names = &message{kind: msgSymbolTable, body: pad[:2*g.offsets], at: at}
		}
		if l.Name, err = g.text(names, name); err != nil {
			return err
		}
		if kind == 2 {
			l.Kind = Soft
			if l.Target, err = g.text(names, uint64(binary.LittleEndian.Uint32(pad))); err != nil {
				return err
			}
		}
		if err := g.add(c, l); err != nil {
			return err
		}
	}
	return nil
}

// link reads a link message.
func (g *linkReader) link(c *cursor) error {
	c.version(1)
	flags := c.u8()
	kind := 0
	if flags&8 != 0 {
		kind = c.u8()
	}
	var l Link
	if flags&4 != 0 {
		c.skip(8) // creation order
	}
	if flags&16 != 0 {
		c.skip(1) // character set
	}
	l.Name = string(c.bytes(c.number(1 << (flags & 3))))
	switch kind {
	case 0:
		l.addr = c.address()
	case 1:
		l.Kind, l.Target = Soft, string(c.bytes(uint64(c.u16())))
	case 64:
		to := g.cursor(g.what, c.bytes(uint64(c.u16())), c.here())
		to.skip(1)
		l.Kind, l.Target = External, to.text()+":"+to.text()
		if c.err == nil {
			c.err = to.err
		}
	default:
		l.Kind = Other
	}
	return g.add(c, l)
}

// dense reads the links stored in a heap, if there is one.
func (g *linkReader) dense(m *message) error {
	c := g.open(g.what, m)
	c.version(0)
	if c.u8()&1 != 0 {
		c.skip(8)
	}
	heap, tree := c.address(), c.address()
	if c.err != nil || heap == none {
		return c.err
	}
	h, err := g.fractal(g.what, heap)
	if err != nil {
		return err
	}
	return g.tree2(g.what, tree, 5, 4+h.id, func(record *cursor) error {
		record.skip(4)
		o, err := h.object(record)
		if err != nil {
			return err
		}
		return g.link(o)
	})
}
