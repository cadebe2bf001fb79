package main

import "math"

// motion is the velocity of a body's centre of mass in px/s, and the body's spin in rad/s.
type motion struct {
	v    vec
	spin float64
}

// at returns the velocity of the point r from the centre of mass.
func (m *motion) at(r vec) vec { return m.v.add(r.left().times(m.spin)) }

// body is a rigid body. A body with massInv 0 is moved by its own motion alone.
type body struct {
	p                   vec // the centre of mass, in px
	angle               float64
	rotation            vec // the direction of angle
	motion              motion
	bias                motion // pushes overlapping bodies apart, in the next step only
	massInv, inertiaInv float64
	center              vec // the centre of mass, from the body's origin
}

// place sets the pose of a body by its origin.
func (b *body) place(origin vec, angle float64) {
	b.angle, b.rotation = angle, direction(angle)
	b.p = b.center.turn(b.rotation).add(origin)
}

func (b *body) origin() vec { return b.p.sub(b.center.turn(b.rotation)) }

// push changes m, one of the body's motions, by an impulse j at the point r from the centre of mass.
func (b *body) push(m *motion, j, r vec) {
	m.v, m.spin = m.v.add(j.times(b.massInv)), m.spin+float64(b.inertiaInv*r.cross(j))
}

// give returns how much an impulse of 1 along n at the point r changes the velocity there.
func (b *body) give(r, n vec) float64 {
	c := r.cross(n)
	return b.massInv + float64(float64(b.inertiaInv*c)*c)
}

// shape is a convex polygon with a rounded border: a circle has one corner, a wall two. Side i ends at corner i.
type shape struct {
	body             *body
	radius           float64
	local            []vec // the corners, counterclockwise, from the body's origin
	corners, normals []vec // in px; the normals point outside
	box, room        box
	fitted           int // the step that set room
}

// newShape returns a shape at its body's pose.
func newShape(b *body, radius float64, local ...vec) *shape {
	s := &shape{body: b, local: local, radius: radius, corners: make([]vec, len(local)), normals: make([]vec, len(local))}
	s.update()
	return s
}

// update moves the corners to the body's pose.
func (s *shape) update() {
	from := s.body.origin()
	for i, v := range s.local {
		p := v.turn(s.body.rotation).add(from)
		b := box{p.x - s.radius, p.y - s.radius, p.x + s.radius, p.y + s.radius}
		if i > 0 {
			b = b.merge(s.box)
		}
		s.corners[i], s.box = p, b
	}
	for i := range s.normals {
		a, b := s.side(i)
		s.normals[i] = b.sub(a).left().times(-1 / b.sub(a).length())
	}
}

func (s *shape) before(i int) int { return (i + len(s.corners) - 1) % len(s.corners) }

func (s *shape) side(i int) (a, b vec) { return s.corners[s.before(i)], s.corners[i] }

// furthest returns the corner that is furthest along n.
func (s *shape) furthest(n vec) (best int) {
	for i, p := range s.corners {
		if p.dot(n) > s.corners[best].dot(n) {
			best = i
		}
	}
	return best
}

// facing returns the side that faces n.
func (s *shape) facing(n vec) int {
	i := s.furthest(n)
	next := (i + 1) % len(s.corners)
	if n.dot(s.normals[i]) > n.dot(s.normals[next]) {
		return i
	}
	return next
}

// contact is a point at which two bodies touch, from their centres of mass.
type contact struct {
	id                  int // of the corners that touch; the impulse is kept while they do
	r1, r2              vec
	impulse, biasChange float64
	mass, bias          float64
}

// collide returns the normal from a to b, and the contacts in px. a has at most two corners.
func collide(a, b *shape) (n vec, list []contact) {
	d := math.Inf(-1) // the distance, below 0 if the shapes overlap
	var to vec        // the point of b
	// try takes the direction m if the way along it, from a0 or a1 to b0 or b1, separates the shapes and is the shortest, or
	// else if the overlap is the least.
	try := func(m, a0, a1, b0, b1 vec) {
		v0, v1 := b0.sub(a0), b1.sub(a1)
		gap, along := m.dot(v0), v1.sub(v0)
		t := (1 - max(-1, min(1, along.dot(v0.add(v1))/along.dot(along)))) / 2
		if p := v0.lerp(v1, t); gap > 0 && (t == 0 || t == 1) {
			gap = p.length()
			m = p.times(1 / gap)
		}
		if gap > 0 && (d <= 0 || gap < d) || gap <= 0 && d < gap {
			n, d, to = m, gap, b0.lerp(b1, t)
		}
	}
	for i, m := range b.normals {
		b0, b1 := b.side(i)
		p := a.corners[a.furthest(m.times(-1))]
		try(m.times(-1), p, p, b0, b1)
	}
	for i, m := range a.normals {
		if a0, a1 := a.side(i); a0 != a1 {
			p := b.corners[b.furthest(m.times(-1))]
			try(m, a0, a1, p, p)
		}
	}
	switch {
	case d > a.radius+b.radius:
		return n, nil
	case len(a.corners) == 1:
		return n, []contact{{r1: a.corners[0].add(n.times(a.radius)), r2: to.sub(n.times(b.radius))}}
	}
	i, j := a.facing(n), b.facing(n.times(-1))
	// across returns the point of a side that is opposite to p.
	across := func(s *shape, side int, p, border vec) vec {
		u, v := s.side(side)
		from := u.cross(n)
		return border.add(u.lerp(v, max(0, min(1, float64((p.cross(n)-from)*(1/(v.cross(n)-from)))))))
	}
	for _, e := range [2][2]int{{a.before(i), j}, {i, b.before(j)}} {
		c := contact{id: e[0]*len(b.corners) + e[1]}
		c.r1 = across(a, i, b.corners[e[1]], n.times(a.radius))
		c.r2 = across(b, j, a.corners[e[0]], n.times(-b.radius))
		if c.r2.sub(c.r1).dot(n) <= 0 {
			list = append(list, c)
		}
	}
	return n, list
}
