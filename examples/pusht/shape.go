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
	p          vec // the centre of mass, in px
	angle      float64
	motion     motion
	bias       motion // pushes overlapping bodies apart, in the next step only
	massInv    float64
	inertiaInv float64
	center     vec // the centre of mass, from the body's origin
	rotation   vec
}

// place sets the pose of a body. p is the position of its centre of mass.
func (b *body) place(p vec, angle float64) {
	b.p, b.angle, b.rotation = p, angle, direction(angle)
}

// origin returns the position of the body's origin.
func (b *body) origin() vec { return b.p.sub(b.center.turn(b.rotation)) }

func (b *body) move(dt float64) {
	b.place(b.p.add(b.motion.v.add(b.bias.v).times(dt)), b.angle+float64((b.motion.spin+b.bias.spin)*dt))
	b.bias = motion{}
}

// push changes m, one of the body's motions, by an impulse j at the point r from the centre of mass.
func (b *body) push(m *motion, j, r vec) {
	m.v, m.spin = m.v.add(j.times(b.massInv)), m.spin+float64(b.inertiaInv*r.cross(j))
}

// give returns the inverse of the mass that an impulse along n at the point r meets.
func (b *body) give(r, n vec) float64 {
	c := r.cross(n)
	return b.massInv + float64(float64(b.inertiaInv*c)*c)
}

// shape is a convex polygon with a rounded border: a circle has one corner, a wall two. Corner i ends side i, and normals point
// outside.
type shape struct {
	body             *body
	local            []vec // the corners, counterclockwise, from the body's origin
	radius           float64
	corners, normals []vec
	box              box
}

// newShape returns a shape at its body's pose.
func newShape(b *body, radius float64, local ...vec) *shape {
	s := &shape{body: b, local: local, radius: radius, corners: make([]vec, len(local)), normals: make([]vec, len(local))}
	s.update()
	return s
}

// update moves the corners to the body's pose.
func (s *shape) update() {
	s.box = box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	from := s.body.origin()
	for i, v := range s.local {
		p := v.turn(s.body.rotation).add(from)
		s.corners[i] = p
		s.box = s.box.merge(box{p.x - s.radius, p.y - s.radius, p.x + s.radius, p.y + s.radius})
	}
	for i, p := range s.corners {
		if d := p.sub(s.corners[s.before(i)]); len(s.corners) > 1 {
			s.normals[i] = d.left().times(-1 / d.length())
		}
	}
}

func (s *shape) before(i int) int { return (i + len(s.corners) - 1) % len(s.corners) }

// support returns the corner that is furthest along n.
func (s *shape) support(n vec) (best int) {
	for i, p := range s.corners {
		if p.dot(n) > s.corners[best].dot(n) {
			best = i
		}
	}
	return best
}

// side returns the first and the second corner of the side that faces n.
func (s *shape) side(n vec) (int, int) {
	i := s.support(n)
	next := (i + 1) % len(s.corners)
	if n.dot(s.normals[i]) > n.dot(s.normals[next]) {
		return s.before(i), i
	}
	return i, next
}

// contact is a point at which two bodies touch, from their centres of mass. id is the pair of features that touch; the impulse is
// kept while they do.
type contact struct {
	id                   int
	r1, r2               vec
	impulse, biasImpulse float64
	mass, bias           float64
}

// edge is a side of the Minkowski difference b - a.
type edge struct {
	n, v0, v1 vec
	b0, b1    vec // the corners of b, for a circle a
}

// collide returns the contacts of two shapes in absolute coordinates, and the normal from a to b. a has at most two corners.
func collide(a, b *shape) (vec, []contact) {
	var sides []edge
	for i, m := range b.normals {
		from, b0, b1 := a.corners[a.support(m.times(-1))], b.corners[b.before(i)], b.corners[i]
		sides = append(sides, edge{m.times(-1), b0.sub(from), b1.sub(from), b0, b1})
	}
	for i, m := range a.normals {
		if to := b.corners[b.support(m.times(-1))]; len(a.corners) > 1 {
			sides = append(sides, edge{n: m, v0: to.sub(a.corners[a.before(i)]), v1: to.sub(a.corners[i])})
		}
	}
	n, d, to := separate(sides)
	reach := a.radius + b.radius
	switch {
	case d > reach:
		return n, nil
	case len(a.corners) == 1:
		return n, []contact{{r1: a.corners[0].add(n.times(a.radius)), r2: to.sub(n.times(b.radius))}}
	}
	a0, a1 := a.side(n)
	b0, b1 := b.side(n.times(-1))
	// clip returns the points of two sides that lie at the end p of one and across it on the other.
	at := func(p vec) float64 { return p.cross(n) }
	on := func(s *shape, i, j int, p float64, r float64) vec {
		u, v := at(s.corners[i]), at(s.corners[j])
		return n.times(r).add(s.corners[i].lerp(s.corners[j], max(0, min(1, float64((p-u)*(1/(v-u)))))))
	}
	var list []contact
	for _, e := range [2][2]int{{a0, b1}, {a1, b0}} {
		c := contact{id: e[0]*len(b.corners) + e[1], r1: on(a, a0, a1, at(b.corners[e[1]]), a.radius), r2: on(b, b0, b1, at(a.corners[e[0]]), -b.radius)}
		if c.r2.sub(c.r1).dot(n) <= 0 {
			list = append(list, c)
		}
	}
	return n, list
}

// separate returns the shortest way between two shapes: its direction, its length, which is negative if they overlap, and its end
// on the second. If they overlap, that is the way along which the overlap is least.
func separate(sides []edge) (n vec, d float64, to vec) {
	d = math.Inf(-1)
	for _, e := range sides {
		gap, delta := e.n.dot(e.v0), e.v1.sub(e.v0)
		t := (1 - max(-1, min(1, delta.dot(e.v0.add(e.v1))/delta.dot(delta)))) / 2
		if p := e.v0.lerp(e.v1, t); gap > 0 && (t == 0 || t == 1) {
			gap = p.length()
			e.n = p.times(1 / gap)
		}
		if gap > 0 && (d <= 0 || gap < d) || gap <= 0 && d < gap {
			n, d, to = e.n, gap, e.b0.lerp(e.b1, t)
		}
	}
	return n, d, to
}
