package main

import "math"

// motion is the velocity in px/s at a body's centre, and the body's spin in rad/s.
type motion struct {
	v    vec
	spin float64
}

// at returns the velocity at r from the centre.
func (m *motion) at(r vec) vec { return m.v.add(r.left().times(m.spin)) }

// The block's moment of inertia, for mass 1, and its centre of mass from its origin.
const inertia = 3000

var center = vec{0, 45}

// body is the agent, the block or the ground. bias moves the block out of an overlap, in the next step only.
type body struct {
	center, rotation vec // in px; the direction of angle
	angle            float64
	motion, bias     motion
}

// place sets the block's pose by its origin.
func (b *body) place(origin vec, angle float64) {
	b.angle, b.rotation = angle, direction(angle)
	b.center = center.turn(b.rotation).add(origin)
}

// push changes one of the block's motions by an impulse at r from the centre.
func (m *motion) push(impulse, r vec) {
	m.v, m.spin = m.v.add(impulse), m.spin+float64(1.0/inertia*r.cross(impulse))
}

// shape is a convex polygon with a rounded border: a circle has one corner, a wall two. Side i ends at corner i.
type shape struct {
	body             *body
	radius           float64
	local            []vec // the corners, counterclockwise, from the body's centre
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
	for i, v := range s.local {
		p := v.turn(s.body.rotation).add(s.body.center)
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

// contact is a point at which the block touches the agent or a wall.
type contact struct {
	id            int     // for the corners that touch; the impulse is kept while they do
	r             vec     // from the block's centre
	gap           float64 // below 0 if the shapes overlap
	impulse, bias float64
}

// collide returns the normal from a, the agent or a wall, to b, a box in the block, and their contacts.
func collide(a, b *shape) (n vec, list []contact) {
	add := func(id int, pa, pb vec) {
		if gap := pb.sub(pa).dot(n) - a.radius; gap <= 0 {
			list = append(list, contact{id: id, r: pb.sub(b.body.center), gap: gap})
		}
	}

	d := math.Inf(-1) // the distance, below 0 if the shapes overlap
	var to vec        // the point on b
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
	case d > a.radius:
		return n, nil
	case len(a.corners) == 1:
		add(0, a.corners[0], to)
		return n, list
	}
	i, j := a.facing(n), b.facing(n.times(-1))
	// across returns the point on a side that is opposite to p.
	across := func(u, v, p vec) vec {
		from := u.cross(n)
		return u.lerp(v, max(0, min(1, float64((p.cross(n)-from)*(1/(v.cross(n)-from))))))
	}
	a0, a1 := a.side(i)
	b0, b1 := b.side(j)
	add(2*j+i, across(a0, a1, b1), across(b0, b1, a0))
	add(2*b.before(j)+1-i, across(a0, a1, b0), across(b0, b1, a1))
	return n, list
}
