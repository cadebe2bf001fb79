package page

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/robocache/robocache/doctor"
)

// The size of a picture and of the margins of the plot, in pixels.
const (
	wide, high                        = 760, 190
	left, right, above, below         = 62, 12, 10, 30
	plotWide, plotHigh        float64 = wide - left - right, high - above - below
	mostMarks                         = 200
)

// svg draws the finding's plot: lines over x, with a mark at each time that was found, and ranges that are not most of the axis.
func svg(f *doctor.Finding) string {
	p := f.Plot
	x0, x1, y0, y1 := bounds(p)
	px := func(x float64) float64 { return left + (x-x0)/(x1-x0)*plotWide }
	py := func(y float64) float64 { return above + (y1/2-y/2)/(y1/2-y0/2)*plotHigh } // halves do not overflow
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s over %s">`, wide, high, html.EscapeString(p.Y), html.EscapeString(p.X))
	for _, t := range ticks(y0, y1, 4) {
		fmt.Fprintf(&b, `<path class="grid" d="M%d %.1fH%d"/><text class="tick" x="%d" y="%.1f" text-anchor="end">%s</text>`, left, py(t), wide-right, left-5, py(t)+3.5, tickText(t))
	}
	for _, t := range ticks(x0, x1, 8) {
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %dV%d"/><text class="tick" x="%.1f" y="%d" text-anchor="middle">%s</text>`, px(t), above, high-below, px(t), high-below+13, tickText(t))
	}
	for _, s := range f.Places() {
		from, to := max(float64(s.From-f.Start)/1e9, x0), min(float64(s.To-f.Start)/1e9, x1)
		if p.X == "s" && from <= to && to-from < (x1-x0)/2 {
			fmt.Fprintf(&b, `<rect class="range" x="%.1f" y="%d" width="%.1f" height="%.0f"/>`, px(from), above, max(px(to)-px(from), 1), plotHigh)
		}
	}
	for _, m := range p.Marks[:min(len(p.Marks), mostMarks)] {
		if m >= x0 && m <= x1 {
			fmt.Fprintf(&b, `<path class="mark" d="M%.1f %dV%d"/>`, px(m), above, high-below)
		}
	}
	for i, l := range p.Lines {
		fmt.Fprintf(&b, `<path class="line c%d" d="`, i)
		down := false // the pen
		for k := range l.X {
			y := l.Y[k]
			if y-y != 0 {
				down = false
				continue
			}
			if down {
				b.WriteByte('L')
			} else {
				b.WriteByte('M')
			}
			down = true
			b.WriteString(pixel(px(l.X[k])))
			b.WriteByte(' ')
			b.WriteString(pixel(py(y)))
		}
		b.WriteString(`"/>`)
	}
	fmt.Fprintf(&b, `<text class="axis" x="%d" y="%d" text-anchor="end">%s</text>`, wide-right, high-4, html.EscapeString(p.X))
	if len(p.Lines) > 1 {
		fmt.Fprintf(&b, `<text class="axis" x="%d" y="%d">%s</text>`, left+4, above+10, html.EscapeString(p.Y))
	}
	if len(p.Lines) > 0 {
		at := float64(left)
		for i, l := range p.Lines {
			name := l.Name
			if len(p.Lines) == 1 {
				name = p.Y
				if l.Name != "" && l.Name != p.Y {
					name += " (" + l.Name + ")"
				}
			}
			fmt.Fprintf(&b, `<text class="name c%d" x="%.0f" y="%d">%s</text>`, i, at, high-4, html.EscapeString(clipped(name, 34)))
			at += float64(min(len(name), 34))*6.2 + 16
		}
	}
	b.WriteString("</svg>")
	return b.String()
}

func pixel(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func clipped(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// bounds are those of the lines, with a little room above and below, and never empty.
func bounds(p *doctor.Plot) (x0, x1, y0, y1 float64) {
	x0, x1, y0, y1 = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, l := range p.Lines {
		for i, x := range l.X {
			x0, x1 = min(x0, x), max(x1, x)
			if y := l.Y[i]; y-y == 0 {
				y0, y1 = min(y0, y), max(y1, y)
			}
		}
	}
	if !(x1 > x0) {
		if x0-x0 != 0 {
			x0 = 0
		}
		x1 = x0 + 1
	}
	if !(y1 >= y0) {
		y0, y1 = 0, 1
	}
	room := (y1/2 - y0/2) * 0.1
	if !(room > 0) {
		room = max(math.Abs(y0)*0.05, 1e-9)
	}
	return x0, x1, y0 - room, y1 + room
}

// ticks are round numbers between two, about n of them.
func ticks(from, to float64, n int) (list []float64) {
	step := math.Pow(10, math.Floor(math.Log10((to-from)/float64(n))))
	for _, k := range []float64{1, 2, 5, 10} {
		if (to-from)/(step*k) <= float64(n) {
			step *= k
			break
		}
	}
	if !(step > 0) || math.IsInf(step, 0) {
		return nil
	}
	first := math.Ceil(from / step)
	for i := range n + 2 {
		if t := (first + float64(i)) * step; t <= to {
			list = append(list, t)
		}
	}
	return list
}

func tickText(v float64) string {
	if math.Abs(v) < 1e-12 {
		return "0"
	}
	return strconv.FormatFloat(v, 'g', 5, 64)
}
