package main

import (
	"image"
	"image/color"
	"image/gif"
)

// size is a picture's width in pixels, for 512 px in the task.
const size = 256

// The colours: shades from white to black, and after them those that have names.
const (
	shades = 32
	green  = shades - 1 + iota
	red
	blue
)

func colors() (p color.Palette) {
	for i := range shades {
		p = append(p, color.Gray{uint8(255 - 8*i)})
	}
	return append(p, color.RGBA{144, 238, 144, 255}, color.RGBA{220, 20, 60, 255}, color.RGBA{65, 105, 225, 255})
}

// covers returns a function that reports whether the block covers a point.
func (s state) covers() func(p vec) bool {
	back := direction(-s[4])
	return func(p vec) bool {
		q := p.sub(s.block()).turn(back)
		x := max(q.x, -q.x)
		return x <= 60 && 0 <= q.y && q.y <= 30 || x <= 15 && 30 <= q.y && q.y <= 120
	}
}

// paint draws the agent, its target, and the block's poses. A pixel is the darker, the more poses cover it.
func paint(agent, target vec, poses ...state) *image.Paletted {
	picture := image.NewPaletted(image.Rect(0, 0, size, size), colors())
	isGoal := goal.covers()
	var tests []func(vec) bool
	for _, s := range poses {
		tests = append(tests, s.covers())
	}
	for i := range picture.Pix {
		p := vec{float64(i%size) + 0.5, float64(i/size) + 0.5}.times(512 / size)
		count, c := 0, 0
		for _, isBlock := range tests {
			if isBlock(p) {
				count++
			}
		}
		switch c = (count*(shades-1) + len(poses) - 1) / len(poses); {
		case p.sub(target).length() < 5:
			c = red
		case p.sub(agent).length() < 15:
			c = blue
		case count == 0 && isGoal(p):
			c = green
		}
		picture.Pix[i] = uint8(c)
	}
	return picture
}

// animate returns an episode as a film at its speed.
func animate(e episode) *gif.GIF {
	g := &gif.GIF{}
	for i, target := range e.targets {
		g.Image, g.Delay = append(g.Image, paint(e.states[i].agent(), target, e.states[i])), append(g.Delay, 100/rate)
	}
	return g
}
