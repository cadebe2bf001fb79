package main

import (
	"image"
	"image/color"
	"image/gif"
)

// size is the width of a picture in pixels, for 512 px of the task.
const size = 256

var colors = color.Palette{color.White, color.RGBA{144, 238, 144, 255}, color.RGBA{119, 136, 153, 255}, color.RGBA{65, 105, 225, 255}, color.RGBA{220, 20, 60, 255}, color.RGBA{211, 211, 211, 255}}

// the colours' indices
const (
	clear = iota
	green
	grey
	blue
	red
	wall
)

// covers returns a function that reports whether the block covers a point.
func (s state) covers() func(p vec) bool {
	back := direction(-s[4])
	return func(p vec) bool {
		q := p.sub(s.block()).turn(back)
		return max(q.x, -q.x) <= 60 && 0 <= q.y && q.y <= 30 || max(q.x, -q.x) <= 15 && 30 <= q.y && q.y <= 120
	}
}

// paint calls set for each pixel of a picture, with the pixel's point in the task and whether the goal covers it.
func paint(set func(x, y int, p vec, isGoal bool)) {
	isGoal := goal.covers()
	for y := range size {
		for x := range size {
			p := vec{float64(x) + 0.5, float64(y) + 0.5}.times(512 / size)
			set(x, y, p, isGoal(p))
		}
	}
}

// animate returns a film of an episode at its speed.
func animate(e episode) *gif.GIF {
	g := &gif.GIF{}
	for i, target := range e.targets {
		s := e.states[i]
		picture, isBlock := image.NewPaletted(image.Rect(0, 0, size, size), colors), s.covers()
		paint(func(x, y int, p vec, isGoal bool) {
			c := clear
			switch {
			case p.sub(target).length() < 5:
				c = red
			case p.sub(s.agent()).length() < 15:
				c = blue
			case isBlock(p):
				c = grey
			case isGoal:
				c = green
			case min(p.x, p.y) < 7 || max(p.x, p.y) > 504:
				c = wall
			}
			picture.SetColorIndex(x, y, uint8(c))
		})
		g.Image, g.Delay = append(g.Image, picture), append(g.Delay, 100/rate)
	}
	return g
}

// overlay returns a picture of poses of the block: the darker, the more of them cover a pixel. The goal is green.
func overlay(poses []state) image.Image {
	picture, tests := image.NewRGBA(image.Rect(0, 0, size, size)), make([]func(vec) bool, len(poses))
	for i, s := range poses {
		tests[i] = s.covers()
	}
	paint(func(x, y int, p vec, isGoal bool) {
		count := 0
		for _, isBlock := range tests {
			if isBlock(p) {
				count++
			}
		}
		light := uint8(255 - 225*count/len(poses))
		c := color.RGBA{light, light, light, 255}
		if isGoal {
			c.R, c.B = light/2, light/2
		}
		picture.SetRGBA(x, y, c)
	})
	return picture
}
