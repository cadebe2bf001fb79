package main

// Settings: seconds in a step, the solver's iterations, the share that a step corrects in an overlap, and the overlap in px that it
// leaves. Chipmunk computes the last two in single precision.
const (
	stepTime   = 0.01
	iterations = 10
	correction = 0.061259621561307376
	slop       = 0.10000000149011612
)

// space steps a scene through time as Chipmunk 7.0.3 does: without friction, restitution and gravity, and with damping 0, so a body
// rests unless it is pushed. The agent and the walls have no mass: nothing moves them.
type space struct {
	agent, block  *body
	shapes, walls []*shape
	leaves        []*shape    // the shapes in their order
	last          bool        // whether the last two leaves have the same parent
	pairs         [][2]*shape // leaves and walls whose boxes met, the latest first; the second finds the contacts
	step          int
	known         map[[2]*shape]*touching
	active        []*touching
}

// touching is two shapes that touch, or that did so a few steps ago.
type touching struct {
	v        vec // the first shape's velocity
	n        vec
	contacts []contact
	step     int
	fresh    bool // they did not touch in the step before
}

// touch adds the contacts of two shapes, with the impulses from the step before.
func (s *space) touch(a, b *shape) {
	if len(a.local) > len(b.local) {
		a, b = b, a
	}
	if a.body == s.block || b.body != s.block || !a.box.meets(b.box) {
		return
	}
	n, contacts := collide(a, b)
	if len(contacts) == 0 {
		return
	}
	old := s.known[[2]*shape{a, b}]
	if old == nil || s.step-old.step > 3 {
		old = &touching{}
	}
	for i := range contacts {
		for _, c := range old.contacts {
			if c.id == contacts[i].id {
				contacts[i].impulse = c.impulse
			}
		}
	}
	t := &touching{a.body.motion.v, n, contacts, s.step, len(old.contacts) == 0 || s.step-old.step > 1}
	s.known[[2]*shape{a, b}] = t
	s.active = append(s.active, t)
}

// advance steps the scene by stepTime.
func (s *space) advance() {
	for _, b := range [2]*body{s.agent, s.block} {
		b.center = b.center.add(b.motion.v.add(b.bias.v).times(stepTime))
		b.angle += float64((b.motion.spin + b.bias.spin) * stepTime)
		b.rotation, b.bias = direction(b.angle), motion{}
	}
	for _, t := range s.shapes {
		t.update()
	}
	for _, t := range s.shapes {
		if s.step == 0 || t.room.merge(t.box) != t.room {
			s.fit(t)
		}
	}
	s.active = s.active[:0]
	s.find()
	s.step++
	s.block.motion = motion{}
	for _, t := range s.active {
		for _, c := range t.contacts {
			if !t.fresh {
				s.block.motion.push(t.n.times(c.impulse), c.r)
			}
		}
	}
	for range iterations {
		for _, t := range s.active {
			for i := range t.contacts {
				s.block.solve(&t.contacts[i], t.n, t.v)
			}
		}
	}
}

// solve changes the block's motions so that it does not approach the other shape, and so that an overlap shrinks. v is the other
// shape's velocity, n the normal.
func (b *body) solve(c *contact, n, v vec) {
	turn := c.r.cross(n)
	mass := 1 / (1 + float64(1.0/inertia*turn*turn))
	apart := -correction * min(0, c.gap+slop) / stepTime
	old, oldBias := c.impulse, c.bias
	c.bias = max(0, oldBias+float64((apart-b.bias.at(c.r).dot(n))*mass))
	c.impulse = max(0, old-float64(b.motion.at(c.r).sub(v).dot(n)*mass))
	b.bias.push(n.times(c.bias-oldBias), c.r)
	b.motion.push(n.times(c.impulse-old), c.r)
}
