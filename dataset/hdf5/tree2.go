package hdf5

import (
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/dataset"
)

const maxDepth = 32

// tree2 is a version 2 B-tree.
type tree2 struct {
	w      *walk
	what   string
	kind   int
	node   uint64 // bytes per node
	record int
	levels []level // from the leaves up
	leaf   func(c *cursor) error
}

// level holds the capacity of the nodes on one level.
type level struct {
	most  uint64 // records in a node
	all   uint64 // records in a node and its descendants
	bytes int    // bytes in a number up to all
}

// bytesOf returns the bytes needed for numbers up to n.
func bytesOf(n uint64) int { return max(bits.Len64(n)+7, 8) / 8 }

// tree2 calls record for each record in a B-tree. The tree must have the given type, and records with at least `least` bytes.
func (w *walk) tree2(what string, addr uint64, kind, least int, record func(c *cursor) error) error {
	n := 4 + 2 + 4 + 2 + 2 + 2 + w.offsets + 2 + w.lengths
	c, err := w.block(what, addr, uint64(n+4))
	if err != nil {
		return err
	}
	c.at = n
	c.checksum()
	c.at = 0
	c.magic("BTHD", 0)
	t := &tree2{w: w, what: what, kind: kind, leaf: record}
	if got := c.u8(); got != kind {
		c.bad(1, dataset.ErrCorrupt, "kind of B-tree", fmt.Sprint(got), fmt.Sprint(kind))
	}
	t.node, t.record = c.u32(), c.u16()
	if t.record < least {
		c.bad(2, dataset.ErrCorrupt, "bytes of a record", fmt.Sprint(t.record), fmt.Sprintf("at least %d", least))
	}
	depth := c.u16()
	if depth > maxDepth {
		c.bad(2, dataset.ErrCorrupt, "depth", fmt.Sprint(depth), fmt.Sprintf("at most %d", maxDepth))
	}
	c.skip(2)
	root, count := c.address(), c.u16()
	if c.err != nil || root == none {
		return c.err
	}
	for u := range depth + 1 {
		fixed, each := uint64(10), uint64(t.record)
		if u > 0 {
			pointer := uint64(w.offsets + t.levels[0].bytes)
			if u > 1 {
				pointer += uint64(t.levels[u-1].bytes)
			}
			fixed, each = fixed+pointer, each+pointer
		}
		if t.node < fixed+each {
			return c.bad(0, dataset.ErrCorrupt, "bytes of a node", fmt.Sprint(t.node), fmt.Sprintf("at least %d", fixed+each))
		}
		l := level{most: (t.node - fixed) / each}
		l.all = l.most
		if u == 0 {
			l.bytes = bytesOf(l.most)
		} else {
			hi, below := bits.Mul64(l.most+1, t.levels[u-1].all)
			if l.all += below; hi != 0 || l.all < below {
				return c.bad(0, dataset.ErrCorrupt, "depth", fmt.Sprint(depth), "at most 2^64 records")
			}
			l.bytes = bytesOf(l.all)
		}
		t.levels = append(t.levels, l)
	}
	return t.visit(root, uint64(count), depth)
}

// visit reads a node with count records, and its child nodes.
func (t *tree2) visit(addr, count uint64, depth int) error {
	if most := t.levels[depth].most; count > most {
		return t.w.fail(t.w.offset(addr), dataset.ErrCorrupt, t.what, fmt.Sprintf("%d records in a node", count), fmt.Sprintf("at most %d", most))
	}
	n := 6 + count*uint64(t.record)
	pointer := t.w.offsets + t.levels[0].bytes
	magic := "BTLF"
	if depth > 0 {
		if depth > 1 {
			pointer += t.levels[depth-1].bytes
		}
		magic = "BTIN"
		n += (count + 1) * uint64(pointer)
	}
	c, err := t.w.block(t.what, addr, n+4)
	if err != nil {
		return err
	}
	c.at = int(n)
	c.checksum()
	c.at = 0
	c.magic(magic, 0)
	if got := c.u8(); got != t.kind {
		c.bad(1, dataset.ErrCorrupt, "kind of node", fmt.Sprint(got), fmt.Sprint(t.kind))
	}
	for range count {
		part := t.w.cursor(t.what, c.bytes(uint64(t.record)), c.here())
		if c.err != nil {
			return c.err
		}
		if err := t.leaf(part); err != nil {
			return err
		}
		if part.err != nil {
			return part.err
		}
	}
	if depth == 0 {
		return c.err
	}
	for range count + 1 {
		child, records := c.address(), c.number(t.levels[0].bytes)
		if depth > 1 {
			c.skip(t.levels[depth-1].bytes)
		}
		if c.err != nil {
			return c.err
		}
		if err := t.visit(child, records, depth-1); err != nil {
			return err
		}
	}
	return nil
}
