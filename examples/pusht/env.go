package main

import "math"

// state is a row in a demonstration's stream state: the agent's position, the block's origin, in px, and the block's angle
// in rad, which is not reduced.
type state [5]float64

func (s state) agent() vec { return vec{s[0], s[1]} }
func (s state) block() vec { return vec{s[2], s[3]} }

// The corners of the block's two boxes, from its origin.
var boxes = [2][]vec{{{-60, 0}, {60, 0}, {60, 30}, {-60, 30}}, {{-15, 30}, {15, 30}, {15, 120}, {-15, 120}}}

// goal has the block's pose at the goal.
var goal = state{0, 0, 256, 256, math.Pi / 4}

// env is the task PushT: the agent, a disc with radius 15, moves to where it is sent, and pushes a T, the block, onto its goal. Walls
// stop the block only.
type env struct{ space }

// newEnv returns the task in a state in which nothing moves. If the block overlaps the agent or a wall, it is pushed out in the next steps.
func newEnv(s state) *env {
	e := &env{space{agent: &body{center: vec{256, 400}, rotation: vec{1, 0}}, block: &body{}, known: map[[2]*shape]*touching{}}}
	e.block.place(vec{256, 300}, 0)
	ground := &body{rotation: vec{1, 0}}
	corners := []vec{{5, 506}, {506, 506}, {506, 5}, {5, 5}}
	for i, v := range corners {
		wall := newShape(ground, 2, v, corners[(i+1)%4])
		wall.room, wall.fitted = wall.box, -1
		e.walls = append(e.walls, wall)
	}
	disc := newShape(e.agent, 15, vec{})
	for _, b := range boxes {
		var corners []vec
		for _, v := range b {
			corners = append(corners, v.sub(center))
		}
		e.shapes = append(e.shapes, newShape(e.block, 0, corners...))
	}
	e.shapes = append(e.shapes, disc)
	for _, t := range []*shape{disc, e.shapes[0], e.shapes[1]} {
		e.fit(t)
	}
	e.agent.center = s.agent()
	e.block.place(s.block(), s[4])
	e.advance()
	return e
}

// step sends the agent to a target for 0.1 s.
func (e *env) step(target vec) {
	for range 10 {
		v := e.agent.motion.v
		e.agent.motion.v = v.add(target.sub(e.agent.center).times(100).sub(v.times(20)).times(stepTime))
		e.advance()
	}
}

// state returns the state after the last step.
func (e *env) state() state {
	o := e.block.center.sub(center.turn(e.block.rotation))
	return state{e.agent.center.x, e.agent.center.y, o.x, o.y, e.block.angle}
}

// reward returns the covered share, 0 to 1, in the goal's area, divided by 0.95, and at most 1.
func (s state) reward() float64 {
	covered, whole := 0.0, 0.0
	for _, box := range boxes {
		to := goal.place(box)
		whole += area(to)
		for _, box := range boxes {
			covered += area(clip(s.place(box), to))
		}
	}
	return min(1, covered/whole/0.95)
}

// place returns points in px. local has them from the block's origin.
func (s state) place(local []vec) (list []vec) {
	r := direction(s[4])
	for _, v := range local {
		list = append(list, v.turn(r).add(s.block()))
	}
	return list
}

// clip returns the part in a convex polygon that another covers. Both are counterclockwise.
func clip(from, to []vec) []vec {
	for i, u := range to {
		side := to[(i+1)%len(to)].sub(u)
		var list []vec
		for j, p := range from {
			q := from[(j+1)%len(from)]
			a, b := side.cross(p.sub(u)), side.cross(q.sub(u))
			if a >= 0 {
				list = append(list, p)
			}
			if a >= 0 != (b >= 0) {
				list = append(list, p.lerp(q, a/(a-b)))
			}
		}
		from = list
	}
	return from
}

func area(corners []vec) (a float64) {
	for i, p := range corners {
		a += p.cross(corners[(i+1)%len(corners)])
	}
	return a / 2
}

// points are the demonstrations' keypoints, from the block's origin.
var points = [9]vec{
	{9.269787, 90.040974}, {-60.983472, -1.186730}, {60.912755, -1.393363}, {-0.270504, 25.543625}, {-14.064927, 122.815854},
	{39.002738, 32.857404}, {-39.966414, 32.729655}, {-16.824344, 62.863179}, {23.541461, -1.700288},
}

// keypoints returns x and y for each of the nine keypoints.
func (s state) keypoints() (list []float64) {
	for _, p := range s.place(points[:]) {
		list = append(list, p.x, p.y)
	}
	return list
}
