package main

import "math"

// vec is a point or a direction in the plane. Its methods round every product by a conversion, because a compiler may otherwise
// fuse a product and a sum, and the bits would depend on the machine.
type vec struct{ x, y float64 }

func (a vec) add(b vec) vec             { return vec{a.x + b.x, a.y + b.y} }
func (a vec) sub(b vec) vec             { return vec{a.x - b.x, a.y - b.y} }
func (a vec) times(k float64) vec       { return vec{float64(a.x * k), float64(a.y * k)} }
func (a vec) dot(b vec) float64         { return float64(a.x*b.x) + float64(a.y*b.y) }
func (a vec) cross(b vec) float64       { return float64(a.x*b.y) - float64(a.y*b.x) }
func (a vec) left() vec                 { return vec{-a.y, a.x} }
func (a vec) length() float64           { return math.Sqrt(a.dot(a)) }
func (a vec) lerp(b vec, t float64) vec { return a.times(1 - t).add(b.times(t)) }

// turn rotates a by the angle with the cosine r.x and the sine r.y.
func (a vec) turn(r vec) vec {
	return vec{float64(a.x*r.x) - float64(a.y*r.y), float64(a.x*r.y) + float64(a.y*r.x)}
}

// The parts whose sum is pi/2. halfPiHigh times a small integer is exact.
const (
	halfPiHigh = 0x1.921fb54400000p+0
	halfPiLow  = 0x1.0b4611a626331p-34
)

// The coefficients in the series for sine and cosine on [-pi/4, pi/4], the highest power first.
var (
	sines = [6]float64{
		1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
		-1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1,
	}
	cosines = [6]float64{
		-1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7,
		2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2,
	}
)

// direction returns cosine and sine for an angle in rad, with the same bits on every machine, which math.Sincos does not promise.
func direction(angle float64) vec {
	quarter := math.Round(angle / (math.Pi / 2))
	z := angle - float64(quarter*halfPiHigh) - float64(quarter*halfPiLow)
	zz := float64(z * z)
	s, c := 0.0, 0.0
	for i := range sines {
		s, c = float64(s*zz)+sines[i], float64(c*zz)+cosines[i]
	}
	v := vec{1 - float64(zz/2) + float64(float64(c*zz)*zz), z + float64(float64(s*zz)*z)}
	for range int(quarter) & 3 {
		v = v.left()
	}
	return v
}
