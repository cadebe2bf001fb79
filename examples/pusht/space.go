package main

// The settings of a space: seconds in a step, iterations of the solver, the share of an overlap that a step corrects, and the overlap
// in px that it leaves. Chipmunk computes the last two in single precision.
const (
	stepTime   = 0.01
	iterations = 10
	correction = 0.061259621561307376
	slop       = 0.10000000149011612
)

// space steps a scene through time as Chipmunk 7.0.3 does: without friction, restitution and gravity, and with damping 0, so a body
// rests unless it is pushed.
type space struct {
	agent, block  *body
	shapes, walls []*shape
	order         order
	step          int
	known         map[[2]*shape]*touching
	active        []*touching
}

// touching is two shapes that touch, or that did so in one of the last steps.
type touching struct {
	a, b     *body
	n        vec
	contacts []contact
	step     int
	fresh    bool // they did not touch in the step before
}

// touch adds the contacts of two shapes, with the impulses of the step before.
func (s *space) touch(a, b *shape) {
	if len(a.corners) > len(b.corners) {
		a, b = b, a
	}
	if !a.box.meets(b.box) || a.body.massInv == b.body.massInv {
		return
	}
	n, contacts := collide(a, b)
	if len(contacts) == 0 {
		return
	}
	t := s.known[[2]*shape{a, b}]
	if t == nil || s.step-t.step > 3 {
		t = &touching{a: a.body, b: b.body}
		s.known[[2]*shape{a, b}] = t
	}
	for i := range contacts {
		c := &contacts[i]
		c.r1, c.r2 = c.r1.sub(t.a.p), c.r2.sub(t.b.p)
		for _, old := range t.contacts {
			if old.id == c.id {
				c.impulse = old.impulse
			}
		}
		c.mass = 1 / (t.a.give(c.r1, n) + t.b.give(c.r2, n))
		gap := c.r2.sub(c.r1).add(t.b.p.sub(t.a.p)).dot(n)
		c.bias = -correction * min(0, gap+slop) / stepTime
	}
	t.fresh, t.step, t.n, t.contacts = len(t.contacts) == 0 || s.step-t.step > 1, s.step, n, contacts
	s.active = append(s.active, t)
}

// advance steps the scene by stepTime.
func (s *space) advance() {
	for _, b := range [2]*body{s.agent, s.block} {
		v, spin := b.motion.v.add(b.bias.v), b.motion.spin+b.bias.spin
		b.p, b.angle, b.bias = b.p.add(v.times(stepTime)), b.angle+float64(spin*stepTime), motion{}
		b.rotation = direction(b.angle)
	}
	for _, t := range s.shapes {
		t.update()
	}
	for _, t := range s.shapes {
		if s.step == 0 || t.room.merge(t.box) != t.room {
			s.order.fit(t, s.step)
		}
	}
	s.active = s.active[:0]
	s.order.find(s.walls, s.step, s.touch)
	s.step++
	s.block.motion = motion{}
	for _, t := range s.active {
		for i := range t.contacts {
			if !t.fresh {
				t.push(&t.contacts[i], t.contacts[i].impulse)
			}
		}
	}
	for range iterations {
		for _, t := range s.active {
			t.solve()
		}
	}
}

// solve changes the bodies' motions so that the contacts do not approach, and so that overlaps shrink.
func (t *touching) solve() {
	for i := range t.contacts {
		c := &t.contacts[i]
		gap := t.b.bias.at(c.r2).sub(t.a.bias.at(c.r1)).dot(t.n)
		speed := t.b.motion.at(c.r2).sub(t.a.motion.at(c.r1)).dot(t.n)
		old, oldChange := c.impulse, c.biasChange
		c.biasChange = max(0, oldChange+float64((c.bias-gap)*c.mass))
		c.impulse = max(0, old-float64(speed*c.mass))
		j := t.n.times(c.biasChange - oldChange)
		t.a.push(&t.a.bias, j.times(-1), c.r1)
		t.b.push(&t.b.bias, j, c.r2)
		t.push(c, c.impulse-old)
	}
}

// push applies an impulse along the normal to both bodies.
func (t *touching) push(c *contact, impulse float64) {
	j := t.n.times(impulse)
	t.a.push(&t.a.motion, j.times(-1), c.r1)
	t.b.push(&t.b.motion, j, c.r2)
}
