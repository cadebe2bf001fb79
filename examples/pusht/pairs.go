package main

import (
	"math"
	"slices"
)

// box is an upright rectangle.
type box struct{ left, bottom, right, top float64 }

func (a box) merge(b box) box {
	return box{min(a.left, b.left), min(a.bottom, b.bottom), max(a.right, b.right), max(a.top, b.top)}
}
func (a box) area() float64 { return float64((a.right - a.left) * (a.top - a.bottom)) }
func (a box) meets(b box) bool {
	return a.left <= b.right && b.left <= a.right && a.bottom <= b.top && b.bottom <= a.top
}

// far returns how far the centres of two boxes are apart.
func (a box) far(b box) float64 {
	return math.Abs(a.left+a.right-b.left-b.right) + math.Abs(a.bottom+a.top-b.bottom-b.top)
}

// node is a node of a tree of boxes. Contacts are solved in the order in which the tree finds their shapes, and ten iterations are
// too few for the order not to matter. So the tree is Chipmunk's.
type node struct {
	box                 // of a moving shape with room to move in, or around the children
	shape        *shape // nil if the node has children
	parent, a, b *node
	step         int        // in which the box was last set
	pairs        [][2]*node // the leaves that it may touch, the latest first; the later leaf of a pair looks for contacts
}

func (n *node) adopt(a, b *node) {
	n.a, n.b, n.box, a.parent, b.parent = a, b, a.merge(b.box), n, n
}

// insert adds a leaf below n and returns the top, where the boxes of the nodes grow least.
func (n *node) insert(leaf *node) *node {
	if n == nil {
		return leaf
	}
	if n.shape != nil {
		top := &node{}
		top.adopt(leaf, n)
		return top
	}
	a, b := n.b.area()+n.a.merge(leaf.box).area(), n.a.area()+n.b.merge(leaf.box).area()
	if a == b {
		a, b = n.a.far(leaf.box), n.b.far(leaf.box)
	}
	if b < a {
		n.adopt(n.a, n.b.insert(leaf))
	} else {
		n.adopt(n.a.insert(leaf), n.b)
	}
	return n
}

// remove takes a leaf from the tree below n, which has another, and returns the top.
func (n *node) remove(leaf *node) *node {
	parent := leaf.parent
	other := parent.a
	if other == leaf {
		other = parent.b
	}
	up := parent.parent
	other.parent, leaf.parent = up, nil
	switch {
	case up == nil:
		return other
	case up.a == parent:
		up.a = other
	default:
		up.b = other
	}
	for ; up != nil; up = up.parent {
		up.adopt(up.a, up.b)
	}
	return n
}

// pair puts two leaves first among each other's pairs.
func pair(a, b *node) {
	p := [2]*node{a, b}
	a.pairs, b.pairs = slices.Insert(a.pairs, 0, p), slices.Insert(b.pairs, 0, p)
}

// newLeaf returns a leaf with room for where its shape will be in a tenth of a second.
func newLeaf(s *shape) *node {
	n := &node{shape: s}
	n.fit()
	return n
}

func (n *node) fit() {
	b := n.shape.box
	x, y, v := (b.right-b.left)*0.1, (b.top-b.bottom)*0.1, n.shape.body.motion.v.times(0.1)
	n.box = box{b.left + min(-x, v.x), b.bottom + min(-y, v.y), b.right + max(x, v.x), b.top + max(y, v.y)}
}

// refit moves a leaf that its shape has left to another place in the tree.
func (s *space) refit(leaf *node) {
	if leaf.merge(leaf.shape.box) == leaf.box && s.step > 0 {
		return
	}
	leaf.fit()
	s.moving = s.moving.remove(leaf).insert(leaf)
	for _, p := range leaf.pairs {
		for _, n := range p {
			n.pairs = slices.DeleteFunc(slices.Clone(n.pairs), func(q [2]*node) bool { return q == p })
		}
	}
	leaf.step = s.step
}

// find looks for the contacts of the leaves below n.
func (s *space) find(n *node) {
	if n.shape == nil {
		s.find(n.a)
		s.find(n.b)
		return
	}
	if n.step < s.step {
		for _, p := range n.pairs {
			if p[1] == n {
				s.touch(p[0].shape, n.shape)
			}
		}
		return
	}
	s.query(s.fixed, n, false)
	for at := n; at.parent != nil; at = at.parent {
		if at == at.parent.a {
			s.query(at.parent.b, n, true)
		} else {
			s.query(at.parent.a, n, false)
		}
	}
}

// query pairs a leaf with those below n that its box meets. If they come later, they look for the contacts.
func (s *space) query(n, leaf *node, later bool) {
	switch {
	case !n.meets(leaf.box):
	case n.shape == nil:
		s.query(n.a, leaf, later)
		s.query(n.b, leaf, later)
	case later:
		pair(leaf, n)
	default:
		if n.step < leaf.step {
			pair(n, leaf)
		}
		s.touch(leaf.shape, n.shape)
	}
}
