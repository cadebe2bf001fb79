package surface

import "math/bits"

// Corner c in a cell has the offsets x = c&1, y = c>>1&1 and z = c>>2. Edge 3*c+a goes from corner c in the positive
// direction along axis a. The other 12 numbers below 24 are no edges.

// cases lists a cell's triangles by the corners inside: bit c is set if the distance at corner c is negative. Each three
// numbers are the edges that a triangle cuts, anticlockwise from outside.
var cases = func() (list [256][]uint8) {
	for inside := range list {
		list[inside] = cellTriangles(inside)
	}
	return list
}()

// cellTriangles joins the cut edges to polygons, and divides these into triangles. On each face, a line goes around
// every run of neighbouring corners inside. If only two opposite corners are inside, each gets its own line. The rule uses
// nothing but the face's four corners, so the cell on the other side has the same lines.
func cellTriangles(inside int) (list []uint8) {
	next := map[uint8]uint8{}
	for axis := range 3 {
		for side := range 2 {
			b, c := 1<<((axis+1)%3), 1<<((axis+2)%3)
			if side == 0 {
				b, c = c, b
			}
			corner := func(i int) int { return [4]int{0, b, b | c, c}[i&3] | side<<axis } // anticlockwise from outside
			isInside := func(i int) bool { return inside>>corner(i)&1 == 1 }
			for first := range 4 {
				if !isInside(first) || isInside(first+3) {
					continue
				}
				last := first
				for isInside(last + 1) {
					last++
				}
				next[edgeBetween(corner(first+3), corner(first))] = edgeBetween(corner(last), corner(last+1))
			}
		}
	}
	for e := range uint8(24) {
		var polygon []uint8
		for to, ok := next[e]; ok; to, ok = next[e] {
			delete(next, e)
			polygon, e = append(polygon, e), to
		}
		for len(polygon) > 0 && !isFan(polygon) {
			polygon = append(polygon[1:], polygon[0])
		}
		for i := 2; i < len(polygon); i++ {
			list = append(list, polygon[0], polygon[i-1], polygon[i])
		}
	}
	return list
}

func edgeBetween(p, q int) uint8 { return uint8(3*(p&q) + bits.TrailingZeros(uint(p^q))) }

// isFan reports whether no diagonal from the polygon's first corner lies in a face. The neighbouring cell could
// have the same diagonal, and four triangles would meet there.
func isFan(polygon []uint8) bool {
	for _, e := range polygon[2 : len(polygon)-1] {
		if facesOf(polygon[0])&facesOf(e) != 0 {
			return false
		}
	}
	return true
}

// facesOf returns the two faces that an edge belongs to: bit 2*axis+side.
func facesOf(e uint8) (mask int) {
	for axis := range uint8(3) {
		if axis != e%3 {
			mask |= 1 << (2*axis + e/3>>axis&1)
		}
	}
	return mask
}
