package h264

import (
	"cmp"
	"slices"
)

// frame is a reference frame.
type frame struct {
	surface int // none if the frame does not exist because of a gap in frame_num
	num     int // frame_num, or the LongTermFrameIdx of a long-term reference
	long    bool
	counts
}

// references are the frames that are marked as used for reference.
type references struct{ dpb []frame }

func (r *references) holds(surface int) bool {
	return slices.ContainsFunc(r.dpb, func(f frame) bool { return f.surface == surface })
}

// find returns the index of a reference with a frame_num or LongTermFrameIdx, or none.
func (r *references) find(num int, long bool) int {
	return slices.IndexFunc(r.dpb, func(f frame) bool { return f.num == num && f.long == long })
}

// remove removes a reference, if it exists.
func (r *references) remove(num int, long bool) {
	r.dpb = slices.DeleteFunc(r.dpb, func(f frame) bool { return f.num == num && f.long == long })
}

// add adds a frame. If most frames are there, it first removes the short-term one with the oldest frame_num before that of the current
// picture (section 8.2.5.3).
func (r *references) add(f frame, current, mask, most int) {
	if most == 0 {
		return
	}
	if len(r.dpb) >= most {
		oldest := slices.MaxFunc(r.dpb, func(a, b frame) int { return cmp.Compare(a.age(current, mask), b.age(current, mask)) })
		r.remove(oldest.num, oldest.long)
	}
	r.dpb = append(r.dpb, f)
}

// age returns the distance of a short-term reference's frame_num from the current one. Long-term references are younger than all.
func (f *frame) age(current, mask int) int {
	if f.long {
		return none
	}
	return (current - f.num) & mask
}

// mark applies the marking of a picture, and returns the LongTermFrameIdx that it gets, or none. reset reports operation 5.
func (r *references) mark(h *header, mask int) (long int, reset bool) {
	long = none
	if h.longTerm {
		long = 0
	}
	for _, o := range h.marking {
		num := (h.frameNum - o.operand - 1) & mask // of picNumX
		switch o.code {
		case 1:
			r.remove(num, false)
		case 2:
			r.remove(o.operand, true)
		case 3:
			if i := r.find(num, false); i != none {
				f := r.dpb[i]
				r.remove(num, false)
				r.remove(o.long, true)
				f.num, f.long = o.long, true
				r.dpb = append(r.dpb, f)
			}
		case 4:
			r.dpb = slices.DeleteFunc(r.dpb, func(f frame) bool { return f.long && f.num >= o.operand })
		case 5:
			r.dpb, long, reset = r.dpb[:0], none, true
		case 6:
			long = o.long
			r.remove(long, true)
		}
	}
	return long, reset
}

// list returns the reference list of a P slice, without absent references that the slice names (sections 8.2.4.2.1 and 8.2.4.3).
func (r *references) list(h *header, mask int) []frame {
	list := slices.Clone(r.dpb)
	slices.SortFunc(list, func(a, b frame) int {
		switch {
		case a.long && b.long:
			return cmp.Compare(a.num, b.num)
		case a.long:
			return 1
		case b.long:
			return -1
		}
		return cmp.Compare(a.age(h.frameNum, mask), b.age(h.frameNum, mask))
	})
	var first []frame
	for _, i := range r.modified(h, 0, mask) {
		if i != none {
			first = append(first, r.dpb[i])
		}
	}
	list = append(first, slices.DeleteFunc(list, func(f frame) bool { return slices.Contains(first, f) })...)
	return list[:min(len(list), h.active[0])]
}

// modified returns the indices of the references that modifications name, or none for an absent one.
func (r *references) modified(h *header, list, mask int) (indices []int) {
	num := h.frameNum
	for _, m := range h.modifications[list] {
		switch m.code {
		case 0:
			num = (num - m.operand - 1) & mask
		case 1:
			num = (num + m.operand + 1) & mask
		}
		i := r.find(num, false)
		if m.code == 2 {
			i = r.find(m.operand, true)
		}
		indices = append(indices, i)
	}
	return indices
}
