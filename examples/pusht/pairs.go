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

// far returns how far the centres of two boxes are apart, twice.
func (a box) far(b box) float64 {
	return math.Abs(a.left+a.right-b.left-b.right) + math.Abs(a.bottom+a.top-b.bottom-b.top)
}

// order is the order of the moving shapes, and so the order in which contacts are found and solved. Ten iterations are too few for
// the order not to matter, so it is that of Chipmunk's tree of boxes. The three shapes are the leaves of that tree; the last two, or
// else the first two, have the same parent.
type order struct {
	shapes []*shape
	last   bool
	pairs  [][2]*shape // whose boxes met, the latest first; the second shape finds the contacts
}

// neighbours are for each leaf the other two, the closest in the tree first.
var neighbours = map[bool][3][2]int{false: {{1, 2}, {0, 2}, {0, 1}}, true: {{1, 2}, {2, 0}, {1, 0}}}

// fit gives a shape a box with room to move for a tenth of a second, and a place in the order next to the shape whose box must grow least.
func (o *order) fit(s *shape, step int) {
	b := s.box
	x, y, v := (b.right-b.left)*0.1, (b.top-b.bottom)*0.1, s.body.motion.v.times(0.1)
	s.room = box{b.left + min(-x, v.x), b.bottom + min(-y, v.y), b.right + max(x, v.x), b.top + max(y, v.y)}
	s.fitted = step
	o.shapes = slices.DeleteFunc(o.shapes, func(t *shape) bool { return t == s })
	o.pairs = slices.DeleteFunc(o.pairs, func(p [2]*shape) bool { return p[0] == s || p[1] == s })
	place := 0
	if len(o.shapes) == 2 {
		u, v := o.shapes[0].room, o.shapes[1].room
		first, last := v.area()+u.merge(s.room).area(), u.area()+v.merge(s.room).area()
		if first == last {
			first, last = u.far(s.room), v.far(s.room)
		}
		if o.last = last < first; o.last {
			place = 1
		}
	}
	o.shapes = slices.Insert(o.shapes, place, s)
}

// find calls touch for each two shapes that may touch.
func (o *order) find(walls []*shape, step int, touch func(a, b *shape)) {
	for i, s := range o.shapes {
		if s.fitted < step {
			for _, p := range o.pairs {
				if p[1] == s {
					touch(p[0], s)
				}
			}
			continue
		}
		look := func(t *shape, later bool) {
			switch {
			case !t.room.meets(s.room):
				return
			case later:
				o.pairs = slices.Insert(o.pairs, 0, [2]*shape{s, t})
				return
			case t.fitted < step:
				o.pairs = slices.Insert(o.pairs, 0, [2]*shape{t, s})
			}
			touch(s, t)
		}
		for _, w := range walls {
			look(w, false)
		}
		for _, j := range neighbours[o.last][i] {
			look(o.shapes[j], j > i)
		}
	}
}
