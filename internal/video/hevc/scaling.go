package hevc

// scalingLists has NVIDIA's layout, and factors in the up-right diagonal scan. 6 lists for 4x4 blocks have 16 factors each. 6 lists for
// 8x8, 6 for 16x16 and 2 (intra, inter) for 32x32 blocks have 64. Then come DC factors for 16x16 and 32x32.
type scalingLists [6*16 + 6*64 + 6*64 + 2*64 + 6 + 2]uint8

var intra8x8 = [64]uint8{
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 17, 16, 17, 16, 17, 18, 17, 18, 18, 17, 18, 21, 19, 20, 21, 20, 19, 21, 24, 22, 22, 24,
	24, 22, 22, 24, 25, 25, 27, 30, 27, 25, 25, 29, 31, 35, 35, 31, 29, 36, 41, 44, 41, 36, 47, 54, 54, 47, 65, 70, 65, 88, 88, 115,
}

var inter8x8 = [64]uint8{
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 17, 17, 17, 17, 17, 18, 18, 18, 18, 18, 18, 20, 20, 20, 20, 20, 20, 20, 24, 24, 24, 24,
	24, 24, 24, 24, 25, 25, 25, 25, 25, 25, 25, 28, 28, 28, 28, 28, 28, 33, 33, 33, 33, 33, 41, 41, 41, 41, 54, 54, 54, 71, 71, 91,
}

var flatLists, defaultLists = func() (flat, standard scalingLists) {
	for i := range flat {
		flat[i] = 16
	}
	standard = flat
	for size := range 4 {
		for matrix := range matrices(size) {
			standard.reset(size, matrix)
		}
	}
	return flat, standard
}()

// matrices counts the lists for blocks with sides 4<<size.
func matrices(size int) int {
	if size == 3 {
		return 2
	}
	return 6
}

func (l *scalingLists) list(size, matrix int) []uint8 {
	if size == 0 {
		return l[16*matrix:][:16]
	}
	return l[96+64*(6*(size-1)+matrix):][:64]
}

// dc returns the DC factor for a list, which exists if blocks are 16x16 or 32x32.
func (l *scalingLists) dc(size, matrix int) *uint8 { return &l[992+6*(size-2)+matrix] }

// reset sets a list to the standard's default.
func (l *scalingLists) reset(size, matrix int) {
	switch list := l.list(size, matrix); {
	case size == 0:
		for i := range list {
			list[i] = 16
		}
	case matrix < matrices(size)/2:
		copy(list, intra8x8[:])
	default:
		copy(list, inter8x8[:])
	}
	if size > 1 {
		*l.dc(size, matrix) = 16
	}
}

// scalingLists reads scaling_list_data.
func (r *reader) scalingLists() *scalingLists {
	l := &scalingLists{}
	for size := range 4 {
		for matrix := range matrices(size) {
			if r.flag() {
				r.scalingList(l, size, matrix)
				continue
			}
			from := matrix - r.unsigned("scaling_list_pred_matrix_id_delta", matrix)
			if from == matrix {
				l.reset(size, matrix)
				continue
			}
			copy(l.list(size, matrix), l.list(size, from))
			if size > 1 {
				*l.dc(size, matrix) = *l.dc(size, from)
			}
		}
	}
	return l
}

func (r *reader) scalingList(l *scalingLists, size, matrix int) {
	factor := 8
	if size > 1 {
		factor += r.signed("scaling_list_dc_coef_minus8", -7, 247)
		*l.dc(size, matrix) = uint8(factor)
	}
	list := l.list(size, matrix)
	for i := range list {
		factor = (factor + r.signed("scaling_list_delta_coef", -128, 127)) & 255
		r.check("scaling_list_delta_coef", factor, factor > 0)
		list[i] = uint8(factor)
	}
}
