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

// far returns twice the distance between the centres, by |x| + |y|.
func (a box) far(b box) float64 {
	return math.Abs(a.left+a.right-b.left-b.right) + math.Abs(a.bottom+a.top-b.bottom-b.top)
}

// neighbours are for each leaf in a tree the other two, the closest first. Contacts are solved in the order in which they are found, and
// ten iterations are too few for the order not to matter, so the order comes from a tree like Chipmunk's. The three shapes that move are
// its leaves; the last two, or else the first two, have the same parent.
var neighbours = map[bool][3][2]int{false: {{1, 2}, {0, 2}, {0, 1}}, true: {{1, 2}, {2, 0}, {1, 0}}}

// fit gives a shape a box with room to move for 0.1 s, and a place next to the leaf whose box must grow least.
func (s *space) fit(m *shape) {
	b := m.box
	x, y, v := (b.right-b.left)*0.1, (b.top-b.bottom)*0.1, m.body.motion.v.times(0.1)
	m.room = box{b.left + min(-x, v.x), b.bottom + min(-y, v.y), b.right + max(x, v.x), b.top + max(y, v.y)}
	m.fitted = s.step
	s.leaves = slices.DeleteFunc(s.leaves, func(t *shape) bool { return t == m })
	s.pairs = slices.DeleteFunc(s.pairs, func(p [2]*shape) bool { return p[0] == m || p[1] == m })
	place := 0
	if len(s.leaves) == 2 {
		u, v := s.leaves[0].room, s.leaves[1].room
		first, last := v.area()+u.merge(m.room).area(), u.area()+v.merge(m.room).area()
		if first == last {
			first, last = u.far(m.room), v.far(m.room)
		}
		if s.last = last < first; s.last {
			place = 1
		}
	}
	s.leaves = slices.Insert(s.leaves, place, m)
}

// find finds the contacts.
func (s *space) find() {
	for i, m := range s.leaves {
		if m.fitted < s.step {
			for _, p := range s.pairs {
				if p[1] == m {
					s.touch(p[0], m)
				}
			}
			continue
		}
		look := func(t *shape, later bool) {
			switch {
			case !t.room.meets(m.room):
				return
			case later:
				s.pairs = slices.Insert(s.pairs, 0, [2]*shape{m, t})
				return
			case t.fitted < s.step:
				s.pairs = slices.Insert(s.pairs, 0, [2]*shape{t, m})
			}
			s.touch(m, t)
		}
		for _, w := range s.walls {
			look(w, false)
		}
		for _, j := range neighbours[s.last][i] {
			look(s.leaves[j], j > i)
		}
	}
}
