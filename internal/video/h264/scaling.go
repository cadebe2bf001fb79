package h264

// matrices are a picture's scaling lists in zig-zag order: Y, Cb and Cr intra, then Y, Cb and Cr inter, each with 16 weights, then Y intra
// and Y inter, each with 64 weights.
type matrices [8][64]uint8

// scaling is the scaling matrix in a parameter set.
type scaling struct {
	present bool
	lists   [8]origin
	sent    matrices
}

// origin is a scaling list's source.
type origin uint8

const (
	inferred origin = iota // from another list (table 7-2)
	standard               // UseDefaultScalingMatrixFlag
	explicit
)

func listSize(list int) int {
	if list < 6 {
		return 16
	}
	return 64
}

func (m *scaling) parse(f *fields, lists int) {
	m.present = true
	for i := range lists {
		if !f.flag("scaling_list_present_flag") {
			continue
		}
		m.lists[i] = explicit
		last, next := 8, 8
		for j := range listSize(i) {
			if next != 0 {
				next = (last + f.se("delta_scale", -128, 127)) & 255
				if j == 0 && next == 0 {
					m.lists[i] = standard
				}
			}
			if next != 0 {
				last = next
			}
			m.sent[i][j] = uint8(last)
		}
	}
}

// fill returns the matrices with inferred lists from another list before them, or from base.
func (m *scaling) fill(base *matrices) *matrices {
	all := m.sent
	for i, o := range m.lists {
		switch {
		case o == standard:
			all[i] = standardLists[i]
		case o == explicit:
		case i == 0 || i == 3 || i >= 6:
			all[i] = base[i]
		default:
			all[i] = all[i-1]
		}
	}
	return &all
}

// weights returns a picture's matrices. The fall-back rules A and B are in table 7-2.
func weights(sequence, picture *scaling) *matrices {
	base, fallback := &flat, &standardLists
	if sequence.present {
		base = sequence.fill(&standardLists)
		fallback = base
	}
	if picture.present {
		return picture.fill(fallback)
	}
	return base
}

var flat = func() (m matrices) {
	for i := range m {
		for j := range m[i] {
			m[i][j] = 16
		}
	}
	return m
}()

// standardLists are in tables 7-3 and 7-4.
var standardLists = matrices{intra4, intra4, intra4, inter4, inter4, inter4, {
	6, 10, 10, 13, 11, 13, 16, 16, 16, 16, 18, 18, 18, 18, 18, 23, 23, 23, 23, 23, 23, 25, 25, 25, 25, 25, 25, 25, 27, 27, 27, 27,
	27, 27, 27, 27, 29, 29, 29, 29, 29, 29, 29, 31, 31, 31, 31, 31, 31, 33, 33, 33, 33, 33, 36, 36, 36, 36, 38, 38, 38, 40, 40, 42,
}, {
	9, 13, 13, 15, 13, 15, 17, 17, 17, 17, 19, 19, 19, 19, 19, 21, 21, 21, 21, 21, 21, 22, 22, 22, 22, 22, 22, 22, 24, 24, 24, 24,
	24, 24, 24, 24, 25, 25, 25, 25, 25, 25, 25, 27, 27, 27, 27, 27, 27, 28, 28, 28, 28, 28, 30, 30, 30, 30, 32, 32, 32, 33, 33, 35,
}}

var (
	intra4 = [64]uint8{6, 13, 13, 20, 20, 20, 28, 28, 28, 28, 32, 32, 32, 37, 37, 42}
	inter4 = [64]uint8{10, 14, 14, 20, 20, 20, 24, 24, 24, 24, 27, 27, 27, 30, 30, 34}
)

// zigzag returns the raster positions in a block with n x n weights in zig-zag order (figure 8-8).
func zigzag(n int) (raster []int) {
	for sum := range 2*n - 1 {
		for i := range sum + 1 {
			x, y := i, sum-i
			if sum%2 == 1 {
				x, y = y, x
			}
			if x < n && y < n {
				raster = append(raster, y*n+x)
			}
		}
	}
	return raster
}

var zigzag4, zigzag8 = zigzag(4), zigzag(8)
