package hevc

import "slices"

// store is the decoded picture buffer: slots for pictures, and the surfaces.
type store struct {
	slots    [16]slot
	surfaces []int // decoded at the last picture on each surface
	decoded  int   // number of pictures
}

// slot holds a picture while later pictures can refer to it, or while it waits for pictures that are shown earlier. Waiting matters only
// because NVIDIA's parser numbers slots so. The surface is free as soon as the picture is no reference.
type slot struct {
	reference, longTerm bool
	waiting             bool
	surface, poc        int
}

// references are the slots to which a picture refers.
type references struct {
	before, after, long []byte
	missing             bool
}

func (s *store) clear() { s.slots = [16]slot{} }

// has reports whether a picture with an order count is there.
func (s *store) has(poc int) bool {
	return slices.ContainsFunc(s.slots[:], func(s slot) bool { return (s.reference || s.waiting) && s.poc == poc })
}

// keep returns the references in a segment's sets, for a picture with the order count poc. Other pictures are no references any more.
func (s *store) keep(h *segment, poc int) (refs references) {
	log2 := h.sps.log2MaxPOC
	var kept [16]bool
	find := func(list *[]byte, used bool, matches func(*slot) bool) *slot {
		at, found := 0, 0
		for i := range s.slots {
			if s.slots[i].reference && matches(&s.slots[i]) {
				at, found = i, found+1
			}
		}
		if used && !h.key() {
			*list = append(*list, byte(at))
			refs.missing = refs.missing || found != 1
		}
		if found != 1 {
			return nil
		}
		kept[at] = true
		return &s.slots[at]
	}
	for _, ref := range h.long {
		mask, target := 1<<log2-1, ref.lsb
		if ref.whole {
			mask, target = -1, poc-h.lsb+ref.lsb-ref.cycles<<log2
		}
		if found := find(&refs.long, ref.used, func(s *slot) bool { return s.poc&mask == target }); found != nil {
			found.longTerm = true
		}
	}
	for i, ref := range h.set.references {
		list := &refs.before
		if i >= h.set.negative {
			list = &refs.after
		}
		find(list, ref.used, func(s *slot) bool { return !s.longTerm && s.poc == poc+ref.delta })
	}
	for i := range s.slots {
		s.slots[i].reference = kept[i]
	}
	return refs
}

// show ends the waiting of pictures, the least order count first, until at most the given number waits and fewer slots than room are
// occupied.
func (s *store) show(waiting, room int) {
	for {
		count, occupied, next := 0, 0, -1
		for i, slot := range s.slots {
			if slot.reference || slot.waiting {
				occupied++
			}
			if slot.waiting {
				count++
				if next < 0 || slot.poc < s.slots[next].poc {
					next = i
				}
			}
		}
		if next < 0 || count <= waiting && occupied < room {
			return
		}
		s.slots[next].waiting = false
	}
}

// add returns the surface for a new picture, and keeps the picture as a reference if it is decodable. Among surfaces without a reference
// it is the least recently decoded one. A surface and a slot are always free, because reference sets are smaller than maxDPB.
func (s *store) add(sps *sequence, poc int, decodable bool) int {
	held, surface := make([]bool, len(s.surfaces)), -1
	for _, slot := range s.slots {
		if slot.reference {
			held[slot.surface] = true
		}
	}
	for i, when := range s.surfaces {
		if !held[i] && (surface < 0 || when < s.surfaces[surface]) {
			surface = i
		}
	}
	s.decoded++
	s.surfaces[surface] = s.decoded
	if !decodable {
		return surface
	}
	s.show(sps.reorder, sps.maxDPB)
	for i := range s.slots {
		if !s.slots[i].reference && !s.slots[i].waiting {
			s.slots[i] = slot{reference: true, waiting: true, surface: surface, poc: poc}
			break
		}
	}
	s.show(sps.reorder, len(s.slots)+1)
	return surface
}
