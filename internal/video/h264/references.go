package h264

import (
	"cmp"
	"slices"
)

// none is no surface, no frame_num and no index.
const none = -1

// frame is a reference frame.
type frame struct {
	surface int // none if the frame does not exist because of a gap in frame_num
	num     int // frame_num, or LongTermFrameIdx if long
	long    bool
	foreign bool // the surface has other content
	counts
}

// references are the frames with the marking "used for reference".
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

// add adds a frame. If most frames are there, the oldest short-term one is removed first (section 8.2.5.3). current is the picture's
// frame_num.
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

// age returns the distance from a short-term reference's frame_num to the current one. Long-term references are younger.
func (f *frame) age(current, mask int) int {
	if f.long {
		return none
	}
	return (current - f.num) & mask
}

// mark applies a picture's marking operations. It returns the picture's LongTermFrameIdx, or none. reset reports operation 5.
func (r *references) mark(h *header, mask int) (long int, reset bool) {
	long = none
	if h.longTerm {
		long = 0
	}
	for _, o := range h.marking {
		num := (h.frameNum - o.operand - 1) & mask // picNumX as frame_num
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

// initial returns a P or B slice's reference list before its modification (section 8.2.4.2). order is the picture's order count.
func (r *references) initial(h *header, list, mask, order int) []frame {
	key := func(f frame) []int {
		past := f.least() < order
		switch {
		case f.long:
			return []int{2, f.num}
		case h.kind == sliceP:
			return []int{0, f.age(h.frameNum, mask)}
		case past && list == 0:
			return []int{0, -f.least()}
		case past:
			return []int{1, -f.least()}
		}
		return []int{1 - list, f.least()}
	}
	frames := slices.Clone(r.dpb)
	slices.SortFunc(frames, func(a, b frame) int { return slices.Compare(key(a), key(b)) })
	if list == 1 && len(frames) > 1 && slices.Equal(frames, r.initial(h, 0, mask, order)) {
		frames[0], frames[1] = frames[1], frames[0]
	}
	return frames
}

// list returns a P or B slice's reference list. If the slice names an absent reference (section 8.2.4.3), that entry is a frame that does
// not exist.
func (r *references) list(h *header, list, mask, order int) []frame {
	var named []frame
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
		f := frame{surface: none}
		if i != none {
			f = r.dpb[i]
		}
		named = append(named, f)
	}
	rest := slices.DeleteFunc(r.initial(h, list, mask, order), func(f frame) bool { return slices.Contains(named, f) })
	frames := append(named, rest...)
	return frames[:min(len(frames), h.active[list])]
}
