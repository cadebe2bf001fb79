package surface

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type vector [3]float64

func (a vector) minus(b vector) vector { return vector{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

func (a vector) dot(b vector) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func (a vector) cross(b vector) vector {
	return vector{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

func corner(c int) vector { return vector{float64(c & 1), float64(c >> 1 & 1), float64(c >> 2)} }

// ends returns an edge's corners and its middle.
func ends(e uint8) (from, to int, middle vector) {
	from = int(e / 3)
	to = from | 1<<(e%3)
	middle = corner(from)
	middle[e%3] += 0.5
	return from, to, middle
}

// border returns a case's directed sides that no other triangle has in the opposite direction.
func border(t *testing.T, inside int) map[[2]uint8]bool {
	sides := map[[2]uint8]bool{}
	list := cases[inside]
	for i := 0; i < len(list); i += 3 {
		for k := range 3 {
			s := [2]uint8{list[i+k], list[i+(k+1)%3]}
			require.False(t, sides[s], "case %d has the side %v twice", inside, s)
			sides[s] = true
		}
	}
	for s := range sides {
		if back := [2]uint8{s[1], s[0]}; sides[back] {
			delete(sides, s)
			delete(sides, back)
		}
	}
	return sides
}

func TestEveryCaseCutsItsEdgesAndTurnsOutward(t *testing.T) {
	triangles := 0
	for inside := range 256 {
		used := map[uint8]bool{}
		for _, e := range cases[inside] {
			used[e] = true
		}
		for e := range uint8(24) {
			from, to, _ := ends(e)
			assert.Equal(t, from != to && from&(1<<(e%3)) == 0 && (inside>>from^inside>>to)&1 == 1, used[e], "case %d, edge %d", inside, e)
		}
		triangles += len(cases[inside]) / 3
		for line := range border(t, inside) {
			from, to, start := ends(line[0])
			_, _, stop := ends(line[1])
			if inside>>from&1 == 0 {
				from = to
			}
			var out vector // from the cell, through the face with the line
			for axis := range 3 {
				if v := start[axis]; v == stop[axis] && v != 0.5 {
					out[axis] = 2*v - 1
				}
			}
			require.Equal(t, 1.0, out.dot(out), "case %d: the line %v lies in one face", inside, line)
			assert.Negative(t, stop.minus(start).cross(corner(from).minus(start)).dot(out), "case %d: the inside is on the right of %v", inside, line)
		}
	}
	assert.Equal(t, 820, triangles, "as many as the table of Lorensen and Cline, with faces divided the other way")
}

func TestNeighbouringCellsCutTheirFaceAtTheSameLines(t *testing.T) {
	onFace := func(lines map[[2]uint8]bool, axis int, at float64, back bool) map[[2]vector]bool {
		list := map[[2]vector]bool{}
		for line := range lines {
			_, _, p := ends(line[0])
			_, _, q := ends(line[1])
			if p[axis] != at || q[axis] != at {
				continue
			}
			p[axis], q[axis] = 0, 0
			if back {
				p, q = q, p
			}
			list[[2]vector{p, q}] = true
		}
		return list
	}
	for inside := range 256 {
		for axis := range 3 {
			for other := range 256 {
				fits := true
				for c := range 8 {
					fits = fits && (c>>axis&1 == 1 || inside>>(c|1<<axis)&1 == other>>c&1)
				}
				if fits {
					require.Equal(t, onFace(border(t, inside), axis, 1, false), onFace(border(t, other), axis, 0, true), "cases %d and %d, axis %d", inside, other, axis)
				}
			}
		}
	}
}
