package hevc

import (
	"cmp"
	"slices"
)

// referenceSet is a short-term reference picture set. Pictures before the current one come first, then pictures after it in the order
// counts; on both sides the nearest is first.
type referenceSet struct {
	references []reference
	negative   int
	predictor  int // number of pictures in the set from which a slice header predicts this one, or 0
}

type reference struct {
	delta int  // to the current picture's order count
	used  bool // by the current picture, otherwise only by later ones
}

// longReference is a long-term reference picture. Its order count's least significant bits identify it if whole is false.
type longReference struct {
	lsb, cycles int // cycles counts the overflows of the least significant bits since then
	whole, used bool
}

// referenceSet reads st_ref_pic_set(index) with at most the given number of pictures. sets belong to the sequence. In a slice header the
// index is their number.
func (r *reader) referenceSet(sets []referenceSet, index, most int) (s referenceSet) {
	if index > 0 && r.flag() { // inter_ref_pic_set_prediction_flag
		s = r.predictedSet(sets, index)
		r.check("st_ref_pic_set", len(s.references), len(s.references) <= most)
		return s
	}
	s.negative = r.unsigned("num_negative_pics", most)
	count := s.negative + r.unsigned("num_positive_pics", most-s.negative)
	s.references = make([]reference, count)
	delta, sign, element := 0, -1, "delta_poc_s0_minus1"
	for i := range s.references {
		if i == s.negative {
			delta, sign, element = 0, 1, "delta_poc_s1_minus1"
		}
		delta += sign * (1 + r.unsigned(element, 1<<15-1))
		s.references[i] = reference{delta, r.flag()}
	}
	return s
}

// predictedSet reads a set that shifts an earlier one, and leaves pictures out.
func (r *reader) predictedSet(sets []referenceSet, index int) (s referenceSet) {
	from := sets[index-1].references
	if index == len(sets) {
		from = sets[index-1-r.unsigned("delta_idx_minus1", index-1)].references
		s.predictor = len(from)
	}
	shift := 1 - 2*r.bits(1)
	shift *= 1 + r.unsigned("abs_delta_rps_minus1", 1<<15-1)
	for _, f := range append(slices.Clone(from), reference{}) {
		delta, used := f.delta+shift, r.flag()
		if kept := used || r.flag(); kept && delta != 0 { // use_delta_flag
			s.references = append(s.references, reference{delta, used})
			if delta < 0 {
				s.negative++
			}
		}
	}
	slices.SortFunc(s.references, func(a, b reference) int {
		if a.delta < 0 && b.delta < 0 {
			return cmp.Compare(b.delta, a.delta)
		}
		return cmp.Compare(a.delta, b.delta)
	})
	return s
}
